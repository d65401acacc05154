"""The constrained l0 problem, solved to proven optimality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from fusewise.exact.clock import Clock
from fusewise.exact.feasibility import (
    Floats,
    Ints,
    check_data,
    check_epsilon,
    feasible_pairs,
    midranges,
    observed_rows,
)
from fusewise.exact.search import Reductions, Search, relative_gap


@dataclass(frozen=True)
class ExactSolution:
    """min sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, as solved.

    Attributes
    ----------
    labels : array of shape (N,)
        Cluster of each point, 0 the largest; -1 for a row with no observed entry.
    cluster_centers : array of shape (K, P)
        Midpoint of the intersection of each cluster's boxes: the midrange of what its members observed, NaN in a
        feature none of them observed (any value is optimal there).
    objective : int
        Ordered pairs with different centres.
    bound : int
        Proven lower bound on the objective of every feasible partition.
    gap : float
        (objective - bound) / objective, 0 when the objective is 0.
    status : str
        "optimal", "within gap" (of the one asked for), "time limit" or "interrupted".
    seconds : float
        Time taken.
    n_edges : int
        Pairs of points that can share a centre.
    reductions : Reductions
        What was settled without an integer programme.
    """

    labels: Ints
    cluster_centers: Floats
    objective: int
    bound: int
    gap: float
    status: str
    seconds: float
    n_edges: int
    reductions: Reductions

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.cluster_centers)

    @property
    def centers(self) -> Floats:
        """The u_i, N x P: the centre of each point's cluster, NaN for a row with no observed entry."""
        rows = np.where(self.labels[:, None] >= 0, self.cluster_centers[self.labels], np.nan)
        return np.asarray(rows, dtype=np.float64)


def solve_l0(
    X: Any,
    epsilon: float,
    mask: Any = None,
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    verbose: int = 0,
) -> ExactSolution:
    """minimise sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, to proven optimality.

    Boxes that meet in pairs meet all together (Helly), so a group can share a centre exactly when all its pairs
    can. The problem is then to split the graph of feasible pairs into cliques, keeping as many edges as possible. It is
    reduced (components, twins, cores), and what is left is handed to an integer programme on HiGHS.

    Parameters
    ----------
    X : array-like of shape (N, P)
        Real data, NaN where missing.
    epsilon : float
        Width of the boxes, >= 0. Two values are taken as at most epsilon apart when they are so up to four ulps
        of the largest magnitude in their column: 0.3 and 0.1 are 0.2 apart.
    mask : array-like of shape (N, P), optional
        True where an entry was observed.
    time_limit : float, optional
        Seconds; the best partition found and its bound are returned when they are up. Checked between steps, so
        a large problem may take a little longer. None: no limit.
    gap : float
        Stop at the first piece of work after which (objective - bound)/objective is at most this. 0: prove optimality.
    verbose : int
        1 prints a line per step, 2 the log of HiGHS too.

    Returns
    -------
    ExactSolution
        Labels, centres, objective, bound, gap and status. Ctrl-C returns too, with status "interrupted".

    Notes
    -----
    A row with no observed entry could join any group: it is labelled -1, with a warning, and left out of the
    objective. Everything is deterministic unless the time limit strikes.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise.exact import solve_l0
    >>> X = np.array([[0.0, np.nan], [0.1, 5.0], [3.0, 5.0], [3.1, np.nan]])
    >>> solution = solve_l0(X, epsilon=0.2)
    >>> solution.labels.tolist(), solution.objective, solution.status
    ([0, 0, 1, 1], 8, 'optimal')
    """
    width = check_epsilon(epsilon)
    data = check_data(X, mask)
    clock = Clock(_check_limit(time_limit))
    _check_gap(gap)
    rows = observed_rows(data)
    adjacent = feasible_pairs(data[rows], width)
    labels = np.full(len(data), -1, dtype=np.int64)
    if not rows.size:
        return _solution(data, labels, 0, 0, "optimal", clock, 0, Reductions())
    search, interrupted = Search(adjacent, clock, float(gap), verbose), False
    try:
        search.run()
    except KeyboardInterrupt:
        interrupted = True
    labels[rows] = search.labels()
    status = _status(search, interrupted)
    n_edges = int(adjacent.sum()) // 2
    return _solution(data, labels, search.objective(), search.bound(), status, clock, n_edges, search.reductions)


def _status(search: Search, interrupted: bool) -> str:
    if search.bound() == search.objective():
        return "optimal"
    if interrupted:
        return "interrupted"
    return "within gap" if search.gap() <= search.target else "time limit"


def _solution(
    data: Floats,
    labels: Ints,
    objective: int,
    bound: int,
    status: str,
    clock: Clock,
    n_edges: int,
    reductions: Reductions,
) -> ExactSolution:
    gap = relative_gap(objective, bound)
    centers = midranges(data, labels)
    return ExactSolution(labels, centers, objective, bound, gap, status, clock.elapsed(), n_edges, reductions)


def _check_limit(time_limit: Any) -> float:
    if time_limit is None:
        return math.inf
    if isinstance(time_limit, bool) or not isinstance(time_limit, Real) or not float(time_limit) > 0:
        raise ValueError(f"time_limit must be a positive number of seconds or None, got {time_limit!r}")
    return float(time_limit)


def _check_gap(gap: Any) -> None:
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= float(gap) < 1:
        raise ValueError(f"gap must be a number in [0, 1), got {gap!r}")
