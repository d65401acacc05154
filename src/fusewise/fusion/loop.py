"""The optimisation loop: weigh the pairs at the current centres, lower the majoriser, repeat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from fusewise.fusion.conjugate import ConjugateSteps
from fusewise.fusion.problem import Problem
from fusewise.fusion.steps import average, solve_quadratic
from fusewise.kernels.arrays import Array
from fusewise.kernels.compiling import SMALL
from fusewise.kernels.input_errors import InputError
from fusewise.pairs import SparseWeights, Weighted
from fusewise.progress import Progress, silent

#: Averaging steps between two updates of the weights: a step costs one matrix product, an update two and the penalty.
AVERAGING_STEPS = 8

#: Most steps of conjugate gradients between two updates of the weights.
LINEAR_STEPS = 50

#: The same at the start of a descent on a graph if the objective is convex, and after how many iterations it is one
#: more: at first the weights soon change. (A non-convex majoriser is lowered nearly to its minimum, as that decides
#: which minimum of the objective is reached.)
CONVEX_STEPS = 3
STEP_GROWTH = 4

#: Most steps of conjugate gradients at the start of a descent. What is left then are groups of close centres that move
#: together, for which systems of majorisers are better; as they are where rounding hides the gain of a step.
CONJUGATE_ITERATIONS = 30

#: Successive iterations without progress after which only rounding errors are left.
STALLED_ITERATIONS = 10

#: A descent stopped by rounding errors counts as converged within this factor of the tolerance.
STALLED_TOLERANCE = 100

#: Extrapolation starts once the relative gradient is below this: earlier it could move to the basin of another minimum.
EXTRAPOLATE_BELOW = 1e-2

#: Under a constraint, a point is extrapolated if its pull is at least this share of the strongest pull.
MIN_PULL_SHARE = 1e-2


class Status(StrEnum):
    """How a descent ended, with advice if it ended too early."""

    CONVERGED = "converged"
    STALLED = "stalled"
    MAX_ITER = "max_iter"
    INTERRUPTED = "interrupted"

    @property
    def advice(self) -> str:
        """What a user can do; empty if the descent converged."""
        return {
            Status.STALLED: "The objective no longer decreases: increase tol, or the penalty's smoothing if any.",
            Status.MAX_ITER: "Increase max_iter or tol, or warm-start from smaller lam (fusion_path).",
            Status.INTERRUPTED: "This is the best solution so far: pass its centers as init to continue.",
        }.get(self, "")


@dataclass(frozen=True, eq=False)
class Descent:
    """Result of the optimisation loop.

    Attributes
    ----------
    centers : N x P.
    weighted : the weights of the pairs at these centres.
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
        """Number of iterations."""
        return len(self.history) - 1


def descend(
    problem: Problem,
    centers: Array,
    *,
    solver: str,
    max_iter: int,
    tol: float,
    progress: Progress = silent,
    until: Callable[[Weighted], bool] | None = None,
    weighted: Weighted | None = None,
) -> Descent:
    """Run the loop until the relative gradient is below `tol`, or only rounding errors are left.

    Ctrl-C ends it with the best centres so far (the last ones, as the objective never rises). So does `until`, called
    with the weights after every iteration, when it returns True. `weighted`: the weights at the centres, if known.
    """
    weighted = problem.weigh(centers) if weighted is None else weighted
    history = [problem.objective(centers, weighted)]
    stationarity = problem.stationarity(centers, weighted)
    status, stalled, stride, gain, best = Status.MAX_ITER, 0, 1.0, math.inf, math.inf
    conjugate = ConjugateSteps(problem) if solver == "exact" and ConjugateSteps.suit(problem) else None
    try:
        for iteration in range(1, max_iter + 1):
            if stationarity <= tol or stalled >= STALLED_ITERATIONS:
                status = Status.CONVERGED if stationarity <= tol * STALLED_TOLERANCE else Status.STALLED
                break
            slack = problem.rounding(centers, weighted, history[-1])
            limits = _Limits(extrapolated=history[-1] - gain / 4, safe=history[-1] + slack)
            if conjugate is not None:
                moves = _conjugate_moves(problem, centers, weighted, limits, conjugate)
            else:
                # An extrapolation is judged by the objective, so it is not tried where rounding hides its gain.
                reach = stride if stationarity < EXTRAPOLATE_BELOW and math.inf > gain > 10 * slack else 0.0
                steps = _steps(problem, weighted, iteration)
                moves = _majoriser_moves(problem, centers, weighted, limits, solver, reach, steps)
            accepted = _first_accepted(problem, moves)
            if accepted is not None:
                centers, weighted, objective, stride = accepted
            history.append(history[-1] if accepted is None else objective)
            stationarity = problem.stationarity(centers, weighted)
            gain = history[-2] - history[-1]
            # Near a minimum the gradient still shows progress that the objective no longer shows.
            moving = gain > slack or stationarity < 0.9 * best
            best = min(best, stationarity) if moving else best
            stalled = 0 if moving else stalled + 1
            if gain <= slack or iteration >= CONJUGATE_ITERATIONS:
                conjugate = None
            if until is not None and until(weighted):
                break
            progress(
                f"fusing, lam {problem.lam:.4g}", iteration, max_iter, objective=history[-1], gradient=stationarity
            )
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return Descent(centers, weighted, tuple(history), stationarity, status)


@dataclass(frozen=True)
class _Limits:
    """Largest objective accepted after a step: rises within rounding are tolerated; an extrapolation must gain."""

    extrapolated: float
    safe: float


#: Centres to move to, the largest objective accepted there, and the extrapolation factor that follows (stride).
_Move = tuple[Array, float, float]


def _first_accepted(problem: Problem, moves: Iterator[_Move]) -> tuple[Array, Weighted, float, float] | None:
    """The centres of the first move that does not raise the objective, their weights, the objective and the stride."""
    for moved, limit, stride in moves:
        reweighed = problem.weigh(moved)
        objective = problem.objective(moved, reweighed)
        if objective <= limit:
            return moved, reweighed, objective, stride
        del reweighed  # an array of all pairs
    return None


def _majoriser_moves(
    problem: Problem, centers: Array, weighted: Weighted, limits: _Limits, solver: str, stride: float, steps: int
) -> Iterator[_Move]:
    """Yield three steps, the longest first.

    An extrapolation past the minimum of the majoriser (if it gains at least a quarter of what the last iteration did),
    that minimum, and the plain averaging step, which never fails except for rounding.
    """
    lowered = lower_majoriser(problem, weighted, centers, solver, steps=steps)
    if stride:
        yield _extrapolate(problem, weighted, centers, lowered, stride), limits.extrapolated, 2 * stride
    yield lowered, limits.safe, 1.0
    yield average(problem, weighted, centers), limits.safe, 1.0


def _conjugate_moves(
    problem: Problem, centers: Array, weighted: Weighted, limits: _Limits, conjugate: ConjugateSteps
) -> Iterator[_Move]:
    """Yield a step of conjugate gradients, and the plain averaging step, which never fails except for rounding."""
    assert isinstance(weighted, SparseWeights)
    yield conjugate.move(centers, weighted), limits.safe, 1.0
    yield average(problem, weighted, centers), limits.safe, 1.0


def _extrapolate(problem: Problem, weighted: Weighted, centers: Array, lowered: Array, stride: float) -> Array:
    """Extrapolate past the minimum of the majoriser by `stride` times the step to it, then apply the constraint if any.

    A point with almost no pull stays: its missing entries hardly affect the objective, and repeated extrapolation
    would make them drift.
    """
    if problem.fidelity.constrained:
        bound = weighted.degree >= MIN_PULL_SHARE * weighted.degree.max()
    else:
        bound = problem.pull(weighted.degree) >= 1
    ahead = lowered + bound[:, None] * (stride * (lowered - centers))
    if problem.fidelity.constrained:
        ahead = problem.fidelity.prox(problem.observations, ahead, weighted.degree)
    return problem.observations.confine(ahead)


def _steps(problem: Problem, weighted: Weighted, iteration: int) -> int:
    """Steps by which to lower the majoriser, see ``CONVEX_STEPS``.

    Weighing the edges anew costs about as much as a few steps, unless there are so few that all take no time.
    """
    if isinstance(weighted, SparseWeights) and problem.penalty.convex and problem.pairs.n_points > SMALL:
        return min(CONVEX_STEPS + iteration // STEP_GROWTH, LINEAR_STEPS)
    return LINEAR_STEPS


def lower_majoriser(
    problem: Problem, weighted: Weighted, centers: Array, solver: str, effort: float = 1, steps: int = LINEAR_STEPS
) -> Array:
    """Lower the majoriser by this many `steps`, or nearly to its minimum for `effort` well above 1."""
    if solver == "exact":
        lowered = solve_quadratic(
            problem, weighted, centers, shrink=10 ** (-1 - effort), max_steps=int(steps * effort)
        )  # fmt: skip
    else:
        lowered = average(problem, weighted, centers, int(AVERAGING_STEPS * effort))
    return problem.observations.confine(lowered)


def choose_solver(problem: Problem, solver: str) -> str:
    """Resolve "auto": "exact" for the quadratic fidelity, "average" for constraints."""
    known = ("auto", "exact", "average")
    if solver not in known:
        raise InputError(f"unknown solver {solver!r}: use one of {', '.join(map(repr, known))}")
    if solver == "exact" and problem.fidelity.constrained:
        raise InputError("solver='exact' solves the quadratic fidelity only; a constraint needs solver='average'")
    if solver == "auto":
        return "average" if problem.fidelity.constrained else "exact"
    return solver
