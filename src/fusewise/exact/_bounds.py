"""Cheap upper bounds on the pairs a partition into cliques can keep, and the reductions they allow.

*The core rule.* Let C be a clique of weight c, F the vertices outside C adjacent to all of it, R those adjacent to
some of it. If for every clique F' + R' outside C (F' in F, R' in R, R' not empty) whose common neighbours in C weigh
s >= 1,

    2 r' (1 + f'/c) <= c - s,

some optimal partition keeps C together. (Take an optimal partition that cuts C into C_a of weight c_a, each with
F_a and R_a beside it. Reunite C with F_a alone, for an a drawn with probability c_a / c. The expected change in kept
pairs is sum_a c_a [ (c - c_a)/2 - r_a (1 + f_a/c) ], and no bracket is negative.) Twins have R empty;
C with F empty becomes a cluster by itself. `docs/exact.md` has the proof in full.

*Edges no better partition can use.* Every partition keeps at most U/2 pairs, U = sum_v w_v (w_v - 1 + Omega_v) as in
`Shares`. One that keeps the edge uv lets u count at most s_uv w_v + Omega_u(uv) beside itself, Omega_u(uv) bounding
what u counts in a clique of common neighbours, and v likewise; so it keeps at most

    ( U - w_u (Omega_u - s_uv w_v - Omega_u(uv)) - w_v (Omega_v - s_vu w_u - Omega_v(uv)) ) / 2.

Where that is under (pairs kept by the incumbent) + 1, the edge can go: what is lost is no better than what we hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.exact._feasibility import Ints, check_data, check_epsilon, feasible_pairs, observed_rows
from fusewise.exact._graph import Clock, WeightedGraph
from fusewise.kernels import Mask


def clique_bound(vertices: int, neighbours: list[int], weights: list[int]) -> int:
    """sum over the colours of a greedy colouring of their largest weight >= weight of any clique.

    A clique takes at most one vertex from each independent set. `vertices` is a bitset.
    """
    total = 0
    while vertices:
        free, heaviest = vertices, 0
        while free:
            bit = free & -free
            v = bit.bit_length() - 1
            free &= ~(neighbours[v] | bit)
            vertices ^= bit
            heaviest = max(heaviest, weights[v])
        total += heaviest
    return total


class Shares:
    """U = sum_v w_v (w_v - 1 + Omega_v) >= twice the pairs any partition keeps.

    Each kept pair vx is counted twice, s_vx times at v and s_xv times at x, with s_vx + s_xv = 2; Omega_v bounds
    sum_x s_vx w_x over the cliques among the neighbours of v. Counting a pair once at each end is natural but
    weak where a vertex fits two clusters: the members of both then count it. Declared wild, such a vertex
    counts its pairs with the others twice, and they count them not at all.

    `wild` marks the wild vertices; none by default.
    """

    def __init__(self, graph: WeightedGraph, wild: Mask | None = None) -> None:
        self.wild = np.zeros(graph.size, dtype=np.bool_) if wild is None else wild
        self.weights = graph.weights
        self.neighbours = graph.bitsets()
        tame = np.where(self.wild, 0, self.weights)
        # What a tame vertex and a wild one count of each other vertex.
        self.counted = (tame.tolist(), (self.weights + tame).tolist())
        self.omega = [self.within(v, self.neighbours[v]) for v in range(graph.size)]
        self.doubled = int(self.weights @ (self.weights - 1 + np.array(self.omega, dtype=np.int64)))

    def within(self, v: int, vertices: int) -> int:
        """Bound on what v counts in a clique among some vertices (a bitset)."""
        return clique_bound(vertices, self.neighbours, self.counted[int(self.wild[v])])

    def of(self, v: int, x: int) -> int:
        """What v counts of x."""
        return int(self.counted[int(self.wild[v])][x])


def best_shares(graph: WeightedGraph, labels: Ints) -> Shares:
    """The tightest of a few choices of wild vertices: those that nearly fit another cluster than their own.

    How nearly is the largest part of another cluster, by weight, that a vertex is adjacent to.
    """
    n_clusters = int(labels.max()) + 1
    inside = np.zeros((graph.size, n_clusters))
    inside[np.arange(graph.size), labels] = graph.weights
    fit = (graph.adjacent @ inside) / np.maximum(1, inside.sum(axis=0))
    fit[np.arange(graph.size), labels] = 0.0
    nearness = fit.max(axis=1)
    best = Shares(graph)
    for level in (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.35):
        wild = nearness >= level
        if wild.any() and not wild.all():
            best = min(best, Shares(graph, wild), key=lambda shares: shares.doubled)
    return best


def colouring_bound(graph: WeightedGraph) -> int:
    """floor( sum_v w_v (w_v + omega_v - 1) / 2 ), omega_v >= the heaviest clique among the neighbours of v.

    Each point behind v is kept together with at most w_v - 1 others of v and with one clique of neighbours; the
    sum counts each kept pair twice.
    """
    return Shares(graph).doubled // 2


def fewest_splits(X: Any, epsilon: float, mask: Any = None) -> int:
    """n(n-1) - 2 sum_components colouring bound <= the l0 objective of any feasible partition.

    A lower bound on the objective of `solve_l0` that needs no solver, in time about N times the mean degree of
    the feasibility graph.

    Parameters
    ----------
    X, epsilon, mask : as in `solve_l0`.

    Returns
    -------
    int
        The bound, over ordered pairs of the n rows with an observed entry.
    """
    data = check_data(X, mask)
    data = data[observed_rows(data)]
    graph = WeightedGraph.of_points(feasible_pairs(data, check_epsilon(epsilon)))
    kept = sum(colouring_bound(graph.subgraph(part)) for part in graph.components())
    return int(np.int64(graph.size) * (graph.size - 1) - 2 * kept)


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
    """Merge the cores inside the clusters of a partition until there is none: graph, partition, how many there were."""
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


def drop_edges(graph: WeightedGraph, labels: Ints, clock: Clock) -> tuple[WeightedGraph, int, int]:
    """Remove edges between clusters of the incumbent that only worse or equal partitions use.

    Each removal tightens the bounds, so it repeats. Returns the graph, how many edges went, and a bound on the pairs
    kept.
    """
    removed, upper = 0, graph.possible()
    while not clock.expired():
        edges, bound = _hopeless(graph, labels, clock)
        upper = min(upper, bound)
        if not len(edges):
            break
        adjacent = graph.adjacent.copy()
        adjacent[edges[:, 0], edges[:, 1]] = False
        adjacent[edges[:, 1], edges[:, 0]] = False
        graph = WeightedGraph(adjacent, graph.weights, graph.members)
        removed += len(edges)
    return graph, removed, upper


def _hopeless(graph: WeightedGraph, labels: Ints, clock: Clock) -> tuple[Ints, int]:
    """Edges to remove, and the upper bound on kept pairs that removes them."""
    shares = best_shares(graph, labels)
    w, around = shares.weights.tolist(), shares.neighbours
    slack = shares.doubled - 2 * graph.kept(labels) - 2
    found: list[tuple[int, int]] = []
    between = np.triu(graph.adjacent & (labels[:, None] != labels[None, :]))
    for u, v in zip(*(ends.tolist() for ends in np.nonzero(between)), strict=True):
        most = w[u] * (shares.omega[u] - shares.of(u, v)) + w[v] * (shares.omega[v] - shares.of(v, u))
        if most <= slack:
            continue
        common = around[u] & around[v]
        at_u = shares.within(u, common)
        at_v = at_u if shares.wild[u] == shares.wild[v] else shares.within(v, common)
        if most - w[u] * at_u - w[v] * at_v > slack:
            found.append((u, v))
        if clock.expired():
            break
    return np.array(found, dtype=np.int64).reshape(-1, 2), shares.doubled // 2
