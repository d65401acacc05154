"""The integer programme over cliques, for graphs with few enough of them, and the only door to HiGHS.

One variable per clique:

    maximise sum_C v_C z_C   subject to   sum_{C containing i} z_C <= 1 for each vertex i,  z binary,

with v_C the pairs of points clique C keeps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fusewise.exact._graph import Clock, Ints, Piece, WeightedGraph
from fusewise.kernels import Floats

#: All objectives are whole numbers, so a bound below the next one is a proof, up to the tolerances of HiGHS: these.
_ROUNDING, _RELATIVE = 1e-3, 1e-12


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
    """Close the gap of a piece, as far as the time allows, by branch and bound from its best partition."""
    try:
        import highspy
    except ImportError as error:
        raise ImportError('The exact solver needs HiGHS for this problem: pip install "fusewise[exact]"') from error
    n, n_rows = cliques.matrix.shape
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options = {"output_flag": verbose, "parallel": "off", "mip_rel_gap": 0.0, "mip_abs_gap": 0.99}
    if math.isfinite(clock.limit):
        options["time_limit"] = clock.left()
    for name, value in options.items():
        model.setOptionValue(name, value)
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    empty, no_starts = np.zeros(0, dtype=np.int32), np.zeros(n_rows, dtype=np.int32)
    model.addRows(n_rows, np.full(n_rows, -math.inf), np.ones(n_rows), 0, no_starts, empty, np.zeros(0))
    starts, indices = (part.astype(np.int32) for part in (cliques.matrix.indptr[:-1], cliques.matrix.indices))
    columns, entries = np.arange(n, dtype=np.int32), cliques.matrix.data
    model.addCols(n, cliques.values, np.zeros(n), np.ones(n), cliques.matrix.nnz, starts, indices, entries)
    model.changeColsIntegrality(n, columns, np.full(n, highspy.HighsVarType.kInteger.value, dtype=np.uint8))
    model.setSolution(n, columns, cliques.indicator(piece.labels))
    _run_stoppable(model)
    solution, bound = model.getSolution(), model.getInfo().mip_dual_bound
    if solution.value_valid:
        labels = cliques.labels(np.flatnonzero(np.array(solution.col_value) > 0.5))
        if piece.graph.valid(labels):
            piece.improve(labels)
    if math.isfinite(bound):
        piece.tighten(math.floor(bound + _ROUNDING + _RELATIVE * abs(bound)) + cliques.base)


def _run_stoppable(model: Any) -> None:
    """Run in a thread of its own: a Python signal handler cannot run while the main thread is inside HiGHS."""
    model.HandleUserInterrupt = True
    model.startSolve()
    try:
        while not model.wait(0.1)[0]:
            pass
    except KeyboardInterrupt:
        model.cancelSolve()
        while not model.wait(0.1)[0]:
            pass
        raise
    finally:
        model.HandleUserInterrupt = False
