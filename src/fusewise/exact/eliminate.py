"""Edges no partition better than the incumbent can use, removed.

Every partition keeps at most U/2 pairs, U = sum_v w_v (w_v - 1 + Omega_v) as in `bounds.Shares`. One that
keeps the edge uv lets u count at most s_uv w_v + Omega_u(uv) beside itself, Omega_u(uv) bounding what u
counts in a clique of common neighbours, and v likewise; so it keeps at most

    ( U - w_u (Omega_u - s_uv w_v - Omega_u(uv)) - w_v (Omega_v - s_vu w_u - Omega_v(uv)) ) / 2.

Where that is under (pairs kept by the incumbent) + 1, the edge can go: what is lost is no better than what we hold.
"""

from __future__ import annotations

import numpy as np

from fusewise.exact.clock import Clock
from fusewise.exact.feasibility import Ints
from fusewise.exact.lower_bounds import best_shares
from fusewise.exact.pair_graph import WeightedGraph


def drop_edges(graph: WeightedGraph, labels: Ints, clock: Clock) -> tuple[WeightedGraph, int, int]:
    """Remove every edge between clusters of the incumbent that only worse or equal partitions use.

    Repeats as long as it removes edges, since each removal tightens the bounds. Returns the graph, how many edges went,
    and an upper bound on the pairs kept.
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
