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
# Ridge regression stops at the linear part. GAMP-RIE follows the universal line, here almost the optimum, up
# to what the small dimension costs (``finite_size``, about a tenth). The perceptron needs several times the
# data.

ax = results.plot()
