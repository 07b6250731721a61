"""Laws of the inputs by name: Gaussian ones (:mod:`input_spectra`) and data (:mod:`input_data`)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .._bad_value import BadValue
from .descriptions import Entry, Table
from .input_data import Data, Digits, FewRowsWarning, File, Mnist, Photographs, centred, from_data
from .input_spectra import (
    Gaussian,
    GaussianOnSpectrum,
    InputLaw,
    Isotropic,
    PowerLaw,
    Spiked,
    require_isotropic,
)

__all__ = [
    "INPUTS",
    "Data",
    "Digits",
    "FewRowsWarning",
    "File",
    "Gaussian",
    "GaussianOnSpectrum",
    "InputLaw",
    "Isotropic",
    "Mnist",
    "Photographs",
    "PowerLaw",
    "Spiked",
    "centred",
    "from_data",
    "require_isotropic",
    "resolve",
]

_TABLE: Table[InputLaw] = Table(
    "inputs",
    InputLaw,
    {
        "isotropic": Entry(Isotropic, aliases=("white",)),
        "power-law": Entry(PowerLaw),
        "spiked": Entry(Spiked),
        "digits": Entry(Digits),
        "photographs": Entry(Photographs),
        "mnist": Entry(Mnist),
        "file": Entry(File),
        "gaussian": Entry(Gaussian, normalised=functools.partial(Gaussian, normalise=True), is_written=False),
    },
    from_values=lambda values, probabilities, normalise: Gaussian(values, probabilities, normalise=normalise),
    unnamed_kind="gaussian",
    other_forms=("eigenvalues@probabilities such as 3,0.5@0.2,0.8", "eigenvalues such as 1.5,0.5"),
)
"""Where a law is added: a name and its constructor."""

INPUTS = tuple(name for name, entry in _TABLE.entries.items() if entry.is_written)
"""Names that :func:`resolve` knows."""


def resolve(spec: Any, *, normalise: bool = False) -> InputLaw:
    """The law that is meant; a flat spectrum is the isotropic one.

    Parameters
    ----------
    spec
        ``"isotropic"``, ``"power-law:1.2,144"``, ``"spiked:4,0.1"``, ``"eigenvalues@probabilities"`` such as
        ``"3,0.5@0.2,0.8"``, a list of eigenvalues, data (``"digits"``, ``"photographs:8"``, ``"mnist"``,
        ``"file:PATH"``), what ``law.spec`` gave, or a law.
    normalise : bool
        Divide eigenvalues by their mean instead of refusing another one than 1.
    """
    if isinstance(spec, np.ndarray) and spec.ndim == 2:
        raise BadValue(
            "inputs", "{field} given as a table of data describe no law", remedy="use inputs.from_data(table)"
        )
    law = _TABLE.read(spec, normalise=normalise)
    return Isotropic() if not law.is_data and len(law.eigenvalues) == 1 else law
