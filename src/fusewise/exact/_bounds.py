"""Cheap upper bounds on the pairs a partition into cliques can keep, and the reductions they allow.

*Edges no better partition can use.* Every partition keeps at most U/2 pairs, U = sum_v w_v (w_v - 1 + Omega_v) as in
`Shares`. One that keeps the edge uv lets u count at most s_uv w_v + Omega_u(uv) beside itself, Omega_u(uv) bounding
what u counts in a clique of common neighbours, and v likewise. Where that leaves fewer pairs than the incumbent keeps,
or as many, the edge can go: what is lost is no better than what we hold. Proofs: `docs/exact.md`.
"""

from __future__ import annotations

import numpy as np

from fusewise.exact._graph import Clock, Ints, WeightedGraph
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


def merge_twins(graph: WeightedGraph, labels: Ints) -> tuple[WeightedGraph, Ints]:
    """Merge vertices with the same closed neighbourhoods, and carry a partition along; every optimal one keeps them.

    Twins go where the one with the heaviest cluster is: that is feasible and never keeps fewer pairs.
    """
    closed = np.packbits(graph.adjacent | np.eye(graph.size, dtype=np.bool_), axis=1)
    _, first, groups = np.unique(closed, axis=0, return_index=True, return_inverse=True)
    groups = groups.reshape(-1)
    if len(first) == graph.size:
        return graph, labels
    weights = np.bincount(groups, weights=graph.weights).astype(np.int64)
    twins = [np.flatnonzero(groups == group) for group in range(len(first))]
    members = tuple(np.concatenate([graph.members[v] for v in some]) for some in twins)
    order = np.argsort(np.bincount(labels, weights=graph.weights)[labels], kind="stable")
    carried = np.zeros(len(first), dtype=np.int64)
    carried[groups[order]] = labels[order]  # the heaviest is written last, and stays
    return WeightedGraph(graph.adjacent[np.ix_(first, first)], weights, members), carried


def drop_edges(graph: WeightedGraph, labels: Ints, clock: Clock) -> tuple[WeightedGraph, int]:
    """Remove edges between clusters of the incumbent that only worse or equal partitions use.

    Each removal tightens the bounds, so it repeats. Returns the graph, the same object if no edge went, and a bound on
    the pairs kept.
    """
    upper = graph.possible()
    while not clock.expired():
        edges, bound = _hopeless(graph, labels, clock)
        upper = min(upper, bound)
        if not len(edges):
            break
        adjacent = graph.adjacent.copy()
        adjacent[edges[:, 0], edges[:, 1]] = False
        adjacent[edges[:, 1], edges[:, 0]] = False
        graph = WeightedGraph(adjacent, graph.weights, graph.members)
    return graph, upper


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
