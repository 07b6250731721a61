"""Is the specialised solution exact?  HMC from the teacher at small noise, against three predictions.

Gaussian weights, homogeneous readouts. Each run gives two ratios in which most of the corrections of
order 1/d drop out, as all three quantities share them,

    κ = γ(1 - q₂)/ε,    ξ = (1 - 𝒬)/ε,    ε the excess error,    1 - 𝒬 measured as |W - W⁰|²/(2kd),

and whose values at d → ∞ the main theory and the factorised ansatz predict at every noise. As the noise
vanishes they tend to the coefficients of ``ww.theory.small_noise_limit``, which has the exact ones too.
Adds to ``small_noise_hmc.csv`` beside this file, one row a run, those that it does not have; runs worth too
few independent draws are made again, twice as long. ``--show`` puts straight lines in 1/d through what is
there.

    python examples/small_noise_hmc.py --cases sigma3:0.01:1:0.5 relu:0.01:2:0.5 --dimensions 60 80 --seeds 4
"""

import argparse
import time

import numpy as np

import widthwise as ww
from growing_table import GrowingTable
from widthwise.learners import hmc
from widthwise.networks import sample_instance

CASES = (  # activation, noise, α, γ: all specialised by either theory
    "sigma3:0.01:1:0.5",
    "sigma3:0.1:1:0.5",
    "sigma3:0.1:0.2:0.1",
    "relu:0.01:2:0.5",
    "relu:0.1:6:0.5",
    "relu:0.1:0.8:0.1",
)
KEY = {"activation": str, "noise": float, "alpha": float, "gamma": float, "d": int, "seed": int}
COLUMNS = (
    *KEY,
    "iterations",
    "excess_error",
    "matrix_overlap_centred",
    "weight_gap",
    "matrix_overlap_standard_error",
    "effective_draws",
    "status",
    "seconds",
    "version",
)
Key = tuple[str, float, float, float, int, int]
Row = dict[str, str]


def table() -> GrowingTable:
    """The runs so far."""
    return GrowingTable(__file__, **KEY)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=CASES, help="activation:noise:alpha:gamma")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[60, 80, 100, 130, 160])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=1500)
    parser.add_argument(
        "--least-draws", type=float, default=15, help="rows worth fewer are run again, twice as long"
    )
    parser.add_argument("--show", action="store_true", help="only extrapolate what the table has")
    options = parser.parse_args()
    rows = table()
    for d in [] if options.show else options.dimensions:
        for seed in range(options.seeds):
            for case in options.cases:
                activation, *numbers = case.split(":")
                noise, alpha, gamma = map(float, numbers)
                key = (activation, noise, alpha, gamma, d, seed)
                length = options.iterations
                while key not in rows or float(rows[key]["effective_draws"]) < options.least_draws:
                    length = max(length, 2 * int(rows[key]["iterations"]) if key in rows else 0)
                    rows.add(measure(key, length))
                    print(*(f"{name}={rows[key][name]}" for name in COLUMNS[:10]), flush=True)
    show(rows)


def measure(key: Key, iterations: int) -> Row:
    """One run, with the defaults of the sampler."""
    activation, noise, alpha, gamma, d, seed = key
    instance = sample_instance(ww.Problem(activation, noise=noise, gamma=gamma), d, alpha, seed)
    begin = time.perf_counter()
    run = hmc(instance, start="teacher", iterations=iterations, record_every=5, seed=seed)
    error = run.standard_error("matrix_overlap_centred")
    spread = float(run.settled["matrix_overlap_centred"].std(ddof=1))
    found = (
        *key,
        iterations,
        f"{run.excess_error:.6g}",
        f"{run.matrix_overlap_centred:.7g}",
        f"{0.5 * np.mean((run.draws - instance.weights) ** 2):.6g}",
        f"{error:.2g}",
        f"{(spread / error) ** 2:.0f}",
        run.status,
        f"{time.perf_counter() - begin:.0f}",
        ww.__version__,
    )
    return dict(zip(COLUMNS, map(str, found), strict=True))


def ratios(rows: list[Row]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """d and the two ratios of each run."""
    d, gamma, error, matrix, gap = (
        np.array([float(row[name]) for row in rows])
        for name in ("d", "gamma", "excess_error", "matrix_overlap_centred", "weight_gap")
    )
    return {"kappa": (d, gamma * (1 - matrix) / error), "xi": (d, gap / error)}


def extrapolated(d: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """a of a + b/d by least squares, errors of a run being of order 1/d, with its standard error."""
    design = np.stack([d, np.ones_like(d)], axis=1)
    fit, *_ = np.linalg.lstsq(design, y * d, rcond=None)
    spread = np.sum((y * d - design @ fit) ** 2) / (d.size - 2)
    return float(fit[0]), float(np.sqrt(spread * np.linalg.inv(design.T @ design)[0, 0]))


def predicted(activation: str, noise: float, alpha: float, gamma: float) -> dict[str, dict[str, float]]:
    """The ratios by each theory at this noise, and the exact ones of no noise."""
    problem = ww.Problem(activation, noise=noise, gamma=gamma)
    limit = ww.theory.small_noise_limit(problem)
    found = {"exact, no noise": {"kappa": limit.exact.matrix, "xi": limit.exact.overlap}}
    for theory in ("main", "factorised"):
        s = ww.solve(problem, alpha, branch="specialised", theory=theory).require()
        found[theory] = {
            "kappa": gamma * (1 - s.matrix_overlap_centred) / s.excess_error,
            "xi": (1 - float(s.weight_overlap[0])) / s.excess_error,
        }
    return found


def show(rows: GrowingTable) -> None:
    for case in sorted({key[:4] for key in rows}):
        print("{}, noise {:g}, alpha {:g}, gamma {:g}".format(*case))
        theory = predicted(*case)
        for name, (d, y) in ratios([row for key, row in rows.items() if key[:4] == case]).items():
            for size in np.unique(d):
                here = y[d == size]
                error = here.std(ddof=1) / np.sqrt(here.size) if here.size > 1 else float("nan")
                print(
                    f"  {name:6s} d = {size:4.0f}  {here.mean():.4f} ± {error:.4f}  ({here.size} instances)"
                )
            if np.unique(d).size > 1 and d.size > 2:
                print("  {:6s} 1/d → 0   {:.4f} ± {:.4f}".format(name, *extrapolated(d, y)), end="  ")
            print("; ".join(f"{which} {values[name]:.4f}" for which, values in theory.items()))


if __name__ == "__main__":
    main()
