"""The constrained l0 problem solved to proven optimality, and how far a given partition is from its optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import Any, Self

import numpy as np

from fusewise.exact._bounds import fewest_splits
from fusewise.exact._feasibility import Ints, check_data, check_epsilon, feasible_pairs, observed_rows
from fusewise.exact._graph import Clock
from fusewise.exact._search import Reductions, Search, relative_gap
from fusewise.kernels import Floats
from fusewise.observations import midranges
from fusewise.support import InputError


class ExplainedStatus(StrEnum):
    """A word that equals its text (``status == "optimal"``), with a sentence in ``message``."""

    message: str

    def __new__(cls, word: str, message: str) -> Self:
        """A member, from its word and its sentence."""
        member = str.__new__(cls, word)
        member._value_ = word
        member.message = message
        return member


class SolutionStatus(ExplainedStatus):
    """How `solve_l0` ended."""

    OPTIMAL = "optimal", "Proven optimal: no feasible partition separates fewer pairs."
    WITHIN_GAP = "within gap", "Stopped because the gap is at most the one asked for."
    TIME_LIMIT = "time limit", "Stopped at the time limit: the best partition found so far, with a valid bound."
    INTERRUPTED = "interrupted", "Interrupted: the best partition found so far, with a valid bound."


class CertificateStatus(ExplainedStatus):
    """What `certify` found; the messages have fields that the certificate fills in."""

    OPTIMAL = "optimal", "Optimal: {separates}, and no feasible partition separates fewer."
    WITHIN_GAP = "within gap", "At most {percent}% above the optimum: {separates}; {known}."
    NOT_OPTIMAL = "not optimal", "Not optimal: {separates}; the optimum is 0, so no percentage can be given."
    UNKNOWN = "unknown", "Unknown: {separates}, and no lower bound above 0 was proven. A longer time_limit may help."
    INFEASIBLE = (
        "infeasible",
        "Infeasible for epsilon = {epsilon:g}: {violations} further apart than that in a feature both observe, "
        "for instance rows {first} and {second}.",
    )


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


_SHOWN = 1000


@dataclass(frozen=True)
class Certificate:
    """bound <= optimum of the l0 problem, against the objective of the partition given.

    Attributes
    ----------
    objective : int
        Ordered pairs that the partition separates.
    bound : int
        Proven lower bound on the objective of every feasible partition.
    gap : float
        (objective - bound) / bound: the objective is at most this share above the optimum. 0 when they are equal,
        infinity when only the bound is 0; NaN when the partition is not feasible.
    feasible : bool
        Whether every group can share a centre within epsilon/2 of all its members.
    n_violations : int
        Pairs in the same group that cannot share a centre.
    violations : array of shape (m, 2)
        The first thousand of them, as row numbers.
    epsilon : float
        Width of the boxes.
    exact : bool
        Whether `bound` is the optimum itself.
    status : CertificateStatus
        "optimal", "within gap", "not optimal" (the optimum is 0, this objective is not), "unknown" (no bound above 0
        was proven in the time given) or "infeasible".
    """

    objective: int
    bound: int
    gap: float
    feasible: bool
    n_violations: int
    violations: Ints
    epsilon: float
    exact: bool
    status: CertificateStatus

    def __str__(self) -> str:
        """The certificate in words."""
        first, second = self.violations[0] if len(self.violations) else (0, 0)
        known = "the optimum is" if self.exact else "no feasible partition separates fewer than"
        pairs, are = ("pair", "is") if self.n_violations == 1 else ("pairs", "are")
        return self.status.message.format(
            separates=f"this partition separates {self.objective} ordered pairs",
            percent=_percent_up(self.gap),
            known=f"{known} {self.bound}",
            epsilon=self.epsilon,
            violations=f"{self.n_violations} {pairs} of points in the same group {are}",
            first=first,
            second=second,
        )


def certify(X: Any, labels: Any, epsilon: float, mask: Any = None, *, time_limit: float = 10.0) -> Certificate:
    """(objective of labels - proven bound) / bound: how far a partition is above the l0 optimum.

    Parameters
    ----------
    X : array-like of shape (N, P)
        Data, NaN where missing.
    labels : array-like of shape (N,)
        Whole numbers. Points labelled -1 (outliers) count as one group each. Rows with no observed entry are left out,
        as in `solve_l0`.
    epsilon : float
        Width of the boxes.
    mask : array-like of shape (N, P), optional
        True where an entry was observed.
    time_limit : float
        Seconds for the exact solver. When they are up, the bound reached so far is used. Where HiGHS is needed but
        missing, the bound is `fewest_splits`.

    Returns
    -------
    Certificate
        Print it to read it.
    """
    data, width = check_data(X, mask), check_epsilon(epsilon)
    groups = _check_labels(labels, len(data))
    rows = np.flatnonzero(~np.isnan(data).all(axis=1))
    objective, violations = _judge(groups[rows], feasible_pairs(data[rows], width))
    bound, exact = _bound(data[rows], width, time_limit)
    feasible = not len(violations)
    gap = relative_gap(objective, bound) if feasible else math.nan
    return Certificate(
        objective, bound, gap, feasible, len(violations), rows[violations[:_SHOWN]], width, exact, _status(gap, exact)
    )


def _bound(data: Floats, epsilon: float, time_limit: float) -> tuple[int, bool]:
    """The best lower bound available, and whether it is the optimum."""
    if not len(data):
        return 0, True
    try:
        solution = solve_l0(data, epsilon, time_limit=time_limit)
    except ImportError:
        return fewest_splits(data, epsilon), False
    return solution.bound, solution.status == SolutionStatus.OPTIMAL


def _judge(groups: Ints, feasible: Any) -> tuple[int, Ints]:
    """Ordered pairs separated, and the pairs kept together that cannot be."""
    same = groups[:, None] == groups[None, :]
    objective = int(same.size - same.sum())
    return objective, np.argwhere(np.triu(same & ~feasible, 1))


def _status(gap: float, exact: bool) -> CertificateStatus:
    if math.isnan(gap):
        return CertificateStatus.INFEASIBLE
    if gap == 0:
        return CertificateStatus.OPTIMAL
    if math.isfinite(gap):
        return CertificateStatus.WITHIN_GAP
    return CertificateStatus.NOT_OPTIMAL if exact else CertificateStatus.UNKNOWN


def _percent_up(share: float) -> str:
    """A share as a percentage of two significant digits, never below it."""
    if not 0 < share < math.inf:
        return f"{100 * share:g}"
    unit = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    return f"{math.ceil(100 * share / unit * (1 - 1e-12)) * unit:.6g}"


def _check_labels(labels: Any, n_points: int) -> Ints:
    """Labels as consecutive whole numbers, every -1 a group of its own."""
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise InputError(f"labels must have one entry per row of X, shape ({n_points},), got {array.shape}")
    if array.dtype.kind not in "iub":
        raise TypeError(f"labels must be whole numbers, got dtype {array.dtype}")
    groups = np.unique(array, return_inverse=True)[1].astype(np.int64)
    alone = np.flatnonzero(array.astype(np.int64) == -1)
    groups[alone] = groups.max(initial=0) + 1 + np.arange(len(alone))
    return groups
