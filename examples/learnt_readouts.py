"""Readouts fixed to the teacher's against learnt ones: how the difference falls with d.

The paper fixes the readouts and claims that learning them changes nothing at leading order. Here HMC and Adam
do both on the same instances (ReLU, Gaussian readouts, gamma = 0.5, noise 0.3, alpha = 2; the chains start on
the teacher, Adam at random). Learning k readouts beside kd weights should cost a fraction of order 1/d of the
error. Writes ``learnt_readouts.csv`` beside this file: means over instances, and the relative difference
(learnt - fixed)/fixed with its standard error over the instances.

    python examples/learnt_readouts.py
"""

import csv
import math
import sys
import warnings
from pathlib import Path

import numpy as np

import widthwise as ww
from widthwise.learners import NotAtEquilibrium, adam, hmc
from widthwise.networks import sample_instance

TABLE = Path(__file__).with_suffix(".csv")
PROBLEM = ww.Problem("relu", readouts="gaussian", channel=0.3, gamma=0.5)
ALPHA = 2.0
N_INSTANCES = {15: 16, 30: 12, 60: 6}
LEARNERS = {
    "hmc": (hmc, {"iterations": 600, "record_every": 10, "step_size": 0.03}),
    "adam": (adam, {"iterations": 400, "record_every": 4, "learning_rate": 0.03}),
}
COLUMNS = ("learner", "d", "instances", "observable", "fixed", "learnt", "difference", "standard_error")
OBSERVABLES = ("excess_error", "matrix_overlap_centred", "overlap_1")


def observe(run) -> tuple[float, ...]:
    """Excess error, centred overlap of the matrices, and Q_1 (the linear part), over the settled run."""
    first = run.settled["overlap_power"].sel(order=1).mean()
    return run.excess_error, run.matrix_overlap_centred, float(first)


def rows_for(learner: str, d: int):
    """One row for each observable."""
    run, options = LEARNERS[learner]
    seen = []
    for seed in range(N_INSTANCES[d]):
        instance = sample_instance(PROBLEM, d, ALPHA, seed)
        runs = [run(instance, learn_readouts=learn, seed=seed, **options) for learn in (False, True)]
        seen.append([observe(one) for one in runs])
    fixed, learnt = np.array(seen).transpose(1, 0, 2)
    for i, name in enumerate(OBSERVABLES):
        difference = learnt[:, i] - fixed[:, i]
        error = difference.std(ddof=1) / math.sqrt(difference.size)
        scale = abs(fixed[:, i].mean())
        numbers = (fixed[:, i].mean(), learnt[:, i].mean(), difference.mean() / scale, error / scale)
        yield (learner, d, difference.size, name, *(f"{number:.4g}" for number in numbers))


def main() -> None:
    warnings.simplefilter("ignore", NotAtEquilibrium)
    sizes = [int(word) for word in sys.argv[1:]] or list(N_INSTANCES)
    rows = []
    for learner in LEARNERS:
        for d in sizes:
            for row in rows_for(learner, d):
                rows.append(row)
                print(*row, flush=True)
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
