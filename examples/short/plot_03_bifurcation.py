"""
Transitions and the branches behind them
========================================

Binary weights with the activation He₂/√2 + He₃/6: the units begin to be learnt continuously, and jump close
to their true values later. Between the two folds, three solutions exist at once.
"""

import widthwise as ww
from widthwise.plotting import plot_bifurcation

problem = ww.Problem("sigma3", "rademacher", "homogeneous", channel=1.25, gamma=0.5)
found = ww.transitions(problem, alpha_max=2.4)
print(found)

# %%
# The equilibrium is the solution of highest free entropy; it changes at the Maxwell point. A learner that
# starts knowing nothing stays on the lower branch up to the second spinodal.

branches = ww.trace_branches(problem, (0.3, 2.4))
ax = plot_bifurcation(None, branches, found=found)
