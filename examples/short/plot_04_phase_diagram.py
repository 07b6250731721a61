"""
A phase diagram
===============

Phases over noise and data. Each point knows its equilibrium, its rivals, and how far the optimum lies below
the error of a learner that stays on the universal branch, as the best known polynomial-time one does.
"""

import numpy as np

import widthwise as ww
from widthwise.plotting import plot_phase_diagrams

problem = ww.Problem("sigma3", weights="rademacher", gamma=0.5)
data = ww.phase_diagram(problem, noise=np.linspace(0.3, 2.0, 6), alpha=np.linspace(0.3, 3.0, 10))
data

# %%
figure = plot_phase_diagrams(data, ("excess_error", "gap"), is_labelled=False)
