"""Types of the solver's arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
"""Indices and counts."""
Bools = NDArray[np.bool_]
