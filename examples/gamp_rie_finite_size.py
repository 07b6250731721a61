"""GAMP-RIE on the universal branch: error against size, for several activations, weights and readouts.

Each row of ``gamp_rie_finite_size.csv`` is a mean over seeds. ``excess_error_limit`` is the universal
branch, ``excess_error_at_d`` adds the cost of the linear part at that size, and ``finite_size_term`` is d
(mean/limit - 1): constant in d, as it should be.

    python examples/gamp_rie_finite_size.py [--quick]
"""

import csv
import sys
from pathlib import Path

import numpy as np

import widthwise as ww
from widthwise.experiments.instance import sample_instance
from widthwise.learners.gamp_rie import gamp_rie
from widthwise.theory.state_evolution import state_evolution

CASES = [
    ("relu", "gaussian", "homogeneous"),
    ("relu", "gaussian", "rademacher"),
    ("relu", "gaussian", "gaussian"),
    ("elu", "gaussian", "homogeneous"),
    ("relu", "rademacher", "homogeneous"),
    ("elu", "rademacher", "rademacher"),
]
NOISE, GAMMA, ALPHA = 0.1, 0.5, 1.0


def rows(is_quick: bool):
    sizes = {100: 10, 150: 10, 200: 4, 400: 2}
    if is_quick:
        sizes = {50: 3, 100: 2}
    for activation, weights, readouts in CASES:
        problem = ww.Problem(activation, weights, readouts, NOISE, GAMMA)
        limit = float(state_evolution(problem, ALPHA).excess_error[-1])
        for d, n_seeds in sizes.items():
            if d == 400 and (activation, weights, readouts) != CASES[0]:
                continue  # minutes each
            for denoiser in ("known", "empirical") if d == 200 else ("known",):
                runs = [
                    gamp_rie(sample_instance(problem, d, ALPHA, seed), denoiser=denoiser)
                    for seed in range(n_seeds)
                ]
                errors = np.array([run.excess_error for run in runs])
                spread = errors.std(ddof=1) / np.sqrt(n_seeds)
                at_d = float(state_evolution(problem, ALPHA, d=d).excess_error[-1])
                yield {
                    "activation": activation,
                    "weights": weights,
                    "readouts": readouts,
                    "noise": NOISE,
                    "gamma": GAMMA,
                    "alpha": ALPHA,
                    "d": d,
                    "denoiser": denoiser,
                    "n_seeds": n_seeds,
                    "n_converged": sum(run.status == "converged" for run in runs),
                    "excess_error": f"{errors.mean():.6f}",
                    "standard_error": f"{spread:.6f}",
                    "excess_error_limit": f"{limit:.6f}",
                    "excess_error_at_d": f"{at_d:.6f}",
                    "z_at_d": f"{(errors.mean() - at_d) / spread:.2f}",
                    "finite_size_term": f"{d * (errors.mean() / limit - 1):.2f}",
                    "finite_size_term_standard_error": f"{d * spread / limit:.2f}",
                    "version": ww.__version__,
                }


def main() -> None:
    is_quick = "--quick" in sys.argv[1:]
    file = None
    writer = None
    for row in rows(is_quick):
        print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)
        if is_quick:
            continue
        if writer is None:
            file = open(Path(__file__).with_suffix(".csv"), "w", newline="", encoding="utf-8")
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
        writer.writerow(row)
        file.flush()
    if file is not None:
        file.close()


if __name__ == "__main__":
    main()
