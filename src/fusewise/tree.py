"""The merge tree: the path of l0 fusion along a graph, from every point alone to all in one.

At weight lam the l0 problem on a graph,  sum_i f_i(u_i) + lam sum_ij c_ij [u_i != u_j],  gains from fusing two groups a
and b as soon as lam exceeds

    lam_ab = (rise of the fidelity if a and b share a centre) / (affinity between them).

Followed greedily from lam = 0 upwards, fusing the pair with the least lam_ab each time, that is a path of nested
partitions. Fused groups merge exactly: their quadratics add, their affinities add, and one node stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from fusewise.observations import Quadratics
from fusewise.pairs import NeighborPairs

Index = npt.NDArray[np.intp]

#: Ridge on the quadratics, relative to their mean size: a direction nobody in a group has seen costs nothing there.
RIDGE = 1e-6


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Nested partitions of N points.

    Attributes
    ----------
    linkage : (N - 1) x 4, in SciPy's form: the two nodes joined (points are 0 .. N-1, then joins in order), the lam
        at which they join (never falling), and the number of points in the new node.
    """

    linkage: npt.NDArray[np.float64]

    @property
    def n_points(self) -> int:
        """N."""
        return len(self.linkage) + 1

    @cached_property
    def sizes(self) -> Index:
        """Points under each of the 2N - 1 nodes."""
        return np.concatenate([np.ones(self.n_points, np.intp), self.linkage[:, 3].astype(np.intp)])

    @cached_property
    def _places(self) -> tuple[Index, Index]:
        """Leaves in drawing order, and where in that order each node's leaves begin: a node is a run of leaves."""
        n, sizes = self.n_points, self.sizes
        begin = np.zeros(2 * n - 1, np.intp)
        for node in range(2 * n - 2, n - 1, -1):
            left, right = self.children(node)
            begin[left] = begin[node]
            begin[right] = begin[node] + sizes[left]
        order = np.empty(n, np.intp)
        order[begin[:n]] = np.arange(n)
        return order, begin

    def children(self, node: int) -> tuple[int, int]:
        """The two nodes joined in `node`."""
        left, right = self.linkage[node - self.n_points, :2]
        return int(left), int(right)

    def members(self, node: int) -> Index:
        """Points under a node."""
        order, begin = self._places
        return order[begin[node] : begin[node] + self.sizes[node]]

    def partitions(self, min_size: float, max_groups: int) -> list[list[int]]:
        """Partitions from the root down: for K = 1, 2, ... the first list of K nodes of at least `min_size` points.

        Joins are undone in falling order of lam. A part smaller than `min_size` is shed: it is in none of the nodes
        (whoever uses the partition assigns it); a node that would only crumble into such parts is kept whole.
        """
        groups = [2 * self.n_points - 2]
        found = [list(groups)]
        for node in range(2 * self.n_points - 2, self.n_points - 1, -1):
            if len(found) >= max_groups:
                break
            if node not in groups:
                continue
            parts = [child for child in self.children(node) if self.sizes[child] >= min_size]
            if not parts:
                continue
            groups.remove(node)
            groups.extend(parts)
            if len(groups) > len(found):
                found.append(list(groups))
        return found


def fusion_tree(observations: Quadratics, pairs: NeighborPairs) -> MergeTree:
    """Greedy path of the l0 fusion of points with quadratic fidelities along a graph.

    Parameters
    ----------
    observations : f_i(u) = u' G_i u - 2 h_i' u + e_i, real.
    pairs : who may fuse with whom. Parts of the graph that no edge joins fuse last, as if one edge of affinity 1 joined
        every two of them.
    """
    n, r = observations.shape
    matrix = pairs.affinities
    ridge = RIDGE * float(np.trace(observations.gram.sum(axis=0))) / (n * r)
    gram = np.concatenate([observations.gram + ridge * np.eye(r), np.zeros((n - 1, r, r))])
    target = np.concatenate([observations.target, np.zeros((n - 1, r))])
    joins, heights = _fuse_greedily(gram, target, matrix.indptr, matrix.indices, matrix.data.astype(float))
    sizes = np.concatenate([np.ones(n), np.zeros(n - 1)])
    for step, (left, right) in enumerate(joins):
        sizes[n + step] = sizes[left] + sizes[right]
    linkage = np.column_stack([joins, np.maximum.accumulate(heights), sizes[n:]])
    return MergeTree(linkage.astype(float))


@numba.njit(cache=True)
def _explained(gram: Any, target: Any, a: int, b: int) -> float:
    """h' G^-1 h with G, h those of node a, or of a and b together (b >= 0): what a centre of its own lowers f by."""
    r = target.shape[1]
    factor = np.empty((r, r))
    solved = np.empty(r)
    total = 0.0
    for i in range(r):
        for j in range(i + 1):
            s = gram[a, i, j] + (gram[b, i, j] if b >= 0 else 0.0)
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            factor[i, j] = np.sqrt(max(s, 1e-300)) if i == j else s / factor[j, j]
        s = target[a, i] + (target[b, i] if b >= 0 else 0.0)
        for k in range(i):
            s -= factor[i, k] * solved[k]
        solved[i] = s / factor[i, i]
        total += solved[i] * solved[i]
    return total


@numba.njit(cache=True)
def _find(root: Any, node: int) -> int:
    """The living node that holds `node`."""
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node


@numba.njit(cache=True)
def _push(keys: Any, ends: Any, size: int, key: float, a: int, b: int) -> int:
    """Put a pair on the heap; its new size."""
    place = size
    while place > 0 and keys[(place - 1) // 2, 0] > key:
        above = (place - 1) // 2
        keys[place, 0] = keys[above, 0]
        ends[place, 0], ends[place, 1] = ends[above, 0], ends[above, 1]
        place = above
    keys[place, 0] = key
    ends[place, 0], ends[place, 1] = a, b
    return size + 1


@numba.njit(cache=True)
def _drop(keys: Any, ends: Any, size: int) -> int:
    """Take the least pair off the heap; its new size."""
    size -= 1
    key, a, b = keys[size, 0], ends[size, 0], ends[size, 1]
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and keys[below + 1, 0] < keys[below, 0]:
            below += 1
        if keys[below, 0] >= key:
            break
        keys[place, 0] = keys[below, 0]
        ends[place, 0], ends[place, 1] = ends[below, 0], ends[below, 1]
        place = below
    keys[place, 0] = key
    ends[place, 0], ends[place, 1] = a, b
    return size


@numba.njit(cache=True)
def _grown(array: Any, size: int) -> Any:
    """The array, with room for at least `size` rows."""
    if size <= len(array):
        return array
    larger = np.empty((2 * size, array.shape[1]), array.dtype)
    for i in range(len(array)):
        for j in range(array.shape[1]):
            larger[i, j] = array[i, j]
    return larger


@numba.njit(cache=True)
def _fuse_greedily(gram: Any, target: Any, indptr: Any, indices: Any, affinity: Any) -> Any:
    """Join the pair with the least (rise of fidelity) / affinity until one node is left.

    Each node keeps its neighbours in a pool; entries that point to nodes joined since are resolved when read. The heap
    keeps pairs of nodes; one whose nodes are not both alive is passed over.
    """
    n = len(indptr) - 1
    total = 2 * n - 1
    root, shared, seen = np.arange(total), np.zeros(total), np.full(total, -1, np.int64)
    explained, start, stop = np.zeros(total), np.zeros(total, np.int64), np.zeros(total, np.int64)
    used, size = len(indices), 0
    pool, ties = np.empty((used + 1, 1), np.int64), np.empty((used + 1, 1))
    keys, ends = np.empty((used + 1, 1)), np.empty((used + 1, 2), np.int64)
    for i in range(n):
        explained[i] = _explained(gram, target, i, -1)
        start[i], stop[i] = indptr[i], indptr[i + 1]
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            pool[e, 0], ties[e, 0] = indices[e], affinity[e]
            if indices[e] > i:
                price = _rise(gram, target, explained, i, indices[e]) / affinity[e]
                size = _push(keys, ends, size, price, i, indices[e])
    joins, heights = np.zeros((n - 1, 2), np.int64), np.zeros(n - 1)
    for node in range(n, total):
        while size > 0 and (root[ends[0, 0]] != ends[0, 0] or root[ends[0, 1]] != ends[0, 1]):
            size = _drop(keys, ends, size)
        if size == 0:
            room = (total - node + 1) ** 2
            keys, ends = _grown(keys, room), _grown(ends, room)
            pool, ties = _grown(pool, used + room), _grown(ties, used + room)
            used, size = _tie_parts(gram, target, explained, root[:node], pool, ties, start, stop, used, keys, ends)
        left, right = ends[0, 0], ends[0, 1]
        joins[node - n, 0], joins[node - n, 1], heights[node - n] = left, right, keys[0, 0]
        size = _drop(keys, ends, size)
        _add(gram, target, node, left, right)
        explained[node] = _explained(gram, target, node, -1)
        root[left], root[right] = node, node
        room = stop[left] - start[left] + stop[right] - start[right]
        pool, ties = _grown(pool, used + room), _grown(ties, used + room)
        keys, ends = _grown(keys, size + room), _grown(ends, size + room)
        start[node] = used
        for part in (left, right):
            used = _gather(node, start[part], stop[part], root, pool, ties, shared, seen, used)
        stop[node] = used
        for e in range(start[node], used):
            other = pool[e, 0]
            ties[e, 0] = shared[other]
            price = _rise(gram, target, explained, node, other) / shared[other]
            size = _push(keys, ends, size, price, node, other)
    return joins, heights


@numba.njit(cache=True)
def _add(gram: Any, target: Any, node: int, left: int, right: int) -> None:
    """Quadratics of a common centre add. (Written out: whole-array expressions take Numba seconds to compile.)"""
    for i in range(gram.shape[1]):
        target[node, i] = target[left, i] + target[right, i]
        for j in range(gram.shape[1]):
            gram[node, i, j] = gram[left, i, j] + gram[right, i, j]


@numba.njit(cache=True)
def _rise(gram: Any, target: Any, explained: Any, a: int, b: int) -> Any:
    """By how much the fidelity rises if nodes a and b share a centre."""
    return max(explained[a] + explained[b] - _explained(gram, target, a, b), 0.0)


@numba.njit(cache=True)
def _gather(node: int, begin: int, end: int, root: Any, pool: Any, ties: Any, shared: Any, seen: Any, used: int) -> int:
    """Add the neighbours of one part of `node` to its own, affinities summed; the end of the pool."""
    for e in range(begin, end):
        other = _find(root, pool[e, 0])
        if other == node:
            continue
        if seen[other] != node:
            seen[other] = node
            shared[other] = 0.0
            pool[used, 0] = other
            used += 1
        shared[other] += ties[e, 0]
    return used


@numba.njit(cache=True)
def _tie_parts(
    gram: Any,
    target: Any,
    explained: Any,
    root: Any,
    pool: Any,
    ties: Any,
    start: Any,
    stop: Any,
    used: int,
    keys: Any,
    ends: Any,
) -> tuple[int, int]:
    """No edge is left between the living nodes: from here on every pair is one. The ends of the pool and the heap."""
    size = 0
    for i in range(len(root)):
        if root[i] != i:
            continue
        start[i] = used
        for j in range(len(root)):
            if root[j] == j and j != i:
                pool[used, 0], ties[used, 0] = j, 1.0
                used += 1
                if j > i:
                    size = _push(keys, ends, size, _rise(gram, target, explained, i, j), i, j)
        stop[i] = used
    return used, size
