"""Loops over the edges of a graph: lengths, weights, the Laplacian, components and spanning forests.

Those that also take torch tensors hand them to ``_tensors``.

Loops over many edges or rows run over ranges of these without Python's global lock, so that ranges run on threads;
compilation without numba's own threads takes half a second, once for each precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from fusewise.kernels import _tensors
from fusewise.kernels._arrays import Array, Index, Real, Values, beside, to_host
from fusewise.kernels._compiling import compiled

Integers = npt.NDArray[np.integer[Any]]


def edge_squares(points: Array, first: Array, second: Array) -> Array:
    """||a_i - a_j||² for every edge (i, j)."""
    if not isinstance(points, np.ndarray):
        return _tensors.edge_squares(points, first, second)
    s = np.empty(len(first), points.dtype)
    _edge_squares.in_ranges(len(first), points.shape[1], points, first, second, s)
    return s


def row_weights(indptr: Array, indices: Array, edges: Array, weights: Array) -> tuple[Array, Array]:
    """The weights w_ij of edges in compressed sparse rows (each edge is in two of them), and d_i = sum_j w_ij."""
    if not isinstance(weights, np.ndarray):
        return _tensors.row_weights(indptr, indices, edges, weights)
    n, data = len(indptr) - 1, weights[edges]
    return data, sparse.csr_matrix((data, indices, indptr), (n, n)) @ np.ones(n, weights.dtype)


def laplacian(indptr: Array, indices: Array, data: Array, degree: Array, points: Array) -> Array:
    """L u: d_i u_i - sum_j w_ij u_j."""
    if not isinstance(points, np.ndarray):
        return _tensors.laplacian(indptr, indices, data, degree, points)
    out = np.empty(points.shape, points.dtype)
    work = (len(indices) * points.shape[1]) // max(len(out), 1)
    _laplacian.in_ranges(len(out), work, indptr, indices, data, degree, points, out)
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


def components(n: int, first: Integers, second: Integers) -> Index:
    """The connected component of each of n points, numbered by their first points, along edges between two of them."""
    return connected_components(_matrix(n, first, second, np.ones(len(first))), directed=False)[1].astype(np.intp)


def spanning_forest(n: int, first: Array, second: Array, lengths: Array) -> Array:
    """The edges of the minimum spanning forest of n points, from the ends and length of each edge, all different.

    Of edges of equal length the first is taken.
    """
    if not isinstance(lengths, np.ndarray):
        return beside(spanning_forest(n, *map(to_host, (first, second, lengths))), lengths)
    order = np.argsort(lengths, kind="stable")
    ranks = np.empty(len(order))  # instead of lengths, as SciPy takes 0 for no edge
    ranks[order] = np.arange(1, len(order) + 1)
    chosen = minimum_spanning_tree(_matrix(n, first, second, ranks)).data
    return order[np.sort(chosen).astype(np.intp) - 1]


def sum_by(groups: Index, n_groups: int, rows: Values) -> Values:
    """Sum the rows of each group."""
    members = sparse.csr_matrix((np.ones(len(rows), rows.dtype), (groups, np.arange(len(rows)))), (n_groups, len(rows)))
    return np.asarray(members @ rows)


def by_rows(n: int, first: Integers, second: Integers) -> tuple[Integers, Integers, Integers]:
    """The neighbours of each of n points in compressed rows: where each begins, its points and their edges."""
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    rows = _matrix(n, *ends, np.tile(np.arange(len(first), dtype=np.int32), 2))
    return rows.indptr, rows.indices, rows.data


def merged_edges(
    groups: Index, n_groups: int, first: Integers, second: Integers, affinity: Real
) -> tuple[Index, Index, Real]:
    """Ends (the smaller number first) and affinities of the edges between groups; those of parallel edges add up."""
    a, b = groups[first], groups[second]
    apart = a != b
    merged = _matrix(n_groups, np.minimum(a, b)[apart], np.maximum(a, b)[apart], affinity[apart]).tocoo()
    return merged.row.astype(np.intp), merged.col.astype(np.intp), merged.data


def _matrix(n: int, rows: Any, columns: Any, values: Any) -> Any:
    return sparse.csr_matrix((values, (rows, columns)), shape=(n, n))


def spanning_tree(points: Real) -> tuple[Index, Index, Real]:
    """Ends and lengths of the N - 1 edges of the minimum spanning tree of N points (Prim's algorithm).

    Cut at a length, it gives the groups of single linkage at that height. O(N² P) time, O(N) memory.
    """
    first, second, squares = _prim(np.ascontiguousarray(points))
    return first, second, np.sqrt(squares)


@compiled(shapes=("N P",))
def _prim(points: Any) -> Any:
    n, p = points.shape
    first, second = np.empty(max(n - 1, 0), np.intp), np.empty(max(n - 1, 0), np.intp)
    squares = np.empty(max(n - 1, 0), points.dtype)
    outside = np.arange(1, n)  # points not yet in the tree, in the first `left` places
    nearest = np.zeros(n, np.intp)  # for each of them, the nearest point of the tree
    shortest = np.full(n, np.inf, points.dtype)
    last = 0
    for left in range(n - 1, 0, -1):
        best = 0
        for place in range(left):
            j = outside[place]
            square = points.dtype.type(0)
            for q in range(p):
                difference = points[last, q] - points[j, q]
                square += difference * difference
            if square < shortest[j]:
                shortest[j], nearest[j] = square, last
            if shortest[j] < shortest[outside[best]]:
                best = place
        last = outside[best]
        outside[best] = outside[left - 1]
        edge = n - 1 - left
        first[edge], second[edge], squares[edge] = nearest[last], last, shortest[last]
    return first, second, squares
