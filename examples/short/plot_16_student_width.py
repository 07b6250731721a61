"""
How wide should the student be?
===============================

The teacher has 30 features, but the samples only tell so many. A student with fewer units than can be learnt
misses some; one with more fits the noise with those it has left. The best width of trained students lies near
the effective width of the theory, or somewhat below it.
"""

import matplotlib.pyplot as plt

import widthwise as ww
from widthwise.plotting import style
from widthwise.studies.published import read_widths

# %%
# Students trained with Adam at d = 60 on three amounts of data: the error of the last network against the
# width, as means over four instances (``widthwise study width`` runs such a study; the table is that of
# ``examples/scaling_widths.py``). Dashed lines are the effective width, ticks on the left the best
# possible error. Dots are filled where a tenth of the samples, held out, would choose the width.

style.use()
figure, ax = plt.subplots()
rows = read_widths()
for i, n in enumerate(sorted({row["n"] for row in rows})):
    own = [row for row in rows if row["n"] == n]
    widths, errors = [row["width"] for row in own], [row["last_error"] for row in own]
    bars = [row["last_standard_error"] for row in own]
    label = f"$n = {n:g}$, $k_c = {own[0]['effective_width']:g}$"
    ax.errorbar(widths, errors, bars, fmt="o-", ms=4, mfc="white", color=f"C{i}", label=label)
    best = min(own, key=lambda row: row["held_out_loss"])
    ax.plot(best["width"], best["last_error"], "o", ms=5, color=f"C{i}", zorder=5)
    ax.axvline(own[0]["effective_width"], color=f"C{i}", ls="--", lw=0.9)
    ax.axhline(own[0]["optimal_error"], xmax=0.05, color=f"C{i}", lw=2)
    found = ", ".join(f"{row['width']:g}: {row['features_found']:.1f}" for row in own)
    print(f"n = {n:g}: features found (cosine above 0.7) by width: {found}")
ax.set_yscale("log")
ax.set_xlabel("width of the student")
ax.set_ylabel(r"excess error $\varepsilon$")
ax.legend(frameon=False)

# %%
# The planner answers the question the other way round.

problem = ww.Problem("tanh(2*x)", readouts=ww.readouts.PowerLaw(1.0, 100), channel=0.01, gamma=0.5)
print(ww.samples_needed(problem, excess_error=0.002))
