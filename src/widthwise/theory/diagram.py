"""Phase diagrams: the equilibrium and its rivals over two parameters, and the lines between phases.

A row (all α of one problem) is one task for a worker process (:mod:`diagram_row`). Lines are not read
off the grid: where α is an axis they are :func:`transitions` of each problem, elsewhere the values of the
second axis at which a transition passes the given α; cells that hold a line are resolved further.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from numpy.typing import ArrayLike

from .._display import Shown, draw
from ..problem import Problem
from .diagram_dataset import add_error, dataset
from .diagram_plan import make_plan
from .diagram_row import Row
from .diagram_workers import count_workers, progress_bar, run
from .errors import check_error
from .solution import problem_from

__all__ = ["PhaseDiagram", "phase_diagram"]


class PhaseDiagram(Shown):
    """The equilibrium over two parameters, with the lines between phases: what :func:`phase_diagram` returns.

    The numbers are the variables of an xarray Dataset, ``data``: ``diagram["excess_error"]``,
    ``diagram.sizes``, ``diagram.sel(...)`` and all else of a Dataset can be asked of the diagram itself.
    """

    def __init__(self, data: Any, problem: Problem | None = None) -> None:
        self.data = data
        self.problem = problem_from(data.attrs, problem)
        """What is not varied."""

    @property
    def axes(self) -> tuple[str, str]:
        """Names of the two parameters."""
        first, second = self.data["excess_error"].dims
        return str(first), str(second)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "data":
            raise AttributeError(name)
        return getattr(self.data, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *map(str, self.data)})

    def __repr__(self) -> str:
        first, second = self.axes
        spans = [
            f"{name} {float(x[0]):.4g} to {float(x[-1]):.4g}" for name in self.axes for x in [self.data[name]]
        ]
        error = self.data["excess_error"]
        size = " × ".join(str(self.data.sizes[name]) for name in self.axes)
        return (
            f"<PhaseDiagram {', '.join(spans)}, {size} points, "
            f"excess_error {float(error.min()):.4g} to {float(error.max()):.4g}>"
        )

    def to_xarray(self) -> Any:
        """The Dataset, which plain xarray reads too."""
        return self.data

    @classmethod
    def from_xarray(cls, data: Any, problem: Problem | None = None) -> PhaseDiagram:
        """The diagram of a Dataset that :meth:`to_xarray` made."""
        return cls(data, problem)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a netCDF file, with its problem; :meth:`load` reads it."""
        self.data.to_netcdf(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], problem: Problem | None = None) -> PhaseDiagram:
        """The diagram of a file that :meth:`save` or ``widthwise diagram --netcdf`` wrote."""
        import xarray

        with xarray.open_dataset(path) as data:
            return cls(data.load(), problem)

    def plot(self, quantity: str = "excess_error", ax: Any = None, **options: Any) -> Any:
        """Colours for a quantity, lines for transitions; see ``plotting.plot_phase_diagram``."""
        return draw(self, ax, quantity=quantity, **options)


def phase_diagram(
    problem: Problem,
    *,
    alpha: ArrayLike,
    gamma: ArrayLike | None = None,
    noise: ArrayLike | None = None,
    snr: ArrayLike | None = None,
    parameter: Callable[[float], Problem] | None = None,
    values: ArrayLike | None = None,
    name: str = "parameter",
    theory: str = "main",
    has_lines: bool = True,
    refine: int = 2,
    n_workers: int | None = None,
    show_progress: bool = False,
    error: str | None = None,
) -> PhaseDiagram:
    """The equilibrium over two of α, γ, noise and a parameter of your own.

    Parameters
    ----------
    problem : Problem
        What is not varied.
    alpha : array, or a number
        Samples per squared dimension. As a number it is held fixed, and two others are varied.
    gamma, noise : array, optional
        Hidden units per input k/d; variance of the label noise (of the channel's own kind).
    snr : array, or a number, optional
        Variance of the network's output over that of Gaussian label noise, in place of ``noise``. As a
        number it is held fixed: the noise follows the variance of the output, which may depend on γ.
    parameter : callable, optional
        Gives the problem at each of ``values``, for anything else, e.g.
        ``lambda p: problem.replace(weights=ww.weights.SparseGaussian(p))``, with ``name`` as its
        axis. With ``gamma`` or ``noise`` too, these replace those of the problem it returns.
    has_lines : bool
        Whether to locate the transitions (the larger part of the work).
    refine : int
        How many times a cell of the grid that a line crosses is halved towards the line.
    n_workers : int, optional
        Worker processes; by default one for each core. 1 works in this process.
    show_progress : bool
        A progress bar on stderr.
    error : str, optional
        An error measure to be added, e.g. "zero-one" as ``zero_one_error``; see :func:`solve`.

    Returns
    -------
    PhaseDiagram
        Drawn by ``plot()``, or ``plot("gap")`` and so on for another quantity; kept by ``save`` and ``load``.
        Over the two axes: ``excess_error``, ``universal_error``, their difference ``gap``, ``branch``,
        ``weight_overlap`` (with a dimension ``size`` of |readouts|), ``n_specialised``, which branches
        exist and are stable, ``status``. With α as an axis also the lines, over the other axis and
        ``line``: ``transition_alpha`` with ``transition_kind``, spinodals and jumps, NaN where a line
        does not exist up to 1.5 times the largest α. At fixed α: ``line_first`` and ``line_second``, points
        on the lines with ``line_kind``, ``line_readout`` and ``line_phase``, the number of classes learnt on
        either side. The points that refine the grid are one list, along the dimension ``refined``: their
        place on the two axes, e.g. ``refined_gamma`` and ``refined_alpha``, and all of the above, e.g.
        ``refined_excess_error``; the last two of each crossing are the two sides of the line itself.

    Ctrl-C keeps what is done: the rest is NaN with status "not computed", and the attribute
    ``is_complete`` is 0.
    """
    plan = make_plan(problem, alpha, gamma, noise, parameter, values, name, theory, has_lines, refine, snr)
    if error is not None:
        check_error(plan.rows[0][0], error)
    n_workers = count_workers(n_workers, len(plan.rows))
    rows: dict[int, Row] = {}
    is_complete = True
    with progress_bar(show_progress, len(plan.rows)) as advance:
        try:
            with closing(run(plan, n_workers)) as done:
                for i, row in done:
                    rows[i] = row
                    advance()
        except KeyboardInterrupt:
            is_complete = False
    data = dataset(plan, rows, is_complete)
    return PhaseDiagram(data if error is None else add_error(plan, data, error), plan.problem)
