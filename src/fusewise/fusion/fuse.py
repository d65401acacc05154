"""``fuse``: one fusion problem, from a table to a solution."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from fusewise.fusion.fidelity import Fidelity
from fusewise.fusion.loop import Descent, Status, choose_solver, descend
from fusewise.fusion.merging import Merged
from fusewise.fusion.penalties import Penalty
from fusewise.fusion.problem import Problem
from fusewise.fusion.setup import Posed, default_overlap, pose
from fusewise.fusion.solution import Solution, conclude, warn_if_unfinished
from fusewise.fusion.starts import Init, start
from fusewise.kernels.arrays import Array
from fusewise.progress import Progress, shown

#: Iterations at each lam on the way to the first one asked for: groups need to form there, not to settle.
ITERATIONS_ON_THE_WAY = 3


@dataclass(frozen=True)
class Settings:
    """How to descend; the same for every point of a path.

    Parameters
    ----------
    init : "partial", "zero", "mean", "subspace" (with a rank), or an array of centres.
    min_overlap : fewest common entries for a partial distance to count; None: half the expected number, from 1 to 4.
    continuation : come to the first lam from far below, doubling it, so that groups form before they can be merged.
        It applies to the quadratic fidelity; an array of centres is started from as it is.
    solver : "exact" minimises each majoriser (quadratic fidelity), "average" takes averaging steps (any), "auto".
    max_iter, tol : at most so many iterations, until the relative gradient (KKT residual) is below `tol`.
    min_cluster_size : smaller groups are outliers, labelled -1.
    merge : along a path of rising lam, hold the centres of a group equal once two points in a row agree that they have
        fused, so that one node stands for all (see ``fusewise.fusion.merging``); False solves for every centre anew.
    device : "cpu"; "cuda" (torch, a card) or "cuda:1"; "auto" is the card where there is one.
    verbose : 1 shows each problem as it goes on stderr (lam, iteration, objective, relative gradient, time left).
    callback : told of each iteration, as ``fusewise.progress.Progress`` says.
    """

    init: Init = "partial"
    min_overlap: int | None = None
    continuation: bool = True
    solver: str = "auto"
    max_iter: int = 500
    tol: float = 1e-6
    min_cluster_size: int = 1
    merge: bool = True
    device: str = "cpu"
    verbose: int = 0
    callback: Progress | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("max_iter", 1), ("min_cluster_size", 1), ("tol", 0)):
            if not getattr(self, name) >= least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)!r}")
        if self.min_overlap is not None and self.min_overlap < 1:
            raise ValueError(f"min_overlap must be at least 1, got {self.min_overlap!r}")

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Whoever is told of the iterations: `callback`, else a line on stderr where verbose, else who is listening."""
        if self.callback is not None:
            yield self.callback
            return
        with shown(self.verbose) as progress:
            yield progress


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
    X : table with holes: anything ``as_entries`` reads (NaN, frames, scipy.sparse, complex).
    lam : weight of the fusion term; a constrained fidelity does not depend on it.
    penalty, fidelity : names or objects, e.g. ``H1(0.15)``, ``Box(epsilon=0.2)``.
    mask : booleans, True where observed.
    rank : fuse the coordinates of the rows in a subspace of so many dimensions; None: the ambient space.
    n_neighbors : fuse along a graph of so many nearest neighbours, by partial distance (with a rank: by the expected
        weight in the subspace); None: all pairs, or MemoryError; "auto": all pairs where they fit into memory.
    **settings : see ``Settings``: init, min_overlap, continuation, solver, max_iter, tol, min_cluster_size,
        merge, device, verbose.

    Returns
    -------
    Solution

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
    merged = Merged.not_at_all(posed.problem, how.device)
    problem = merged.working
    solver = choose_solver(problem, how.solver)
    with how.progress() as progress:
        descent = descend_from(problem, *first_centers(posed, problem, solver, how), solver, how, progress)
    warn_if_unfinished(descent, how.tol)
    return conclude(posed, merged, descent, merged.groups(descent), how.min_cluster_size)


def first_centers(posed: Posed, problem: Problem, solver: str, how: Settings) -> tuple[Array, bool]:
    """Starting centres, brought up from small lam where continuation is wanted; and whether Ctrl-C cut that short.

    Started cold at a large lam, the first weights (partial distances are rough) pull clusters into each other and the
    non-convex problem never lets them go. So lam begins where it moves no point by more than a few percent, and is
    doubled until it reaches the lam asked for.

    Parameters
    ----------
    posed : the table and its problem.
    problem : the same problem, where its arrays are to live.
    solver, how : see ``Settings``.
    """
    overlap = how.min_overlap or default_overlap(posed.entries)
    if not (how.continuation and isinstance(how.init, str)) or problem.fidelity.constrained or problem.lam == 0:
        return start(posed, problem, how.init, solver=solver, min_overlap=overlap), False
    lam = min(problem.lam, lam_without_effect(problem))
    centers = start(posed, problem.at(lam, problem.penalty), how.init, solver=solver, min_overlap=overlap)
    while lam < problem.lam:
        rung = problem.at(lam, problem.penalty)
        descent = descend(rung, centers, solver=solver, max_iter=ITERATIONS_ON_THE_WAY, tol=how.tol)
        centers = descent.centers
        if descent.status == Status.INTERRUPTED:
            return centers, True
        lam *= 2
    return centers, False


def lam_without_effect(problem: Problem) -> float:
    """A lam at which a point whose neighbours all sit on it is pulled at a twentieth of the strength of its data."""
    strongest = float(problem.penalty.weight(problem.penalty.resolution)) * problem.pairs.largest_degree
    return 0.05 / strongest


def descend_from(
    problem: Problem, centers: Array, interrupted: bool, solver: str, how: Settings, progress: Progress
) -> Descent:
    """Descend; where the way to these centres was interrupted, they are what there is."""
    max_iter = 0 if interrupted else how.max_iter
    descent = descend(problem, centers, solver=solver, max_iter=max_iter, tol=how.tol, progress=progress)
    return replace(descent, status=Status.INTERRUPTED) if interrupted else descent
