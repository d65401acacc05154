"""How far a given partition is from the optimum of the l0 problem, in plain words."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.exact.feasibility import Ints, check_data, check_epsilon, feasible_pairs
from fusewise.exact.lower_bounds import fewest_splits
from fusewise.exact.search import relative_gap
from fusewise.exact.solve import solve_l0

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
        (objective - bound) / objective, 0 when the objective is 0; NaN when the partition is not feasible.
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
    status : str
        "optimal", "within x%", "unknown" (nothing useful was proven) or "infeasible".
    """

    objective: int
    bound: int
    gap: float
    feasible: bool
    n_violations: int
    violations: Ints
    epsilon: float
    exact: bool
    status: str

    def __str__(self) -> str:
        """Say it in plain words."""
        if not self.feasible:
            i, j = self.violations[0]
            return (
                f"Infeasible for epsilon = {self.epsilon:g}: {self.n_violations} pair(s) of points in the same group "
                f"are further apart than that in a feature both observe, for instance rows {i} and {j}."
            )
        counts = f"this partition separates {self.objective} ordered pairs"
        if self.status == "optimal":
            return f"Optimal: {counts}, and no feasible partition separates fewer."
        known = "the optimum is" if self.exact else "no feasible partition separates fewer than"
        if self.status == "unknown":
            return f"Unknown: {counts}; {known} {self.bound}, which says little."
        return f"Within {100 * self.gap:.2g}% of the optimum: {counts}; {known} {self.bound}."


def certify(X: Any, labels: Any, epsilon: float, mask: Any = None, *, time_limit: float = 10.0) -> Certificate:
    """(objective of labels - proven bound) / objective: how far a partition is from the l0 optimum.

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
    bound, exact = _bound(data, width, time_limit)
    feasible = not len(violations)
    gap = relative_gap(objective, bound) if feasible else float("nan")
    return Certificate(
        objective, bound, gap, feasible, len(violations), rows[violations[:_SHOWN]], width, exact,
        _status(feasible, gap, bound),
    )  # fmt: skip


def _bound(data: Any, epsilon: float, time_limit: float) -> tuple[int, bool]:
    """The best lower bound at hand, and whether it is the optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows with nothing observed: the caller knows by now
        try:
            solution = solve_l0(data, epsilon, time_limit=time_limit)
        except ImportError:
            return fewest_splits(data, epsilon), False
    return solution.bound, solution.status == "optimal"


def _judge(groups: Ints, feasible: Any) -> tuple[int, Ints]:
    """Ordered pairs separated, and the pairs kept together that cannot be."""
    same = groups[:, None] == groups[None, :]
    objective = int(same.size - same.sum())
    return objective, np.argwhere(np.triu(same & ~feasible, 1))


def _status(feasible: bool, gap: float, bound: int) -> str:
    if not feasible:
        return "infeasible"
    if gap == 0:
        return "optimal"
    return f"within {100 * gap:.2g}%" if bound > 0 else "unknown"


def _check_labels(labels: Any, n_points: int) -> Ints:
    """Labels as consecutive whole numbers, every -1 a group of its own."""
    array = np.asarray(labels)
    if array.shape != (n_points,):
        raise ValueError(f"labels must have one entry per row of X, shape ({n_points},), got {array.shape}")
    if array.dtype.kind not in "iub":
        raise TypeError(f"labels must be whole numbers, got dtype {array.dtype}")
    groups = np.unique(array, return_inverse=True)[1].astype(np.int64)
    alone = np.flatnonzero(array.astype(np.int64) == -1)
    groups[alone] = groups.max(initial=0) + 1 + np.arange(len(alone))
    return groups
