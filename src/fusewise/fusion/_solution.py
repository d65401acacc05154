"""The solution of a fusion problem, and whether the rows of each cluster can share one centre under a constraint.

A cluster can share a centre if there is a c with  f_i(c) = 0  for every row i of it, f_i being the constraint (``Box``,
``Ball``) of row i. The labels say which centres are close at the scale of the penalty, which is a different question:
two rows whose boxes do not meet can have centres so close that they count as fused.

* ``Box`` on a real table: the boxes meet in every column or not at all, so the middle of the range of the observed
  entries decides. The answer is exact, up to the rounding of the entries.
* ``Ball``, and ``Box`` on a complex table (discs): a common centre is sought by extrapolated parallel projections
  (Pierra 1984), from the mean of the rows' centres. One that is found is a proof; none in ``STEPS`` steps is not.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.exact import Certificate, certify
from fusewise.fusion._fidelity import Box, Fidelity
from fusewise.fusion._loop import Descent, Status
from fusewise.fusion._merging import MergedProblem
from fusewise.fusion._penalties import Penalty
from fusewise.fusion._setup import PosedProblem
from fusewise.kernels import Index, Labels, Mask, Real, Values, sum_by, to_host
from fusewise.observations import Entries, group_means, number_by_size
from fusewise.pairs import common_boxes
from fusewise.support import InputError, Instance, Number, NumberArray, PositionArray, Record, Several, counted, some_of


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

    def certificate(self, epsilon: float | None = None, *, time_limit: float = 10.0) -> Certificate:
        """Certify how close these labels are to the optimum of the paper's constrained l0 problem.

        Parameters
        ----------
        epsilon : width of the boxes; None takes those of the ``Box`` fidelity.
        time_limit : seconds the exact solver may take before a cheaper bound is used.
        """
        if epsilon is None and not isinstance(self.fidelity, Box):
            raise InputError("set epsilon, the width of the boxes of the l0 problem: this fidelity has no box")
        given: dict[str, Any] = {"epsilon": epsilon} if epsilon is not None else self.fidelity.get_params()
        X, seen = self.observations.fill(np.nan), self.observations.row_counts > 0
        for name, value in given.items():
            if np.ndim(value) > 1:  # one for each row that was fused
                whole = np.zeros(X.shape) if name == "epsilon" else np.full(X.shape, np.nan)
                whole[seen] = value
                given[name] = whole
        return certify(X, self.labels, **given, time_limit=time_limit)


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


#: Steps of the search for a common centre: it is found in a few unless the balls hardly meet.
STEPS = 200

#: A centre found by the search may lie outside the constraint of a row by this share of its distance from the row.
TOLERANCE = 1e-6

#: What rounding may add, in units of the last place of the largest entry (as in ``fusewise.exact``).
ROUNDING = 2.0 * float(np.finfo(float).eps)


def without_common_center(fidelity: Fidelity, entries: Entries, labels: Labels, centers: Values) -> Index:
    """The clusters whose rows have no common centre, or for which none was found; see the module docstring.

    `fidelity` is a constraint with its parameters set, `entries` are the rows that it constrains, with the `centers`
    of each.
    """
    sizes = np.bincount(labels[labels >= 0])
    several = np.flatnonzero(sizes > 1)
    rows = np.flatnonzero((labels >= 0) & (sizes[labels] > 1)) if len(sizes) else np.zeros(0, np.intp)
    if not len(rows):
        return several
    groups = np.searchsorted(several, labels[rows])
    some, constraint = entries.take(rows), fidelity.take(entries, rows)
    if isinstance(constraint, Box) and _decided(fidelity, entries):
        least, greatest = common_boxes(*constraint.bounds(some, slack=ROUNDING), groups)
        return several[(least > greatest).any(axis=1)]
    return several[~_search(constraint, some, groups, group_means(centers[rows], groups))]


def _decided(fidelity: Fidelity, entries: Entries) -> bool:
    """Whether the intersection of the intervals in each column decides: the constraint is one for each entry."""
    return isinstance(fidelity, Box) and not np.iscomplexobj(entries.values)


def _search(fidelity: Fidelity, entries: Entries, groups: Index, centers: Values) -> Mask:
    """Whether a common centre of each group was found, by steps c + s (sum_i d_i), s = sum_i |d_i|² / |sum_i d_i|².

    d_i is the way from c to the constraint of row i. Every point that satisfies all constraints is nearer to the new c
    than to the old one; where the d_i cancel, there is none.
    """
    found = np.zeros(len(centers), bool)
    for _ in range(STEPS):
        found |= _shared(fidelity, entries, groups, centers, TOLERANCE)
        ways = _ways(fidelity, entries, centers[groups])
        total = sum_by(groups, len(centers), ways)
        squares, size = np.bincount(groups, _squares(ways)), _squares(total)
        if np.all(found | (size <= ROUNDING**2 * squares)):
            break
        centers = centers + (squares / np.where(size > 0, size, np.inf))[:, None] * total
    return found


def _shared(fidelity: Fidelity, entries: Entries, groups: Index, centers: Values, tolerance: float) -> Mask:
    """Whether the centre of each group satisfies the constraints of all its rows, up to a share of its distances."""
    anchors = centers[groups]
    size = np.sqrt(_squares(entries.residual(anchors)))
    rounding = ROUNDING * (np.abs(entries.values).max(axis=1, initial=0.0) + size)
    outside = np.sqrt(_squares(_ways(fidelity, entries, anchors))) > tolerance * size + rounding
    return np.asarray(np.bincount(groups, outside, minlength=len(centers)) == 0)


def _ways(fidelity: Fidelity, entries: Entries, anchors: Values) -> Values:
    """From each anchor to the nearest point that satisfies the constraint of its row."""
    return np.asarray(fidelity.prox(entries, anchors, np.ones(len(anchors))) - anchors)


def _squares(rows: Values) -> Real:
    return np.asarray(np.square(np.abs(rows)).sum(axis=1))


def warn_of_unshared(posed: PosedProblem, solution: Solution) -> None:
    """Warn if the rows of a cluster cannot share a centre: which clusters, how many rows, and what to do."""
    fidelity, penalty, seen = solution.fidelity, solution.penalty, ~posed.blank
    if not fidelity.constrained:
        return
    clusters = without_common_center(fidelity, posed.entries, solution.labels[seen], solution.centers[seen])
    if not len(clusters):
        return
    known = "is" if _decided(fidelity, posed.entries) else "was found"
    rows = [f"{k} ({counted(int(np.count_nonzero(solution.labels == k)), 'row')})" for k in clusters]
    scale = f"decrease sigma of {penalty!r}" if "sigma" in penalty.get_params() else "use a penalty of smaller scale"
    wider = "widen lower and upper" if fidelity.bounded else f"increase {next(iter(fidelity.get_params()))}"
    warnings.warn(
        f"no centre {known} within the {type(fidelity).__name__} of every row of "
        f"{'cluster' if len(clusters) == 1 else 'clusters'} {some_of(rows)}: the centres of these rows are so close "
        f"that they count as fused, but they are not equal. To tell them apart, {scale}; to let them fuse, {wider}.",
        stacklevel=3,
    )
