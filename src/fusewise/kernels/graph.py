"""Compiled loops over the edges of a graph: squared lengths, weights gathered by rows, and the Laplacian.

Each loops over a range of edges or rows without Python's global lock, so that ranges run on threads; compilation
without numba's own threads takes half a second, once for each precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.compiling import compiled
from fusewise.kernels.threads import in_ranges
from fusewise.kernels.types import Real

Integers = npt.NDArray[np.integer[Any]]


def edge_squares(points: Real, first: Integers, second: Integers) -> Real:
    """||a_i - a_j||² for every edge (i, j)."""
    s = np.empty(len(first), points.dtype)
    in_ranges(len(first), points.shape[1], lambda begin, end: _edge_squares(points, first, second, s, begin, end))
    return s


def gather(weights: Real, indptr: Integers, edges: Integers) -> tuple[Real, Real]:
    """Weights of the edges in row order (each edge is in two rows), and their sums by rows."""
    data = np.empty(len(edges), weights.dtype)
    degree = np.empty(len(indptr) - 1, weights.dtype)
    in_ranges(len(degree), 16, lambda begin, end: _gather(weights, indptr, edges, data, degree, begin, end))
    return data, degree


def laplacian(indptr: Integers, indices: Integers, data: Real, degree: Real, points: Real) -> Real:
    """L u: d_i u_i - sum_j w_ij u_j."""
    out = np.empty(points.shape, points.dtype)
    work = (len(indices) * points.shape[1]) // max(len(out), 1)
    in_ranges(
        len(out), work, lambda begin, end: _laplacian(indptr, indices, data, degree, points, out, begin, end)
    )  # fmt: skip
    return out


@compiled(shapes=("N P", "E", "E", "E", "", ""))
def _edge_squares(points: Any, first: Any, second: Any, s: Any, begin: int, end: int) -> None:
    for e in range(begin, end):
        a, b = points[first[e]], points[second[e]]
        square = points.dtype.type(0)
        for p in range(points.shape[1]):
            difference = a[p] - b[p]
            square += difference * difference
        s[e] = square


@compiled(shapes=("edges", "ends", "halves", "halves", "N", "", ""))
def _gather(weights: Any, indptr: Any, edges: Any, data: Any, degree: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        row = weights.dtype.type(0)
        for e in range(indptr[i], indptr[i + 1]):
            data[e] = weights[edges[e]]
            row += data[e]
        degree[i] = row


@compiled(shapes=("ends", "halves", "halves", "N", "N P", "N P", "", ""))
def _laplacian(indptr: Any, indices: Any, data: Any, degree: Any, points: Any, out: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        row = out[i]
        for p in range(points.shape[1]):
            row[p] = degree[i] * points[i, p]
        for e in range(indptr[i], indptr[i + 1]):
            w = data[e]
            other = points[indices[e]]
            for p in range(points.shape[1]):
                row[p] -= w * other[p]
