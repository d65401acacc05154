"""The solution of a fusion problem, and the warnings about it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.fusion._fidelity import Box, Fidelity
from fusewise.fusion._loop import Descent, Status
from fusewise.fusion._merging import MergedProblem
from fusewise.fusion._penalties import Penalty
from fusewise.fusion._problem import PosedProblem
from fusewise.kernels import Index, Labels, Values, to_host
from fusewise.observations import Entries, number_by_size
from fusewise.pairs import common_boxes
from fusewise.support import Instance, Number, NumberArray, PositionArray, Record, Several, counted, some_of


@dataclass(frozen=True, eq=False)
class Solution(Record):
    """Fused centres, their labels, and how the optimisation ended.

    Attributes
    ----------
    centers : N x P, the u_i. A row without observed entries gets the mean of the others.
    labels : group of each point, largest first; -1 for outliers and for rows without observed entries.
    lam, penalty, fidelity : the problem that was solved.
    history : the objective at the start and after each iteration; it never rises.
    observations : the table, as it was read.
    stationarity : relative gradient, or KKT residual, at the end.
    status : "converged", "stalled" (no further decrease, above the tolerance), "max_iter" or "interrupted".
    """

    centers: Values = field(repr=False)
    labels: Labels = field(repr=False)
    lam: float
    penalty: Penalty
    fidelity: Fidelity
    history: tuple[float, ...] = field(repr=False)
    stationarity: float
    status: Status
    observations: Entries = field(repr=False)

    _rules: ClassVar = {
        "centers": NumberArray("N", "P", kinds="fc"),
        "labels": PositionArray("N", below="N", low=-1),
        "lam": Number(low=0, finite=False),
        "penalty": Instance(Penalty),
        "fidelity": Instance(Fidelity),
        "history": Several(Number(finite=False), least=1),
        "stationarity": Number(finite=False),
        "observations": Instance(Entries, N="N", P="P"),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "status", Status(self.status))  # saved as a string

    @property
    def objective(self) -> float:
        """The objective at the end."""
        return self.history[-1]

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history) - 1

    @property
    def converged(self) -> bool:
        """Whether the iterations converged."""
        return self.status == Status.CONVERGED

    @property
    def n_clusters(self) -> int:
        """Number of groups."""
        return int(self.labels.max(initial=-1)) + 1


def conclude(
    posed: PosedProblem, merged: MergedProblem, descent: Descent, groups: Index, min_cluster_size: int
) -> Solution:
    """Build the solution for all rows of the table from a descent on `merged` and the `groups` of the points."""
    labels = np.full(len(posed.blank), -1, dtype=np.intp)
    labels[~posed.blank] = number_by_size(groups, min_cluster_size)
    return Solution(
        centers=posed.whole(to_host(descent.centers)[merged.node_of]),
        labels=labels,
        lam=merged.problem.lam,
        penalty=merged.problem.penalty,
        fidelity=merged.problem.fidelity,
        history=descent.history,
        stationarity=descent.stationarity,
        status=descent.status,
        observations=posed.table,
    )


def warn_if_unfinished(solution: Solution, tol: float) -> None:
    """Warn if a descent has not converged, with advice."""
    if solution.converged:
        return
    how = {Status.MAX_ITER: "not converged"}.get(solution.status, solution.status.value)
    warnings.warn(
        f"{how} after {counted(solution.n_iter, 'iteration')}: relative gradient {solution.stationarity:.1e}, "
        f"tol {tol:.1e}. {solution.status.advice}",
        ConvergenceWarning,
        stacklevel=4,
    )


#: What rounding may add, in units of the last place of the largest entry (as in ``fusewise.exact``).
ROUNDING = 2.0 * float(np.finfo(float).eps)


def warn_of_unshared(posed: PosedProblem, solution: Solution) -> None:
    """Warn of clusters without a common centre: which, how many rows, and what to do.

    The labels say which centres are close at the scale of the penalty: rows whose boxes do not meet can have centres
    so close that they count as fused. Boxes of a real table have a point in common if they meet in every column.
    """
    box, penalty, seen = solution.fidelity, solution.penalty, ~posed.blank
    if not isinstance(box, Box) or np.iscomplexobj(posed.entries.values):
        return
    least, greatest = common_boxes(*box.bounds(posed.entries, slack=ROUNDING), solution.labels[seen])
    clusters = np.flatnonzero((least > greatest).any(axis=1))
    if not len(clusters):
        return
    rows = [f"{k} ({counted(int(np.count_nonzero(solution.labels == k)), 'row')})" for k in clusters]
    scale = f"decrease sigma of {penalty!r}" if "sigma" in penalty.get_params() else "use a penalty of smaller scale"
    wider = "widen lower and upper" if box.bounded else "increase epsilon"
    warnings.warn(
        f"no centre is within the Box of every row of {'cluster' if len(clusters) == 1 else 'clusters'} "
        f"{some_of(rows)}: the centres of these rows are so close that they count as fused, but they are not equal. To "
        f"tell them apart, {scale}; to let them fuse, {wider}.",
        stacklevel=4,
    )
