"""
GAMP-RIE against its prediction
===============================

The best known polynomial-time learner reads the network as a quadratic form. Its error falls, step by step,
as its state evolution says, and ends on the universal branch.
"""

import matplotlib.pyplot as plt
import numpy as np

import widthwise as ww
from widthwise.plotting import style

style.use()
problem = ww.Problem("relu", channel=0.1, gamma=0.5)
alpha, d = 1.0, 60
predicted = ww.theory.state_evolution(problem, alpha, d=d)
figure, ax = plt.subplots()
for seed in range(3):
    run = ww.learners.gamp_rie(ww.sample_instance(problem, d=d, alpha=alpha, seed=seed))
    errors = run.trace["excess_error"].to_numpy()[0]
    ax.plot(np.arange(errors.size), errors, "o", ms=2.5, color="C1", label="GAMP-RIE" if seed == 0 else None)
ax.plot(predicted.excess_error, color="C0", label=f"state evolution, d = {d}")
limit = ww.solve(problem, alpha, branch="universal").excess_error
ax.axhline(limit, color="0.6", lw=0.8, label=r"universal branch, $d \to \infty$")
ax.set_xlabel("step of the iteration")
ax.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
ax.set_ylabel("excess error")
_ = ax.legend()
