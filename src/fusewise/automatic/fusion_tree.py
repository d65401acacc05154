"""The greedy path of l0 fusion along a graph."""

from __future__ import annotations

from math import sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np

from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.merge_tree import MergeTree
from fusewise.kernels.checked import check_finite
from fusewise.kernels.compiling import SMALL, compiled
from fusewise.observations import Quadratics
from fusewise.pairs import NeighborPairs

#: Ridge on the quadratics, relative to their mean size, for directions that no point of a group determines.
RIDGE = 1e-6

#: A group not yet joined, in the slot of one of its points: size |G|; drift, the total path length of its centre;
#: name in the tree (-1: joined to another); count of points; root, the slot it was joined to (its own: none); changed,
#: the number of joins at its last change; its first half-edge, and an upper bound on their number; seen, work space;
#: block, one of the blocks of hints it holds (-1: none).
NODE = np.dtype(
    [("size", float), ("drift", float)]
    + [(k, np.int64) for k in ("name", "count", "root", "changed", "head", "degree", "seen", "block")]
)

#: An edge: affinity (0: merged into another edge); the square root of the rise when it was last computed, the drift of
#: both ends at that time, and that time as a number of joins.
EDGE = np.dtype([("affinity", float), ("root", float), ("drift", float), ("when", np.int64)])

#: Edge e has two halves, 2e and 2e + 1, each in the linked list of the node at its own end (a slot).
HALF = np.dtype([("end", np.int64), ("following", np.int64)])


def fusion_tree(observations: Quadratics, pairs: NeighborPairs, hints: Hints = NO_HINTS) -> MergeTree:
    """Merge tree of the greedy l0 fusion of points with quadratic fidelities along a graph.

    Parameters
    ----------
    observations : f_i(u) = u' G_i u - 2 h_i' u + e_i, real.
    pairs : which points may fuse. Disconnected parts of the graph fuse last, as if an edge of affinity 1 joined every
        two of them.
    hints : groups that hold points in conflict never fuse; those that are left in the end are joined at the top of the
        tree (``MergeTree.forced``). A block counts as one, wherever its points are: its conflicts are theirs.
    """
    n, r = observations.shape
    check_finite("the merge tree", observations.gram, observations.target)
    ridge = RIDGE * float(np.trace(observations.gram.sum(axis=0))) / (n * r)
    # One layout: a loop is compiled for each that it meets.
    gram = np.ascontiguousarray(observations.gram + ridge * np.eye(r), float)
    target = np.array(observations.target, float, order="C")
    joins, prices, step = np.zeros((n - 1, 3), np.int64), np.zeros(n - 1), 0
    nodes = np.zeros(n, NODE)
    nodes["name"], nodes["count"], nodes["block"] = np.arange(n), 1, hints.block_of(n)
    blocks = np.arange(hints.n_blocks), hints.apart.astype(np.uint8)
    ends, affinity = np.column_stack([pairs.first, pairs.second]), pairs.affinity
    for _ in range(2):  # first along the graph, then among its parts
        if step == n - 1:
            break
        nodes["root"], nodes["head"], nodes["seen"], nodes["degree"] = np.arange(len(nodes)), -1, -1, 0
        edges, halves = np.zeros(len(ends), EDGE), np.zeros(2 * len(ends), HALF)
        edges["affinity"], edges["when"], halves["end"] = affinity, -1, ends.ravel()
        heap = np.arange(len(nodes)), np.arange(len(nodes)), np.zeros(len(nodes))
        centre, work = np.zeros(target.shape), np.empty((r + 3, r))
        fuse = _fuse_greedily if n > SMALL or _fuse_greedily.hot else _fuse_few
        step = fuse(gram, target, centre, nodes, edges, halves, blocks, heap, joins, prices, step, work)
        parts = np.flatnonzero(nodes["name"] >= 0)
        gram, target, nodes = gram[parts], target[parts], nodes[parts]
        ends = np.column_stack(np.triu_indices(len(parts), 1))
        affinity = np.ones(len(ends))
    forced, name, count = n - 1 - step, nodes[0]["name"], nodes[0]["count"]
    if forced and not len(hints.conflicts):
        raise FloatingPointError(f"the merge tree of {n} rows is incomplete: rescale very large or small columns")
    for other in nodes[1:]:  # all in conflict
        count += other["count"]
        joins[step] = name, other["name"], count
        name, step = n + step, step + 1
    linkage = np.column_stack([joins[:, :2], np.maximum.accumulate(prices), joins[:, 2]])
    return MergeTree(linkage.astype(float), forced)


def _fuse_few(gram: Any, target: Any, centre: Any, nodes: Any, edges: Any, halves: Any, *rest: Any) -> int:
    """``_fuse_greedily`` as Python runs it: on lists of numbers and of objects, ten times as fast there as arrays."""
    blocks, heap, joins, prices, step, work = rest
    numbers = [each.tolist() for each in (gram, target, centre)]
    records = [_records(each) for each in (nodes, edges, halves)]
    lists = [each.tolist() for each in heap]
    found: int = _fuse_greedily.interpret(*numbers, *records, blocks, lists, joins, prices, step, work.tolist())
    gram[:], target[:] = numbers[:2]
    for field in ("name", "count", "block"):
        nodes[field] = [getattr(node, field) for node in records[0]]
    return found


def _records(array: Any) -> list[SimpleNamespace]:
    """A structured array as objects."""
    return [SimpleNamespace(**dict(zip(array.dtype.names, row, strict=True))) for row in array.tolist()]


@compiled(
    shapes=("n r r", "n r", "n r", "n", "edges", "halves", "", "", "joins 3", "joins", "", "work r"), fastmath=False
)
def _fuse_greedily(
    gram: Any,
    target: Any,
    centre: Any,
    nodes: Any,
    edges: Any,
    halves: Any,
    blocks: Any,
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
        _settle(gram, target, centre, nodes[slot], slot, work)
    for _ in range(n * n):  # at most n keys are updated for each join
        if not keys[slots[0]] < np.inf:
            break
        slot = slots[0]
        other = _cheapest(gram, centre, nodes, edges, halves, blocks, keys, slot, step, work)
        price = keys[slot]
        _reorder(heap, slot)
        if other < 0 or keys[slots[0]] < price:
            continue
        kept, gone = (slot, other) if nodes[slot].degree >= nodes[other].degree else (other, slot)
        joins[step, 0], joins[step, 1], prices[step] = nodes[kept].name, nodes[gone].name, price
        nodes[kept].count += nodes[gone].count
        joins[step, 2] = nodes[kept].count
        step += 1
        nodes[kept].name, nodes[gone].name = len(joins) + step, -1
        nodes[gone].root, nodes[kept].changed = kept, step
        nodes[kept].block = _unite(blocks, nodes[kept].block, nodes[gone].block)
        for i in range(r):
            target[kept][i] += target[gone][i]
            row, other_row = gram[kept][i], gram[gone][i]
            for j in range(r):
                row[j] += other_row[j]
        _settle(gram, target, centre, nodes[kept], kept, work)
        _hand_over(nodes, edges, halves, gone, kept)
        keys[gone] = np.inf
        _reorder(heap, gone)
        keys[kept] = 0.0
        _reorder(heap, kept)
    return step


@compiled(fastmath=False)
def _cheapest(
    gram: Any, centre: Any, nodes: Any, edges: Any, halves: Any, blocks: Any, keys: Any, slot: int, step: int, work: Any
) -> int:
    """Set the key of a node to the smallest price of its edges; return the slot at the other end (-1: no edges).

    Edges between nodes in conflict do not count; nodes once in conflict remain so.

    Most prices need not be recomputed when an end has changed. The rise is |u_a - u_b|² in the metric M with
    M^-1 = G_a^-1 + G_b^-1, which only grows as nodes join, and is bounded by either G. So if the centres have since
    drifted by d in all, the rise is at least (sqrt(rise then) - sqrt(|G|) d)².
    """
    _simplify(nodes, edges, halves, slot)
    best, partner, half = np.inf, -1, nodes[slot].head
    while half >= 0:
        e = half // 2
        other = nodes[halves[half ^ 1].end].root
        half = halves[half].following
        nodes[other].seen = -1
        if _in_conflict(blocks, nodes[slot].block, nodes[other].block):
            continue
        drift, root = nodes[slot].drift + nodes[other].drift, edges[e].root
        known = edges[e].when >= nodes[slot].changed and edges[e].when >= nodes[other].changed
        if not known:
            root -= sqrt(min(nodes[slot].size, nodes[other].size)) * (drift - edges[e].drift)
        if root > 0 and root * root >= best * edges[e].affinity:
            continue
        if not known:
            root = sqrt(_rise(gram, centre, slot, other, work))
            edges[e].root, edges[e].drift, edges[e].when = root, drift, step
        if root * root < best * edges[e].affinity:
            best, partner = root * root / edges[e].affinity, other
    keys[slot] = best
    return partner


@compiled(fastmath=False)
def _in_conflict(blocks: Any, one: int, other: int) -> bool:
    """Whether hints keep two blocks apart (-1: no block)."""
    if one < 0 or other < 0:
        return False
    parent, apart = blocks
    while parent[one] != one:
        one = parent[one]
    while parent[other] != other:
        other = parent[other]
    return bool(apart[one, other] != 0)


@compiled(fastmath=False)
def _unite(blocks: Any, one: int, other: int) -> int:
    """Make two blocks one, with the conflicts of both; return it."""
    parent, apart = blocks
    if one < 0 or other < 0:
        return max(one, other)
    while parent[one] != one:
        one = parent[one]
    while parent[other] != other:
        other = parent[other]
    if one != other:
        parent[other] = one
        for k in range(len(parent)):
            if apart[other, k]:
                apart[one, k] = 1
                apart[k, one] = 1
    return one


@compiled(fastmath=False)
def _simplify(nodes: Any, edges: Any, halves: Any, slot: int) -> None:
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
def _hand_over(nodes: Any, edges: Any, halves: Any, gone: int, kept: int) -> None:
    """Prepend the half-edges of a node to another's; their prices become unknown."""
    half, last = nodes[gone].head, -1
    while half >= 0:
        edges[half // 2].root, edges[half // 2].drift, edges[half // 2].when = 0.0, 0.0, -1
        half, last = halves[half].following, half
    if last >= 0:
        halves[last].following, nodes[kept].head = nodes[kept].head, nodes[gone].head
    nodes[kept].degree += nodes[gone].degree


@compiled(fastmath=False)
def _factor(gram: Any, a: int, b: int, work: Any) -> None:
    """Cholesky factor of G_a + G_b (of G_a, if they are the same) in the first rows of `work`."""
    for i in range(len(gram[a])):
        row, one, other = work[i], gram[a][i], gram[b][i]
        for j in range(i + 1):
            s, above = one[j], work[j]
            if a != b:
                s += other[j]
            for k in range(j):
                s -= row[k] * above[k]
            row[j] = sqrt(max(s, 1e-300)) if i == j else s / above[j]


@compiled(fastmath=False)
def _settle(gram: Any, target: Any, centre: Any, node: Any, slot: int, work: Any) -> None:
    """Update a node's centre G^-1 h, its drift (path length), and its size |G|."""
    r = len(work) - 3
    _factor(gram, slot, slot, work)
    square, moved, solved, place = 0.0, 0.0, work[r], centre[slot]
    for i in range(r):
        s, row, own = target[slot][i], work[i], gram[slot][i]
        for k in range(i):
            s -= row[k] * solved[k]
        solved[i] = s / row[i]
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
def _rise(gram: Any, centre: Any, a: int, b: int, work: Any) -> float:
    """d' G_a (G_a + G_b)^-1 G_b d with d = u_a - u_b: the rise of the fidelity if two nodes share a centre."""
    r = len(work) - 3
    _factor(gram, a, b, work)
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


@compiled(fastmath=False)
def _reorder(heap: Any, slot: int) -> None:
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
