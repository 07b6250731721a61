"""What the learning curve can show: fields of a solution, and other measures of error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ingredients.channels import Channel
from ..theory.errors import error
from ..theory.solution import LearningCurve

__all__ = ["QUANTITIES", "Quantity", "allowed", "values_of"]


@dataclass(frozen=True)
class Quantity:
    """A quantity of a solution: its word, its symbol and what it means."""

    word: str
    symbol: str
    meaning: str
    measure: str = ""
    """The measure of :func:`widthwise.error` behind it; empty for a field of a solution."""
    kind: str = "bayes"

    @property
    def label(self) -> str:
        return f"{self.word} {self.symbol}".strip()


QUANTITIES: dict[str, Quantity] = {
    "excess_error": Quantity(
        "excess error", "ε<sub>opt</sub> − Δ", "what the best predictor loses to not knowing the weights"
    ),
    "bayes_error": Quantity("Bayes error", "ε<sub>opt</sub>", "mean-square error of the best predictor"),
    "gibbs_error": Quantity("Gibbs error", "ε<sub>Gibbs</sub>", "mean-square error of one posterior draw"),
    "zero-one": Quantity("0–1 error", "", "share of wrong labels of the best classifier", "zero-one"),
    "zero-one-gibbs": Quantity(
        "0–1 error of one draw", "", "share of wrong labels of one posterior draw", "zero-one", "gibbs"
    ),
    "cross-entropy": Quantity("cross-entropy", "(nats)", "of the predictive law of a label", "cross-entropy"),
    "absolute": Quantity("absolute error", "", "mean distance of a label from the median", "absolute"),
    "matrix_overlap_centred": Quantity(
        "matrix overlap", "q₂ − γv̄²", "overlap of S = WᵀDᵥW/√k with the teacher's, from 0 to 1"
    ),
    "free_entropy": Quantity("free entropy", "f<sub>RS</sub>", "nats per sample; the branch on top wins"),
    "mutual_information": Quantity(
        "mutual information", "I/(kd)", "between the weights and the data, nats per weight"
    ),
}


def allowed(name: str, channel: Channel) -> str:
    """Why a quantity has no meaning for a channel; empty if it has one."""
    if name not in QUANTITIES:
        return f"Unknown quantity {name!r}."
    if QUANTITIES[name].measure == "zero-one" and not channel.is_discrete:
        return "The 0–1 error needs labels that are classes: choose sign, probit or logistic labels."
    return ""


def values_of(curve: LearningCurve, name: str) -> np.ndarray:
    """A quantity along a curve."""
    quantity = QUANTITIES[name]
    if not quantity.measure:
        return np.asarray(getattr(curve, name), dtype=float)
    return np.asarray(error(curve, quantity.measure, quantity.kind), dtype=float)
