"""Inverses of positive definite matrices by LAPACK's Cholesky routines, called without Python's global lock.

They need a third of the work of ``numpy.linalg.inv``, and keep single precision. SciPy's wrappers hold the lock, so
that threads would wait for each other.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt


def inverses_in_place(matrices: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """C^-1 of symmetric positive definite matrices (..., n, n), float32 or float64, written over them.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.
    """
    stack = np.ascontiguousarray(matrices)
    size = stack.shape[-1]
    order, info = ctypes.byref(ctypes.c_int(size)), ctypes.c_int()
    for address in range(stack.ctypes.data, stack.ctypes.data + stack.nbytes, size * size * stack.itemsize or 1):
        for routine in _routines(stack.dtype.char):
            # LAPACK stores by columns: its upper triangle is our lower one.
            routine(b"U", order, address, order, ctypes.byref(info))
            if info.value:
                raise np.linalg.LinAlgError(f"a matrix of order {size} is not positive definite")
    upper = stack.swapaxes(-1, -2)
    np.copyto(upper, stack, where=np.tri(size, k=-1, dtype=bool))
    return stack


@cache
def _routines(kind: str) -> tuple[Any, Any]:
    """Routines that factor a matrix and invert it from the factor: xPOTRF and xPOTRI for "f" or "d"."""
    from numba.extending import get_cython_function_address  # slow to import

    number = ctypes.POINTER(ctypes.c_int)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_char_p, number, ctypes.c_void_p, number, number)
    prefix = {"f": "s", "d": "d"}[kind]
    factor, invert = (
        signature(get_cython_function_address("scipy.linalg.cython_lapack", prefix + name))
        for name in ("potrf", "potri")
    )
    return factor, invert
