"""The graph of groups while they fuse: its records, edges handed over and merged, and the heap of keys.

The centre of a group with fidelity u' G u - 2 h' u, and the rise of the fidelity if two groups share a centre.

The rises of the fidelity along all edges of a graph before anything has fused, several at once and in threads.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from fusewise.kernels import Index, Real, accumulate, compiled, factorise, in_ranges

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
def settle_centre(gram: Any, target: Any, centre: Any, node: Any, slot: int, work: Any) -> None:
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
def rise(gram: Any, centre: Any, a: int, b: int, work: Any) -> float:
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


#: Edges worked on at once: their matrices fit in the nearest cache.
LANES = 32


def first_roots(gram: Real, target: Real, ends: Index) -> Real:
    """Square roots of ``rise`` of each edge, whose ends have the centres G^-1 h.

    Most of what the greedy path computes are these: an edge has a new price only where a centre has moved far.

    Parameters
    ----------
    gram, target : N x r x r and N x r, G and h of each point.
    ends : E x 2, the points that each edge joins.
    """
    n_edges, r = len(ends), target.shape[1]
    centre = np.linalg.solve(gram, target[:, :, None])[:, :, 0]
    roots = np.empty(n_edges)
    in_ranges(n_edges, r**3, lambda first, last: _roots_in_lanes(gram, centre, ends, roots, first, last))
    return roots


@compiled(shapes=("N r r", "N r", "E 2", "E", "", ""))
def _roots_in_lanes(gram: Any, centre: Any, ends: Any, roots: Any, first: int, last: int) -> None:
    """d' G_a (G_a + G_b)^-1 G_b d with d = u_a - u_b, by the Cholesky factors of the sums."""
    r = gram.shape[1]
    lower, pivot, away = np.empty((r, r, LANES)), np.empty((r, LANES)), np.empty(r)
    one, other = np.empty((r, LANES)), np.empty((r, LANES))
    for start in range(first, last, LANES):
        n = min(LANES, last - start)
        for c in range(n):
            here, there = gram[ends[start + c, 0]], gram[ends[start + c, 1]]
            from_here, from_there = centre[ends[start + c, 0]], centre[ends[start + c, 1]]
            for i in range(r):
                away[i] = from_here[i] - from_there[i]
            for i in range(r):
                s, t, a, b = 0.0, 0.0, here[i], there[i]
                for k in range(r):
                    s += a[k] * away[k]
                    t += b[k] * away[k]
                one[i, c], other[i, c] = s, t
                for j in range(i + 1):
                    lower[i, j, c] = a[j] + b[j]
        factorise(lower, pivot, 0.0, n)
        total = roots[start : start + n]
        for i in range(r):
            scale, s, t = pivot[i], one[i], other[i]
            accumulate(s, -1.0, lower[i], one, 0, i, n)
            accumulate(t, -1.0, lower[i], other, 0, i, n)
            for c in range(n):
                s[c] *= scale[c]
                t[c] *= scale[c]
                total[c] = s[c] * t[c] + (total[c] if i else 0.0)
        for c in range(n):
            total[c] = np.sqrt(max(total[c], 0.0))
