"""The only door to HiGHS: its import, its options, a run that Ctrl-C can stop."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fusewise.exact.clock import Clock
from fusewise.kernels.types import Floats

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
