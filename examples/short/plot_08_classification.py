"""
Classification
==============

Labels that are signs, noisy (probit) or not, and the share of them that the best classifier gets wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

import widthwise as ww
from widthwise.plotting import style

style.use()
alphas = np.linspace(0.1, 8, 100)
figure, ax = plt.subplots()
for channel in ("sign", "probit:0.1"):
    problem = ww.Problem("relu", readouts="rademacher", channel=channel)
    curve = ww.learning_curve(problem, alphas)
    (line,) = ax.plot(alphas, ww.error(curve, "zero-one"), label=f"{channel}, best classifier")
    one_draw = ww.error(curve, "zero-one", "gibbs")
    ax.plot(alphas, one_draw, ":", color=line.get_color(), label=f"{channel}, one draw")
ax.set_xlabel(r"samples per squared dimension $\alpha = n/d^2$")
ax.set_ylabel("share of wrong labels")
ax.set_ylim(bottom=0)
_ = figure.legend(loc="outside upper center", ncols=2)
