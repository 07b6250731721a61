"""
Which units are learnt
======================

With Gaussian readouts some unit is always large enough to be learnt: there is no first transition, but a
front that moves down as data grow.
"""

import widthwise as ww
from widthwise.plotting import plot_overlap_profile

problem = ww.Problem("relu", readouts="gaussian", channel=0.1, gamma=0.5)
curve = ww.learning_curve(problem, [0.1, 0.3, 1.0, 3.0, 10.0])
ax = plot_overlap_profile(None, curve)
_ = ax.set_title(r"ReLU, Gaussian readouts, $\gamma = 0.5$, $\Delta = 0.1$", fontsize=7.5)
