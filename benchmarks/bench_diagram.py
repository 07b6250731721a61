"""A 60 x 60 (γ, α) diagram of ReLU networks with four readout values, on all cores.

Processor time is what counts when other work shares the machine: divided by the number of workers it is the
wall time of an idle one.
"""

import os
import resource
import time

import numpy as np

import widthwise as ww


def measure(n_gamma, n_alpha, has_lines):
    """Wall time and processor time of this process and its workers."""

    def used():
        return sum(
            resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )

    start, before = time.perf_counter(), used()
    data = ww.phase_diagram(
        ww.Problem("relu", readouts="four-point", channel=0.1),
        gamma=np.linspace(0.1, 1.5, n_gamma),
        alpha=np.geomspace(0.05, 20, n_alpha),
        has_lines=has_lines,
    )
    wall = time.perf_counter() - start
    for _ in range(50):  # the time of workers counts once they have ended
        time.sleep(0.1)
    assert data.attrs["is_complete"] and data.attrs["n_failed"] == 0
    return wall, used() - before


def main():
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
