r"""
Kernels stay at the quadratic part
==================================

With n of order d² samples a kernel learns the linear and the quadratic part of a network, and nothing
beyond: the rest would need n of order d³. Its error stays above g(1), what the activation holds beyond second
order; the optimum falls below, because it learns the units themselves.
"""

import widthwise as ww

problem = ww.Problem("relu", readouts="four-point", channel=0.01, gamma=0.5)
entries = ["ridge", "quadratic-ridge", "kernel-ridge", "gamp-rie"]
results = ww.yardstick(entries, problem, d=30, alphas=[0.5, 1, 2], seeds=1, n_test=5000)
results.to_dataframe()[["estimator", "alpha", "error", "optimal_error", "equivalent_share", "note"]]

# %%
ax = results.plot()
ax.axhline(problem.activation.tail_kernel(1.0), color="0.7", lw=0.8)
_ = ax.annotate("g(1)", (0.5, problem.activation.tail_kernel(1.0)), va="bottom", color="0.5", fontsize=7)
