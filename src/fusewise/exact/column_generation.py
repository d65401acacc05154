"""The programme over cliques: one variable per clique of the graph, for graphs that have few enough of them.

    maximise sum_C v_C z_C   subject to   sum_{C containing i} z_C <= 1 for each vertex i,  z binary,

with v_C the pairs of points clique C keeps. Its relaxation is far tighter than the one over edges. For any prices
pi >= 0 the optimum is at most sum_i pi_i + sum_i max_{C containing i} max(0, v_C - pi(C))/|C|, so every iterate
gives a bound; and a clique of reduced value v_C - pi(C) <= -theta can only be in a partition that keeps at most
(bound - theta) pairs, so it can be left out while looking for better ones.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from fusewise.exact.clock import Clock
from fusewise.exact.feasibility import Ints
from fusewise.exact.heuristic import search
from fusewise.exact.highs import Programme, whole, whole_mip
from fusewise.exact.pair_graph import Piece, WeightedGraph
from fusewise.kernels.types import Floats

_BATCH = 400


class Cliques:
    """All cliques of a graph (single vertices too), as a sparse clique x vertex matrix, with their values."""

    def __init__(self, graph: WeightedGraph, flat: Ints, sizes: Ints) -> None:
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.flat, self.sizes = flat, sizes
        totals = np.add.reduceat(graph.weights[flat], self.starts[:-1])
        own = (graph.weights * (graph.weights - 1)) // 2
        self.base = int(own.sum())
        # The pairs inside vertices are kept whatever happens: only what is between vertices is at stake.
        self.values = ((totals * (totals - 1)) // 2 - np.add.reduceat(own[flat], self.starts[:-1])).astype(float)
        self.matrix = csr_array((np.ones(len(flat)), flat, self.starts), shape=(len(sizes), graph.size))

    def reduced(self, prices: Floats) -> Floats:
        """v_C - pi(C)."""
        return np.asarray(self.values - self.matrix @ prices, dtype=np.float64)

    def bound(self, prices: Floats, reduced: Floats) -> float:
        """sum_i pi_i + sum_i max over C containing i of max(0, reduced_C)/|C|."""
        excess = np.zeros(self.matrix.shape[1])
        share = np.repeat(np.maximum(0.0, reduced) / self.sizes, self.sizes)
        np.maximum.at(excess, self.flat, share)
        return float(prices.sum() + excess.sum())

    def indicator(self, labels: Ints) -> Floats:
        """z of a partition: 1 for the cliques that are its clusters."""
        inside = labels[self.flat]
        low = np.minimum.reduceat(inside, self.starts[:-1])
        high = np.maximum.reduceat(inside, self.starts[:-1])
        return np.asarray((low == high) & (np.bincount(labels)[low] == self.sizes), dtype=np.float64)

    def labels(self, chosen: Ints) -> Ints:
        """The partition made of the chosen cliques, every uncovered vertex alone."""
        n = self.matrix.shape[1]
        labels = np.arange(n, dtype=np.int64) + len(chosen)
        for k, clique in enumerate(chosen):
            labels[self.flat[self.starts[clique] : self.starts[clique + 1]]] = k
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def enumerate_cliques(graph: WeightedGraph, limit: int) -> Cliques | None:
    """Every clique of the graph, or None when there are more than `limit`."""
    neighbours = graph.bitsets()
    flat: list[int] = []
    sizes: list[int] = []
    stack: list[tuple[list[int], int]] = [([], (1 << graph.size) - 1)]
    while stack:
        clique, candidates = stack.pop()
        while candidates:
            bit = candidates & -candidates
            candidates ^= bit
            v = bit.bit_length() - 1
            grown = [*clique, v]
            flat.extend(grown)
            sizes.append(len(grown))
            if len(sizes) > limit:
                return None
            rest = candidates & neighbours[v]
            if rest:
                stack.append((grown, rest))
    return Cliques(graph, np.array(flat, dtype=np.int64), np.array(sizes, dtype=np.int64))


def solve_columns(piece: Piece, cliques: Cliques, clock: Clock, verbose: bool = False) -> None:
    """Close the gap of a piece by column generation, then branch and bound on the cliques that can still matter."""
    prices = _generate(piece, cliques, clock, verbose)
    if prices is None or piece.closed:
        return
    reduced = cliques.reduced(prices)
    bound = cliques.bound(prices, reduced) + cliques.base
    theta = 2.0
    while not piece.closed and not clock.expired():
        # Partitions better than the incumbent use no clique below -(bound - lower - 1).
        needed = bound - piece.lower - 1 + 1e-4
        cut = min(theta, needed)
        chosen = np.flatnonzero(reduced >= -cut)
        inside = _branch(piece, cliques, chosen, clock, verbose)
        piece.tighten(int(min(piece.upper, max(inside, whole(bound - cut)))))
        if cut == needed and not piece.closed:
            return  # the branch and bound ran out of time
        theta *= 2


def _generate(piece: Piece, cliques: Cliques, clock: Clock, verbose: bool) -> Floats | None:
    """Solve the relaxation by column generation over the enumerated cliques; returns the prices."""
    programme = Programme(piece.graph.size, verbose)
    waiting = np.ones(len(cliques.sizes), dtype=np.bool_)
    prices: Floats | None = None
    entering = np.argsort(-cliques.values / cliques.sizes, kind="stable")[:_BATCH]
    while not clock.expired():
        programme.add_columns(cliques.values[entering], cliques.matrix[entering])
        waiting[entering] = False
        if not programme.solve_lp(clock):
            break
        prices = programme.duals()
        reduced = cliques.reduced(prices)
        piece.tighten(whole(cliques.bound(prices, reduced) + cliques.base))
        ready = np.flatnonzero(waiting & (reduced > 1e-7))
        if piece.closed or not ready.size:
            break
        entering = ready[np.argsort(-reduced[ready] / np.sqrt(cliques.sizes[ready]), kind="stable")[:_BATCH]]
    return prices


def _branch(piece: Piece, cliques: Cliques, chosen: Ints, clock: Clock, verbose: bool) -> float:
    """Best partition made of the chosen cliques and single vertices; returns a bound on such partitions."""
    programme = Programme(piece.graph.size, verbose)
    programme.add_columns(cliques.values[chosen], cliques.matrix[chosen])
    x, bound = programme.solve_mip(cliques.indicator(piece.labels)[chosen], clock)
    if x is not None:
        labels = cliques.labels(chosen[x > 0.5])
        if piece.graph.valid(labels):
            piece.improve(search(piece.graph, labels, clock, rounds=50))
    return max(float(piece.lower), whole_mip(bound) + cliques.base)
