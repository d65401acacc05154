"""The solution of a fusion problem."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.exact import Certificate, certify
from fusewise.fusion.fidelity import Fidelity
from fusewise.fusion.loop import Descent, Status
from fusewise.fusion.merging import Merged
from fusewise.fusion.penalties import Penalty
from fusewise.fusion.setup import Posed
from fusewise.kernels import field_rules
from fusewise.kernels.arrays import to_host
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Array, Number, Several
from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Index, Labels, Values
from fusewise.kernels.words import counted
from fusewise.observations import Entries
from fusewise.observations.groups import number_by_size


@dataclass(frozen=True, eq=False)
class Solution(Checked):
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
        "centers": Array("N", "P", kinds="fc"),
        "labels": field_rules.Index("N", below="N", low=-1),
        "lam": Number(low=0, finite=False),
        "penalty": Record(Penalty),
        "fidelity": Record(Fidelity),
        "history": Several(Number(finite=False), least=1),
        "stationarity": Number(finite=False),
        "observations": Record(Entries, N="N", P="P"),
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

    def certificate(self, epsilon: float | None = None, *, time_limit: float = 10.0) -> Certificate:
        """Certify how close these labels are to the optimum of the paper's constrained l0 problem.

        Parameters
        ----------
        epsilon : width of the boxes; None takes that of the ``Box`` fidelity.
        time_limit : seconds the exact solver may take before a cheaper bound is used.
        """
        width = getattr(self.fidelity, "epsilon", None) if epsilon is None else epsilon
        if width is None:
            raise InputError("set epsilon, the width of the boxes of the l0 problem: this fidelity has no box")
        return certify(self.observations.fill(np.nan), self.labels, float(width), time_limit=time_limit)


def conclude(posed: Posed, merged: Merged, descent: Descent, groups: Index, min_cluster_size: int) -> Solution:
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


def warn_if_unfinished(descent: Descent, tol: float) -> None:
    """Warn if a descent has not converged, with advice."""
    if descent.status == Status.CONVERGED:
        return
    how = {Status.MAX_ITER: "not converged"}.get(descent.status, descent.status.value)
    warnings.warn(
        f"{how} after {counted(descent.n_iter, 'iteration')}: relative gradient {descent.stationarity:.1e}, "
        f"tol {tol:.1e}. {descent.status.advice}",
        ConvergenceWarning,
        stacklevel=3,
    )
