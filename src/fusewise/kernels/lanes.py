"""Small matrices side by side, the many of them last: compiled loops over these do several at once.

A matrix is r x r x lanes, and an entry of it a row of lanes, which lie side by side in memory: loops over a slice of a
larger array, whose step the compiler cannot know, would take twice as long. Four products at a time share the way of
their sum to memory and back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.compiling import compiled

Blocks = npt.NDArray[Any]

#: Matrices worked on at once: long enough for the loops over them to be worth entering, and all in the nearest caches.
LANES = 128


def inverse_roots(matrices: Blocks) -> tuple[Blocks, Blocks]:
    """R^-1 with R R^H = C, R lower triangular, and log det C of a few Hermitian C (r x r x lanes), by NumPy.

    With C bordered by a row c and a corner, R has the row y = R^-1 c and the corner d = sqrt(corner - |y|²) below it,
    and its inverse -(y^H R^-1) / d and 1 / d.
    """
    r, _, n = matrices.shape
    roots, log_det = np.zeros_like(matrices), np.zeros(n)
    for i in range(r):
        before, corner = roots[:i, :i], matrices[i, i].real
        row = np.einsum("kn,jkn->jn", matrices[i, :i], before.conj())
        # A pivot below rounding is rounding.
        square = np.maximum(corner - np.square(np.abs(row)).sum(axis=0), 1e-15 * corner)
        scale = 1 / np.sqrt(square)
        roots[i, :i] = -scale * np.einsum("jn,jkn->kn", row, before)
        roots[i, i] = scale
        log_det += np.log(square)
    return roots, log_det


@compiled(inline="always")
def accumulate(total: Any, sign: float, a: Any, b: Any, first: int, last: int, n: int) -> None:
    """Add to the total (n lanes) sign (a_k b_k + ...), k from `first` up to `last`."""
    k = first
    while k + 4 <= last:
        a0, a1, a2, a3 = a[k], a[k + 1], a[k + 2], a[k + 3]
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        for c in range(n):
            total[c] += sign * (a0[c] * b0[c] + a1[c] * b1[c] + a2[c] * b2[c] + a3[c] * b3[c])
        k += 4
    while k < last:
        a0, b0 = a[k], b[k]
        for c in range(n):
            total[c] += sign * a0[c] * b0[c]
        k += 1


@compiled(inline="always")
def combine(total: Any, weights: Any, b: Any, first: int, last: int, n: int) -> None:
    """Set the total (n lanes) to w_k b_k + ..., k from `first` up to `last`, the weights alike in all lanes."""
    for c in range(n):
        total[c] = 0.0
    k = first
    while k + 4 <= last:
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        for c in range(n):
            total[c] += w0 * b0[c] + w1 * b1[c] + w2 * b2[c] + w3 * b3[c]
        k += 4
    while k < last:
        w0, b0 = weights[k], b[k]
        for c in range(n):
            total[c] += w0 * b0[c]
        k += 1


@compiled
def factorise(lower: Any, pivot: Any, shift: float, n: int) -> None:
    """R with R R' = C + shift I in place of the lower triangles of the first n matrices C (r x r x lanes).

    But for the diagonals: one over these goes to `pivot` (r x lanes).
    """
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            entry, scale = lower[i, j], pivot[j]
            if i == j:
                for c in range(n):
                    scale[c] = 1e-15 * (shift + entry[c])
            accumulate(entry, -1.0, lower[i], lower[j], 0, j, n)
            if i == j:
                for c in range(n):
                    scale[c] = 1 / np.sqrt(max(shift + entry[c], scale[c]))  # a pivot below rounding is rounding
            else:
                for c in range(n):
                    entry[c] *= scale[c]


@compiled
def undo(lower: Any, pivot: Any, undone: Any, n: int) -> None:
    """(R^-1)' of the factors R that ``factorise`` leaves."""
    for i in range(lower.shape[0]):
        scale, diagonal = pivot[i], undone[i, i]
        for c in range(n):
            diagonal[c] = scale[c]
        for j in range(i):
            entry = undone[j, i]
            for c in range(n):
                entry[c] = 0.0
            accumulate(entry, -1.0, lower[i], undone[j], j, i, n)
            for c in range(n):
                entry[c] *= scale[c]
