"""The integer programme over cliques, for graphs with few enough of them, and the only door to HiGHS.

One variable per clique:

    maximise sum_C v_C z_C   subject to   sum_{C containing i} z_C <= 1 for each vertex i,  z binary,

with v_C the pairs of points clique C keeps. Let pi be the prices of the vertices in the relaxation. A clique of reduced
value v_C - pi(C) <= -theta can only be in a partition that keeps at most (bound - theta) pairs, so it is left out where
that is no more than the best partition known keeps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fusewise.exact._graph import Clock, Piece, WeightedGraph
from fusewise.kernels import Floats

#: All objectives are whole numbers, so a bound below the next one is a proof, up to the tolerances of HiGHS: these.
_ROUNDING, _RELATIVE = 1e-3, 1e-12

#: Variables added at a time.
_BATCH = 400


def enumerate_cliques(graph: WeightedGraph, limit: int) -> csr_array | None:
    """Every clique of the graph (single vertices too) as a row of cliques x vertices; None for more than `limit`."""
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
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return csr_array((np.ones(len(flat)), flat, starts), shape=(len(sizes), graph.size))


def solve_cliques(piece: Piece, cliques: csr_array, clock: Clock) -> None:
    """Close the gap of a piece, as far as the time allows: the relaxation, then branch and bound on what can matter."""
    weights = piece.graph.weights
    own = (weights * (weights - 1)) // 2
    totals = cliques @ weights
    # The pairs inside vertices are kept whatever happens: only what is between vertices is at stake.
    values, base = np.asarray(totals * (totals - 1) / 2 - cliques @ own, dtype=np.float64), int(own.sum())
    relaxed = _relaxed(values, cliques, clock)
    if relaxed is None:
        return
    reduced, bound = relaxed
    piece.tighten(_whole(bound) + base)
    if piece.closed or clock.expired():
        return
    left = np.flatnonzero(reduced >= piece.lower - base + 1 - 1e-4 - bound)
    model = _model(len(weights))
    _add(model, values[left], cliques[left])
    kinds = np.ones(len(left), dtype=np.uint8)  # whole numbers
    model.changeColsIntegrality(len(left), np.arange(len(left), dtype=np.int32), kinds)
    _run(model, clock)
    solution, inside = model.getSolution(), model.getInfo().mip_dual_bound
    if solution.value_valid:
        chosen = cliques[left[np.array(solution.col_value) > 0.5]]
        labels = chosen.shape[0] + np.arange(len(weights))  # an uncovered vertex is alone
        labels[chosen.indices] = np.repeat(np.arange(chosen.shape[0]), np.diff(chosen.indptr))
        labels = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        if piece.graph.valid(labels):
            piece.improve(labels)
    if math.isfinite(inside):
        piece.tighten(_whole(inside) + base)


def _whole(bound: float) -> int:
    """Largest whole number that a bound allows, up to the tolerances of HiGHS."""
    return math.floor(bound + _ROUNDING + _RELATIVE * abs(bound))


def _relaxed(values: Floats, cliques: csr_array, clock: Clock) -> tuple[Floats, float] | None:
    """The reduced values of the cliques in the relaxation, and its optimum, by column generation; None: out of time."""
    model, sizes = _model(cliques.shape[1]), np.diff(cliques.indptr)
    waiting = np.ones(len(values), dtype=np.bool_)
    entering = np.argsort(-values / sizes, kind="stable")[:_BATCH]
    while True:
        _add(model, values[entering], cliques[entering])
        waiting[entering] = False
        _run(model, clock)
        if model.modelStatusToString(model.getModelStatus()) != "Optimal":
            return None
        reduced = np.asarray(values - cliques @ np.maximum(0.0, model.getSolution().row_dual), dtype=np.float64)
        ready = np.flatnonzero(waiting & (reduced > 1e-7))
        if not ready.size:
            return reduced, model.getInfo().objective_function_value
        entering = ready[np.argsort(-reduced[ready] / np.sqrt(sizes[ready]), kind="stable")[:_BATCH]]


def _model(n_rows: int) -> Any:
    """maximise c'x subject to A x <= 1 and 0 <= x <= 1, without variables yet."""
    try:
        import highspy
    except ImportError as error:
        raise ImportError('The exact solver needs HiGHS for this problem: pip install "fusewise[exact]"') from error
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "parallel": "off", "mip_rel_gap": 0.0, "mip_abs_gap": 0.99}.items():
        model.setOptionValue(name, value)
    model.changeObjectiveSense(highspy.ObjSense.kMaximize)
    empty, starts = np.zeros(0, dtype=np.int32), np.zeros(n_rows, dtype=np.int32)
    model.addRows(n_rows, np.full(n_rows, -math.inf), np.ones(n_rows), 0, starts, empty, np.zeros(0))
    return model


def _add(model: Any, values: Floats, cliques: csr_array) -> None:
    """Add variables for some cliques."""
    n = len(values)
    starts, indices = (part.astype(np.int32) for part in (cliques.indptr[:-1], cliques.indices))
    model.addCols(n, values, np.zeros(n), np.ones(n), cliques.nnz, starts, indices, cliques.data)


def _run(model: Any, clock: Clock) -> None:
    """Solve, in a thread of its own: a Python signal handler cannot run while the main thread is inside HiGHS."""
    if math.isfinite(clock.limit):
        # HiGHS counts the time of all runs of a model.
        model.setOptionValue("time_limit", model.getRunTime() + clock.left())
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
