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
data = ww.phase_diagram(problem, noise=np.linspace(0.3, 2.0, 8), alpha=np.linspace(0.3, 3.0, 28))
data

# %%
# Colours are interpolated between the points of the grid, but never across a line.

figure = plot_phase_diagrams(data, ("excess_error", "gap"))
