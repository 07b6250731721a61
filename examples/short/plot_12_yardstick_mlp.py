"""
A trained network against the optimum
=====================================

How far is a multi-layer perceptron from the best that can be done with the same data? Two teachers that
differ in their readouts only: all equal, or Gaussian.
"""

import matplotlib.pyplot as plt

import widthwise as ww

figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.3), sharey=True, layout="constrained")
for ax, readouts in zip(axes, ("homogeneous", "gaussian"), strict=True):
    problem = ww.Problem("relu", readouts=readouts, channel=0.01, gamma=0.5)
    results = ww.yardstick("mlp", problem, d=20, alphas=[1, 4], seeds=2, n_test=5000, is_calibrated=False)
    print(results)
    results.plot(ax)
    ax.set_title(f"{readouts} readouts, d = 20")
axes[1].set_ylabel("")

# %%
# With equal readouts the perceptron stays above even the polynomial-time line. With Gaussian ones the units
# of large readouts stand out, and on these two small instances it gets below that line. It remains far from
# the optimum in both cases: for the same error the optimum would need a small part of the data.
