"""The graph of groups while they fuse: its records, edges handed over and merged, conflicts, and the heap of keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels.compiling import compiled

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


@compiled(fastmath=False)
def in_conflict(blocks: Any, one: int, other: int) -> bool:
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
def unite(blocks: Any, one: int, other: int) -> int:
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
