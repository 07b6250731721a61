"""Random problems with fresh seeds, every invariant on each: ``make fuzz N=200``.

Prints each violation with lines that show it again, and at the end the counts of every kind of ingredient,
the times and the slowest ten. Exit code 1 if anything was violated. Options: see ``--help``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy is loaded: one thread a process

import numpy as np  # noqa: E402

from checking import Report, check_problem, core_seconds  # noqa: E402
from random_problems import random_problem  # noqa: E402

# Processor seconds of an idle core for all that is asked of one problem: of up to 16 sizes of readouts, and
# of more, which may have a hundred transitions with checks on both sides of each.
_LIMIT, _LIMIT_OF_MANY, _MANY = 120.0, 400.0, 16
# Of more sizes than this there may be hundreds of transitions, each with searches along the numbers of learnt
# ones: how long the list takes is told, but nothing is promised.
_MOST_TIMED = 64
_N_OF_ONE_PROCESS = 100
_MOST_TOLD = 6  # violations of one problem that are printed, and seeds of one status: many have one cause


@dataclass
class Outcome:
    """What a worker sends back."""

    seed: int
    text: str
    kinds: dict[str, str]
    report: Report
    seconds: float


class TooSlow(BaseException):
    """The processor time of one problem is used up; not an Exception, so that no check takes it for one."""


def run(seed: int, limit: float = _LIMIT, idle: float = 0.0) -> Outcome:
    """All checks of one seed, within a limit of processor time; ``idle`` tells how quick an idle core is."""
    drawn, rng = drawn_from(seed)
    report = Report(idle=idle)
    law = drawn.problem.readouts
    n_sizes = np.unique(np.abs(law.told_apart)).size if law.is_discrete else 0
    if n_sizes > _MANY:
        limit *= _LIMIT_OF_MANY / _LIMIT
    limit *= report.slowdown
    start = time.process_time()

    def stop(*_: object) -> None:
        raise TooSlow

    old = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        check_problem(drawn, rng, report=report)
    except TooSlow:
        if n_sizes > _MOST_TIMED and report.doing.startswith("transition"):
            report.gave_up.append(f"{report.doing}: not done after {limit:.0f} s")
        elif report.doing != "exhaustive":  # the search may take its time; the package may not
            report.violations.append(f"{report.doing}: not done after {limit:g} s of processor time")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, old)
    return Outcome(seed, drawn.text, drawn.kinds, report, time.process_time() - start)


def drawn_from(seed: int):
    """The problem of a seed, and the generator that goes on from there."""
    rng = np.random.default_rng(seed)
    return random_problem(rng), rng


def main(arguments: list[str] | None = None) -> int:
    """Run the problems asked for; the exit code."""
    parser = argparse.ArgumentParser(description="Check the invariants of the theory on random problems.")
    parser.add_argument("-n", type=int, default=200, help="how many problems (default 200)")
    parser.add_argument("--seed", type=int, help="the first seed (default: fresh); the others follow it")
    parser.add_argument("--workers", type=int, default=2, help="processes (default 2; 1 runs in this one)")
    parser.add_argument("--limit", type=float, default=_LIMIT, help="processor seconds for each problem")
    options = parser.parse_args(arguments)
    first = options.seed
    if first is None:
        first = int(np.random.SeedSequence().generate_state(1)[0]) // 1000 * 1000
    seeds = range(first, first + options.n)
    print(f"seeds {seeds.start} to {seeds.stop - 1}", file=sys.stderr)
    outcomes: list[Outcome] = []
    idle = core_seconds()
    try:
        for outcome in _outcomes(seeds, options.workers, options.limit, idle):
            outcomes.append(outcome)
            _tell(outcome, len(outcomes), options.n)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    except BrokenProcessPool:
        print(f"a process died (short of memory?); seeds from {seeds.start} on were under way")
        print(summary(outcomes))
        return 1
    print(summary(outcomes))
    return int(any(o.report.violations for o in outcomes))


def _outcomes(seeds, workers, limit, idle):
    if workers == 1:
        yield from (run(seed, limit, idle) for seed in seeds)
        return
    # A process keeps the tables of every problem that it has solved: each is replaced in time, when it has
    # done its share. (An executor that replaces them one by one, by max_tasks_per_child, may wait for ever.)
    shares = iter([seeds[i : i + _N_OF_ONE_PROCESS] for i in range(0, len(seeds), _N_OF_ONE_PROCESS)])
    under_way: dict[Future[Outcome], tuple[ProcessPoolExecutor, Iterator[int]]] = {}

    def go_on(pool: ProcessPoolExecutor | None, rest: Iterator[int]) -> None:
        """The next seed of a share, or the first of another one in a new process."""
        seed = next(rest, None)
        if seed is None:
            if pool is not None:
                pool.shutdown(wait=False)
            share = next(shares, None)
            if share is None:
                return
            pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=_quiet)
            seed, *others = share
            rest = iter(others)
        assert pool is not None
        under_way[pool.submit(run, seed, limit, idle)] = pool, rest

    try:
        for _ in range(workers):
            go_on(None, iter(()))
        while under_way:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                go_on(*under_way.pop(future))
                yield future.result()
    finally:
        for pool, _ in under_way.values():
            pool.shutdown(wait=False, cancel_futures=True)


def _quiet() -> None:
    """Ctrl-C is for the process that prints the summary; a worker ends with its problem."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _tell(outcome: Outcome, n_done: int, n_all: int) -> None:
    if n_done % max(1, n_all // 20) == 0:
        print(f"{n_done}/{n_all}", file=sys.stderr)
    if not outcome.report.violations:
        return
    print(f"\n# seed {outcome.seed}: again with  make fuzz N=1 SEED={outcome.seed}\n{outcome.text}")
    place = re.search(r"alpha=([-+.\de]+)", " ".join(outcome.report.violations))
    if place:
        print(f"print(*ww.solutions(problem, {place.group(1)}), sep='\\n')")
    for text in outcome.report.violations[:_MOST_TOLD]:
        print(f"# - {' '.join(text.split())}")
    if len(outcome.report.violations) > _MOST_TOLD:
        print(f"# - and {len(outcome.report.violations) - _MOST_TOLD} more")
    sys.stdout.flush()


def summary(outcomes: list[Outcome]) -> str:
    """Counts by kind, times, and the slowest ten."""
    if not outcomes:
        return "no problem was finished"
    bad = [o for o in outcomes if o.report.violations]
    refused = [o for o in outcomes if o.report.refused]
    gave_up: dict[str, Counter[int]] = {}
    for o in outcomes:
        for status in o.report.gave_up:
            gave_up.setdefault(status, Counter())[o.seed] += 1
    lines = [f"\n{len(outcomes)} problems, {len(bad)} with a violation, {len(refused)} refused"]
    for status, points in gave_up.items():
        told = ", ".join(f"{seed} ({n})" for seed, n in points.most_common(_MOST_TOLD))
        rest = f" and {len(points) - _MOST_TOLD} more" if len(points) > _MOST_TOLD else ""
        lines.append(f"gave up at {points.total()} points: {status}; seeds {told}{rest}")
    lines += [f"refused (seed {o.seed}): {o.report.refused}" for o in refused]
    for part in ("weights", "readouts", "channel", "activation"):
        counts = Counter(o.kinds[part] for o in outcomes)
        wrong = Counter(o.kinds[part] for o in bad)
        told = ", ".join(
            f"{kind} {n}" + (f" ({wrong[kind]} bad)" if wrong[kind] else "")
            for kind, n in counts.most_common()
        )
        lines.append(f"{part:<10} {told}")
    names = Counter(name for o in outcomes for name in o.report.seconds)
    lines.append(f"{'processor seconds':<22} {'median':>8} {'90 %':>8} {'99 %':>8} {'most':>8} {'count':>6}")
    for name in names:
        times = [o.report.seconds[name] for o in outcomes if name in o.report.seconds]
        marks = np.percentile(times, [50, 90, 99, 100])
        lines.append(f"{name:<22} " + " ".join(f"{t:8.3f}" for t in marks) + f" {len(times):6d}")
    lines.append("slowest (all checks, one solution, transitions)")
    for o in sorted(outcomes, key=lambda o: -o.seconds)[:10]:
        parts = [
            sum(t for key, t in o.report.seconds.items() if key.startswith(name))
            for name in ("first", "transitions")
        ]
        kinds = ", ".join(o.kinds.values())
        lines.append(f"  {o.seconds:7.2f} {parts[0]:7.2f} {parts[1]:7.2f}  seed {o.seed}: {kinds}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
