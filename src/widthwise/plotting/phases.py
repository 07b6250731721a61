"""Names of the phases in a diagram, and where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..problem import Problem
from ..theory.setting import readout_classes

__all__ = ["phase_name", "phase_places"]

_LEAST = 0.03  # of the diagram: smaller phases get no name


def phase_name(problem: Problem, n_learnt: int) -> str:
    """A phase by what is learnt in it: the units of the ``n_learnt`` largest |readouts|."""
    classes = readout_classes(problem)
    if n_learnt == 0:
        return "universal"
    if classes is None or n_learnt >= np.count_nonzero(classes.sizes):
        return "specialised" if classes is None or classes.sizes.size == 1 else "all units learnt"
    return f"|v| ≥ {classes.sizes[n_learnt - 1]:.3g} learnt"


def phase_places(
    phase: np.ndarray, first: Sequence[float], second: ArrayLike, problem: Problem
) -> list[tuple[str, float, float]]:
    """(name, place on the first axis, on the second) of each phase that fills enough of a diagram.

    ``phase`` is the number of classes learnt, over both axes. The place is the point furthest from where
    another phase begins, and from the frame.
    """
    from scipy.ndimage import distance_transform_edt

    xs, ys = np.asarray(first), np.asarray(second)
    places = []
    for n in np.unique(phase[np.isfinite(phase)]):
        own = phase == n
        if own.mean() < _LEAST:
            continue
        # A name is wider than high: steps along the first axis count less.
        room = distance_transform_edt(np.pad(own, 1), sampling=(0.5 / xs.size, 1 / ys.size))[1:-1, 1:-1]
        i, j = np.unravel_index(int(np.argmax(room)), room.shape)
        places.append((phase_name(problem, int(n)), float(xs[i]), float(ys[j])))
    return places
