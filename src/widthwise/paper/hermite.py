"""Hermite coefficients of the activations in the paper's figures."""

from __future__ import annotations

from ..problem import Problem
from .compare import printed_row
from .item import Item, Printed, Tables
from .scales import Settings
from .table import Table

__all__ = ["ITEM"]

NAMES = {"relu": "ReLU(z)", "elu": "ELU(z)", "tanh(2*x)": "tanh(2z)"}
PROBLEMS = {name: Problem(name) for name in NAMES}
COLUMNS = ("mu_0", "mu_1", "mu_2", "mu_3", "mu_4", "second moment")

CUT = "0.644945 was cut, not rounded"

# 1/√(2π) = 0.39894 is printed as a formula.
PRINTED = {
    "relu": ("0.39894", "0.5", "0.39894", "0", "-0.39894", "0.5"),
    "elu": ("0.16052", "0.76158", "0.26158", "-0.13736", "-0.13736", "0.64494"),
    "tanh(2*x)": ("0", "0.72948", "0", "-0.61398", "0", "0.63526"),
}


def theory(settings: Settings) -> Table:
    rows = Table()
    for name, problem in PROBLEMS.items():
        activation = problem.activation
        values = [*(float(mu) for mu in activation.hermite[:5]), float(activation.second_moment)]
        for column, printed, value in zip(COLUMNS, PRINTED[name], values, strict=True):
            row = printed_row("Table 1", column, name, printed, 0.0 if abs(value) < 1e-15 else value, CUT)
            rows.append({"series": name} | row)
    return rows


def as_table(tables: Tables) -> Printed:
    header = ["σ(z)", "μ₀", "μ₁", "μ₂", "μ₃", "μ₄", "E σ(z)²"]
    rows = []
    for name, title in NAMES.items():
        cells = [
            f"{row['ours']:.5f}".replace("-0.00000", "0.00000") for row in tables.theory.where(series=name)
        ]
        rows.append([title, *cells])
    return header, rows


ITEM = Item(
    name="hermite",
    place="Table 1",
    title="Hermite coefficients",
    caption="Coefficients μ_ℓ = E[σ(z) He_ℓ(z)] of three activations, and their second moment.",
    problems=PROBLEMS,
    theory=theory,
    compare=lambda tables: tables.theory,
    table=as_table,
)
