"""
Sampling the posterior
======================

Hamiltonian Monte Carlo on a small network, started on the teacher and at random. The one stays at the
equilibrium; the other ends there too, where no barrier stands in its way.
"""

import matplotlib.pyplot as plt

import widthwise as ww
from widthwise.plotting import style

style.use()
problem = ww.Problem("relu", channel=0.1, gamma=0.5)
instance = ww.sample_instance(problem, d=30, alpha=1.0, seed=0)
figure, ax = plt.subplots()
for start in ("teacher", "random"):
    run = ww.learners.hmc(instance, start=start, iterations=200, progress=False)
    print(f"{start}: {run}")
    ax.plot(run.trace["draw"], run.trace["excess_error"][0], lw=1, label=f"start: {start}")
theory = ww.solve(problem, 1.0)
ax.axhline(theory.excess_error, color="0.4", lw=1, ls="--", label=r"theory, $d \to \infty$")
ax.set_xlabel("iteration")
ax.set_ylabel("half the Gibbs excess error")
ax.set_yscale("log")
_ = ax.legend()
