"""Small matrices side by side, the many of them last: compiled loops over these do several at once."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

#: Matrices worked on at once: long enough for the loops over them to be worth entering, and all in the nearest cache.
LANES = 64


@numba.njit(cache=True, nogil=True, error_model="numpy")
def factorise(lower: Any, pivot: Any, shift: float, n: int) -> None:
    """R with R R' = C + shift I in place of the lower triangles of the first n matrices C (r x r x lanes).

    But for the diagonals: one over these goes to `pivot` (r x lanes).
    """
    r = lower.shape[0]
    for i in range(r):
        for j in range(i + 1):
            for k in range(j):
                for c in range(n):
                    lower[i, j, c] -= lower[i, k, c] * lower[j, k, c]
            for c in range(n):
                if i == j:
                    pivot[i, c] = 1 / np.sqrt(shift + lower[i, i, c])
                else:
                    lower[i, j, c] *= pivot[j, c]
