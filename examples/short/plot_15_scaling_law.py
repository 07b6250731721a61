"""
Scaling laws: how the best error falls with data
================================================

A teacher network has k features of decreasing importance: readouts proportional to i^(-β). With few samples
only the largest can be learnt; each further one becomes learnable at its own number of samples. Their number
is the *effective width*, and it sets the exponent with which the best possible error falls.
"""

import matplotlib.pyplot as plt
import numpy as np

import widthwise as ww
from widthwise.plotting import style
from widthwise.studies.published import read_hmc

# %%
# Readouts 1/i, a thousand features, a little noise on the labels. Before all features are learnt the error
# falls as n^(1/(2β) - 1), here n^(-1/2); afterwards as 1/n, as in any model with a fixed number of
# parameters.

problem = ww.Problem(
    "tanh(2*x)", readouts=ww.readouts.PowerLaw(exponent=1.0, size=1000), channel=0.01, gamma=0.5
)
law = ww.scaling_law(problem, n=np.geomspace(3e4, 3e10, 60))
print(f"d = {law.d:g}; all {law.k:g} features are learnt from n = {law.crossover:.3g} samples on")
print("exponents: predicted", law.predicted_exponents, "found", np.round(law.local_exponent[[20, -1]], 3))
law.plot()

# %%
# With a gentler hierarchy, β = 0.3, most features are learnt nearly together. Dots are Hamiltonian Monte
# Carlo, which samples the posterior of real networks: published runs at d = 200, and runs of our own at
# smaller d (see ``examples/scaling_hmc.py``); bars are standard errors over instances.

style.use()
figure, ax = plt.subplots()
activation = "tanh(2*x) - 0.7294775314861*x"  # without its linear part, which is learnt from few samples
styles = {200: ("ko", "arXiv:2605.10395"), 140: ("C0D", "widthwise"), 100: ("C1s", "widthwise")}
styles[60] = ("C2^", "widthwise")
for d, (form, who) in styles.items():
    points = [point for point in read_hmc() if point.d == d]
    alpha = [point.alpha for point in points]
    errors, bars = [p.excess_error for p in points], [p.standard_error for p in points]
    color, face = form[:-1], form[:-1] if d == 200 else "none"
    ax.errorbar(alpha, errors, bars, fmt=form, ms=4, mfc=face, label=f"HMC, $d = {d}$ ({who})")
    hierarchy = ww.Problem(activation, readouts=ww.readouts.PowerLaw(0.3, d // 2), channel=0.04)
    fine = np.linspace(0.1, 3.1, 150)
    ax.plot(fine, ww.scaling_law(hierarchy, fine * d**2).excess_error, color=color, lw=0.9)
ax.set_xlabel(r"samples $n/d^2$")
ax.set_ylabel(r"excess error $\varepsilon$")
ax.legend(frameon=False)
