"""Gradients that HMC takes for an independent draw: the sampler of the paper, and the default.

For each of six problems and three observables (centred overlap q₂, mean weight overlap, error): gradients
over effective draws (ArviZ) of chains from the teacher, the first half left out, and draws of q₂ a second of
processor time. "max R̂" says whether chains agree; where it is far above 1 the true number is larger.

    python benchmarks/bench_mixing.py [--d 40] [--problems relu-1,tanh] [--budget 20000] [--csv FILE]
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import arviz
import numpy as np

import widthwise as ww
from widthwise.networks import sample_instance

PROBLEMS = {
    "relu-1": (ww.Problem("relu", gamma=0.5), 1.0),
    "relu-4": (ww.Problem("relu", gamma=0.5), 4.0),
    "tanh": (ww.Problem("tanh(2*x)", gamma=0.5), 2.0),
    "sigma3": (ww.Problem("sigma3", gamma=0.5, channel=0.1), 1.0),
    "four-point": (ww.Problem("relu", gamma=0.5, readouts="four-point"), 2.0),
    "gaussian": (ww.Problem("relu", gamma=0.5, readouts="gaussian"), 2.0),
}
KERNELS = {
    "before": {"kernel": "plain", "n_leapfrog": 10, "step_size": 0.01, "target_acceptance": 0.8},
    "default": {"n_leapfrog": 40},
}
OBSERVABLES = {"q2": "matrix_overlap_centred", "Q_W": "weight_overlap", "error": "excess_error"}


def measure(name: str, d: int, which: str, budget: int, n_chains: int = 4) -> dict[str, float | str]:
    """Row of the table; ``budget`` is in gradients a chain."""
    problem, alpha = PROBLEMS[name]
    inst = sample_instance(problem, d, alpha, seed=0)
    options = KERNELS[which]
    n = options["n_leapfrog"]
    # An observation costs as much as a few gradients: one in forty of them is enough.
    often = max(1, 40 // n)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ww.learners.NotAtEquilibrium)
        run = ww.learners.hmc(
            inst, iterations=budget // n, record_every=often, n_chains=n_chains, progress=False, **options
        )
    seconds = time.process_time() - start
    made = n * often * run.settled.sizes["draw"] * n_chains
    row = {"problem": name, "d": d, "sampler": which, "gradients": budget * n_chains}
    worst = 1.0
    for short, observable in OBSERVABLES.items():
        values = run.settled[observable].to_numpy()
        values = values.mean(-1) if values.ndim == 3 else values
        row[short] = round(made / float(arviz.ess(values)), 1)
        row[f"{short} mean"] = round(float(values.mean()), 4)
        worst = max(worst, float(arviz.rhat(values)))
    row |= {
        "max rhat": round(worst, 2),
        "acceptance": round(run.mean("acceptance"), 2),
        "step": round(run.mean("step_size"), 4),
        "seconds": round(seconds, 1),
        "q2 draws a second": round(budget * n_chains / seconds / row["q2"], 2),
    }
    return row


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--d", type=int, default=40)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--samplers", default=",".join(KERNELS))
    parser.add_argument("--budget", type=int, default=20_000, help="gradients a chain")
    parser.add_argument("--csv", type=Path, help="file that rows are added to")
    asked = parser.parse_args(arguments)
    for name in asked.problems.split(","):
        rows = {which: measure(name, asked.d, which, asked.budget) for which in asked.samplers.split(",")}
        for which, row in rows.items():
            print(
                f"{name:11s} d = {asked.d}  {which:8s} gradients a draw:",
                "  ".join(f"{short} {row[short]:7.0f}" for short in OBSERVABLES),
                f" max R̂ {row['max rhat']:.2f}  q2 draws a second {row['q2 draws a second']:.2f}",
                flush=True,
            )
            if asked.csv:
                is_new = not asked.csv.exists()
                with asked.csv.open("a", newline="") as file:
                    writer = csv.DictWriter(file, row)
                    if is_new:
                        writer.writeheader()
                    writer.writerow(row)
        if len(rows) == 2:
            ratios = {short: rows["before"][short] / rows["default"][short] for short in OBSERVABLES}
            print(f"{name:11s} fewer by:", "  ".join(f"{s} {np.round(r, 1)}" for s, r in ratios.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
