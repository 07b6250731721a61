"""
Neighbouring theories
=====================

Where n is of order d only the linear part of the activation can be learnt, and that theory hands over to the
main one; the factorised ansatz is a simplification of the main one with a transition of its own.
"""

import matplotlib.pyplot as plt
import numpy as np

import widthwise as ww
from widthwise.plotting import style

style.use()
problem = ww.Problem("relu", readouts="four-point", channel=0.1, gamma=0.5)
linear = np.geomspace(0.05, 300, 60)
few = ww.solve_linear(problem, linear)
alphas = np.geomspace(0.01, 10, 120)
main = ww.learning_curve(problem, alphas)
simple = ww.learning_curve(problem, alphas, theory="factorised")

size = (style.PAGE, 0.38 * style.PAGE)
figure, (left, right) = plt.subplots(1, 2, figsize=size, sharey=True, width_ratios=[1, 1.4])
left.semilogx(linear, few.excess_error, label="linear regime")
left.axhline(few.excess_error[-1], color="0.7", lw=0.8, label="all of the linear part learnt")
left.legend()
left.set_xlabel(r"few data: $\alpha_1 = n/d$")
left.set_ylabel("excess error")
right.semilogx(alphas, main.excess_error, label="main theory")
right.semilogx(alphas, simple.excess_error, "--", label="factorised ansatz")
right.set_xlabel(r"many data: $\alpha = n/d^2$")
_ = right.legend()
