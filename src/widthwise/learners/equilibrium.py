"""Whether the draws of a sampler can be from the posterior.

Nothing proves it. Three things disprove it: chains, or halves of one, that do not agree (split R̂), too few
independent draws to tell, and two replicas that contradict the overlap with the teacher (Nishimori). Chains
from both sides, ``start="both"``, make the first sharp: where one start is metastable they never meet.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["MOST_R_HAT", "LEAST_DRAWS", "Equilibrium", "agreement", "nishimori"]

MOST_R_HAT = 1.1
"""Split R̂ above which chains are said to disagree: a spread of their means of about half a draw's."""
LEAST_DRAWS = 20.0
"""Independent draws below which nothing can be said."""
# How far half the Gibbs excess may be from what two replicas give: in units of the scatter of single draws,
# and as a fraction that is not worth a word.
_MOST_SCATTERS = 3.0
_LEAST_FRACTION = 0.02
_LEAST_RECORDS = 8  # after what is discarded; a quarter of a chain is the least that ArviZ compares


@dataclass(frozen=True)
class Equilibrium:
    """The verdict on a run, true if nothing speaks against equilibrium."""

    r_hat: dict[str, float] = field(default_factory=dict)
    """Split R̂ of each observable; NaN for too few records."""
    effective_draws: dict[str, float] = field(default_factory=dict)
    """Independent draws that all chains together are worth, by each observable."""
    objections: tuple[str, ...] = ()
    """What speaks against equilibrium, in words."""

    def __bool__(self) -> bool:
        return not self.objections

    def __repr__(self) -> str:
        verdict = "; ".join(self.objections) or "nothing speaks against it"
        return f"Equilibrium({bool(self)}: {verdict})"


def agreement(observables: dict[str, np.ndarray]) -> Equilibrium:
    """Split R̂ and effective draws of observables, each an array chain × draw, and what they object.

    Observables that are not numbers (data without a teacher have no overlap) are left out.
    """
    import arviz

    observables = {name: values for name, values in observables.items() if np.isfinite(values).all()}
    if not observables:
        return Equilibrium(objections=("no observable is a number throughout",))

    split_r_hat: Any = arviz.rhat
    ess: Any = arviz.ess
    r_hat, draws, objections = {}, {}, []
    for name, values in observables.items():
        n_records = values.shape[-1]
        if n_records < _LEAST_RECORDS:
            few = f"only {n_records} records after what is discarded"
            nan = dict.fromkeys(observables, float("nan"))
            return Equilibrium(nan, dict(nan), (few,))
        if np.ptp(values) == 0:  # as when every weight is found: nothing is left to disagree on
            r_hat[name], draws[name] = 1.0, float(values.size)
            continue
        is_stuck = bool(np.all(np.ptp(values, axis=-1) == 0))
        with np.errstate(divide="ignore", invalid="ignore"):  # halves that stand still have no variance
            r_hat[name] = float("inf") if is_stuck else float(split_r_hat(_at_least_two(values)))
            draws[name] = 0.0 if is_stuck else float(ess(values))
        if not r_hat[name] <= MOST_R_HAT:
            objections.append(f"chains or their halves disagree on {name} (split R̂ = {r_hat[name]:.2f})")
        elif not draws[name] >= LEAST_DRAWS:
            objections.append(
                f"{name} has {draws[name]:.0f} independent draws, of {LEAST_DRAWS:.0f} asked for"
            )
    return Equilibrium(r_hat, draws, tuple(objections))


def _at_least_two(values: np.ndarray) -> np.ndarray:
    """The chains, or the halves of a single one: ArviZ compares no fewer than two."""
    half = values.shape[-1] // 2
    return values[:, -2 * half :].reshape(2, half) if len(values) == 1 else values


def nishimori(half_gibbs: float, replicas: float, scatter: float) -> tuple[str, ...]:
    """Objection where half the Gibbs excess and the two-replica formula differ.

    At equilibrium the teacher is one more draw of the posterior. For one instance the two numbers then differ
    as the teacher does from a typical draw, by at most the scatter of single draws: three times that is
    called a disagreement. (The standard error of the mean would be too strict: the teacher stays the same
    however long the chain is.)
    """
    if not (np.isfinite(replicas) and np.isfinite(scatter)):
        return ()
    if abs(replicas - half_gibbs) <= max(_MOST_SCATTERS * scatter, _LEAST_FRACTION * half_gibbs):
        return ()
    return (f"half the Gibbs excess is {half_gibbs:.3g}, two replicas give {replicas:.3g}",)
