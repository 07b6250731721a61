"""
How hard is it to leave the universal branch?
=============================================

HMC started at random first finds the universal solution and leaves it later, when hidden units are learnt
one by one. The paper's authors published how long that took, as means and deviations over ten instances
at each d. Does the time grow exponentially or as a power of d?
"""

from widthwise.plotting.experiments import plot_hardness
from widthwise.studies.hardness import analyse
from widthwise.studies.published import (
    PRINTED_CHI_SQUARE,
    published_chi_square,
    published_crossings,
    read_published,
)
from widthwise.studies.survival import LAWS, chi_square

# %%
# The paper's χ² comes out to every digit printed: a straight line through the logarithms of the mean
# times, without weights and without the smallest d, and then Σ((mean - t*)/deviation)². The deviation is
# that of single instances; with the standard error of their mean, as a test would have it, each value is
# ten times larger.

found = published_chi_square()
for readouts, laws in PRINTED_CHI_SQUARE.items():
    for law in LAWS:
        ours = [value for (name, _, kind), value in found.items() if (name, kind) == (readouts, law)]
        print(f"{readouts:11s} {law:11s} ours", *(f"{v:5.2f}" for v in ours), " paper", *laws[law])

# %%
# In those means an instance that never crossed counts as 0 iterations. Two of 290 never crossed the third
# threshold. What its slope becomes when they are counted as 0, dropped, or taken for what they are, runs
# that take longer than they were given:

for readouts in ("homogeneous", "gaussian"):
    points = [p for p in read_published() if p.readouts == readouts]
    points = [p for p in points if p.threshold == points[-1].threshold]
    sizes = [p.d for p in points]
    as_zero = chi_square(sizes, [p.mean for p in points], [p.std for p in points], "exponential")[0]
    slopes = {}
    for is_kept in (False, True):
        runs = published_crossings(is_censoring_kept=is_kept)
        runs = [c for c in runs if (c.readouts, c.threshold) == (readouts, points[0].threshold)]
        slopes[is_kept] = analyse(runs, n_bootstrap=20)[0].a
    print(f"{readouts:11s} as 0: {as_zero:.5f}, dropped: {slopes[False]:.5f}, censored: {slopes[True]:.5f}")

# %%
# The censored likelihood of log-normal times, with intervals for the exponents. For homogeneous and
# Rademacher readouts the exponential law is ahead by 60 to 80 units of AIC; for Gaussian ones the two
# cannot be told apart. (Only means and deviations are known: the intervals are those of log-normal
# instances with these.)

crossings = published_crossings()
rows = analyse(crossings, n_bootstrap=60)
for exponential, power in zip(rows[::2], rows[1::2], strict=True):
    print(
        f"{exponential.readouts:11s} {exponential.threshold:.4f}  a = {exponential.a:.5f} "
        f"[{exponential.low:.5f}, {exponential.high:.5f}]  b = {power.b:.3f} "
        f"[{power.low:.3f}, {power.high:.3f}]  AIC power - exponential {power.aic - exponential.aic:6.2f}"
    )

# %%
# Left, exponential fits; right, power laws. Markers are medians with the range of the middle half of the
# runs.

figure = plot_hardness(crossings, rows)
