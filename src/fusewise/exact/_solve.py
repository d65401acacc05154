"""The constrained l0 problem solved to proven optimality, and how far a given partition is from its optimum."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.exact._graph import Clock, Ints, check_data, feasible_pairs, observed_rows
from fusewise.exact._search import Search, relative_gap
from fusewise.kernels import Floats
from fusewise.pairs import boxes, common_boxes, midpoints
from fusewise.support import InputError, Number, check_values, counted


@dataclass(frozen=True)
class ExactSolution:
    """min sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, as solved.

    Attributes
    ----------
    labels : cluster of each point, 0 the largest; -1 for a row with no observed entry.
    cluster_centers : K x P, the midpoint of the intersection of each cluster's boxes: with one epsilon the midrange of
        what its members observed, NaN in a feature none of them observed (any value is optimal there).
    objective, bound : ordered pairs with different centres; proven lower bound on that of every feasible partition.
    gap : (objective - bound) / bound: the objective is at most this share above the optimum. 0 when they are equal,
        infinity when only the bound is 0.
    status : "optimal" (no feasible partition separates fewer pairs), "within gap" (of the one asked for), "time limit",
        "too large" (what the reductions leave has too many cliques to list) or "interrupted".
    seconds : time taken.
    n_edges : pairs of points that can share a centre.
    """

    labels: Ints
    cluster_centers: Floats
    objective: int
    bound: int
    status: str
    seconds: float
    n_edges: int

    @property
    def gap(self) -> float:
        """How far the objective is above the bound, relative to the bound."""
        return relative_gap(self.objective, self.bound)

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
    X: Any,
    epsilon: Any = None,
    mask: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    time_limit: float | None = None,
    gap: float = 0.0,
) -> ExactSolution:
    """minimise sum_i sum_j [u_i != u_j] subject to ||S_i (x_i - u_i)||_inf <= epsilon/2, to proven optimality.

    Boxes that meet in pairs meet all together (Helly), so a group can share a centre exactly when all its pairs
    can. What remains is to split the graph of feasible pairs into cliques that keep as many edges as possible.
    Reductions (components, twins, edges) come first; an integer programme, solved by HiGHS, settles what they leave.

    Parameters
    ----------
    X : real data, N x P, NaN where missing.
    epsilon : width of the boxes, >= 0: one number, or one for each column or entry. Boxes meet that do so up to
        rounding: 0.3 and 0.1 are 0.2 apart.
    mask : booleans, N x P, True where an entry was observed.
    lower, upper : instead of epsilon, bounds lower_ip <= u_ip <= upper_ip, shaped likewise, also of entries that were
        not observed; infinite or NaN where there is none.
    time_limit : seconds, after which the best partition found and its bound are returned; checked between steps.
    gap : stop as soon as the objective is proven to be at most this share above the optimum. 0: prove optimality.

    Returns
    -------
    ExactSolution
        On Ctrl-C too, with status "interrupted".

    Notes
    -----
    A row with no observed entry could join any group: it is labelled -1, with a warning, its centre is NaN, and it
    is left out of the objective. Results are deterministic unless the time limit is reached.

    Examples
    --------
    >>> from fusewise.exact import solve_l0
    >>> X = [[0.0, float("nan")], [0.1, 5.0], [3.0, 5.0], [3.1, float("nan")]]
    >>> solution = solve_l0(X, epsilon=0.2)
    >>> solution.labels.tolist(), solution.objective, solution.status
    ([0, 0, 1, 1], 8, 'optimal')
    """
    check_values({"gap": gap}, {"gap": Number(low=0)})
    data, clock = check_data(X, mask), Clock.of(time_limit)
    limits = boxes(data, epsilon, lower, upper)
    rows = observed_rows(data)
    adjacent = feasible_pairs(data, epsilon, lower, upper)[np.ix_(rows, rows)]
    search = Search(adjacent, clock, gap)
    status = search.run()
    labels = np.full(len(data), -1, dtype=np.int64)
    labels[rows] = search.labels()
    centers = midpoints(*common_boxes(*limits, labels))
    n_edges = int(adjacent.sum()) // 2
    return ExactSolution(labels, centers, search.objective(), search.bound(), status, clock.elapsed(), n_edges)


@dataclass(frozen=True)
class Certificate:
    """bound <= optimum of the l0 problem, against the objective of the partition given.

    Attributes
    ----------
    objective, bound : ordered pairs that the partition separates; proven lower bound on that of every feasible one.
    gap : (objective - bound) / bound: the objective is at most this share above the optimum. 0 when they are equal,
        infinity when only the bound is 0; NaN when the partition is not feasible.
    feasible : whether every group can share a centre that is in the boxes of all its members.
    violations : m x 2, the pairs in the same group that cannot share a centre.
    exact : whether `bound` is the optimum itself.
    """

    objective: int
    bound: int
    violations: Ints
    exact: bool

    @property
    def feasible(self) -> bool:
        """Whether every group can share a centre."""
        return not len(self.violations)

    @property
    def gap(self) -> float:
        """How far the objective is above the bound, relative to the bound; NaN if the partition is not feasible."""
        return relative_gap(self.objective, self.bound) if self.feasible else math.nan

    def __str__(self) -> str:
        """The certificate in words."""
        separates = f"this partition separates {self.objective} ordered pairs"
        if not self.feasible:
            first, second = self.violations[0]
            pairs = f"{counted(len(self.violations), 'pair')} of points in the same group cannot share a centre"
            return f"Infeasible: {pairs}, for instance rows {first} and {second}."
        if self.gap == 0:
            return f"Optimal: {separates}, and no feasible partition separates fewer."
        if math.isfinite(self.gap):
            known = "the optimum is" if self.exact else "no feasible partition separates fewer than"
            return f"At most {_percent_up(self.gap)}% above the optimum: {separates}; {known} {self.bound}."
        if self.exact:
            return f"Not optimal: {separates}; the optimum is 0, so no percentage can be given."
        return f"Unknown: {separates}, and no lower bound above 0 was proven. A longer time_limit may help."


def certify(
    X: Any,
    labels: Any,
    epsilon: Any = None,
    mask: Any = None,
    *,
    lower: Any = None,
    upper: Any = None,
    time_limit: float = 10.0,
) -> Certificate:
    """(objective of labels - proven bound) / bound: how far a partition is above the l0 optimum. Print it to read it.

    Parameters
    ----------
    X : as in `solve_l0`.
    labels : N whole numbers. Points labelled -1 (outliers) count as one group each. Rows with no observed entry are
        left out, as in `solve_l0`.
    epsilon, mask, lower, upper : as in `solve_l0`.
    time_limit : seconds for the exact solver. When they are up, the bound reached so far is used; where HiGHS is needed
        but missing, that of the reductions.
    """
    data = check_data(X, mask)
    groups = _check_labels(labels, len(data))
    rows = np.flatnonzero(~np.isnan(data).all(axis=1))
    adjacent = feasible_pairs(data, epsilon, lower, upper)[np.ix_(rows, rows)]
    same = groups[rows, None] == groups[None, rows]
    objective, violations = int(same.size - same.sum()), np.argwhere(np.triu(same & ~adjacent, 1))
    search = Search(adjacent, Clock.of(time_limit))
    with contextlib.suppress(ImportError):  # without HiGHS the bound of the reductions is valid
        search.run()
    bound = search.bound()
    return Certificate(objective, bound, rows[violations], exact=bound == search.objective())


def _percent_up(share: float) -> str:
    """A share as a percentage of two significant digits, never below it."""
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
