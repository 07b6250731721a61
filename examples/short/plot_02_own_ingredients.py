"""
Ingredients of your own
=======================

An activation can be any function of x; weights and readouts any discrete law; nothing is tabulated. Here the
readouts are lopsided, and so is the activation.
"""

import numpy as np

import widthwise as ww


def shifted_softplus(x):
    return np.logaddexp(0, 2 * x) - 0.5 * x


readouts = ww.readouts.Discrete([-1.3, 0.4, 1.1], [0.3, 0.3, 0.4], normalise=True)
problem = ww.Problem(shifted_softplus, readouts=readouts, channel=0.05, gamma=0.8)
print("second moment of the readouts", readouts.values @ (np.array(readouts.probabilities) * readouts.values))
print("Hermite coefficients", np.round(problem.activation.hermite[:4], 5))
print(ww.transitions(problem, alpha_max=20))

# %%
# Overlap of the units with the teacher's, for each size of the readout: those that weigh most in the output
# are learnt first.

from widthwise.plotting import plot_overlaps, style

style.use()  # the fonts and widths of the package for figures of one's own
ax = plot_overlaps(None, ww.learning_curve(problem, np.geomspace(0.2, 20, 200)))
_ = ax.figure.legend(loc="outside upper center", ncols=2)
