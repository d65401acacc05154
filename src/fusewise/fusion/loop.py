"""The one loop: weigh the pairs at the current centres, lower the majoriser, repeat. The objective never rises."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from fusewise.fusion.problem import Problem
from fusewise.fusion.steps import average, solve_quadratic
from fusewise.kernels.arrays import Array
from fusewise.pairs import Weighted
from fusewise.progress import Progress, silent

#: Averaging steps between two weighings: a step costs one matrix product, a weighing two and the penalty.
AVERAGING_STEPS = 8

#: Iterations in a row without progress after which only rounding is left.
STALLED_FOR = 10

#: A descent that only rounding stops counts as converged within this factor of the tolerance.
ROUNDING_LEAVE = 100

#: Leaps begin once the relative gradient is below this: far from a minimum they could cross into another's basin.
LEAP_BELOW = 1e-2

#: Under a constraint, a point leaps if its pairs pull at least this share of the strongest pull.
BOUND_SHARE = 1e-2


class Status(StrEnum):
    """How a descent ended, and what to do about it where that was too early."""

    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_ITER = "max_iter"
    INTERRUPTED = "interrupted"

    @property
    def advice(self) -> str:
        """What a user can do; nothing where the descent converged."""
        return {
            Status.STALLED: "The objective falls no further: raise tol, or the smoothing of the penalty if it has one.",
            Status.MAX_ITER: "Raise max_iter, raise tol, or warm-start from smaller lam (fusion_path).",
            Status.INTERRUPTED: "This is the best solution so far: pass its centers as init to continue.",
        }.get(self, "")


@dataclass(frozen=True, eq=False)
class Descent:
    """Where the loop ended.

    Attributes
    ----------
    centers : N x P.
    weighted : the pairs weighed there.
    history : the objective at the start and after every iteration.
    stationarity : relative gradient (or KKT residual) at the end.
    status : how it ended.
    """

    centers: Array
    weighted: Weighted
    history: tuple[float, ...]
    stationarity: float
    status: Status

    @property
    def n_iter(self) -> int:
        """Iterations made."""
        return len(self.history) - 1


def descend(
    problem: Problem, centers: Array, *, solver: str, max_iter: int, tol: float, progress: Progress = silent
) -> Descent:
    """Run the loop until the relative gradient is below `tol`, or nothing is left to gain but rounding.

    Ctrl-C ends it with the best centres so far (which, as the objective never rises, are the last ones).
    """
    weighted = problem.weigh(centers)
    history = [problem.objective(centers, weighted)]
    stationarity = problem.stationarity(centers, weighted)
    status, stalled, stride, gain, best = Status.MAX_ITER, 0, 1.0, math.inf, math.inf
    try:
        for iteration in range(1, max_iter + 1):
            if stationarity <= tol or stalled >= STALLED_FOR:
                status = Status.CONVERGED if stationarity <= tol * ROUNDING_LEAVE else Status.STALLED
                break
            # A leap is judged by the objective, so it is not tried where rounding hides what it gains.
            slack = problem.rounding(centers, weighted, history[-1])
            reach = stride if stationarity < LEAP_BELOW and gain > 10 * slack else 0.0
            limits = _Limits(leap=history[-1] - gain / 4, safe=history[-1] + slack)
            centers, weighted, objective, stride = _iterate(problem, centers, weighted, limits, solver, reach)
            history.append(history[-1] if objective is None else objective)
            stationarity = problem.stationarity(centers, weighted)
            gain = history[-2] - history[-1]
            # Near a minimum the objective no longer shows progress that the gradient still does.
            moving = gain > slack or stationarity < 0.9 * best
            best = min(best, stationarity) if moving else best
            stalled = 0 if moving else stalled + 1
            progress(
                f"fusing, lam {problem.lam:.4g}", iteration, max_iter, objective=history[-1], gradient=stationarity
            )
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return Descent(centers, weighted, tuple(history), stationarity, status)


@dataclass(frozen=True)
class _Limits:
    """What the objective may be after a move: a rise within rounding is forgiven, but a leap must earn its keep."""

    leap: float
    safe: float


def _iterate(
    problem: Problem, centers: Array, weighted: Weighted, limits: _Limits, solver: str, stride: float
) -> tuple[Array, Weighted, float | None, float]:
    """One iteration: the boldest of three moves that does not raise the objective, and the stride for the next.

    A leap past the minimum of the majoriser (if it gains at least a quarter of what the last iteration did), that
    minimum, and the plain averaging step, which never fails but for rounding.

    Returns
    -------
    The centres, their weights, the objective there (None where nothing moved), and the stride.
    """
    lowered = lower_majoriser(problem, weighted, centers, solver)
    moves: list[tuple[Callable[[], Array], float, float]] = [
        (lambda: _leap(problem, weighted, centers, lowered, stride), limits.leap, 2 * stride),
        (lambda: lowered, limits.safe, 1.0),
        (lambda: average(problem, weighted, centers), limits.safe, 1.0),
    ]
    for move, limit, following in moves if stride else moves[1:]:
        moved = move()
        reweighed = problem.weigh(moved)
        objective = problem.objective(moved, reweighed)
        if objective <= limit:
            return moved, reweighed, objective, following
    return centers, weighted, None, 1.0


def _leap(problem: Problem, weighted: Weighted, centers: Array, lowered: Array, stride: float) -> Array:
    """Go on past the minimum of the majoriser by `stride` times the way there, back into the constraint if need be.

    A point that its pairs hardly pull stays: its hidden entries are all but free, the objective does not feel where
    they go, and leap upon leap would carry them away.
    """
    if problem.fidelity.constrained:
        bound = weighted.degree >= BOUND_SHARE * weighted.degree.max()
    else:
        bound = problem.pull(weighted.degree) >= 1
    ahead = lowered + bound[:, None] * (stride * (lowered - centers))
    if problem.fidelity.constrained:
        ahead = problem.fidelity.prox(problem.observations, ahead, weighted.degree)
    return problem.observations.confine(ahead)


def lower_majoriser(problem: Problem, weighted: Weighted, centers: Array, solver: str, effort: float = 1) -> Array:
    """Bring the majoriser down: nearly to its minimum for `effort` well above 1."""
    if solver == "exact":
        lowered = solve_quadratic(problem, weighted, centers, shrink=10 ** (-1 - effort), max_steps=int(50 * effort))
    else:
        lowered = average(problem, weighted, centers, int(AVERAGING_STEPS * effort))
    return problem.observations.confine(lowered)


def choose_solver(problem: Problem, solver: str) -> str:
    """Choose "exact" for the quadratic fidelity and "average" for constraints, unless told otherwise."""
    known = ("auto", "exact", "average")
    if solver not in known:
        raise ValueError(f"unknown solver {solver!r}: use one of {', '.join(map(repr, known))}")
    if solver == "exact" and problem.fidelity.constrained:
        raise ValueError("solver='exact' solves the quadratic fidelity only; a constraint needs solver='average'")
    if solver == "auto":
        return "average" if problem.fidelity.constrained else "exact"
    return solver
