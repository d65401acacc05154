"""Safe reductions: twins and cores, sets of vertices that some optimal partition keeps together.

The core rule. Let C be a clique of weight c, F the vertices outside C adjacent to all of it, R those adjacent to
some of it. If for every clique F' + R' outside C (F' in F, R' in R, R' not empty) whose common neighbours in
C weigh s >= 1,

    2 r' (1 + f'/c) <= c - s,

some optimal partition keeps C together. (Take an optimal partition that cuts C into C_a of weight c_a, each with
F_a and R_a beside it. Reunite C with F_a alone, for an a drawn with probability c_a / c. The expected change in kept
pairs is sum_a c_a [ (c - c_a)/2 - r_a (1 + f_a/c) ], and no bracket is negative.) Twins have R empty;
C with F empty becomes a cluster by itself. `docs/exact.md` has the proof in full.
"""

from __future__ import annotations

import numpy as np

from fusewise.exact.feasibility import Ints
from fusewise.exact.lower_bounds import clique_bound
from fusewise.exact.pair_graph import WeightedGraph

_TRIMS = 12


def twin_classes(graph: WeightedGraph) -> Ints:
    """Group of each vertex: two share one exactly when their closed neighbourhoods are the same."""
    closed = graph.adjacent | np.eye(graph.size, dtype=np.bool_)
    packed = np.packbits(closed, axis=1)
    _, groups = np.unique(packed, axis=0, return_inverse=True)
    return groups.reshape(-1).astype(np.int64)


def merge(graph: WeightedGraph, labels: Ints, groups: Ints) -> tuple[WeightedGraph, Ints]:
    """Merge groups, and carry a partition along: a group goes where its member with the heaviest cluster is.

    For twins that is feasible and never keeps fewer pairs; a core lies inside one cluster already.
    """
    totals = np.bincount(labels, weights=graph.weights)
    order = np.argsort(totals[labels], kind="stable")  # the heaviest is written last, and stays
    carried = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    carried[groups[order]] = labels[order]
    return graph.merged(groups), carried


def merge_twins(graph: WeightedGraph, labels: Ints) -> tuple[WeightedGraph, Ints]:
    """Merge every class of twins: every optimal partition keeps them together."""
    groups = twin_classes(graph)
    if int(groups.max()) + 1 == graph.size:
        return graph, labels
    return merge(graph, labels, groups)


def merge_cores(graph: WeightedGraph, labels: Ints) -> tuple[WeightedGraph, Ints, int]:
    """Merge the cores found inside the clusters of a partition, one at a time, until there is none.

    Returns the graph, the partition carried along, and how many cores were merged.
    """
    merged, again = 0, True
    while again:
        again = False
        for cluster in np.unique(labels):
            core = find_core(graph, np.flatnonzero(labels == cluster))
            if core.size < 2:
                continue
            # One merge at a time: the next core is judged in the graph where this one is a vertex, because
            # an optimal partition keeping one core together need not be the one keeping the other.
            groups = np.full(graph.size, -1, dtype=np.int64)
            groups[core] = 0
            groups[groups < 0] = np.arange(1, graph.size - core.size + 1)
            graph, labels = merge(graph, labels, groups)
            merged, again = merged + 1, True
    return graph, labels, merged


def find_core(graph: WeightedGraph, clique: Ints) -> Ints:
    """The clique, or what is left of it when vertices standing in the way of the core rule are trimmed, or nothing.

    The outside vertex closest to being adjacent to all is the hardest to rule out: dropping its strangers
    from the clique turns it from an obstacle (R) into a companion (F).
    """
    neighbours, weights = graph.bitsets(), [int(w) for w in graph.weights]
    for _ in range(_TRIMS):
        if clique.size < 2:
            break
        obstacle = _obstacle(graph, clique, neighbours, weights)
        if obstacle < 0:
            return clique
        clique = clique[graph.adjacent[obstacle, clique]]
    return clique[:0]


def _obstacle(graph: WeightedGraph, clique: Ints, neighbours: list[int], weights: list[int]) -> int:
    """-1 when the core rule holds for the clique, else the partial neighbour closest to being a full one."""
    w = graph.weights
    c = int(w[clique].sum())
    contact = graph.adjacent[:, clique] @ w[clique]
    contact[clique] = 0
    full = clique_bound(_bitset(np.flatnonzero(contact == c)), neighbours, weights)
    partial = np.flatnonzero((contact > 0) & (contact < c))
    partial = partial[np.argsort(-contact[partial], kind="stable")]
    if not partial.size:
        return -1
    # R' has contact at least t with C only if all its vertices have, so s <= t; and it lies in the
    # neighbourhood of a member of C. Loosest test first: the largest r' against the largest s.
    inside = [neighbours[v] for v in clique]
    for levels in ([1], np.unique(contact[partial])[::-1].tolist()):
        worst = int(contact[partial[0]])
        for t in levels:
            near = _bitset(partial[contact[partial] >= t])
            r = max(clique_bound(near & around, neighbours, weights) for around in inside)
            s = worst if len(levels) == 1 else int(t)
            if 2 * r * (c + full) > c * (c - s):
                break
        else:
            return -1
    return int(partial[0])


def _bitset(vertices: Ints) -> int:
    """Bits at the given positions."""
    bits = 0
    for v in vertices.tolist():
        bits |= 1 << v
    return bits
