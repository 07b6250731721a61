"""
Classifiers and noisy labels
============================

Labels are signs of the output plus noise. The best classifier itself is often wrong; what counts is the
distance to it. Errors are shares of wrong labels, exact given the noiseless output.
"""

import widthwise as ww

problem = ww.Problem("relu", readouts="rademacher", channel="probit:0.1", gamma=0.5)
results = ww.yardstick(["ridge", "mlp", "gamp-rie"], problem, d=20, alphas=[1, 4, 8], seeds=3, n_test=5000)
results

# %%
# Three instances are drawn here. With eight: ridge regression stops at the linear part, 0.231 ± 0.006 at
# α = 8. The perceptron is no better at α = 4 (0.233 ± 0.009) and passes it at α = 8 (0.205 ± 0.002), where
# the optimum, 0.177, would have needed 17 % of its data. GAMP-RIE follows the universal line, here almost the
# optimum, up to what the small dimension costs (``finite_size``): (11 ± 3) % at α = 1, (6 ± 2) % at 4 and 8.

ax = results.plot()
