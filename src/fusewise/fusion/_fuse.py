"""``fuse`` solves one fusion problem, ``fusion_path`` several along lam and sigma, each started from the previous one.

The rules at the end choose what the paper leaves open: sigma, the values of lam, and the point of the path to select.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.cluster import AgglomerativeClustering

from fusewise.fusion._fidelity import Fidelity
from fusewise.fusion._loop import Status, descend, lower_majoriser
from fusewise.fusion._merging import MergedProblem, agreed, joined
from fusewise.fusion._penalties import Penalty, as_penalty
from fusewise.fusion._problem import PosedProblem, Problem, default_overlap, nearest_distances, pose
from fusewise.fusion._solution import Solution, conclude, warn_if_unfinished, warn_of_unshared
from fusewise.kernels import Array, Index, Labels, Values, beside
from fusewise.observations import Entries, group_means, number_by_size
from fusewise.pairs import real_view
from fusewise.progress import shown
from fusewise.subspace import coordinates
from fusewise.support import (
    InputError,
    Instance,
    Maybe,
    Number,
    Record,
    Several,
    Word,
    check_values,
    counted,
    readable_apart,
)

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
        If no centre satisfies the ``Box`` constraints of all rows of a cluster (of a real table).

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
    return solutions(posed, [(posed.problem.lam, posed.problem.penalty)], how)[0]


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


#: Points shown by ``repr``: of a longer path the first and the last ones.
MOST_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class FusionPath(Record):
    """Solutions along a path, in order.

    Attributes
    ----------
    solutions : one ``Solution`` per point; fewer than requested if the path was interrupted.
    """

    solutions: tuple[Solution, ...]

    _rules: ClassVar = {"solutions": Several(Instance(Solution, N="N", P="P"), least=1)}

    @property
    def lams(self) -> npt.NDArray[np.float64]:
        """lam at each point."""
        return np.array([solution.lam for solution in self.solutions])

    @property
    def sigmas(self) -> npt.NDArray[np.float64]:
        """Scale of the penalty at each point (NaN if it has none)."""
        return np.array([getattr(s.penalty, "sigma", None) or np.nan for s in self.solutions])

    @property
    def labels(self) -> list[Labels]:
        """Labels at each point."""
        return [solution.labels for solution in self.solutions]

    @property
    def n_clusters(self) -> npt.NDArray[np.intp]:
        """Number of groups at each point."""
        return np.array([solution.n_clusters for solution in self.solutions], dtype=np.intp)

    @property
    def converged(self) -> npt.NDArray[np.bool_]:
        """Whether each point converged."""
        return np.array([solution.converged for solution in self.solutions])

    def centers(self, k: int) -> Values:
        """The u_i at point k, N x P."""
        return self.solutions[k].centers

    def __len__(self) -> int:
        return len(self.solutions)

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)

    def __getitem__(self, k: int) -> Solution:
        return self.solutions[k]

    def __repr__(self) -> str:
        """lam, sigma (if the penalty has one) and number of clusters at each point; long paths are abbreviated."""
        columns = [["lam", *readable_apart(self.lams.tolist())], ["clusters", *map(str, self.n_clusters)]]
        if not np.isnan(self.sigmas).all():
            columns.insert(1, ["sigma", *readable_apart(self.sigmas.tolist())])
        half = MOST_SHOWN // 2
        if len(self) > MOST_SHOWN:
            columns = [[*column[: 1 + half], "...", *column[-half:]] for column in columns]
        aligned = [[word.rjust(max(map(len, column)) + 2) for word in column] for column in columns]
        rows = ["".join(row) for row in zip(*aligned, strict=True)]
        return "\n".join([f"{type(self).__name__} of {counted(len(self), 'point')}", *rows])


def fusion_path(
    X: Any,
    *,
    lams: float | Sequence[float] | npt.NDArray[Any] = 1.0,
    sigmas: float | Sequence[float] | npt.NDArray[Any] | None = None,
    penalty: str | Penalty = "h1",
    fidelity: str | Fidelity = "quadratic",
    mask: npt.ArrayLike | None = None,
    rank: int | None = None,
    n_neighbors: int | str | None = "auto",
    **settings: Any,
) -> FusionPath:
    """Solve a sequence of fusion problems, each started from the solutions of the previous ones.

    Parameters
    ----------
    X : as ``fuse``.
    lams : strengths of the fusion penalty, in the order of the path (larger values fuse more).
    sigmas : scales of the penalty, in the order of the path; None keeps that of `penalty`. If both lams and sigmas
        have several values, they are paired point by point.
    penalty, fidelity, mask, rank, n_neighbors, **settings : as ``fuse``.

    Notes
    -----
    The start matters: from scratch at a large lam, nearly everything merges. So the first lam is itself approached
    from far below, unless ``continuation=False``. Where lam increases, rows that have fused in two successive solutions
    are represented by one node from then on (``merge=False`` solves for every centre). The objective and the relative
    gradient are then those of the problem with these centres equal: for a penalty that is smooth at zero, such as H1,
    the centres of a group would otherwise differ by a share of about 1/(1 + 2 lam d) of their data.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise import fusion_path
    >>> from fusewise.penalties import H1
    >>> X = np.array([[0.0, 0.1], [0.1, np.nan], [np.nan, 0.0], [5.0, 5.1], [5.1, np.nan], [np.nan, 5.0]])
    >>> fusion_path(X, lams=[0.01, 1.0], penalty=H1(0.5))
    FusionPath of 2 points
       lam  sigma  clusters
      0.01    0.5         6
         1    0.5         2
    """
    how, schedule = Settings(**settings), _schedule(lams, sigmas, as_penalty(penalty))
    posed = pose(X, mask, *schedule[0], fidelity, rank, n_neighbors, how.device)
    return FusionPath(tuple(solutions(posed, schedule, how)))


def solutions(posed: PosedProblem, schedule: list[tuple[float, Penalty]], how: Settings) -> list[Solution]:
    """Solve for each lam and penalty in order, until the schedule ends or Ctrl-C."""
    apart = merged = MergedProblem.unmerged(posed.problem, how.device)
    before: Index | None = None  # the groups of the last point but one
    groups: Index | None = None  # those of the last point
    found = []
    with shown(how.verbose) as progress:
        start, interrupted = first_centers(posed, merged.working.at(*schedule[0]), how)
        for lam, scaled in schedule:
            if lam < merged.problem.lam or scaled != merged.problem.penalty or merged.problem.fidelity.constrained:
                # Rows that have fused need not stay fused.
                merged, start, before = apart, start[merged.node_of], None
            elif groups is not None:
                if how.merge and before is not None:
                    merged, start = merged.merge(agreed(groups, joined(before, merged.node_of)), start)
                before = groups
            merged = merged.at(lam, scaled)
            max_iter = 0 if interrupted else how.max_iter
            descent = descend(merged.working, start, max_iter=max_iter, tol=how.tol, progress=progress)
            descent = replace(descent, status=Status.INTERRUPTED) if interrupted else descent
            groups, start = merged.groups(descent), descent.centers
            found.append(conclude(posed, merged, descent, groups, how.min_cluster_size))
            interrupted = descent.status == Status.INTERRUPTED
            del descent  # it holds the weights of all pairs
            if interrupted:
                break
    for solution in found:
        warn_if_unfinished(solution, how.tol)
        warn_of_unshared(posed, solution)
    return found


def _schedule(lams: Any, sigmas: Any, penalty: Penalty) -> list[tuple[float, Penalty]]:
    """Pairs (lam, penalty) in the order of the path."""
    lam_list = np.atleast_1d(np.asarray(lams, dtype=float))
    if lam_list.ndim != 1 or not len(lam_list):
        raise InputError(f"lams must be a number or a non-empty sequence of numbers, got {lams!r}")
    for lam in lam_list:
        check_values({"lam": float(lam)}, {"lam": Number(low=0)})
    if sigmas is None:
        return [(float(lam), penalty) for lam in lam_list]
    if "sigma" not in penalty.get_params():
        raise InputError(f"sigmas were given, but {type(penalty).__name__} has no scale sigma")
    scales = [penalty.replace(sigma=float(sigma)) for sigma in np.atleast_1d(np.asarray(sigmas, dtype=float))]
    if not scales:
        raise InputError("sigmas must be a number or a non-empty sequence of numbers")
    if len(lam_list) > 1 and len(scales) > 1 and len(lam_list) != len(scales):
        raise InputError(f"lams and sigmas must be equally many, got {len(lam_list)} lams and {len(scales)} sigmas")
    length = max(len(lam_list), len(scales))
    return [(float(lam_list[k % len(lam_list)]), scales[k % len(scales)]) for k in range(length)]


#: Number of times lam is doubled, starting from a value without effect.
DOUBLINGS = 24


def choose_sigma(entries: Entries) -> float:
    """Half the median distance between a point and its nearest neighbour (partial distances)."""
    nearest = nearest_distances(entries)
    positive = nearest[nearest > 0]
    return 0.5 * float(np.median(positive)) if len(positive) else 1.0


def lam_schedule(problem: Problem) -> list[float]:
    """Values of lam, repeatedly doubled from one without effect; under a constraint none has any."""
    if problem.fidelity.constrained:
        return [1.0]
    return [lam_without_effect(problem) * 2.0**k for k in range(DOUBLINGS)]


def longest_plateau(path: FusionPath) -> int:
    """Point of the path whose partition persists over the most points; the last of them.

    Partitions with one group or none are not candidates, unless there are no others.
    """
    best, best_length, length = len(path) - 1, 0, 0
    for k, labels in enumerate(path.labels):
        same = k > 0 and np.array_equal(labels, path.labels[k - 1])
        length = length + 1 if same else 1
        if path.n_clusters[k] >= 2 and length >= best_length:
            best, best_length = k, length
    return best


def cut_to(path: FusionPath, n_clusters: int) -> tuple[int, Labels]:
    """Point with the fewest groups of at least `n_clusters`, and its groups joined until `n_clusters` are left.

    Each outlier counts as a group, so outliers are the first to be joined.
    """
    counts = path.n_clusters + [np.count_nonzero(labels < 0) for labels in path.labels]
    k = int(np.flatnonzero(counts >= n_clusters).max(initial=0))
    seen = path[k].observations.row_counts > 0
    groups = path.labels[k][seen]
    loose = np.flatnonzero(groups < 0)
    groups[loose] = groups.max(initial=-1) + 1 + np.arange(len(loose))
    if groups.max() > 0:
        means = real_view(group_means(path.centers(k)[seen], groups))
        kept = min(n_clusters, len(means))
        groups = AgglomerativeClustering(kept, linkage="average").fit_predict(means)[groups]
    labels = np.full(len(seen), -1, dtype=np.intp)
    labels[seen] = number_by_size(groups)
    return k, labels
