"""GAMP-RIE on the universal branch: error against size and samples, for many activations, weights, readouts.

Each row of ``gamp_rie_finite_size.csv`` is a mean over seeds. ``excess_error_limit`` is the universal
branch, ``excess_error_at_d`` adds the cost of the linear part at that size, and ``finite_size_term`` is d
(mean/limit - 1): constant in d, as it should be; ``linear_term`` is the part of it that the linear part
explains. ``is_on_curve`` says whether the mean lies within two standard errors plus 3/d of
``excess_error_at_d``.

    python examples/gamp_rie_finite_size.py [--quick]     # 10 minutes, or some seconds; continues the table
    python examples/gamp_rie_finite_size.py --figure      # docs/images/gamp_rie.png from the CSV
"""

import csv
import itertools
import sys
from pathlib import Path

import numpy as np

import widthwise as ww
from widthwise.learners.gamp_rie import gamp_rie
from widthwise.networks.instance import sample_instance
from widthwise.theory.state_evolution import state_evolution

TABLE = Path(__file__).with_suffix(".csv")
ACTIVATIONS, WEIGHTS = ("relu", "elu"), ("gaussian", "rademacher")
READOUTS = ("homogeneous", "rademacher", "gaussian")
SIZED = [
    ("relu", "gaussian", "homogeneous"),
    ("elu", "rademacher", "rademacher"),
    ("relu", "gaussian", "gaussian"),
]
NOISE, GAMMA = 0.1, 0.5
FINITE_SIZE = 3.0
NAMES = {"relu": "ReLU", "elu": "ELU"}


def plan(is_quick: bool):
    """(activation, weights, readouts), alpha, d, seeds, denoiser."""
    every = list(itertools.product(ACTIVATIONS, WEIGHTS, READOUTS))
    if is_quick:
        for case in every[:2]:
            yield from ((case, 1.0, d, n_seeds, "known") for d, n_seeds in ((50, 3), (100, 2)))
        return
    yield from ((case, 1.0, 150, 10, "known") for case in every)
    for d, n_seeds in ((100, 20), (200, 10), (400, 4)):
        yield from ((case, 1.0, d, n_seeds, "known") for case in SIZED[: 2 if d == 400 else 3])
    for activation, alpha in itertools.product(ACTIVATIONS, (0.25, 0.5, 2.0, 3.0)):
        yield (activation, "gaussian", "homogeneous"), alpha, 150, 5, "known"
    yield from ((case, 1.0, 200, 10, "empirical") for case in SIZED)


def row(case, alpha, d, n_seeds, denoiser):
    problem = ww.Problem(*case, NOISE, GAMMA)
    runs = [
        gamp_rie(sample_instance(problem, d, alpha, seed), denoiser=denoiser, iterations=200)
        for seed in range(n_seeds)
    ]
    errors = np.array([run.excess_error for run in runs])
    mean, spread = errors.mean(), errors.std(ddof=1) / np.sqrt(n_seeds)
    limit, at_d = (float(state_evolution(problem, alpha, d=size).excess_error[-1]) for size in (None, d))
    return {
        **dict(zip(("activation", "weights", "readouts"), case, strict=True)),
        "noise": NOISE,
        "gamma": GAMMA,
        "alpha": alpha,
        "d": d,
        "denoiser": denoiser,
        "n_seeds": n_seeds,
        "n_converged": sum(run.status == "converged" for run in runs),
        "excess_error": f"{mean:.6f}",
        "standard_error": f"{spread:.6f}",
        "excess_error_limit": f"{limit:.6f}",
        "excess_error_at_d": f"{at_d:.6f}",
        "z_at_d": f"{(mean - at_d) / spread:.2f}",
        "finite_size_term": f"{d * (mean / limit - 1):.2f}",
        "finite_size_term_standard_error": f"{d * spread / limit:.2f}",
        "linear_term": f"{d * (at_d / limit - 1):.2f}",
        "is_on_curve": bool(abs(mean - at_d) < 2 * spread + FINITE_SIZE / d * at_d),
        "version": ww.__version__,
    }


def main() -> None:
    is_quick = "--quick" in sys.argv[1:]
    rows = []
    done = {} if is_quick else {_key(r): r for r in _table()}
    for task in plan(is_quick):
        case, *numbers = task
        key = tuple(map(str, (*case, *numbers)))
        rows.append(done.get(key) or row(*task))
        print(" ".join(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
        if not is_quick:
            with open(TABLE, "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)


def _table() -> list[dict[str, str]]:
    if not TABLE.exists():
        return []
    with open(TABLE, encoding="utf-8") as file:
        return [r for r in csv.DictReader(file) if r["version"] == ww.__version__ and "is_on_curve" in r]


def _key(r: dict[str, str]) -> tuple[str, ...]:
    names = ("activation", "weights", "readouts", "alpha", "d", "n_seeds", "denoiser")
    return tuple(r[name] for name in names)


def figure() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from widthwise.plotting import activation_color, style

    style.use()
    rows = [r for r in _table() if r["denoiser"] == "known"]
    fig, (left, right) = plt.subplots(1, 2, figsize=(style.PAGE, 0.42 * style.PAGE))
    alphas = np.geomspace(0.15, 4, 60)
    markers = {"homogeneous": "o", "rademacher": "s", "gaussian": "^"}
    for activation in ACTIVATIONS:
        colour = activation_color(activation)
        problem, name = ww.Problem(activation, channel=NOISE, gamma=GAMMA), NAMES[activation]
        curve = ww.learning_curve(problem, alphas, branch="universal")
        left.plot(alphas, curve.excess_error, color=colour, label=f"{name}: universal branch")
        at_d = [state_evolution(problem, a, d=150).excess_error[-1] for a in alphas[::4]]
        left.plot(alphas[::4], at_d, ":", color=colour, lw=1, label=f"{name}: and the linear part at d = 150")
        mine = [
            r
            for r in rows
            if r["d"] == "150"
            and (r["activation"], r["weights"], r["readouts"]) == (activation, "gaussian", "homogeneous")
        ]
        left.errorbar(
            [float(r["alpha"]) for r in mine],
            [float(r["excess_error"]) for r in mine],
            [float(r["standard_error"]) for r in mine],
            fmt="o",
            ms=4,
            color=colour,
            label=f"{name}: GAMP-RIE at d = 150",
        )
    left.set(
        xscale="log", yscale="log", xlabel=r"$\alpha = n/d^2$", ylabel=r"excess error $\epsilon - \Delta$"
    )
    for axis, ticks in ((left.xaxis, (0.25, 0.5, 1, 2, 4)), (left.yaxis, (0.005, 0.01, 0.02, 0.04, 0.08))):
        axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    left.set_title(r"Gaussian weights, homogeneous readouts", fontsize=style.TITLE)
    left.set_ylim(0.0042, 0.1)
    left.legend(loc="lower left")
    for case, colour, aside in zip(SIZED, ("#0072B2", "#AA3377", "#56B4E9"), (-1, 0, 1), strict=True):
        mine = [
            r for r in rows if (r["activation"], r["weights"], r["readouts"]) == case and r["alpha"] == "1.0"
        ]
        mine.sort(key=lambda r: int(r["d"]))
        size = np.array([1 / int(r["d"]) for r in mine])
        limit = np.array([float(r["excess_error_limit"]) for r in mine])
        ratio = np.array([float(r["excess_error"]) for r in mine]) / limit
        error = np.array([float(r["standard_error"]) for r in mine]) / limit
        right.errorbar(
            size + 7e-5 * aside,
            ratio,
            error,
            fmt=markers[case[2]],
            ms=4,
            color=colour,
            label="{}, {} weights, {} readouts".format(NAMES[case[0]], *case[1:]),
        )
        problem = ww.Problem(*case, NOISE, GAMMA)
        sizes = np.linspace(1e-4, 0.011, 8)
        at_d = [state_evolution(problem, 1.0, d=round(1 / s)).excess_error[-1] for s in sizes]
        right.plot(sizes, np.array(at_d) / limit[0], color=colour, lw=1)
    right.axhline(1, color="0.7", lw=0.8)
    right.set(xlabel="1/d", ylabel="excess error / universal branch", ylim=(0.995, 1.085))
    right.set_title(r"$\alpha = 1$; lines: universal branch and the linear part", fontsize=style.TITLE)
    right.legend()
    fig.savefig(Path(__file__).parents[1] / "docs" / "images" / "gamp_rie.png", dpi=160)


if __name__ == "__main__":
    figure() if "--figure" in sys.argv[1:] else main()
