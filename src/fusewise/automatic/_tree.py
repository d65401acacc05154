"""A merge tree: nested partitions of points, by the greedy path of l0 fusion along a graph."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array

from fusewise.kernels import Index, Labels, Mask, Real, check_finite, compiled, few
from fusewise.observations import Quadratics
from fusewise.pairs import NeighborPairs
from fusewise.support import Dims, NumberArray, Record

#: A group not yet joined, in the slot of one of its points: size |G|; drift, the total path length of its centre;
#: name in the tree (-1: joined to another); count of points; root, the slot it was joined to (its own: none); changed,
#: the number of joins at its last change; its first half-edge, and an upper bound on their number; seen, work space.
NODE = np.dtype(
    [("size", float), ("drift", float)]
    + [(k, np.int64) for k in ("name", "count", "root", "changed", "head", "degree", "seen")]
)

#: An edge: affinity (0: merged into another edge); the square root of the rise when it was last computed, the drift of
#: both ends at that time, and that time as a number of joins.
EDGE = np.dtype([("affinity", float), ("root", float), ("drift", float), ("when", np.int64)])

#: Edge e has two halves, 2e and 2e + 1, each in the linked list of the node at its own end (a slot).
HALF = np.dtype([("end", np.int64), ("following", np.int64)])


@compiled(fastmath=False)
def simplify(nodes: Any, edges: Any, halves: Any, slot: int) -> None:
    """Remove a node's edges to itself, and merge those that lead to the same node; mark these as seen."""
    before, half, degree = -1, nodes[slot].head, 0
    while half >= 0:
        e, following, first = half // 2, halves[half].following, -1
        far = halves[half ^ 1].end
        while nodes[far].root != nodes[nodes[far].root].root:
            nodes[far].root = nodes[nodes[far].root].root
        other = nodes[far].root
        dropped = other == slot or edges[e].affinity == 0
        if not dropped:
            first = nodes[other].seen
            dropped = first >= 0
        if first >= 0:
            edges[first].affinity += edges[e].affinity
            edges[e].affinity = 0.0
            if edges[e].root > edges[first].root:  # usually the tighter bound
                edges[first].root, edges[first].drift, edges[first].when = edges[e].root, edges[e].drift, edges[e].when
        if not dropped:
            nodes[other].seen = e
            before = half
            degree += 1
        elif before < 0:
            nodes[slot].head = following
        else:
            halves[before].following = following
        half = following
    nodes[slot].degree = degree


@compiled(fastmath=False)
def hand_over(nodes: Any, edges: Any, halves: Any, gone: int, kept: int) -> None:
    """Prepend the half-edges of a node to another's; their prices become unknown."""
    half, last = nodes[gone].head, -1
    while half >= 0:
        edges[half // 2].root, edges[half // 2].drift, edges[half // 2].when = 0.0, 0.0, -1
        half, last = halves[half].following, half
    if last >= 0:
        halves[last].following, nodes[kept].head = nodes[kept].head, nodes[gone].head
    nodes[kept].degree += nodes[gone].degree


@compiled(fastmath=False)
def reorder(heap: Any, slot: int) -> None:
    """Restore the heap order after the key of a slot has changed."""
    slots, place, keys = heap
    at, key, n = place[slot], keys[slot], len(slots)
    while at > 0 and keys[slots[(at - 1) // 2]] > key:
        slots[at] = slots[(at - 1) // 2]
        place[slots[at]] = at
        at = (at - 1) // 2
    while 2 * at + 1 < n:
        below = 2 * at + 1
        if below + 1 < n and keys[slots[below + 1]] < keys[slots[below]]:
            below += 1
        if keys[slots[below]] >= key:
            break
        slots[at] = slots[below]
        place[slots[at]] = at
        at = below
    slots[at] = slot
    place[slot] = at


@compiled(fastmath=False)
def factor(one: Any, other: Any, share: float, lower: Any) -> None:
    """Cholesky factor of A + s B in the first rows of `lower`; arrays, or lists of lists."""
    for i in range(len(one)):
        row, first, second = lower[i], one[i], other[i]
        for j in range(i + 1):
            above, s = lower[j], first[j] + share * second[j]
            for k in range(j):
                s -= row[k] * above[k]
            row[j] = sqrt(max(s, 1e-300)) if i == j else s / above[j]


@compiled(fastmath=False)
def solved_square(lower: Any, right: Any, solved: Any) -> float:
    """|L^-1 x|², and L^-1 x in `solved`."""
    square = 0.0
    for i in range(len(right)):
        s, row = right[i], lower[i]
        for k in range(i):
            s -= row[k] * solved[k]
        solved[i] = s / row[i]
        square += solved[i] * solved[i]
    return square


@compiled(fastmath=False)
def settle_centre(gram: Any, target: Any, centre: Any, node: Any, slot: int, work: Any) -> None:
    """Update a node's centre G^-1 h, its drift (path length), and its size |G|."""
    r = len(work) - 3
    factor(gram[slot], gram[slot], 0.0, work)
    square, moved, solved, place = 0.0, 0.0, work[r], centre[slot]
    solved_square(work, target[slot], solved)
    for i in range(r):
        own = gram[slot][i]
        for k in range(r):
            square += own[k] * own[k]
    for i in range(r - 1, -1, -1):
        s = solved[i]
        for k in range(i + 1, r):
            s -= work[k][i] * solved[k]
        solved[i] = s / work[i][i]
        way = solved[i] - place[i]
        moved += way * way
        place[i] = solved[i]
    node.size = sqrt(square)
    node.drift += sqrt(moved)


@compiled(fastmath=False)
def rise(gram: Any, centre: Any, a: int, b: int, work: Any) -> float:
    """d' G_a (G_a + G_b)^-1 G_b d with d = u_a - u_b: the rise of the fidelity if two nodes share a centre."""
    r = len(work) - 3
    factor(gram[a], gram[b], 1.0, work)
    total, away, one, other = 0.0, work[r], work[r + 1], work[r + 2]
    for i in range(r):
        away[i] = centre[a][i] - centre[b][i]
    for i in range(r):
        s, t, row, here, there = 0.0, 0.0, work[i], gram[a][i], gram[b][i]
        for k in range(r):
            s += here[k] * away[k]
            t += there[k] * away[k]
        for k in range(i):
            s -= row[k] * one[k]
            t -= row[k] * other[k]
        one[i], other[i] = s / row[i], t / row[i]
        total += one[i] * other[i]
    return max(total, 0.0)


@dataclass(frozen=True, eq=False)
class MergeTree(Record):
    """Nested partitions of N points, as a binary tree.

    Attributes
    ----------
    linkage : (N - 1) x 4, in SciPy's form: the two nodes joined (points are 0 .. N-1, then joins in order), the lam
        at which they join (non-decreasing), and the number of points in the new node.
    """

    linkage: npt.NDArray[np.float64]

    _rules: ClassVar = {"linkage": NumberArray("joins", "4", low=0)}

    def _agree(self, dims: Dims) -> None:
        dims["N"] = dims["joins"] + 1

    def _verify(self) -> None:
        """Every node but the last is joined once, to a later one: walks through the tree then end."""
        n, pairs = self.n_points, self.linkage[:, :2]
        parents = n + np.arange(n - 1)
        once = np.array_equal(np.sort(pairs, axis=None), np.arange(2 * n - 2))
        if not once or np.any(pairs >= parents[:, None]) or np.any(np.diff(self.linkage[:, 2]) < 0):
            raise ValueError("MergeTree.linkage is not a tree")
        if not np.array_equal(self.linkage[:, 3], self.sizes[pairs.astype(np.intp)].sum(axis=1)):
            raise ValueError("MergeTree.linkage does not count its points")

    @property
    def n_points(self) -> int:
        """N."""
        return len(self.linkage) + 1

    @cached_property
    def sizes(self) -> Index:
        """Number of points under each of the 2N - 1 nodes."""
        return np.concatenate([np.ones(self.n_points, np.intp), self.linkage[:, 3].astype(np.intp)])

    @cached_property
    def layout(self) -> tuple[Index, Index]:
        """Points in drawing order, in which those of a node are consecutive, and where each node begins in it."""
        n, counts = self.n_points, self.sizes.tolist()
        begin = [0] * (2 * n - 1)
        node = 2 * n - 1
        for left, right in zip(*(reversed(each) for each in self.joined), strict=True):
            node -= 1
            begin[left] = begin[node]
            begin[right] = begin[node] + counts[left]
        order = np.empty(n, np.intp)
        order[begin[:n]] = np.arange(n)
        return order, np.array(begin, np.intp)

    @cached_property
    def joined(self) -> tuple[list[int], list[int]]:
        """The first and the second node of each join; lists are what loops in Python read fastest."""
        first, second = self.linkage[:, :2].astype(np.intp).T.tolist()
        return first, second

    def members(self, node: int) -> Index:
        """Points under a node."""
        order, begin = self.layout
        return order[begin[node] : begin[node] + self.sizes[node]]

    def totals(self, of_points: Real) -> Real:
        """Sum of a number of each point over the points under each of the 2N - 1 nodes."""
        order, begin = self.layout
        sums = np.concatenate([[0.0], np.cumsum(of_points[order])])
        return np.asarray(sums[begin + self.sizes] - sums[begin])

    def partitions(self, min_size: float, max_groups: int, allowed: Mask | None = None) -> list[list[int]]:
        """Partitions from the root down: for K = 1, 2, ... the first list of K nodes with at least `min_size` points.

        With `allowed`, a flag for each node, other nodes are left out as well.

        Joins are undone in decreasing order of lam. A part smaller than `min_size` is left out of the partition (the
        caller assigns it); a node that would only split into such parts is kept whole.
        """
        root = 2 * self.n_points - 2
        (left, right), n = self.joined, self.n_points
        large = ((self.sizes >= min_size) & (True if allowed is None else allowed)).tolist()
        groups = {root: None}  # in the order in which they were found
        found = [list(groups)]
        latest = [-root] if root >= n else []  # may be split: the one joined last comes first
        while latest and len(found) < max_groups:
            node = -heapq.heappop(latest)
            parts = (left[node - n], right[node - n])
            if not (large[parts[0]] or large[parts[1]]):
                continue
            del groups[node]
            for part in parts:
                if large[part]:
                    groups[part] = None
                    if part >= n:
                        heapq.heappush(latest, -part)
            if len(groups) > len(found):
                found.append(list(groups))
        return found


def join_heights(tree: MergeTree, finest_first: tuple[Labels, ...]) -> Real:
    """The lam from which on each partition holds: that of the join that produced it from the previous one.

    For the first partition it is the largest lam of a join in the tree below that of the second.
    """
    heights = np.zeros(len(finest_first))
    for k in range(1, len(finest_first)):
        fine, coarse = finest_first[k - 1], finest_first[k]
        above = successors(fine, coarse)
        merged = np.flatnonzero(np.bincount(above[above >= 0]) > 1)
        heights[k] = max((_last_join(tree, fine, np.flatnonzero(above == group)) for group in merged), default=0.0)
    if len(heights) > 1:
        below = tree.linkage[:, 2][tree.linkage[:, 2] < heights[1]]
        heights[0] = below[-1] if len(below) else 0.0
    return np.maximum.accumulate(heights)


def successors(fine: Labels, coarse: Labels) -> Index:
    """For each group of a partition, the group of a coarser partition that contains most of its rows."""
    kept = (fine >= 0) & (coarse >= 0)
    shape = int(fine.max(initial=-1)) + 1, int(coarse.max(initial=-1)) + 1
    counts = coo_array((np.ones(kept.sum()), (fine[kept], coarse[kept])), shape=shape).toarray()
    return np.where(counts.any(axis=1), counts.argmax(axis=1) if shape[1] else -1, -1)


def _last_join(tree: MergeTree, labels: Labels, groups: Index) -> float:
    """The largest lam at which two of some groups join: that of the lowest node that has most of each of them.

    "Most", because a partition assigns small parts split off by the tree to the nearest group, wherever they are.
    """
    totals = np.bincount(labels[labels >= 0])
    node, inside = 2 * tree.n_points - 2, totals[groups]
    while node >= tree.n_points:
        small, large = sorted((nodes[node - tree.n_points] for nodes in tree.joined), key=tree.sizes.__getitem__)
        some = labels[tree.members(small)]
        part = np.bincount(some[some >= 0], minlength=len(totals))[groups]
        for child, within in ((small, part), (large, inside - part)):
            if (2 * within > totals[groups]).all():
                node, inside = child, within
                break
        else:
            break
    return float(tree.linkage[node - tree.n_points, 2])


#: Ridge on the quadratics, relative to their mean size, for directions that no point of a group determines.
RIDGE = 1e-6


def fusion_tree(observations: Quadratics, pairs: NeighborPairs) -> MergeTree:
    """Merge tree of the greedy l0 fusion of points with fidelities f_i(u) = u' G_i u - 2 h_i' u + e_i along a graph.

    Disconnected parts of the graph fuse last, as if an edge of affinity 1 joined every two of them.
    """
    n, r = observations.shape
    check_finite("the merge tree", observations.gram, observations.target)
    ridge = RIDGE * float(np.trace(observations.gram.sum(axis=0))) / (n * r)
    # One layout: a loop is compiled for each that it meets.
    gram = np.ascontiguousarray(observations.gram + ridge * np.eye(r), float)
    target = np.array(observations.target, float, order="C")
    nodes = np.zeros(n, NODE)
    nodes["name"], nodes["count"] = np.arange(n), 1
    joins, prices = np.zeros((n - 1, 3), np.int64), np.zeros(n - 1)  # two names and a count for each join; its price
    ends = np.column_stack([pairs.first, pairs.second])
    step = _fuse(gram, target, nodes, ends, pairs.affinity, joins, prices, 0)
    left = nodes["name"] >= 0
    if left.sum() > 1:  # the parts of the graph
        nodes = nodes[left]
        among = np.column_stack(np.triu_indices(len(nodes), 1))
        step = _fuse(gram[left], target[left], nodes, among, np.ones(len(among)), joins, prices, step)
    if step < n - 1:
        raise FloatingPointError(f"the merge tree of {n} rows is incomplete: rescale very large or small columns")
    linkage = np.column_stack([joins[:, :2], np.maximum.accumulate(prices), joins[:, 2]])
    return MergeTree(linkage.astype(float))


def _fuse(
    gram: Real, target: Real, nodes: Any, ends: Index, affinity: Real, joins: Any, prices: Real, step: int
) -> int:
    """Join groups along edges until no edge is left; how many joins are made then.

    The name of a point is its number, that of the k-th join n + k, and -1 that of a group that has joined another.
    """
    nodes["root"], nodes["head"], nodes["seen"], nodes["degree"] = np.arange(len(nodes)), -1, -1, 0
    edges, halves = np.zeros(len(ends), EDGE), np.zeros(2 * len(ends), HALF)
    edges["affinity"], edges["when"], halves["end"] = affinity, -1, ends.ravel()
    heap = np.arange(len(nodes)), np.arange(len(nodes)), np.zeros(len(nodes))
    centre, work = np.zeros(target.shape), np.empty((target.shape[1] + 3, target.shape[1]))
    # Few rows are not worth a loop to compile, and are to the last bit the same whether there is one or not.
    fuse = _fuse_few if few(len(joins) + 1) and not _fuse_greedily.hot else _fuse_greedily
    return fuse(gram, target, centre, nodes, edges, halves, heap, joins, prices, step, work)


def _fuse_few(gram: Any, target: Any, centre: Any, nodes: Any, edges: Any, halves: Any, *rest: Any) -> int:
    """``_fuse_greedily`` as Python runs it: on lists of numbers and of objects, ten times as fast there as arrays."""
    heap, joins, prices, step, work = rest
    numbers = [each.tolist() for each in (gram, target, centre)]
    records = [_records(each) for each in (nodes, edges, halves)]
    lists = [each.tolist() for each in heap]
    found: int = _fuse_greedily.interpret(*numbers, *records, lists, joins, prices, step, work.tolist())
    gram[:], target[:] = numbers[:2]
    for field in ("name", "count"):
        nodes[field] = [getattr(node, field) for node in records[0]]
    return found


def _records(array: Any) -> list[SimpleNamespace]:
    """A structured array as objects."""
    return [SimpleNamespace(**dict(zip(array.dtype.names, row, strict=True))) for row in array.tolist()]


@compiled(shapes=("n r r", "n r", "n r", "n", "edges", "halves", "", "joins 3", "joins", "", "work r"), fastmath=False)
def _fuse_greedily(
    gram: Any,
    target: Any,
    centre: Any,
    nodes: Any,
    edges: Any,
    halves: Any,
    heap: Any,
    joins: Any,
    prices: Any,
    step: int,
    work: Any,
) -> int:
    """Join the pair with the smallest price (rise of fidelity / affinity) until no edge is left; return the joins made.

    The key of a node is a lower bound on the prices of its edges to nodes that have not changed since its last update.
    So the smallest key of all is at most the smallest price, and the node with the smallest key is updated before it
    joins.
    """
    n, r = len(target), len(target[0])
    slots, _, keys = heap
    for half in range(len(halves) - 1, -1, -1):
        slot = halves[half].end
        halves[half].following, nodes[slot].head = nodes[slot].head, half
        nodes[slot].degree += 1
    for slot in range(n):
        settle_centre(gram, target, centre, nodes[slot], slot, work)
    for _ in range(n * n):  # at most n keys are updated for each join
        if not keys[slots[0]] < np.inf:
            break
        slot = slots[0]
        other = _cheapest(gram, centre, nodes, edges, halves, keys, slot, step, work)
        price = keys[slot]
        reorder(heap, slot)
        if other < 0 or keys[slots[0]] < price:
            continue
        kept, gone = (slot, other) if nodes[slot].degree >= nodes[other].degree else (other, slot)
        joins[step, 0], joins[step, 1], prices[step] = nodes[kept].name, nodes[gone].name, price
        nodes[kept].count += nodes[gone].count
        joins[step, 2] = nodes[kept].count
        step += 1
        nodes[kept].name, nodes[gone].name = len(joins) + step, -1
        nodes[gone].root, nodes[kept].changed = kept, step
        for i in range(r):
            target[kept][i] += target[gone][i]
            row, other_row = gram[kept][i], gram[gone][i]
            for j in range(r):
                row[j] += other_row[j]
        settle_centre(gram, target, centre, nodes[kept], kept, work)
        hand_over(nodes, edges, halves, gone, kept)
        keys[gone] = np.inf
        reorder(heap, gone)
        keys[kept] = 0.0
        reorder(heap, kept)
    return step


@compiled(fastmath=False)
def _cheapest(
    gram: Any, centre: Any, nodes: Any, edges: Any, halves: Any, keys: Any, slot: int, step: int, work: Any
) -> int:
    """Set the key of a node to the smallest price of its edges; return the slot at the other end (-1: no edges).

    Most prices need not be recomputed when an end has changed. The rise is |u_a - u_b|² in the metric M with
    M^-1 = G_a^-1 + G_b^-1, which only grows as nodes join, and is bounded by either G. So if the centres have since
    drifted by d in all, the rise is at least (sqrt(rise then) - sqrt(|G|) d)².
    """
    simplify(nodes, edges, halves, slot)
    best, partner, half = np.inf, -1, nodes[slot].head
    while half >= 0:
        e = half // 2
        other = nodes[halves[half ^ 1].end].root
        half = halves[half].following
        nodes[other].seen = -1
        drift, root = nodes[slot].drift + nodes[other].drift, edges[e].root
        known = edges[e].when >= nodes[slot].changed and edges[e].when >= nodes[other].changed
        if not known:
            root -= sqrt(min(nodes[slot].size, nodes[other].size)) * (drift - edges[e].drift)
        if root > 0 and root * root >= best * edges[e].affinity:
            continue
        if not known:
            root = sqrt(rise(gram, centre, slot, other, work))
            edges[e].root, edges[e].drift, edges[e].when = root, drift, step
        if root * root < best * edges[e].affinity:
            best, partner = root * root / edges[e].affinity, other
    keys[slot] = best
    return partner
