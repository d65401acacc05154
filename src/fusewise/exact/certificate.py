"""How far a given partition is from the optimum of the l0 problem, in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.exact.feasibility import Ints, check_data, check_epsilon, feasible_pairs
from fusewise.exact.lower_bounds import fewest_splits
from fusewise.exact.search import relative_gap
from fusewise.exact.solve import solve_l0
from fusewise.exact.status import CertificateStatus, SolutionStatus
from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Floats

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
    """The best lower bound at hand, and whether it is the optimum."""
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
