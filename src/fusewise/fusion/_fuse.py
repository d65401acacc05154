"""``fuse``: solve one fusion problem, from a table and starting centres to a solution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fusion._fidelity import Fidelity
from fusewise.fusion._loop import Descent, Status, descend, lower_majoriser
from fusewise.fusion._merging import MergedProblem
from fusewise.fusion._penalties import Penalty
from fusewise.fusion._problem import Problem
from fusewise.fusion._setup import PosedProblem, default_overlap, pose
from fusewise.fusion._solution import Solution, conclude, warn_if_unfinished, warn_of_unshared
from fusewise.kernels import Array, beside
from fusewise.progress import Progress, shown
from fusewise.subspace import coordinates
from fusewise.support import InputError, Maybe, Number, Word, check_values

STARTS = ("partial", "zero", "mean", "subspace")

Init = str | npt.NDArray[Any]


def start(posed: PosedProblem, problem: Problem, init: Init, min_overlap: int) -> Array:
    """Starting centres, in the coordinates of the problem and on its device.

    ``"partial"``   weights from partial distances, then the minimum of the majoriser they give;
    ``"zero"``      u_i = S_i x_i, missing values set to zero;
    ``"mean"``      missing values set to the mean of the observed entries of the column;
    ``"subspace"``  the most likely coordinates of each row (needs a rank);
    an array        used unchanged (projected onto the constraint if there is one).
    """
    if not isinstance(init, str):
        init = np.asarray(init)
        if init.shape != posed.table.shape:
            raise InputError(f"init has shape {init.shape}, but the table has shape {posed.table.shape}")
        if not np.isfinite(init).all():
            raise InputError("init must be finite: one complete centre for every row")
        centers = posed.coordinates(init[~posed.blank].astype(np.result_type(posed.table.values.dtype, init.dtype)))
        return beside(problem.projected(centers), problem.observations.target)
    if init not in STARTS:
        raise InputError(f"unknown init {init!r}: use one of {', '.join(map(repr, STARTS))}, or an array of centres")
    entries = posed.entries
    if init == "subspace":
        if posed.subspace is None:
            raise InputError("init='subspace' needs a subspace: set rank")
        places = coordinates(posed.subspace, entries)[0]
        return beside(places, problem.observations.target)
    filled = problem.projected(posed.coordinates(entries.fill(0 if init == "zero" else entries.column_means)))
    centers = beside(filled, problem.observations.target)
    if init == "partial":
        weighted = problem.pairs.weigh_partial(entries, problem.penalty, min_overlap)
        # The first weights do not come from centres, so the majoriser is minimised, not merely lowered.
        centers = lower_majoriser(problem, weighted, centers, effort=5)
    return centers


#: Iterations at each lam of the continuation, where groups need to form but not to converge.
CONTINUATION_ITERATIONS = 3


@dataclass(frozen=True)
class Settings:
    """Settings of the optimisation, common to all points of a path.

    Parameters
    ----------
    init : "partial", "zero", "mean", "subspace" (with a rank), or an array of centres.
    min_overlap : fewest common entries for a partial distance to count; None: half the expected number, from 1 to 4.
    continuation : approach the first lam from far below by doubling it, so that groups form before they can be merged.
        It applies to the quadratic fidelity, and not where `init` is an array of centres.
    max_iter : maximum number of iterations.
    tol : the iterations end when the relative gradient (or KKT residual) is below `tol`.
    min_cluster_size : points in smaller groups are outliers, labelled -1.
    merge : along a path of increasing lam, hold the centres of a group equal once it has fused at two successive
        points, so that one node represents it; False solves for every centre.
    device : "cpu"; "cuda" (a GPU, through torch) or "cuda:1"; "auto": the GPU if there is one.
    verbose : 1 shows progress on stderr (lam, iteration, objective, relative gradient, time left).
    """

    init: Init = "partial"
    min_overlap: int | None = None
    continuation: bool = True
    max_iter: int = 500
    tol: float = 1e-6
    min_cluster_size: int = 1
    merge: bool = True
    device: str = "cpu"
    verbose: int = 0

    def __post_init__(self) -> None:
        count = Number(low=1, whole=True)
        rules = {"max_iter": count, "min_cluster_size": count, "tol": Number(low=0), "min_overlap": Maybe(count)}
        check_values(vars(self), rules | {"device": Word()})


def fuse(
    X: Any,
    *,
    lam: float = 1.0,
    penalty: str | Penalty = "h1",
    fidelity: str | Fidelity = "quadratic",
    mask: npt.ArrayLike | None = None,
    rank: int | None = None,
    n_neighbors: int | str | None = "auto",
    **settings: Any,
) -> Solution:
    """minimise  sum_i f_i(u_i) + lam sum_i sum_j c_ij phi(||u_i - u_j||)  over one centre u_i for each row of X.

    Parameters
    ----------
    X : table with missing values: anything ``as_entries`` reads (NaN, frames, scipy.sparse, complex).
    lam : strength of the fusion penalty; it has no effect with a constrained fidelity.
    penalty, fidelity : names or objects, e.g. ``H1(0.15)``, ``Box(epsilon=0.2)``.
    mask : booleans, True where observed.
    rank : fuse the coordinates of the rows in a subspace of this dimension; None: the ambient space.
    n_neighbors : fuse along a graph of this many nearest neighbours, by partial distance (with a rank: by the expected
        weight in the subspace); None: all pairs, or MemoryError; "auto": all pairs if they fit in memory.
    **settings : see ``Settings``: init, min_overlap, continuation, max_iter, tol, min_cluster_size, merge,
        device, verbose.

    Warns
    -----
    ConvergenceWarning
        If the iterations did not converge.
    UserWarning
        If no centre satisfies the ``Box`` or ``Ball`` constraints of all rows of a cluster, or none was found.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise import fuse
    >>> from fusewise.penalties import H1
    >>> X = np.array([[0.0, 0.1], [0.1, np.nan], [np.nan, 0.0], [5.0, 5.1], [5.1, np.nan], [np.nan, 5.0]])
    >>> fuse(X, lam=1.0, penalty=H1(0.5)).labels
    array([0, 0, 0, 1, 1, 1])
    """
    how = Settings(**settings)
    posed = pose(X, mask, lam, penalty, fidelity, rank, n_neighbors, how.device)
    merged = MergedProblem.unmerged(posed.problem, how.device)
    problem = merged.working
    with shown(how.verbose) as progress:
        descent = descend_from(problem, *first_centers(posed, problem, how), how, progress)
    warn_if_unfinished(descent, how.tol)
    solution = conclude(posed, merged, descent, merged.groups(descent), how.min_cluster_size)
    warn_of_unshared(posed, solution)
    return solution


def first_centers(posed: PosedProblem, problem: Problem, how: Settings) -> tuple[Array, bool]:
    """Starting centres, by continuation from small lam if set; and whether Ctrl-C interrupted it.

    Started directly at a large lam, the first weights (from rough partial distances) pull clusters together, and the
    non-convex problem never separates them again. So lam begins where it moves no point by more than a few per cent,
    and is doubled until it reaches the requested value. `problem` is that of `posed`, with its arrays on the device.
    """
    overlap = how.min_overlap or default_overlap(posed.entries)
    if not (how.continuation and isinstance(how.init, str)) or problem.fidelity.constrained or problem.lam == 0:
        return start(posed, problem, how.init, overlap), False
    lam = min(problem.lam, lam_without_effect(problem))
    centers = start(posed, problem.at(lam, problem.penalty), how.init, overlap)
    while lam < problem.lam:
        rung = problem.at(lam, problem.penalty)
        descent = descend(rung, centers, max_iter=CONTINUATION_ITERATIONS, tol=how.tol)
        centers, status = descent.centers, descent.status
        del descent  # it holds the weights of all pairs
        if status == Status.INTERRUPTED:
            return centers, True
        lam *= 2
    return centers, False


def lam_without_effect(problem: Problem) -> float:
    """A lam at which the pull of coinciding neighbours on a point is a twentieth of that of its data."""
    strongest = float(problem.penalty.weight(problem.penalty.resolution)) * problem.pairs.largest_degree
    if not strongest > 0:
        return 0.05  # without pairs no lam has an effect
    return max(0.05 / strongest, float(np.finfo(float).tiny))  # above zero, so that doubling it reaches any lam


def descend_from(problem: Problem, centers: Array, interrupted: bool, how: Settings, progress: Progress) -> Descent:
    """Descend from these centres; if computing them was interrupted, they are the result."""
    max_iter = 0 if interrupted else how.max_iter
    descent = descend(problem, centers, max_iter=max_iter, tol=how.tol, progress=progress)
    return replace(descent, status=Status.INTERRUPTED) if interrupted else descent
