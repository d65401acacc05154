"""A small positive definite matrix for every point, compiled: products and inverses, many points on every thread."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from fusewise.kernels.threads import in_ranges

Blocks = npt.NDArray[Any]


def products(blocks: Blocks, vectors: Blocks) -> Blocks:
    """G_i u_i, for blocks N x r x r and vectors N x r."""
    n, r = vectors.shape
    out = np.empty((n, r), np.result_type(blocks, vectors))
    in_ranges(n, r * r, lambda begin, end: _products(blocks, vectors, out, begin, end))
    return out


def inverses(blocks: Blocks, shift: Blocks) -> Blocks:
    """(G_i + t_i I)^-1 of Hermitian G_i (N x r x r), each sum positive definite."""
    n, r, _ = blocks.shape
    out = np.empty_like(blocks, order="C")
    in_ranges(n, r**3, lambda begin, end: _inverses(blocks, shift, out, begin, end))
    return out


#: Sums may be taken in any order, so that they run on vector units.
_compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@_compiled
def _products(blocks: Any, vectors: Any, out: Any, begin: int, end: int) -> None:
    r = vectors.shape[1]
    for i in range(begin, end):
        for k in range(r):
            total = out.dtype.type(0)
            for j in range(r):
                total += blocks[i, k, j] * vectors[i, j]
            out[i, k] = total


@_compiled
def _inverses(blocks: Any, shift: Any, out: Any, begin: int, end: int) -> None:
    """Gauss and Jordan's elimination in place; pivots of positive definite matrices need no search."""
    r = blocks.shape[1]
    for i in range(begin, end):
        a = out[i]
        for k in range(r):
            for j in range(r):
                a[k, j] = blocks[i, k, j]
            a[k, k] += shift[i]
        for k in range(r):
            pivot = 1 / a[k, k]
            a[k, k] = 1
            for j in range(r):
                a[k, j] *= pivot
            for m in range(r):
                if m != k:
                    factor = a[m, k]
                    a[m, k] = 0
                    for j in range(r):
                        a[m, j] -= factor * a[k, j]
