"""
How much data does a target need?
=================================

The question of a planner: how many samples bring the excess error below a target, at the optimum, and for a
learner in polynomial time?
"""

import numpy as np

import widthwise as ww

problem = ww.Problem("relu", readouts="four-point", channel=0.1, gamma=0.5)
print(ww.samples_needed(problem, excess_error=0.02, d=200))
print(ww.samples_needed(problem, excess_error=0.005, d=200))

# %%
# Read from the learning curves, all targets at once: below some error the universal branch needs more and
# more, and then any amount of data is too little.

import matplotlib.pyplot as plt

from widthwise.plotting import style

style.use()
alphas = np.geomspace(0.3, 60, 120)
figure, ax = plt.subplots()
for branch, line, name in (
    ("equilibrium", "-", "optimum"),
    ("universal", "--", "polynomial time (universal)"),
):
    curve = ww.learning_curve(problem, alphas, branch)
    ax.loglog(curve.excess_error, alphas, line, color="C0", label=name)
limit = ww.samples_needed(problem, excess_error=0.005).universal.limit
ax.axvline(limit, color="0.6", lw=0.8, label="least error of the universal branch")
ticks = [0.002, 0.005, 0.01, 0.02, 0.05]
ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
ax.set_xticks([], minor=True)
ax.set_xlim(0.002, 0.07)
ax.set_xlabel("target for the excess error")
ax.set_ylabel(r"samples needed, $\alpha = n/d^2$")
_ = figure.legend(loc="outside upper center")
