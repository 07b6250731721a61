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
# Targets one by one: below some error the universal branch needs more and more, and then any amount of data
# is too little.

import matplotlib.pyplot as plt

targets = np.geomspace(0.008, 0.05, 5)
needs = [ww.samples_needed(problem, excess_error=target) for target in targets]
figure, ax = plt.subplots(figsize=(4.4, 3.2), layout="constrained")
ax.loglog(targets, [need.optimum.alpha for need in needs], label="optimum")
reached = [need.universal.alpha if need.universal.is_reachable else np.nan for need in needs]
ax.loglog(targets, reached, "--", label="polynomial time (universal)")
ax.axvline(needs[0].universal.limit, color="0.6", lw=0.8, label="limit of the universal branch")
ax.set_xlabel("target for the excess error")
ax.set_ylabel(r"samples needed, $\alpha = n/d^2$")
_ = ax.legend(frameon=False)
