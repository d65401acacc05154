"""The constrained l0 problem, solved to proven optimality."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from fusewise.exact.clock import Clock
from fusewise.exact.feasibility import Ints, check_data, check_epsilon, feasible_pairs, midranges, observed_rows
from fusewise.exact.search import Reductions, Search
from fusewise.exact.status import SolutionStatus
from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Floats


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
        (objective - bound) / bound: the objective is at most this share above the optimum. 0 when they are equal,
        infinity when only the bound is 0.
    status : SolutionStatus
        "optimal", "within gap" (of the one asked for), "time limit" or "interrupted"; ``status.message`` explains it.
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
    status: SolutionStatus
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
        centers = np.full((len(self.labels), self.cluster_centers.shape[1]), np.nan)
        inside = self.labels >= 0
        centers[inside] = self.cluster_centers[self.labels[inside]]
        return centers


def solve_l0(
    X: Any, epsilon: float, mask: Any = None, *, time_limit: float | None = None, gap: float = 0.0, verbose: int = 0
) -> ExactSolution:
    """minimise sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, to proven optimality.

    Boxes that meet in pairs meet all together (Helly), so a group can share a centre exactly when all its pairs
    can. What remains is to split the graph of feasible pairs into cliques that keep as many edges as possible.
    Reductions (components, twins, cores) come first; integer programmes, solved by HiGHS, settle what they leave.

    Parameters
    ----------
    X : array-like of shape (N, P)
        Real data, NaN where missing.
    epsilon : float
        Width of the boxes, >= 0. Two values count as at most epsilon apart when they are so up to rounding, four
        ulps of the larger of the two: 0.3 and 0.1 are 0.2 apart.
    mask : array-like of shape (N, P), optional
        True where an entry was observed.
    time_limit : float, optional
        Seconds, after which the best partition found and its bound are returned; checked between steps. None: no limit.
    gap : float
        Stop as soon as the objective is proven to be at most this share above the optimum. 0: prove optimality.
    verbose : int
        1 prints a line per step, 2 the log of HiGHS too.

    Returns
    -------
    ExactSolution
        Labels, centres, objective, bound, gap and status. On Ctrl-C too, with status "interrupted".

    Notes
    -----
    A row with no observed entry could join any group: it is labelled -1, with a warning, its centre is NaN, and it
    is left out of the objective. Results are deterministic unless the time limit is reached.

    Examples
    --------
    >>> from fusewise.exact import solve_l0
    >>> X = [[0.0, float("nan")], [0.1, 5.0], [3.0, 5.0], [3.1, float("nan")]]
    >>> solution = solve_l0(X, epsilon=0.2)
    >>> solution.labels.tolist(), solution.objective, str(solution.status)
    ([0, 0, 1, 1], 8, 'optimal')
    """
    width, data, clock = check_epsilon(epsilon), check_data(X, mask), Clock(_check_limit(time_limit))
    rows = observed_rows(data)
    adjacent = feasible_pairs(data[rows], width)
    search = Search(adjacent, clock, _check_gap(gap), verbose)
    status = _run(search)
    labels = np.full(len(data), -1, dtype=np.int64)
    labels[rows] = search.labels()
    return ExactSolution(
        labels, midranges(data, labels), search.objective(), search.bound(), search.gap(), status, clock.elapsed(),
        int(adjacent.sum()) // 2, search.reductions,
    )  # fmt: skip


def _run(search: Search) -> SolutionStatus:
    """Run to the end or until Ctrl-C; how it ended."""
    stopped = SolutionStatus.TIME_LIMIT
    try:
        search.run()
    except KeyboardInterrupt:
        stopped = SolutionStatus.INTERRUPTED
    if search.bound() == search.objective():
        status = SolutionStatus.OPTIMAL
    elif stopped == SolutionStatus.TIME_LIMIT and search.gap() <= search.target:
        status = SolutionStatus.WITHIN_GAP
    else:
        status = stopped
    if search.verbose:
        print(f"exact: {status.message}")
    return status


def _check_limit(time_limit: Any) -> float:
    if time_limit is None:
        return math.inf
    if isinstance(time_limit, bool) or not isinstance(time_limit, Real) or not float(time_limit) > 0:
        raise InputError(f"time_limit must be a positive number of seconds or None, got {time_limit!r}")
    return float(time_limit)


def _check_gap(gap: Any) -> float:
    if isinstance(gap, bool) or not isinstance(gap, Real) or not 0 <= float(gap) < 1:
        raise InputError(f"gap must be a number in [0, 1), got {gap!r}")
    return float(gap)
