"""Transitions, continuation against independent solves, a 60 x 60 (γ, α) diagram: ReLU, four readout values.

The diagram runs on all cores. Processor time is what counts when other work shares the machine: divided by
the number of workers it is the wall time of an idle one.
"""

import os
import resource
import time

import numpy as np

import widthwise as ww

PROBLEM = ww.Problem("relu", readouts="four-point", channel=0.1)


def measure(n_gamma, n_alpha, has_lines):
    """Wall time and processor time of this process and its workers."""

    def used():
        return sum(
            resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )

    start, before = time.perf_counter(), used()
    data = ww.phase_diagram(
        PROBLEM,
        gamma=np.linspace(0.1, 1.5, n_gamma),
        alpha=np.geomspace(0.05, 20, n_alpha),
        has_lines=has_lines,
    )
    wall = time.perf_counter() - start
    for _ in range(50):  # the time of workers counts once they have ended
        time.sleep(0.1)
    assert data.attrs["is_complete"] and data.attrs["n_failed"] == 0
    return wall, used() - before


def transitions_time(gamma):
    """Processor time of the transitions of a problem that is seen for the first time."""
    problem = PROBLEM.replace(gamma=gamma)
    start = time.process_time()
    ww.transitions(problem, alpha_max=10.0)
    return time.process_time() - start


def continuation(n_alpha=40):
    """Processor time of a learning curve, which follows its branches, and of points that share nothing."""
    alpha = np.geomspace(0.05, 20, n_alpha)
    start = time.process_time()
    curve = ww.learning_curve(PROBLEM.replace(gamma=0.71), alpha)
    together = time.process_time() - start
    # A width that differs in the thirteenth digit is another problem, of which nothing is known yet.
    start = time.process_time()
    alone = [ww.solve(PROBLEM.replace(gamma=0.71 * (1 + 1e-13 * (i + 1))), a) for i, a in enumerate(alpha)]
    apart = time.process_time() - start
    worst = max(abs(s.excess_error / e - 1) for s, e in zip(alone, curve.excess_error, strict=True))
    return together, apart, worst


def main():
    ww.solve(PROBLEM, 1.0)  # the kernel of the activation is tabulated once
    for gamma in (0.12, 0.7):
        best = min(transitions_time(gamma * (1 + 1e-6 * i)) for i in range(3))
        print(f"transitions at gamma = {gamma}: {best:.2f} s of processor time (wanted: 1)")
    together, apart, worst = continuation()
    print(
        f"learning curve of 40 points: {together:.2f} s by continuation, {apart:.2f} s independently: "
        f"{apart / together:.0f} times as fast (values differ by {worst:.0e})"
    )
    n_workers = len(os.sched_getaffinity(0))
    for has_lines in (False, True):
        wall, cpu = measure(60, 60, has_lines)
        what = "with lines" if has_lines else "without lines"
        print(
            f"60 x 60 diagram {what}: {wall:.0f} s with {n_workers} workers, {cpu:.0f} s of processor time, "
            f"{cpu / n_workers:.0f} s on idle cores (wanted, with lines: about 60)"
        )


if __name__ == "__main__":
    main()
