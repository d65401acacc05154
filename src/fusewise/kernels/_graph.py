"""Loops over the edges of a graph: lengths, weights, the Laplacian, components and spanning forests.

Those that also take torch tensors hand them to ``_tensors``.

Loops over many edges or rows run over ranges of these without Python's global lock, so that ranges run on threads;
compilation without numba's own threads takes half a second, once for each precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels import _tensors
from fusewise.kernels._arrays import Array, Index, Real, Values
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
    data = np.empty(len(edges), weights.dtype)
    degree = np.empty(len(indptr) - 1, weights.dtype)
    _gather.in_ranges(len(degree), 16, weights, indptr, edges, data, degree)
    return data, degree


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


def components(n: int, first: Integers, second: Integers) -> Index:
    """The connected component of each of n points, numbered by their first points, along edges between two of them."""
    of_point: Index = _components(np.arange(n), first, second)
    return of_point


def spanning_forest(n: int, first: Array, second: Array, lengths: Array) -> Array:
    """The edges of the minimum spanning forest of n points, from the ends and length of each edge (Borůvka).

    In each round every component takes its shortest edge to another one (of equal ones the first, so that there are no
    cycles), and components so linked become one: at most log2 n rounds, without sorting the edges.
    """
    if not isinstance(lengths, np.ndarray):
        return _tensors.spanning_forest(n, first, second, lengths)
    return _spanning_forest(np.arange(n), first, second, lengths)


def sum_by(groups: Index, n_groups: int, rows: Values) -> Values:
    """Sum the rows of each group."""
    sums = np.zeros((n_groups, rows.shape[1]), rows.dtype)
    parts = rows.real.dtype
    _sum_by(groups, np.ascontiguousarray(rows).view(parts), sums.view(parts))
    return sums


def by_rows(n: int, first: Integers, second: Integers) -> tuple[Integers, Integers, Integers]:
    """The neighbours of each of n points in compressed rows: where each begins, its points and their edges."""
    counts = np.bincount(first, minlength=n) + np.bincount(second, minlength=n)
    begins = np.zeros(n + 1, np.intp)
    np.cumsum(counts, out=begins[1:])
    neighbors, edges = np.empty((2, 2 * len(first)), np.int32 if max(n, len(first)) < 2**31 else np.intp)
    _by_rows(begins[:-1].copy(), first, second, neighbors, edges)
    return begins, neighbors, edges


def merged_edges(
    groups: Index, n_groups: int, first: Integers, second: Integers, affinity: Real
) -> tuple[Index, Index, Real]:
    """Ends (the smaller number first) and affinities of the edges between groups; those of parallel edges add up."""
    a, b = groups[first], groups[second]
    apart = a != b
    a, b, values = np.minimum(a, b)[apart], np.maximum(a, b)[apart], affinity[apart]
    begins = np.zeros(n_groups + 1, np.intp)
    np.cumsum(np.bincount(a, minlength=n_groups), out=begins[1:])
    ends, sums = np.empty((2, len(a)), np.intp), np.empty(len(a), affinity.dtype)
    count = _merged_edges(begins, begins[:-1].copy(), a, b, values, np.full(n_groups, -1), ends[0], ends[1], sums)
    return ends[0, :count].copy(), ends[1, :count].copy(), sums[:count].copy()


@compiled
def _root(parent: Any, i: int) -> int:
    """The root of i in a forest; the path to it is halved on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@compiled(shapes=("N", "E", "E"))
def _components(parent: Any, first: Any, second: Any) -> Any:
    for e in range(len(first)):
        a, b = _root(parent, first[e]), _root(parent, second[e])
        # The root of a component is its first point.
        if a < b:
            parent[b] = a
        else:
            parent[a] = b
    found = 0
    number = np.empty(len(parent), np.intp)
    for i in range(len(parent)):
        root = _root(parent, i)
        if root == i:
            number[i] = found
            found += 1
        else:
            number[i] = number[root]
    return number


@compiled(shapes=("N", "E", "E", "E"))
def _spanning_forest(parent: Any, first: Any, second: Any, lengths: Any) -> Any:
    n = len(parent)
    left = np.arange(len(first))  # edges between components, in the first `count` places
    count = len(first)
    chosen, found = np.empty(max(n - 1, 0), np.intp), 0
    shortest = np.empty(n, np.intp)
    while count > 0:
        shortest[:] = -1
        kept = 0
        for k in range(count):
            e = left[k]
            a, b = _root(parent, first[e]), _root(parent, second[e])
            if a != b:
                left[kept] = e
                kept += 1
                # Edges stay in their order, so of equal ones the first is kept.
                if shortest[a] < 0 or lengths[e] < lengths[shortest[a]]:
                    shortest[a] = e
                if shortest[b] < 0 or lengths[e] < lengths[shortest[b]]:
                    shortest[b] = e
        count = kept
        for i in range(n):
            e = shortest[i]
            if e >= 0:
                a, b = _root(parent, first[e]), _root(parent, second[e])
                if a != b:  # not taken from its other end already
                    parent[max(a, b)] = min(a, b)
                    chosen[found] = e
                    found += 1
    return chosen[:found]


@compiled(shapes=("N", "N P", "K P"))
def _sum_by(groups: Any, rows: Any, sums: Any) -> None:
    for i in range(len(groups)):
        row, total = rows[i], sums[groups[i]]
        for q in range(len(row)):
            total[q] += row[q]


@compiled(shapes=("N", "E", "E", "halves", "halves"))
def _by_rows(places: Any, first: Any, second: Any, neighbors: Any, edges: Any) -> None:
    """`places`: where the next neighbour of each point goes."""
    for e in range(len(first)):
        i, j = first[e], second[e]
        neighbors[places[i]], edges[places[i]] = j, e
        places[i] += 1
        neighbors[places[j]], edges[places[j]] = i, e
        places[j] += 1


@compiled(shapes=("ends", "N", "E", "E", "E", "N", "E", "E", "E"))
def _merged_edges(
    begins: Any, places: Any, a: Any, b: Any, values: Any, where: Any, first: Any, second: Any, sums: Any
) -> int:
    """`where`: the last edge that ends at each point, as a place in the result."""
    order = np.empty(len(a), np.intp)
    for e in range(len(a)):
        order[places[a[e]]] = e
        places[a[e]] += 1
    count = 0
    for i in range(len(where)):
        row = count
        for k in range(begins[i], begins[i + 1]):
            e = order[k]
            j = b[e]
            if where[j] >= row:
                sums[where[j]] += values[e]
            else:
                where[j] = count
                first[count], second[count], sums[count] = i, j, values[e]
                count += 1
    return count


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
