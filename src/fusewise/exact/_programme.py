"""The integer programme over cliques, for graphs with few enough of them, and the only door to HiGHS.

One variable per clique:

    maximise sum_C v_C z_C   subject to   sum_{C containing i} z_C <= 1 for each vertex i,  z binary,

with v_C the pairs of points clique C keeps. For any prices pi >= 0 the optimum is at most
sum_i pi_i + sum_i max_{C containing i} max(0, v_C - pi(C))/|C|, so every iterate gives a bound; and a clique of reduced
value v_C - pi(C) <= -theta can only be in a partition that keeps at most (bound - theta) pairs, so it can be left out
while looking for better ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fusewise.exact._graph import Clock, Ints, Piece, WeightedGraph, search
from fusewise.kernels import Floats

# All objectives here are whole numbers, so a bound below the next one is a proof. Bounds from our own dual
# arithmetic are right to rounding, which grows with their own size; those of the branch and bound to its tolerances.
_ROUNDING = 1e-6
_MIP_ROUNDING = 1e-3
_RELATIVE = 1e-12

#: Variables added at a time.
_BATCH = 400


class Programme:
    """maximise c'x subject to A x <= 1 and 0 <= x <= 1, grown by columns and solved again."""

    def __init__(self, n_rows: int, verbose: bool = False) -> None:
        try:
            import highspy
        except ImportError as error:
            raise ImportError('The exact solver needs HiGHS for this problem: pip install "fusewise[exact]"') from error
        self._highspy: Any = highspy
        self.model: Any = self._highspy.Highs()
        self.model.setOptionValue("output_flag", verbose)
        self.model.setOptionValue("parallel", "off")
        self.model.changeObjectiveSense(highspy.ObjSense.kMaximize)
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

    def solve_lp(self, clock: Clock) -> Floats | None:
        """Solve the linear programme: its multipliers y >= 0, or None if the time left was too short."""
        self._limit(clock)
        self.model.run()
        if self.model.getModelStatus() != self._highspy.HighsModelStatus.kOptimal:
            return None
        return np.maximum(0.0, np.array(self.model.getSolution().row_dual, dtype=np.float64))

    def solve_mip(self, start: Floats, clock: Clock) -> tuple[Floats | None, float]:
        """Solve with all variables binary, from a feasible start: the best x, if any, and a bound on the optimum.

        On Ctrl-C the search is stopped, then KeyboardInterrupt raised.
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

    def bound(self, prices: Floats, reduced: Floats) -> float:
        """sum_i pi_i + sum_i max over C containing i of max(0, reduced_C)/|C|, and the pairs inside vertices."""
        excess = np.zeros(self.matrix.shape[1])
        share = np.repeat(np.maximum(0.0, reduced) / self.sizes, self.sizes)
        np.maximum.at(excess, self.flat, share)
        return float(prices.sum() + excess.sum()) + self.base

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


def solve_cliques(piece: Piece, cliques: Cliques, clock: Clock, verbose: bool = False) -> None:
    """Close the gap of a piece by column generation, then branch and bound on the cliques that can still matter."""
    found = _generate(piece, cliques, clock, verbose)
    if found is None or piece.closed:
        return
    reduced, bound = found
    theta = 2.0
    while not piece.closed and not clock.expired():
        # Partitions better than the incumbent use no clique below -(bound - lower - 1).
        needed = bound - piece.lower - 1 + 1e-4
        cut = min(theta, needed)
        inside = _branch(piece, cliques, np.flatnonzero(reduced >= -cut), clock, verbose)
        piece.tighten(int(min(piece.upper, max(inside, whole(bound - cut)))))
        if cut == needed and not piece.closed:
            return  # the branch and bound ran out of time
        theta *= 2


def _generate(piece: Piece, cliques: Cliques, clock: Clock, verbose: bool) -> tuple[Floats, float] | None:
    """Solve the relaxation by column generation over the list: the reduced values and the bound of the last iterate."""
    programme = Programme(piece.graph.size, verbose)
    waiting = np.ones(len(cliques.sizes), dtype=np.bool_)
    found: tuple[Floats, float] | None = None
    entering = np.argsort(-cliques.values / cliques.sizes, kind="stable")[:_BATCH]
    while not clock.expired():
        programme.add_columns(cliques.values[entering], cliques.matrix[entering])
        waiting[entering] = False
        prices = programme.solve_lp(clock)
        if prices is None:
            break
        reduced = np.asarray(cliques.values - cliques.matrix @ prices, dtype=np.float64)
        found = reduced, cliques.bound(prices, reduced)
        piece.tighten(whole(found[1]))
        ready = np.flatnonzero(waiting & (reduced > 1e-7))
        if piece.closed or not ready.size:
            break
        entering = ready[np.argsort(-reduced[ready] / np.sqrt(cliques.sizes[ready]), kind="stable")[:_BATCH]]
    return found


def _branch(piece: Piece, cliques: Cliques, chosen: Ints, clock: Clock, verbose: bool) -> float:
    """Best partition made of the chosen cliques and single vertices; returns a bound on such partitions."""
    programme = Programme(piece.graph.size, verbose)
    programme.add_columns(cliques.values[chosen], cliques.matrix[chosen])
    x, bound = programme.solve_mip(cliques.indicator(piece.labels)[chosen], clock)
    if x is not None:
        labels = cliques.labels(chosen[x > 0.5])
        if piece.graph.valid(labels):
            piece.improve(search(piece.graph, labels, clock, rounds=50))
    if math.isfinite(bound):
        bound = math.floor(bound + _MIP_ROUNDING + _RELATIVE * abs(bound))
    return max(float(piece.lower), bound + cliques.base)
