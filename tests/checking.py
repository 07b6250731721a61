"""All invariants on one random problem, at the price of a few dozen solutions.

:func:`check_problem` draws values of α, adds clusters where something happens (units begin to be learnt, the
error jumps, bands of the spectrum split), and applies :mod:`invariants`, :mod:`invariances` and now and
then the exhaustive search of :mod:`exhaustive` to what it gets. Everything random is from one generator, so
that a seed is enough to see a violation again.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

import widthwise as ww
from exhaustive import lacking
from invariances import INVARIANCES
from invariants import alike, bounded, counted, honest, ranked, rising
from random_problems import Drawn, random_alphas
from stationarity import stationary
from transition_checks import transitions_hold

__all__ = ["Effort", "Report", "check_problem", "core_seconds"]

# Refusals that the documentation names, as they begin or go on: the channel cannot be integrated on a grid,
# or units of a continuous law are known exactly.
REFUSALS = ("would need a grid of", "is not computed for readouts with a density")
SLOWEST = 20.0
"""Processor seconds of an idle core for one solution of one problem, its preparation included."""


@dataclass(frozen=True)
class Effort:
    """How much is looked at: shares are probabilities."""

    n_alphas: int = 6
    n_focus: int = 1
    n_rounds: int = 3
    n_solutions: int = 2
    invariance_share: float = 0.35
    transition_share: float = 0.25
    exhaustive_share: float = 0.025


@dataclass
class Report:
    """What came of one problem."""

    violations: list[str] = field(default_factory=list)
    gave_up: list[str] = field(default_factory=list)
    """Statuses other than converged, which are honest."""
    refused: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    """Processor time of each part; "first" is one solution, from nothing."""
    doing: str = ""
    """The part that is under way, or was when the time was up."""
    idle: float = 0.0
    """:func:`core_seconds` when nothing else ran, if that is known."""

    @property
    def slowdown(self) -> float:
        """How much longer things take than on an idle core: processes share caches and units of a core."""
        return max(1.0, core_seconds() / self.idle) if self.idle else 1.0

    @contextmanager
    def step(self, name: str, alpha: object = None) -> Iterator[None]:
        """A part of the checking: its time is kept, and an exception in it is a violation."""
        start, self.doing = time.process_time(), name
        try:
            yield
        except (ValueError, NotImplementedError) as error:
            if any(words in str(error) for words in REFUSALS):
                self.refused = self.refused or str(error)
            else:
                self.violations.append(_told(name, alpha))
        except Exception:
            self.violations.append(_told(name, alpha))
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start


def check_problem(
    drawn: Drawn, rng: np.random.Generator, effort: Effort | None = None, report: Report | None = None
) -> Report:
    """Every invariant that applies, on one problem; a report that is given is filled as it goes."""
    effort, report = effort or Effort(), Report() if report is None else report
    problem = drawn.problem
    # Drawn before anything is solved: the same seed asks the same whatever the solver answers.
    alphas = random_alphas(rng, problem, effort.n_alphas)
    chosen = [check for check in INVARIANCES if rng.random() < effort.invariance_share]
    with_transitions = rng.random() < effort.transition_share
    with_search = rng.random() < effort.exhaustive_share
    rng = np.random.default_rng(rng.integers(2**63))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)  # that the potential is not exact is said, not wrong
        middle = float(alphas[alphas.size // 2])
        first: ww.Solution | None = None
        with report.step("first", middle):
            first = ww.solve(problem, middle)
        if first is None:
            return report
        if report.seconds["first"] > SLOWEST:
            seconds = report.seconds["first"] / report.slowdown
            if seconds > SLOWEST:
                report.violations.append(f"one solution took {seconds:.1f} s of an idle core")
        points = {first.alpha: first}
        with report.step("curve", alphas.tolist()):
            curve = ww.learning_curve(problem, alphas)
            report.violations += alike(next(s for s in curve if s.alpha == middle), first, label="in a curve")
            points |= {s.alpha: s for s in curve}
            for key in _events(problem, list(points.values()), rng)[: effort.n_focus]:
                points |= _focused(problem, points, key, effort.n_rounds)
        with report.step("alone"):
            a = float(rng.choice(sorted(points)))
            report.violations += alike(points[a], ww.solve(problem, a), label="alone")
        along = [points[a] for a in sorted(points)]
        report.gave_up += [s.status for s in along if s.status != "converged"]
        with report.step("points"):
            for s in along:
                report.violations += honest(s) + bounded(s)
            report.violations += rising(along)
        for a in rng.choice(
            sorted(points), size=min(effort.n_solutions, len(points)), replace=False
        ).tolist():
            with report.step("solutions", a):
                there = ww.solutions(problem, a)
                if not there and points[a].status != "converged":
                    continue  # it says so
                report.gave_up += [s.status for s in there if s.status != "converged"]
                report.violations += ranked(there) + counted(there)
                for s in there:
                    report.violations += honest(s) + bounded(s) + stationary(s)
                best = next((s for s in there if s.is_equilibrium), None)
                if best is not None:
                    report.violations += alike(points[a], best, label="among all solutions")
        for check in chosen:
            a = float(rng.choice(sorted(points)))
            with report.step(check.__name__, a):
                variant = check(drawn, rng)
                if variant is not None and points[a].status == "converged":
                    report.violations += alike(
                        points[a],
                        ww.solve(variant.problem, a),
                        rtol=variant.rtol,
                        atol=variant.atol,
                        scale=variant.scale,
                        entropy_shift=variant.entropy_shift,
                        label=f"{check.__name__}, {variant.problem!r}",
                    )
        if with_transitions:
            alpha_max = float(10 * problem.gamma) if rng.random() < 0.7 else float(alphas[-1])
            listed = None
            with report.step(f"transitions, {_n_sizes(problem)}", alpha_max):
                listed = ww.transitions(problem, alpha_max)
            if listed is not None:
                with report.step("transition checks", alpha_max):
                    report.violations += transitions_hold(problem, listed, alpha_max, along)
        if with_search:
            a = float(rng.choice(sorted(points)))
            with report.step("exhaustive", a):
                report.violations += lacking(problem, a, rng)
    return report


def core_seconds() -> float:
    """Processor seconds of a fixed piece of work, of the kind that the solver does: small arrays."""
    x, times = np.linspace(0.1, 1.0, 400), []
    for _ in range(5):
        start = time.process_time()
        for _ in range(2000):
            np.log(np.exp(x) + x).sum()
        times.append(time.process_time() - start)
    return min(times)


def _told(name: str, alpha: object) -> str:
    """The exception that is being handled, with the place in the package where it arose."""
    lines = traceback.format_exc().strip().splitlines()
    places = [line.strip() for line in lines if "widthwise" in line and line.strip().startswith("File")]
    return f"{name} at alpha={alpha!r}: {lines[-1]} ({places[-1] if places else 'outside the package'})"


def _n_sizes(problem: ww.Problem) -> str:
    """How many distinct |v|, in words: what the time of transitions depends on."""
    if not problem.readouts.is_discrete:
        return "density"
    n = np.unique(np.abs(problem.readouts.told_apart)).size
    return next(f"<= {most} |v|" for most in (1, 4, 16, 64, 1000) if n <= most)


# ---------------------------------------------------------------------- where things happen

Key = Callable[[ww.Solution], object]


def _events(problem: ww.Problem, points: list[ww.Solution], rng: np.random.Generator) -> list[Key]:
    """Functions of a solution that change where something happens, in random order."""
    keys: list[Key] = [_n_learnt, _overlap_level]
    splitting = _band_splitting(problem, points)
    if splitting is not None:
        keys.append(lambda s: s.tilt + s.matrix_overlap_hat > splitting)
    return [keys[i] for i in rng.permutation(len(keys))]


def _n_learnt(s: ww.Solution) -> object:
    return int(np.count_nonzero(s.weight_overlap))


def _overlap_level(s: ww.Solution) -> object:
    """In thirds: a jump crosses one."""
    return int(3 * np.max(s.weight_overlap)) if s.status == "converged" else None


def _band_splitting(problem: ww.Problem, points: list[ww.Solution]) -> float | None:
    """A signal-to-noise ratio within reach at which the spectrum of the matrix splits."""
    seen = [s.tilt + s.matrix_overlap_hat for s in points if s.status == "converged"]
    seen = [x for x in seen if 0 < x < 1e12]
    if not seen or not np.isfinite(problem.readouts.largest):
        return None
    denoiser = ww.denoising.MatrixDenoiser(problem.readouts, problem.gamma)
    low, high = np.log(min(seen)), np.log(max(seen))
    few, many = (len(denoiser.support(float(np.exp(x)))) for x in (low, high))
    if few == many:
        return None
    for _ in range(30):
        middle = 0.5 * (low + high)
        if len(denoiser.support(float(np.exp(middle)))) == few:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def _focused(problem: ww.Problem, points: dict[float, ww.Solution], key: Key, n_rounds: int) -> dict:
    """Solutions ever closer to where the key changes, six between two at each round."""
    alphas = sorted(points)
    change = [
        (a, b) for a, b in zip(alphas[:-1], alphas[1:], strict=True) if key(points[a]) != key(points[b])
    ]
    if not change:
        return {}
    low, high = change[len(change) // 2]
    found = {low: points[low], high: points[high]}
    for _ in range(n_rounds):
        inner = np.geomspace(low, high, 8)[1:-1]
        inner = inner[(inner > low) & (inner < high)]
        if inner.size == 0:
            break
        found |= {s.alpha: s for s in ww.learning_curve(problem, inner)}
        at = sorted(a for a in found if low <= a <= high)
        low, high = next(
            (a, b) for a, b in zip(at[:-1], at[1:], strict=True) if key(found[a]) != key(found[b])
        )
    return found
