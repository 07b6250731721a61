r"""What a learner returns: observables along the run, and the summary that a prediction is compared with.

The words are those of a solution of the theory. For a sampler ``excess_error`` is half the Gibbs excess of
its draws (at equilibrium, the error of the posterior mean); for a predictor it is the predictor's own.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._display import Plotted
from .._extras import explained
from ..networks.instance import Instance
from ..networks.observables import Observer, fresh_error
from .equilibrium import Equilibrium, agreement, nishimori

if TYPE_CHECKING:
    import xarray

__all__ = ["NotAtEquilibrium", "Run"]

_JUDGED = ("matrix_overlap_centred", "weight_overlap", "excess_error")  # the slowest to settle


class NotAtEquilibrium(UserWarning):
    """The draws of a sampler are not from the posterior, or too few to tell: see ``Run.equilibrium``."""


@dataclass
class Run(Plotted):
    """Result of one learner on one instance.

    ``trace`` has the dimensions chain and draw (the iteration), and one variable for each observable.
    """

    learner: str
    instance: Instance
    trace: xarray.Dataset
    status: str
    """``"done"``, ``"at equilibrium"`` (before the iterations were used up), ``"stopped early"``, ``"out of
    time"`` or ``"interrupted"`` (by Ctrl-C)."""
    weights: np.ndarray | None = None
    """Last state (best one for Adam), chain × k × d; None for a learner that has no weights."""
    readouts: np.ndarray | None = None
    """Readouts of the student, chain × k; None where they are the teacher's."""
    draws: np.ndarray | None = None
    """A few draws of the second half, chain × draw × k × d, for comparing replicas."""
    draw_readouts: np.ndarray | None = None
    """Readouts of ``draws``, chain × draw × k; None where they are the teacher's."""
    is_sampler: bool = True
    is_best_kept: bool = False
    """Whether the result is the best network passed through (early stopping), not the last."""
    discard: float = 0.5
    """Fraction of the run that the averages leave out."""
    timings: dict[str, float] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Run({self.learner}, d={self.instance.d}, alpha={self.instance.alpha:g}, "
            f"status={self.status!r}, excess_error={self.excess_error:.4g}, "
            f"matrix_overlap_centred={self.matrix_overlap_centred:.4g})"
        )

    @cached_property
    def settled(self) -> xarray.Dataset:
        """The part of the trace that is averaged; for a predictor, its last entry or the best one."""
        n = self.trace.sizes["draw"]
        if self.is_best_kept:
            by = "held_out_loss" if "held_out_loss" in self.trace else "excess_error"
            best = self.trace[by].argmin("draw")
            return self.trace.isel(draw=best).drop_vars("draw").expand_dims(draw=[int(best.max())], axis=1)
        first = min(n - 1, int(np.ceil(self.discard * n))) if self.is_sampler else n - 1
        return self.trace.isel(draw=slice(first, None))

    def mean(self, name: str) -> Any:
        """Average of an observable over chains and the settled part of the run."""
        if name not in self.trace:
            recorded = ", ".join(map(str, self.trace.data_vars))
            raise KeyError(f"{self.learner} does not record {name!r}; it records {recorded}")
        value = self.settled[name].mean(("chain", "draw")).to_numpy()
        return value if value.ndim else float(value)

    @explained
    def standard_error(self, name: str) -> float:
        """Statistical error of :meth:`mean` for a scalar observable, from the effective sample size."""
        values = self.settled[name].to_numpy()
        if values.shape[-1] < 4:
            return float("nan")
        if np.ptp(values) == 0:
            return 0.0
        import arviz

        ess: Any = arviz.ess
        return float(values.std(ddof=1) / np.sqrt(max(1.0, float(ess(values)))))

    @property
    def excess_error(self) -> float:
        """Comparable with a solution's ``excess_error``."""
        return float(self.mean("excess_error"))

    @property
    def gibbs_excess_error(self) -> float:
        """E(λ - λ⁰)² of one network: a draw of a sampler, or the predictor itself."""
        return float(self.mean("gibbs_excess_error")) if "gibbs_excess_error" in self.trace else float("nan")

    @property
    def matrix_overlap_centred(self) -> float:
        """1 - ‖S - S⁰‖²/(2d²), averaged."""
        return float(self.mean("matrix_overlap_centred"))

    @property
    def weight_overlap(self) -> np.ndarray:
        """𝒬_W(v), one entry for each of ``readout_values``."""
        return np.atleast_1d(self.mean("weight_overlap"))

    @property
    def readout_values(self) -> np.ndarray:
        """Readout value (or mean of a bin) that each entry of ``weight_overlap`` belongs to."""
        return self.trace["readout"].to_numpy()

    @cached_property
    def test_error(self) -> float:
        """Mean-square error on fresh labels of the last network of each chain, averaged; with the noise."""
        if self.weights is None:
            return float("nan")
        readouts = [None] * len(self.weights) if self.readouts is None else self.readouts
        pairs = zip(self.weights, readouts, strict=True)
        return float(np.mean([fresh_error(self.instance, w, v) for w, v in pairs]))

    @cached_property
    def replicas(self) -> dict[str, float]:
        """Observables of pairs of draws: between chains if there are several, else a quarter of a run apart.

        ``excess_error`` is K⁰⁰ - 2K⁰¹ + K¹². Between independent chains it is the error of their mean, in
        equilibrium or not; draws of one chain that mixes slowly are too alike, which makes it too large.
        """
        if self.draws is None or self.draws.shape[0] * self.draws.shape[1] < 2:
            return {key: float("nan") for key in ("excess_error", "teacher_overlap", "replica_overlap")}
        n_chains, n_draws = self.draws.shape[:2]
        observer = Observer(self.instance)
        half = n_draws // 2
        pairs = [((c, t), (c + 1, t)) for c in range(n_chains - 1) for t in range(n_draws)]
        pairs = pairs or [((0, t), (0, t + half)) for t in range(n_draws - half)]
        values = [observer.replicas(self._draw(one), self._draw(two)) for one, two in pairs]
        return {key: float(np.mean([value[key] for value in values])) for key in values[0]}

    def _draw(self, where: tuple[int, int]) -> tuple[np.ndarray, np.ndarray | None]:
        assert self.draws is not None
        return self.draws[where], None if self.draw_readouts is None else self.draw_readouts[where]

    @cached_property
    def equilibrium(self) -> Equilibrium:
        """What can be said of the draws of a sampler: R̂, effective draws, objections; nothing for others."""
        if not self.is_sampler:
            return Equilibrium()
        # Data without a teacher have no overlaps, only an energy.
        is_known = bool(np.isfinite(self.settled["excess_error"]).all())
        judged = _JUDGED if is_known else ("energy",)
        seen = {name: self.settled[name] for name in judged if name in self.settled}
        averaged = {name: v.mean("readout") if "readout" in v.dims else v for name, v in seen.items()}
        found = agreement({name: v.to_numpy() for name, v in averaged.items()})
        told = nishimori(self.excess_error, self.replicas["excess_error"], self._scatter)
        return replace(found, objections=told + found.objections)

    @property
    def is_at_equilibrium(self) -> bool:
        """Whether nothing speaks against equilibrium, see :attr:`equilibrium`; not a proof."""
        return bool(self.equilibrium)

    @property
    def _scatter(self) -> float:
        """Standard deviation of the excess error of single draws, about the mean of each half of a chain."""
        values = self.settled["excess_error"].to_numpy()
        if values.shape[-1] < 4:
            return float("nan")
        halves = np.array_split(values, 2, axis=-1)
        return float(np.sqrt(np.mean([np.var(half, axis=-1, ddof=1) for half in halves])))

    def warn_if_not_at_equilibrium(self) -> None:
        """Warn when the draws cannot be from the posterior, or are too few to tell."""
        if not self.is_at_equilibrium:
            warnings.warn(
                f"{self.learner} is not at equilibrium, or too short to tell: "
                f"{'; '.join(self.equilibrium.objections)}; run longer, or start on the teacher",
                NotAtEquilibrium,
                stacklevel=3,
            )

    def moving_average(self, name: str, window: int = 10) -> np.ndarray:
        """Mean of the last ``window`` records of a scalar observable, at each record; chain × draw."""
        total = np.cumsum(self.trace[name].to_numpy(), axis=-1)
        shifted = np.concatenate([np.zeros((total.shape[0], window)), total[:, :-window]], axis=1)[
            :, : total.shape[1]
        ]
        return np.asarray((total - shifted) / np.minimum(np.arange(1, total.shape[1] + 1), window))

    @explained
    def to_inference_data(self) -> Any:
        """The settled observables as ArviZ takes them, for R-hat, effective sizes and plots.

        An ``InferenceData``, or from ArviZ 1.0 on the ``DataTree`` that has taken its place.
        """
        import arviz

        statistics = [name for name in ("acceptance", "energy", "step_size", "drift") if name in self.settled]
        groups = {"posterior": self.settled.drop_vars(statistics)}
        if statistics:
            groups["sample_stats"] = self.settled[statistics]
        kind: Any = arviz.InferenceData
        return kind.from_dict(groups) if hasattr(kind, "from_dict") else kind(**groups)

    def summary(self) -> dict[str, Any]:
        """The row of a table: settings, status and averages."""
        scalars = [name for name, value in self.trace.items() if set(value.dims) <= {"chain", "draw"}]
        return {
            "learner": self.learner,
            "d": self.instance.d,
            "alpha": self.instance.alpha,
            "seed": self.instance.seed,
            "status": self.status,
            **{str(name): float(self.mean(str(name))) for name in scalars},
            "weight_overlap": self.weight_overlap.tolist(),
            "readout_values": self.readout_values.tolist(),
        }
