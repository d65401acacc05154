"""Many small symmetric matrices at once, in tensors: one tensor for each entry of the lower triangle.

The counterpart of ``kernels.lanes`` on a device. Every operation runs over all matrices, so the time is that of reading
and writing memory; batched solvers take several times as long for matrices of a few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fusewise.kernels.arrays import Array


class LowerFactor(NamedTuple):
    """L of A = L L'.

    Attributes
    ----------
    below : below[a][b] is L_ab for b < a.
    pivots : the 1 / L_aa.
    """

    below: list[list[Array]]
    pivots: list[Array]

    @property
    def log_det(self) -> Array:
        """log det A."""
        return sum((-2 * pivot.log() for pivot in self.pivots[1:]), -2 * self.pivots[0].log())

    def whitened(self, vector: Sequence[Array]) -> list[Array]:
        """L^-1 x, a tensor for each entry of x."""
        found: list[Array] = []
        for entry, row, pivot in zip(vector, self.below, self.pivots, strict=True):
            found.append(_less(entry, row, found) * pivot)
        return found

    def inverse(self) -> list[list[Array]]:
        """A^-1 = M' M with M = L^-1: its entries (a, b), b <= a, row by row."""
        r = len(self.pivots)
        columns: list[list[Array]] = []  # of M, from the diagonal down
        for b in range(r):
            column = [self.pivots[b]]
            for a in range(b + 1, r):
                column.append(-_dot(self.below[a][b:], column) * self.pivots[a])
            columns.append(column)
        return [[_dot(columns[a], columns[b][a - b :]) for b in range(a + 1)] for a in range(r)]


def factorised(entries: Iterable[Array], shift: float = 0.0) -> LowerFactor:
    """Factorise A + shift I, from the entries (a, b) of A, b <= a, row by row."""
    import torch

    below: list[list[Array]] = []
    pivots: list[Array] = []
    row: list[Array] = []
    for entry in entries:
        if len(row) < len(pivots):
            row.append(_less(entry, row, below[len(row)]) * pivots[len(row)])
        else:
            pivots.append(_less(entry + shift, row, row).clip(torch.finfo(entry.dtype).tiny).rsqrt())
            below.append(row)
            row = []
    return LowerFactor(below, pivots)


def squares_of(vector: Sequence[Array]) -> Array:
    """|x|²."""
    return _dot(vector, vector)


def _dot(left: Sequence[Array], right: Sequence[Array]) -> Array:
    """sum_k left_k right_k, up to the length of the shorter list."""
    found = left[0] * right[0]
    for x, y in zip(left[1:], right[1:], strict=False):
        found = found.addcmul_(x, y)
    return found


def _less(start: Array, left: Sequence[Array], right: Sequence[Array]) -> Array:
    """start - sum_k left_k right_k, up to the length of the shorter list."""
    for x, y in zip(left, right, strict=False):
        start = start.addcmul(x, y, value=-1)
    return start
