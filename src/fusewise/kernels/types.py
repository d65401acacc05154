"""Type aliases of the arrays that all packages pass around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]  # positions: of rows, columns or pairs
Labels = NDArray[np.intp]  # the cluster of each row; -1: none
Mask = NDArray[np.bool_]  # true where observed, or selected
Floats = NDArray[np.float64]  # real numbers in double precision
Real = NDArray[np.floating[Any]]  # real numbers in single or double precision
Values = NDArray[Any]  # float32, float64, complex64 or complex128
