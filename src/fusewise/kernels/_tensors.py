"""The kernels in torch tensors: edges, the Laplacian and small symmetric matrices.

On a GPU the loops along a graph are Triton kernels, elsewhere torch operations. Small matrices are factorised with one
tensor for each entry of the lower triangle, so that every operation runs over all matrices and the time is that of
reading and writing memory; batched solvers take several times as long for matrices of a few rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fusewise.kernels._arrays import Array

#: Numbers in one block of differences between the ends of edges.
EDGE_BLOCK = 2**27


def triton_kernels(device: Any) -> Any:
    """The Triton kernels; None if Triton cannot run it."""
    try:
        from triton import knobs

        from fusewise.kernels import _triton
    except ImportError:
        return None
    return _triton if device.type == "cuda" or knobs.runtime.interpret else None


def edge_squares(points: Array, first: Array, second: Array) -> Array:
    """||u_i - u_j||² of every edge (i, j)."""
    kernels = triton_kernels(points.device)
    if kernels is not None and points.shape[1] <= kernels.LARGEST_POINT:
        return kernels.edge_squares(points, first, second)
    s = points.new_empty(len(first))
    step = max(1, EDGE_BLOCK // points.shape[1])
    for start in range(0, len(s), step):
        some = slice(start, start + step)
        s[some] = (points.index_select(0, first[some]) - points.index_select(0, second[some])).square_().sum(1)
    return s


def laplacian(indptr: Array, indices: Array, data: Array, degree: Array, points: Array) -> Array:
    """L u: d_i u_i - sum_j w_ij u_j."""
    kernels = triton_kernels(points.device)
    if kernels is not None:
        return kernels.laplacian(indptr, indices, data, degree, points)
    return degree[:, None] * points - _sparse_rows(indptr, indices, data) @ points


def row_weights(indptr: Array, indices: Array, edges: Array, weight: Array) -> tuple[Array, Array]:
    """The weights w_ij of edges in compressed sparse rows, and d_i = sum_j w_ij."""
    data = weight.index_select(0, edges)
    ones = weight.new_ones((len(indptr) - 1, 1))
    return data, (_sparse_rows(indptr, indices, data) @ ones)[:, 0]


def _sparse_rows(indptr: Array, indices: Array, data: Array) -> Array:
    """Build a square sparse tensor from compressed rows."""
    import torch

    n = len(indptr) - 1
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse (CSR tensor support|invariant checks)")
        return torch.sparse_csr_tensor(indptr, indices, data, (n, n), check_invariants=False)


def block_products(blocks: Array, points: Array) -> Array:
    """G_i u_i for symmetric blocks."""
    kernels = triton_kernels(points.device)
    if kernels is not None and points.shape[1] <= kernels.LARGEST_BLOCK:
        return kernels.block_products(blocks, points)
    return (blocks @ points[:, :, None])[:, :, 0]


def block_inverses(blocks: Array, shift: Array) -> Array:
    """(G_i + t_i I)^-1 for symmetric positive definite sums."""
    import torch

    kernels = triton_kernels(blocks.device)
    if kernels is not None and blocks.shape[1] <= kernels.LARGEST_BLOCK:
        return kernels.block_inverses(blocks, shift)
    system = blocks.clone()
    system.diagonal(dim1=1, dim2=2).add_(shift[:, None])
    return torch.linalg.inv_ex(system)[0]


class LowerFactor(NamedTuple):
    """L of A = L L'."""

    below: list[list[Array]]  # below[a][b] is L_ab for b < a
    pivots: list[Array]  # the 1 / L_aa

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
