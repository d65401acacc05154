"""Operations of the loop along a graph, in tensors: Triton kernels on a GPU, torch operations elsewhere."""

from __future__ import annotations

import warnings
from typing import Any

from fusewise.kernels.arrays import Array

#: Numbers in one block of differences between the ends of edges.
BLOCK = 2**27


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
    step = max(1, BLOCK // points.shape[1])
    for start in range(0, len(s), step):
        some = slice(start, start + step)
        s[some] = (points.index_select(0, first[some]) - points.index_select(0, second[some])).square_().sum(1)
    return s


def laplacian(indptr: Array, indices: Array, data: Array, degree: Array, points: Array) -> Array:
    """L u: d_i u_i - sum_j w_ij u_j."""
    kernels = triton_kernels(points.device)
    if kernels is not None:
        return kernels.laplacian(indptr, indices, data, degree, points)
    return degree[:, None] * points - sparse_rows(indptr, indices, data) @ points


def row_weights(indptr: Array, indices: Array, edges: Array, weight: Array) -> tuple[Array, Array]:
    """The weights w_ij of edges in compressed sparse rows, and d_i = sum_j w_ij.

    Parameters
    ----------
    indptr, indices : the rows.
    edges : the edge at each place of the rows.
    weight : weight of each edge.
    """
    kernels = triton_kernels(weight.device)
    if kernels is not None:
        found: tuple[Array, Array] = kernels.row_weights(indptr, edges, weight)
        return found
    data = weight.index_select(0, edges)
    ones = weight.new_ones((len(indptr) - 1, 1))
    return data, (sparse_rows(indptr, indices, data) @ ones)[:, 0]


def sparse_rows(indptr: Array, indices: Array, data: Array) -> Array:
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
