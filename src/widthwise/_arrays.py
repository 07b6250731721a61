"""Types of arrays, by what they hold; the shapes are in the docstrings."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Complex", "Integers"]

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Complex = NDArray[np.complex128]
Integers = NDArray[np.intp]
