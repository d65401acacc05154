"""Which points can share a centre: the graph of feasible pairs, its pieces, and good partitions into cliques."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fusewise.kernels import Floats, Mask
from fusewise.observations import as_entries, is_complex, warn_of_blanks
from fusewise.pairs import boxes

Ints = NDArray[np.int64]

# A difference of two doubles written in decimal is off by an ulp or two of the larger one: 0.3 - 0.1 is not 0.2. Two
# ulps of each of the two forgive that and nothing a user could mean.
_ULPS = 2.0 * float(np.finfo(np.float64).eps)

#: Random greedy partitions that `local_search` climbs from, and the most rounds it takes.
STARTS, ROUNDS = 4, 500


def check_data(X: Any, mask: Any = None) -> Floats:
    """X as an N x P array of doubles, NaN where nothing was observed; a NaN that the mask calls observed is missing."""
    if is_complex(X):
        raise TypeError(
            "X is complex. The exact solver needs real data: complex boxes are discs, and discs that meet in "
            "pairs need not meet all together, so feasible pairs do not make a feasible group"
        )
    return np.asarray(as_entries(X, mask, min_rows=1).fill(np.nan), dtype=np.float64)


def observed_rows(data: Floats) -> Ints:
    """Indices of the rows with at least one observed entry; warns about the others, which get the label -1."""
    warn_of_blanks(as_entries(data, min_rows=1), columns=False)
    return np.flatnonzero(~np.isnan(data).all(axis=1))


def feasible_pairs(data: Floats, epsilon: Any = None, lower: Any = None, upper: Any = None) -> Mask:
    """a_ij = [ the boxes of rows i and j meet in every feature p, up to rounding ], a_ii = False.

    Boxes of width epsilon meet where |x_ip - x_jp| <= epsilon; a pair with no common feature always can. What rounding
    may add depends on the two entries alone: a huge entry elsewhere excuses nothing.
    """
    low, high = boxes(data, epsilon, lower, upper, slack=_ULPS)
    feasible = np.ones((len(data), len(data)), dtype=np.bool_)
    for least, greatest in zip(low.T, high.T, strict=True):
        begins_before = least[:, None] <= greatest
        feasible &= begins_before & begins_before.T
    np.fill_diagonal(feasible, False)
    return feasible


@dataclass(frozen=True)
class Clock:
    """Started when made; `limit` in seconds."""

    limit: float = math.inf
    start: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        return time.perf_counter() - self.start

    def left(self) -> float:
        return max(0.0, self.limit - self.elapsed())

    def expired(self) -> bool:
        return self.elapsed() >= self.limit


@dataclass(frozen=True)
class WeightedGraph:
    """A graph whose vertex v stands for the w_v points `members[v]`, already decided to stay together."""

    adjacent: Mask  # n x n, symmetric, False on the diagonal
    weights: Ints
    members: tuple[Ints, ...]

    @classmethod
    def of_points(cls, adjacent: Mask) -> WeightedGraph:
        n = len(adjacent)
        return cls(adjacent, np.ones(n, dtype=np.int64), tuple(np.arange(n, dtype=np.int64)[:, None]))

    @property
    def size(self) -> int:
        return len(self.weights)

    def is_complete(self) -> bool:
        return int(self.adjacent.sum()) == self.size * (self.size - 1)

    def kept(self, labels: Ints) -> int:
        """sum_k W_k (W_k - 1)/2 over clusters of weight W_k: the pairs of points a partition keeps."""
        totals = np.bincount(labels, weights=self.weights)
        return int(np.sum(totals * (totals - 1)) / 2)

    def valid(self, labels: Ints) -> bool:
        same = labels[:, None] == labels[None, :]
        return int(same.sum()) - self.size == int((same & self.adjacent).sum())

    def possible(self) -> int:
        """sum_ij w_i w_j a_ij + sum_i w_i(w_i - 1)/2: the pairs kept if every edge could be."""
        w = self.weights.astype(np.float64)
        return int((w @ self.adjacent @ w + w @ (w - 1)) / 2)

    def subgraph(self, vertices: Ints) -> WeightedGraph:
        """The graph induced on some vertices."""
        return WeightedGraph(
            np.ascontiguousarray(self.adjacent[np.ix_(vertices, vertices)]),
            self.weights[vertices],
            tuple(self.members[v] for v in vertices),
        )

    def components(self) -> list[Ints]:
        """Vertices of each connected component."""
        if not self.size:
            return []
        _, labels = connected_components(csr_array(self.adjacent.astype(np.int8)), directed=False)
        order = np.argsort(labels, kind="stable")
        return [np.asarray(part) for part in np.split(order, np.cumsum(np.bincount(labels))[:-1])]

    def bitsets(self) -> list[int]:
        """Neighbourhoods as Python integers, bit j of entry i set when ij is an edge."""
        packed = np.packbits(self.adjacent, axis=1, bitorder="little")
        return [int.from_bytes(row.tobytes(), "little") for row in packed]


@dataclass
class Piece:
    """A part of the problem independent of the others: its graph, best partition, and lower <= optimum <= upper.

    The only mutable state of a solve. Whatever stops the solve, the pieces hold a valid partition and a valid bound.
    """

    graph: WeightedGraph
    labels: Ints
    upper: int
    irreducible: bool = False
    searched: bool = False

    @property
    def lower(self) -> int:
        """Pairs kept by the best partition known."""
        return self.graph.kept(self.labels)

    @property
    def closed(self) -> bool:
        """True when the best partition known is proven optimal."""
        return self.upper <= self.lower

    def improve(self, labels: NDArray[np.int64]) -> None:
        if self.graph.kept(labels) > self.lower:
            self.labels = labels.copy()

    def tighten(self, upper: int) -> None:
        self.upper = max(self.lower, min(self.upper, upper))


def greedy_cliques(graph: WeightedGraph, rng: np.random.Generator | None = None) -> Ints:
    """Peel off one greedy clique after another, always adding the vertex with most weight left to add after it.

    With a generator, that weight is taken up to 20% too high.
    """
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
            if rng is not None:
                score = score * (1 + 0.2 * rng.random(len(score)))
            best = int(np.argmax(np.where(alive, score, -1.0)))
            labels[candidates[best]] = cluster
            dropped = np.flatnonzero(alive & ~inner[best])
            degree = degree - weights[dropped] @ inner[dropped]
            alive[dropped] = False
        cluster += 1
    return labels


def climb(graph: WeightedGraph, labels: Ints) -> Ints:
    """Steepest single moves until none keeps more pairs: v gains w_v (W_target - (W_own - w_v))."""
    everyone, w = np.arange(graph.size), graph.weights
    strangers = ~graph.adjacent
    np.fill_diagonal(strangers, False)
    labels = np.unique(labels, return_inverse=True)[1]
    slots = int(labels.max()) + 2  # one slot is empty: splitting off is a move too
    totals = np.bincount(labels, weights=w, minlength=slots).astype(np.int64)
    inside = (np.arange(slots)[:, None] == labels[None, :]).astype(np.float32)
    blocked = (inside @ strangers.astype(np.float32)).astype(np.int32)  # members of a cluster that v is not adjacent to
    while True:
        offers = np.where(blocked == 0, totals[:, None], -1)
        stay = totals[labels] - w
        offers[labels, everyone] = stay
        best = offers.argmax(axis=0)
        gains = w * (offers[best, everyone] - stay)
        v = int(gains.argmax())
        if gains[v] <= 0:
            return labels
        source, target = labels[v], best[v]
        blocked[source] -= strangers[v]
        blocked[target] += strangers[v]
        totals[source] -= w[v]
        totals[target] += w[v]
        labels[v] = target
        if totals.all():
            totals = np.append(totals, 0)
            blocked = np.vstack([blocked, np.zeros((1, graph.size), dtype=np.int32)])


def local_search(graph: WeightedGraph, labels: Ints, clock: Clock) -> Ints:
    """Iterated local search from `labels` and from greedy partitions: one or two ejections, climb, keep if no worse."""
    rng = np.random.default_rng(0)
    starts = [labels, *(greedy_cliques(graph, rng) for _ in range(STARTS))]
    current = best = max((climb(graph, start) for start in starts), key=graph.kept)
    for _ in range(min(ROUNDS, 3 * graph.size)):
        if clock.expired():
            break
        moved = current.copy()
        for _ in range(int(rng.integers(1, 3))):
            v = int(rng.integers(graph.size))
            friends = np.flatnonzero(graph.adjacent[v] & (moved != moved[v]))
            if friends.size:  # v joins one of them; the members that it cannot live with are left alone
                target = moved[rng.choice(friends)]
                leaving = (moved == target) & ~graph.adjacent[v]
                moved[leaving] = moved.max() + 1 + np.arange(np.count_nonzero(leaving))
                moved[v] = target
        current = max(climb(graph, moved), current, key=graph.kept)  # the later one of two that keep as many pairs
        best = max(best, current, key=graph.kept)
    return best
