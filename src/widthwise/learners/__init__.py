"""Learners: ``learner(instance, start=..., ...) -> Run``, one signature and one result.

| learner | weights | what comes back |
|---|---|---|
| :func:`hmc` | continuous | draws from the posterior |
| :func:`metropolis` | discrete (any, slowly) | draws from the posterior |
| :func:`adam` | any | the best network passed through |
| :func:`gamp_rie` | any | the predictor that matches the universal branch |

JAX, Numba and the like are imported when a learner runs, not before.
"""

from collections.abc import Callable, Mapping

from .adam import adam
from .equilibrium import Equilibrium
from .gamp_rie import gamp_rie
from .hmc import hmc
from .metropolis import metropolis
from .run import NotAtEquilibrium, Run

__all__ = ["LEARNERS", "Equilibrium", "NotAtEquilibrium", "Run", "adam", "gamp_rie", "hmc", "metropolis"]

LEARNERS: Mapping[str, Callable[..., Run]] = {
    "hmc": hmc,
    "metropolis": metropolis,
    "adam": adam,
    "gamp_rie": gamp_rie,
}
"""Learner by name."""
