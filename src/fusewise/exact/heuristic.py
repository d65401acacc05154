"""Good partitions into cliques, fast: greedy cliques, steepest single moves, and ejections."""

from __future__ import annotations

import numpy as np

from fusewise.exact.clock import Clock
from fusewise.exact.feasibility import Ints
from fusewise.exact.pair_graph import WeightedGraph
from fusewise.kernels.types import Floats


def greedy_cliques(graph: WeightedGraph, rng: np.random.Generator, noise: float = 0.0) -> Ints:
    """Peel off one greedy clique after another, always adding the vertex with most weight left to add after it."""
    labels = np.full(graph.size, -1, dtype=np.int64)
    cluster = 0
    while (labels < 0).any():
        candidates = np.flatnonzero(labels < 0)
        inner = graph.adjacent[np.ix_(candidates, candidates)]
        weights: Floats = graph.weights[candidates].astype(np.float64)
        degree: Floats = np.asarray(inner @ weights, dtype=np.float64)
        alive = np.ones(len(candidates), dtype=np.bool_)
        while alive.any():
            score = degree + weights
            if noise:
                score = score * (1 + noise * rng.random(len(score)))
            best = int(np.argmax(np.where(alive, score, -1.0)))
            labels[candidates[best]] = cluster
            dropped = np.flatnonzero(alive & ~inner[best])
            degree = degree - weights[dropped] @ inner[dropped]
            alive[dropped] = False
        cluster += 1
    return labels


class _Partition:
    """A partition under single moves. `blocked[k, v]` counts members of cluster k that v is not adjacent to."""

    def __init__(self, graph: WeightedGraph, labels: Ints) -> None:
        self.graph = graph
        self.strangers = ~graph.adjacent
        np.fill_diagonal(self.strangers, False)
        self.count = self.strangers.astype(np.float32)
        self.w = graph.weights
        self.load(labels)

    def load(self, labels: Ints) -> None:
        _, self.labels = np.unique(labels, return_inverse=True)
        slots = int(self.labels.max()) + 2  # one slot is empty: splitting off is a move too
        self.totals = np.bincount(self.labels, weights=self.w, minlength=slots).astype(np.int64)
        inside = (np.arange(slots)[:, None] == self.labels[None, :]).astype(np.float32)
        self.blocked = (inside @ self.count).astype(np.int32)

    def move(self, v: int, target: int) -> None:
        source = self.labels[v]
        self.blocked[source] -= self.strangers[v]
        self.blocked[target] += self.strangers[v]
        self.totals[source] -= self.w[v]
        self.totals[target] += self.w[v]
        self.labels[v] = target
        if self.totals.all():
            self.totals = np.append(self.totals, 0)
            self.blocked = np.vstack([self.blocked, np.zeros((1, self.graph.size), dtype=np.int32)])

    def climb(self) -> None:
        """Steepest single moves until none keeps more pairs: v gains w_v (W_target - (W_own - w_v))."""
        everyone = np.arange(self.graph.size)
        while True:
            offers = np.where(self.blocked == 0, self.totals[:, None], -1)
            stay = self.totals[self.labels] - self.w
            offers[self.labels, everyone] = stay
            target = offers.argmax(axis=0)
            gains = self.w * (offers[target, everyone] - stay)
            v = int(gains.argmax())
            if gains[v] <= 0:
                return
            self.move(v, int(target[v]))

    def eject(self, v: int, target: int) -> None:
        """Put v where it is not welcome; the members it cannot live with leave one by one for their best place."""
        leaving = np.flatnonzero((self.labels == target) & self.strangers[v])
        for u in leaving:
            offers = np.where(self.blocked[:, u] == 0, self.totals, -1)
            offers[target] = -1
            offers[self.labels[v]] = -1  # v leaves it in a moment, so keep the two moves apart
            self.move(int(u), int(offers.argmax()))
        self.move(v, target)


def climb_from_greedy(graph: WeightedGraph) -> Ints:
    """The quickest good partition: greedy cliques, then steepest moves."""
    state = _Partition(graph, greedy_cliques(graph, np.random.default_rng(0)))
    state.climb()
    return state.labels


def search(graph: WeightedGraph, labels: Ints, clock: Clock, rounds: int | None = None) -> Ints:
    """Iterated local search from `labels` and from greedy starts: eject, climb, keep when hardly worse."""
    rng = np.random.default_rng(0)
    best, best_kept = labels, graph.kept(labels)
    starts = [labels, greedy_cliques(graph, rng), *(greedy_cliques(graph, rng, 0.2) for _ in range(3))]
    state = _Partition(graph, labels)
    for start in starts:
        state.load(start)
        state.climb()
        if graph.kept(state.labels) > best_kept:
            best, best_kept = state.labels.copy(), graph.kept(state.labels)
    current, current_kept = best, best_kept
    budget = min(1000, 10 * graph.size) if rounds is None else rounds
    if graph.is_complete():
        return best
    for step in range(budget):
        if clock.expired():
            break
        state.load(current)
        _kick(state, rng)
        state.climb()
        kept = graph.kept(state.labels)
        # A little annealing: a loss of one pair is forgiven now and then, less and less.
        heat = 0.5 * (1 - step / budget)
        if kept >= current_kept or rng.random() < np.exp((kept - current_kept) / heat):
            current, current_kept = state.labels.copy(), kept
        if kept > best_kept:
            best, best_kept = state.labels.copy(), kept
    return best


def _kick(state: _Partition, rng: np.random.Generator) -> None:
    """One or two ejections, towards clusters that have room for v's edges."""
    for _ in range(int(rng.integers(1, 3))):
        v = int(rng.integers(state.graph.size))
        friends = np.flatnonzero(state.graph.adjacent[v] & (state.labels != state.labels[v]))
        if friends.size:
            state.eject(v, int(state.labels[rng.choice(friends)]))
