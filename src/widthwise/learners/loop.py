"""The loop that every iterative learner shares: records, progress, Ctrl-C, time limit, checkpoint and resume.

A learner supplies a :class:`Chain`, which knows how to advance and how to save itself; the loop does the
rest.
"""

from __future__ import annotations

import math
import os
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..networks.instance import Instance
from ..networks.observables import N_ORDERS, Observer
from .checkpoint import Checkpoint
from .progress import Progress, progress_bar
from .run import Run

if TYPE_CHECKING:
    import xarray

__all__ = ["Chain", "run_chain"]

_N_DRAWS = 8  # kept from the second half of a run, to compare replicas
_FIRST_LOOK = 40  # records before a run that goes on until equilibrium asks for the first time


class Chain(Protocol):
    """One learner at work, possibly on several chains at once."""

    settings: dict[str, Any]
    """Its own options: a checkpoint is gone on with only if they are the same."""
    patience: int | None
    """For what is not a sampler: records without a better network after which to stop."""

    @property
    def weights(self) -> np.ndarray:
        """Current weights, chain × k × d."""
        ...

    @property
    def readouts(self) -> np.ndarray | None:
        """Current readouts, chain × k; None where they are the teacher's."""
        ...

    def advance(self, n_iterations: int) -> dict[str, np.ndarray]:
        """Go on; return statistics of these iterations, one number for each chain."""
        ...

    def save(self) -> dict[str, np.ndarray]:
        """Everything needed to go on exactly as if nothing had happened."""
        ...

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        """Take back what :meth:`save` gave."""
        ...


def run_chain(
    chain: Chain,
    *,
    learner: str,
    instance: Instance,
    iterations: int,
    record_every: int,
    is_matched: bool,
    settings: dict[str, Any],
    progress: Progress = None,
    checkpoint: str | os.PathLike[str] | None = None,
    max_seconds: float | None = None,
    discard: float = 0.5,
    is_sampler: bool = True,
    width: int | None = None,
    until: str | None = None,
) -> Run:
    """Advance ``chain`` to ``iterations``, observing it every ``record_every``, and gather the result.

    With ``checkpoint``, the state is written there now and then and at the end; a run that finds its own
    file goes on from it and ends exactly as one that was never stopped. What is not a sampler returns the
    best network it passed through, by its exact error or by samples it has held out.

    With ``until="equilibrium"`` it stops when nothing speaks against equilibrium any more. It looks at
    certain numbers of records only, and at nothing but these, so that a run that was stopped and went on ends
    where one that was not does.
    """
    start = time.perf_counter()
    observer = Observer(instance, is_matched=is_matched, width=width)
    book = _Book(observer, is_sampler, keeps_all=until is not None)
    settings = settings | chain.settings | ({} if until is None else {"until": until})
    file = Checkpoint(checkpoint, learner, instance, {**settings, "record_every": record_every})
    saved = file.read()
    if saved is None:
        done = 0
        book.add(0, chain, {})
    else:
        done = int(saved.pop("done"))
        book.restore(saved)
        chain.restore(saved)
    status = "done"
    last = (done, chain.save())

    def gathered() -> Run:
        return Run(
            learner=learner,
            instance=instance,
            trace=book.dataset(),
            status=status,
            weights=np.array(chain.weights if is_sampler else book.best["weights"]),
            readouts=_readouts(chain) if is_sampler else book.best.get("readouts"),
            draws=book.kept(book.draws),
            draw_readouts=book.kept(book.draw_readouts),
            is_sampler=is_sampler,
            is_best_kept=not is_sampler,
            discard=discard,
            timings={"seconds": time.perf_counter() - start, "iterations": float(done)},
            settings=settings,
        )

    with progress_bar(learner, done, iterations, progress) as show:
        try:
            while done < iterations:
                if until is not None and book.is_time_to_look() and gathered().is_at_equilibrium:
                    status = "at equilibrium"
                    break
                if max_seconds is not None and time.perf_counter() - start > max_seconds:
                    status = "out of time"
                    break
                step = min(record_every, iterations - done)
                statistics = chain.advance(step)
                done += step
                book.add(
                    done, chain, statistics, keep=is_sampler and (until is not None or 2 * done > iterations)
                )
                last = (done, chain.save())
                show(done, book.latest())
                file.write_now_and_then(*last, book.save)
                if chain.patience is not None and book.n_since_best() >= chain.patience:
                    status = "stopped early"
                    break
        except KeyboardInterrupt:
            status = "interrupted"
            chain.restore(dict(last[1]))
    file.write(*last, book.save())
    return gathered()


def _readouts(chain: Chain) -> np.ndarray | None:
    return None if chain.readouts is None else np.array(chain.readouts)


class _Book:
    """Records so far: one row an observation, a few draws of the second half, and the best network."""

    def __init__(self, observer: Observer, is_sampler: bool, keeps_all: bool = False) -> None:
        self.observer = observer
        self.is_sampler = is_sampler
        self.keeps_all = keeps_all
        """Whether draws of the first half are kept too, for a run that may end at any time."""
        self.iterations: list[int] = []
        self.rows: list[dict[str, np.ndarray]] = []
        self.draws: list[np.ndarray] = []
        self.draw_readouts: list[np.ndarray] = []
        self.draw_times: list[int] = []
        self.stride = 1
        self.n_offered = 0
        self.best: dict[str, np.ndarray] = {}

    def add(self, done: int, chain: Chain, statistics: dict[str, np.ndarray], keep: bool = False) -> None:
        readouts = [None] * len(chain.weights) if chain.readouts is None else chain.readouts
        seen = [self.observer(w, v) for w, v in zip(chain.weights, readouts, strict=True)]
        row = {name: np.array([one[name] for one in seen]) for name in seen[0]}
        if self.is_sampler and len(seen) > 1:
            row["chain_distance"] = self.observer.distances(chain.weights, readouts, row)
        if not self.is_sampler:
            row["excess_error"] = row["gibbs_excess_error"].copy()  # a predictor answers for its own error
        self.rows.append(row | {name: np.asarray(value, dtype=float) for name, value in statistics.items()})
        self.iterations.append(done)
        error = row["excess_error"]
        if chain.settings.get("held_out"):  # nothing is known of the start: it is never the best
            error = statistics.get("held_out_loss", np.full(error.shape, np.inf))
        self._note_best(error, chain)
        if keep:
            self._offer(done, chain)

    def _note_best(self, error: np.ndarray, chain: Chain) -> None:
        """Keep, for each chain, the network of lowest error (or loss on held-out samples) so far."""
        now = {
            "error": error.copy(),
            "record": np.full(len(error), len(self.rows) - 1),
            "weights": np.array(chain.weights),
        }
        if chain.readouts is not None:
            now["readouts"] = np.array(chain.readouts)
        if not self.best:
            self.best = now
        better = now["error"] < self.best["error"]
        for name, value in now.items():
            self.best[name][better] = value[better]

    def n_since_best(self) -> int:
        return len(self.rows) - 1 - int(self.best["record"].max())

    def is_time_to_look(self) -> bool:
        """Whether the number of records is one of 40, 48, 58, ...: each a fifth more than the one before."""
        looked = _FIRST_LOOK
        while looked < len(self.rows):
            looked = math.ceil(1.2 * looked)
        return looked == len(self.rows)

    def _offer(self, done: int, chain: Chain) -> None:
        """Keep every stride-th draw, and double the stride when there are too many."""
        if self.n_offered % self.stride == 0:
            self.draw_times.append(done)
            self.draws.append(np.array(chain.weights, dtype=np.float32))
            if chain.readouts is not None:
                self.draw_readouts.append(np.array(chain.readouts, dtype=np.float32))
        self.n_offered += 1
        if len(self.draws) > (4 if self.keeps_all else 2) * _N_DRAWS:
            self.draws, self.draw_readouts = self.draws[::2], self.draw_readouts[::2]
            self.draw_times = self.draw_times[::2]
            self.stride *= 2

    def latest(self) -> dict[str, float]:
        return {key: float(np.mean(self.rows[-1].get(key, np.nan))) for key in ("excess_error", "acceptance")}

    def kept(self, draws: list[np.ndarray]) -> np.ndarray | None:
        """Draws of the second half of the run so far."""
        if self.keeps_all:
            late = [2 * time > self.iterations[-1] for time in self.draw_times]
            draws = [draw for draw, is_late in zip(draws, late, strict=False) if is_late]
        return np.stack(draws, axis=1) if draws else None

    def arrays(self) -> dict[str, np.ndarray]:
        """Columns, draw by draw; what was not recorded at an iteration is NaN."""
        names = list(dict.fromkeys(name for row in reversed(self.rows) for name in row))
        columns = {}
        for name in names:
            like = next(row[name] for row in self.rows if name in row)
            columns[name] = np.stack(
                [row.get(name, np.full(like.shape, np.nan)) for row in self.rows], axis=1
            )
        return columns

    def dataset(self) -> xarray.Dataset:
        import xarray

        extra = {"overlap_power": ("order",), "weight_overlap": ("readout",)}
        columns = self.arrays()
        n_chains = columns["excess_error"].shape[0]
        coordinates = {
            "chain": np.arange(n_chains),
            "draw": np.array(self.iterations),
            "order": np.arange(1, N_ORDERS + 1),
            "readout": self.observer.groups.values,
        }
        variables = {
            name: (("chain", "draw", *extra.get(name, ())), value) for name, value in columns.items()
        }
        return xarray.Dataset(variables, coords=coordinates)

    def save(self) -> dict[str, np.ndarray]:
        saved = {f"trace:{name}": value for name, value in self.arrays().items()}
        saved |= {f"best:{name}": value for name, value in self.best.items()}
        saved["book:iterations"] = np.array(self.iterations)
        saved["book:draws"] = np.array(self.draws)
        saved["book:draw_readouts"] = np.array(self.draw_readouts)
        saved["book:draw_times"] = np.array(self.draw_times, dtype=int)
        saved["book:counts"] = np.array([self.stride, self.n_offered])
        return saved

    def restore(self, saved: dict[str, np.ndarray]) -> None:
        self.iterations = [int(i) for i in saved.pop("book:iterations")]
        self.draws = list(saved.pop("book:draws"))
        self.draw_readouts = list(saved.pop("book:draw_readouts"))
        self.draw_times = [int(i) for i in saved.pop("book:draw_times")]
        self.stride, self.n_offered = (int(i) for i in saved.pop("book:counts"))
        self.best = {
            key.removeprefix("best:"): saved.pop(key) for key in list(saved) if key.startswith("best:")
        }
        names = [key for key in saved if key.startswith("trace:")]
        columns = {key.removeprefix("trace:"): saved.pop(key) for key in names}
        self.rows = [{name: c[:, i] for name, c in columns.items()} for i in range(len(self.iterations))]
