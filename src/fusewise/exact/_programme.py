"""Integer programmes over edges and over cliques, and the only door to HiGHS.

*Over edges*, with lazily added constraints, for graphs with too many cliques to list:

    maximise sum_ij w_i w_j x_ij   subject to   sum_{t in T} x_jt - sum_{s<t in T} x_st <= 1,  x binary,

for every vertex j and set T of its neighbours, x_st = 0 where st is not an edge. With |T| = 2 these are the
triangle constraints, which are all that a partition needs; larger T (Groetschel and Wakabayashi's 2-partition
inequalities) cut off the half-integral points that satisfy every triangle. They are added when violated.

*Over cliques*, one variable per clique, for graphs that have few enough of them:

    maximise sum_C v_C z_C   subject to   sum_{C containing i} z_C <= 1 for each vertex i,  z binary,

with v_C the pairs of points clique C keeps. Its relaxation is far tighter than the one over edges. For any prices
pi >= 0 the optimum is at most sum_i pi_i + sum_i max_{C containing i} max(0, v_C - pi(C))/|C|, so every iterate
gives a bound; and a clique of reduced value v_C - pi(C) <= -theta can only be in a partition that keeps at most
(bound - theta) pairs, so it can be left out while looking for better ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from fusewise.exact._feasibility import Ints
from fusewise.exact._graph import Clock, Piece, WeightedGraph, search
from fusewise.kernels import Floats, Mask

# All objectives here are whole numbers, so a bound below the next one is a proof. Bounds from our own dual
# arithmetic are right to rounding, which grows with their own size; those of the branch and bound to its tolerances.
_ROUNDING = 1e-6
_MIP_ROUNDING = 1e-3
_RELATIVE = 1e-12


def load() -> Any:
    """Return the module highspy, or raise an ImportError that says how to get it."""
    try:
        import highspy
    except ImportError as error:
        raise ImportError('The exact solver needs HiGHS for this problem: pip install "fusewise[exact]"') from error
    return highspy


class Programme:
    """maximise c'x subject to rows <= limits and 0 <= x <= 1, grown by rows or columns and solved again."""

    def __init__(self, n_rows: int = 0, verbose: bool = False) -> None:
        self._highspy = load()
        self.model = self._highspy.Highs()
        self.model.setOptionValue("output_flag", verbose)
        self.model.setOptionValue("parallel", "off")
        self.model.changeObjectiveSense(self._highspy.ObjSense.kMaximize)
        if n_rows:
            empty = np.zeros(0, dtype=np.int32)
            starts = np.zeros(n_rows, dtype=np.int32)
            self.model.addRows(n_rows, np.full(n_rows, -math.inf), np.ones(n_rows), 0, starts, empty, np.zeros(0))

    def add_columns(self, costs: Floats, matrix: csr_array) -> None:
        """Add variables; row k of `matrix` is the column of variable k."""
        n = len(costs)
        self.model.addCols(
            n, costs, np.zeros(n), np.ones(n), matrix.nnz,
            matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64),
        )  # fmt: skip

    def add_rows(self, matrix: csr_array, limits: Floats) -> None:
        """Add constraints matrix @ x <= limits."""
        n = len(limits)
        self.model.addRows(
            n, np.full(n, -math.inf), limits, matrix.nnz,
            matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64),
        )  # fmt: skip

    def solve_lp(self, clock: Clock) -> bool:
        """Solve the linear programme; True when it was solved to optimality in the time left."""
        self._limit(clock)
        self.model.run()
        return bool(self.model.getModelStatus() == self._highspy.HighsModelStatus.kOptimal)

    def primal(self) -> Floats:
        """x of the last solve."""
        return np.array(self.model.getSolution().col_value, dtype=np.float64)

    def duals(self) -> Floats:
        """y >= 0 of the last linear programme."""
        return np.maximum(0.0, np.array(self.model.getSolution().row_dual, dtype=np.float64))

    def solve_mip(self, start: Floats, clock: Clock) -> tuple[Floats | None, float]:
        """Solve with all variables binary, from a feasible start.

        Returns the best x (None when there is none) and an upper bound on the optimum. On Ctrl-C the search is
        stopped, then KeyboardInterrupt raised.
        """
        model, integer = self.model, self._highspy.HighsVarType.kInteger
        n = model.getNumCol()
        model.changeColsIntegrality(n, np.arange(n, dtype=np.int32), np.full(n, integer.value, dtype=np.uint8))
        model.setOptionValue("mip_rel_gap", 0.0)
        model.setOptionValue("mip_abs_gap", 0.99)
        self._limit(clock)
        model.setSolution(n, np.arange(n, dtype=np.int32), start)
        self._run_stoppable()
        info, solution = model.getInfo(), model.getSolution()
        x = np.array(solution.col_value, dtype=np.float64) if solution.value_valid and n else None
        bound = info.mip_dual_bound
        return x, bound if math.isfinite(bound) else math.inf

    def _limit(self, clock: Clock) -> None:
        left = clock.left()
        self.model.setOptionValue("time_limit", left if math.isfinite(left) else 1e30)

    def _run_stoppable(self) -> None:
        # In its own thread: a Python signal handler cannot run while the main thread is inside HiGHS.
        self.model.HandleUserInterrupt = True
        self.model.startSolve()
        try:
            while not self.model.wait(0.1)[0]:
                pass
        except KeyboardInterrupt:
            self.model.cancelSolve()
            while not self.model.wait(0.1)[0]:
                pass
            raise
        finally:
            self.model.HandleUserInterrupt = False


def whole(bound: float) -> int:
    """Largest whole number a proven bound from our own dual arithmetic allows."""
    return math.floor(bound + _ROUNDING + _RELATIVE * abs(bound))


def whole_mip(bound: float) -> float:
    """Largest whole number a bound of the branch and bound allows, or infinity."""
    return math.floor(bound + _MIP_ROUNDING + _RELATIVE * abs(bound)) if math.isfinite(bound) else math.inf


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
