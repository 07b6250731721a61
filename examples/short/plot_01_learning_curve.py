"""
A learning curve for your own activation
========================================

Give the activation as an expression in x, choose the laws of the weights and readouts, the noise and the
width, and ask for the optimal error as data grow.
"""

import numpy as np

import widthwise as ww

problem = ww.Problem("tanh(2*x)", weights="rademacher", readouts="four-point", channel=0.1, gamma=0.5)
curve = ww.learning_curve(problem, np.linspace(0.2, 5, 25))
curve.to_dataframe()[["alpha", "branch", "excess_error", "matrix_overlap_centred"]].iloc[::6]

# %%
# The equilibrium is one branch of several. This figure follows all of them through their folds: solid where
# the solution is the optimum, dashed where it is only locally stable, dotted where it is unstable. Units of
# large readouts are learnt first, the others later, and each time the error falls off a cliff.

from widthwise.plotting import plot_learning_curve

figure = plot_learning_curve(problem, [0.2, 5])  # is_log=False for a linear axis
