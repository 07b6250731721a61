"""
Sampling the posterior
======================

Hamiltonian Monte Carlo on a small network, started on the teacher and at random. The one stays at the
equilibrium; the other ends there too, where no barrier stands in its way.
"""

import matplotlib.pyplot as plt

import widthwise as ww

problem = ww.Problem("relu", channel=0.1, gamma=0.5)
instance = ww.sample_instance(problem, d=30, alpha=1.0, seed=0)
figure, ax = plt.subplots(figsize=(4.4, 3.2), layout="constrained")
for start in ("teacher", "random"):
    run = ww.learners.hmc(instance, start=start, iterations=200, progress=False)
    print(f"{start}: {run}")
    ax.plot(run.trace["draw"], run.trace["excess_error"][0], label=f"start: {start}")
theory = ww.solve(problem, 1.0)
ax.axhline(theory.excess_error, color="0.4", lw=1, ls="--", label="theory, d to infinity")
ax.set_xlabel("iteration")
ax.set_ylabel("half the Gibbs excess error")
ax.set_yscale("log")
_ = ax.legend(frameon=False)
