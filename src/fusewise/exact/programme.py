"""The programme over edges, with lazily added constraints, for graphs with too many cliques to list.

    maximise sum_ij w_i w_j x_ij   subject to   sum_{t in T} x_jt - sum_{s<t in T} x_st <= 1,  x binary,

for every vertex j and set T of its neighbours, x_st = 0 where st is not an edge. With |T| = 2 these are the
triangle constraints, which are all that a partition needs; larger T (Groetschel and Wakabayashi's 2-partition
inequalities) cut off the half-integral points that satisfy every triangle. They are added when violated.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from fusewise.exact.clock import Clock
from fusewise.exact.feasibility import Ints
from fusewise.exact.heuristic import search
from fusewise.exact.highs import Programme, whole, whole_mip
from fusewise.exact.pair_graph import Piece, WeightedGraph
from fusewise.kernels.types import Floats, Mask

_TOLERANCE = 1e-5
_PER_VERTEX = 25


class EdgeModel:
    """Numbering of the edges, the constraints found so far, and the bound their multipliers prove."""

    def __init__(self, graph: WeightedGraph) -> None:
        self.graph = graph
        self.first, self.second = np.nonzero(np.triu(graph.adjacent))
        self.number = np.full(graph.adjacent.shape, -1, dtype=np.int64)
        edges = np.arange(len(self.first))
        self.number[self.first, self.second] = edges
        self.number[self.second, self.first] = edges
        self.costs = (graph.weights[self.first] * graph.weights[self.second]).astype(np.float64)
        self.base = int((graph.weights * (graph.weights - 1)).sum() // 2)
        self.rows: csr_array = csr_array((0, len(edges)))
        self.known: set[bytes] = set()

    def square(self, x: Floats) -> Floats:
        """x as a symmetric matrix, 0 where there is no edge."""
        full = np.zeros(self.graph.adjacent.shape)
        full[self.first, self.second] = x
        full[self.second, self.first] = x
        return full

    def indicator(self, labels: Ints) -> Floats:
        """x of a partition."""
        return np.asarray(labels[self.first] == labels[self.second], dtype=np.float64)

    def rows_of(self, cuts: list[tuple[int, Ints]]) -> csr_array:
        """Coefficients of sum_{t in T} x_jt - sum_{s<t in T} x_st for each (j, T) not seen before."""
        data: list[Floats] = []
        indices: list[Ints] = []
        for j, inside in cuts:
            spokes = self.number[j, inside]
            rim = self.number[np.ix_(inside, inside)][np.triu_indices(len(inside), 1)]
            rim = rim[rim >= 0]
            key = np.concatenate([np.sort(spokes), [-1], np.sort(rim)]).tobytes()
            if key not in self.known:
                self.known.add(key)
                indices.append(np.concatenate([spokes, rim]))
                data.append(np.concatenate([np.ones(len(spokes)), -np.ones(len(rim))]))
        starts = np.concatenate([[0], np.cumsum([len(i) for i in indices])]).astype(np.int64)
        if not indices:
            return csr_array((0, len(self.costs)))
        return csr_array((np.concatenate(data), np.concatenate(indices), starts), shape=(len(indices), len(self.costs)))

    def bound(self, multipliers: Floats) -> float:
        """sum_r y_r + sum_e max(0, c_e - (A'y)_e): weak duality, valid for any y >= 0."""
        surplus = self.costs - self.rows.T @ multipliers
        return float(multipliers.sum() + np.maximum(0.0, surplus).sum() + self.base)


def violated(x: Floats, adjacent: Mask) -> list[tuple[int, Ints]]:
    """(j, T) with sum_T x_jt - sum_T x_st > 1: the worst pairs at each vertex, each grown greedily."""
    cuts: list[tuple[int, Ints]] = []
    for j in range(len(x)):
        inside = np.flatnonzero(x[j] > _TOLERANCE)
        if len(inside) < 2:
            continue
        spokes = x[j, inside]
        pair = spokes[:, None] + spokes[None, :] - x[np.ix_(inside, inside)]
        pair[np.tril_indices(len(inside))] = -np.inf
        order = np.argsort(-pair, axis=None)[: 4 * _PER_VERTEX]
        # Pairs at or a little under 1 may still grow into a violated set: they are half-integral points' seeds.
        seeds = order[pair.ravel()[order] > 0.8]
        found = 0
        for seed in seeds:
            a, b = divmod(int(seed), len(inside))
            members, value = _grow(j, [int(inside[a]), int(inside[b])], float(pair[a, b]), x, adjacent)
            if value > 1 + _TOLERANCE:
                cuts.append((j, members))
                found += 1
                if found >= _PER_VERTEX:
                    break
    return cuts


def _grow(j: int, members: list[int], value: float, x: Floats, adjacent: Mask) -> tuple[Ints, float]:
    """Add to T the vertex that raises the left side most; then, for free, strangers to all of T."""
    gain = np.where(adjacent[j], x[j] - x[members].sum(axis=0), -np.inf)
    touching = adjacent[members].any(axis=0)
    gain[members] = -np.inf
    while True:
        eligible = np.where((gain > _TOLERANCE) | ((gain > -1e-9) & ~touching), gain, -np.inf)
        best = int(eligible.argmax())
        if eligible[best] == -np.inf:
            return np.array(sorted(members), dtype=np.int64), value
        value += float(gain[best])
        members.append(best)
        touching |= adjacent[best]
        gain = gain - x[best]
        gain[best] = -np.inf


def solve_edges(piece: Piece, clock: Clock, verbose: bool = False) -> None:
    """Close the gap of a piece: cutting planes on the relaxation, then branch and bound until nothing is violated."""
    model = EdgeModel(piece.graph)
    programme = Programme(0, verbose)
    n_edges = len(model.costs)
    programme.add_columns(model.costs, csr_array((n_edges, 0)))
    _cut(piece, model, programme, clock)
    while not piece.closed and not clock.expired():
        x, bound = programme.solve_mip(model.indicator(piece.labels), clock)
        piece.tighten(int(min(piece.upper, whole_mip(bound) + model.base)))
        if x is None:
            return
        full = model.square(np.round(x))
        _round(piece, full, clock)
        rows = model.rows_of(violated(full, piece.graph.adjacent))
        if not rows.shape[0]:
            return
        _append(model, programme, rows)


def _cut(piece: Piece, model: EdgeModel, programme: Programme, clock: Clock) -> None:
    """Solve the relaxation, add what it violates, repeat."""
    while not clock.expired() and programme.solve_lp(clock):
        piece.tighten(whole(model.bound(programme.duals())))
        full = model.square(programme.primal())
        _round(piece, full, clock)
        if piece.closed:
            return
        rows = model.rows_of(violated(full, piece.graph.adjacent))
        if not rows.shape[0]:
            return
        _append(model, programme, rows)


def _append(model: EdgeModel, programme: Programme, rows: csr_array) -> None:
    model.rows = csr_array(vstack([model.rows, rows]))
    programme.add_rows(rows, np.ones(rows.shape[0]))


def _round(piece: Piece, x: Floats, clock: Clock) -> None:
    """A partition from a fractional point: cliques grown along its largest entries, then a short local search."""
    n = piece.graph.size
    labels = np.full(n, -1, dtype=np.int64)
    for v in np.argsort(-x.max(axis=1), kind="stable"):
        if labels[v] >= 0:
            continue
        labels[v] = v
        group = [int(v)]
        for u in np.argsort(-x[v], kind="stable"):
            if x[v, u] < 0.5:
                break
            if labels[u] < 0 and piece.graph.adjacent[u, group].all():
                labels[u] = v
                group.append(int(u))
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    piece.improve(search(piece.graph, labels, clock, rounds=20))
