"""The optimisation loop: weigh the pairs at the current centres, lower the majoriser, repeat.

Steps lower the majoriser  sum_i f_i(u_i) + lam sum_ij w_ij ||u_i - u_j||²  with the weights held fixed. ``average``
works for every fidelity; ``solve_quadratic`` minimises it directly if f is quadratic, and one call replaces hundreds of
averaging steps. A convex objective along a graph is at first lowered by ``ConjugateSteps`` instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fusewise.fusion._problem import PooledEntries, Problem
from fusewise.kernels import (
    SMALL,
    Array,
    ColumnSystems,
    Line,
    Real,
    Values,
    conjugate_gradients,
    copied,
    edge_products,
    inner_product,
    shrunk_by,
    slope_at,
    squares_at,
    update_direction,
    update_gradient,
)
from fusewise.pairs import DenseWeights, NeighborPairs, SparseWeights, Weighted
from fusewise.progress import Progress, silent
from fusewise.support import InputError


def average(problem: Problem, weighted: Weighted, centers: Array, n_steps: int = 1) -> Array:
    """Average over the pairs, then prox: u_i <- prox((u_i + sum_j w_ij u_j / d_i) / 2, 4 lam d_i).

    As L <= 2D, the pair term lies below 4 lam sum_i d_i ||u_i - ubar_i||² plus a constant, with equality at the
    current centres, so a step never raises the majoriser. Several steps are accelerated by Nesterov's momentum, which
    gives up this monotonicity for speed: the caller checks the result.
    """
    pull = 4 * problem.lam * weighted.degree
    # u_i - L u_i / d_i is the mean over the pairs, and u_i itself for a point without pairs.
    share = (0.5 / (weighted.degree + (weighted.degree <= 0)))[:, None]
    momentum, ahead = 1.0, centers
    for _ in range(n_steps):
        halfway = ahead - share * weighted.laplacian(ahead)
        moved = problem.fidelity.prox(problem.observations, halfway, pull)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = moved + ((momentum - 1) / following) * (moved - centers)
        centers, momentum = moved, following
    return centers


def solve_quadratic(
    problem: Problem, weighted: Weighted, centers: Array, *, shrink: float = 1e-2, max_steps: int = 100
) -> Array:
    """Solve (A'A + 2 lam L) U = A'b, the majoriser's minimum for the quadratic fidelity.

    Complete rows share one Cholesky factor of I + 2 lam L. Otherwise preconditioned conjugate gradients run from the
    current centres until the residual has shrunk by `shrink`: every step lowers the majoriser, so stopping early still
    descends, and centres stay unchanged where nothing was observed (a feature that no neighbour has).
    """
    if isinstance(weighted, DenseWeights) and problem.observations.is_complete:
        solved = _solve_directly(problem, weighted)
        if solved is not None:
            return solved
    observations = problem.observations
    if isinstance(weighted, SparseWeights) and isinstance(observations, PooledEntries) and observations.is_real:
        rows = weighted.adjacency
        systems = ColumnSystems(
            observations.counts, observations.means, rows.indptr, rows.indices, weighted.data, weighted.degree,
            2 * problem.lam, rows.spare,
        )  # fmt: skip
        return systems.solve(centers, weighted.laplacian(centers), shrink=shrink, max_steps=max_steps)
    return _solve_by_steps(problem, weighted, centers, shrink, max_steps)


def _solve_directly(problem: Problem, weighted: DenseWeights) -> Values | None:
    """One factor of N + 2 lam L for all features, where N is the number of points each centre represents.

    None if rounding spoils it.
    """
    system = weighted.give_up()  # the factor takes their place: no other array of all pairs is needed
    system *= -2 * problem.lam
    diagonal = np.arange(len(system))
    members = 1 if problem.members is None else problem.members
    system[diagonal, diagonal] = members + 2 * problem.lam * weighted.degree
    try:
        factor = cho_factor(system.T, overwrite_a=True, check_finite=False)  # in place, as LAPACK stores by columns
        solved: Values = cho_solve(factor, problem.observations.target, check_finite=False)
    except LinAlgError:  # a strong pull and rounding: the system is not positive definite
        return None
    return solved


def _solve_by_steps(problem: Problem, weighted: Weighted, centers: Array, shrink: float, max_steps: int) -> Array:
    """All features at once; each has its own step length where the observations do not couple them."""
    observations, coupling = problem.observations, 2 * problem.lam
    centers = copied(centers)

    def system(u: Array) -> Array:
        return observations.normal(u) + coupling * weighted.laplacian(u)

    def inner(a: Array, b: Array) -> Array:
        return (a.conj() * b).real.sum(0) if observations.separable else inner_product(a, b)

    steps = conjugate_gradients(
        system,
        observations.preconditioner(coupling * weighted.degree),
        observations.target - system(centers),
        inner,
        max_steps=max_steps,
        enough=shrunk_by(shrink),
    )
    for length, direction, _ in steps:
        centers += length * direction
    return centers


#: A step is at most this much longer than that to the minimum of the majoriser.
STRETCH = 6.0


class ConjugateSteps:
    """Steps of nonlinear conjugate gradients on a convex objective; each uses the direction of the one before.

    The majoriser is much steeper than the objective along directions in which distances shrink or grow without turning:
    a modulus has no curvature there, its majoriser has 1/t. So minimising one majoriser after the other takes many
    short steps where clusters collapse. Conjugate gradients step along the objective itself, with the majoriser's
    diagonal as preconditioner:

        u <- u + a v,   v <- -C g + b v,   b = max(0, <g - g', C g> / <g', C' g'>)   (Polak and Ribière; ' is the last)

    where g is half the gradient and a nearly minimises the objective along v. There the squared length of an edge is
    s + 2 a s1 + a² s2, so that looking for a costs the same however many columns there are.
    """

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.observations, PooledEntries)
        assert isinstance(problem.pairs, NeighborPairs)
        self.problem = problem
        self._held, self._pairs = problem.observations, problem.pairs
        self._g = np.zeros_like(self._held.means)
        self._v = np.zeros_like(self._g)
        self._energy = 0.0
        self._moved: Real | None = None

    @staticmethod
    def suit(problem: Problem) -> bool:
        """Whether the objective is convex, of entries that are real, along the edges of a graph."""
        observations = problem.observations
        return (
            problem.penalty.convex
            and not problem.fidelity.constrained
            and isinstance(problem.pairs, NeighborPairs)
            and isinstance(observations, PooledEntries)
            and observations.is_real
        )

    def move(self, centers: Real, weighted: SparseWeights) -> Real:
        """Return the centres after one step from these, at which the edges were weighed.

        It begins anew, along the preconditioned gradient, if these are not the centres that the last step led to.
        """
        held, coupling = self._held, 2 * self.problem.lam
        around = held.counts, held.means, centers
        energy, common = update_gradient(*around, weighted.laplacian(centers), weighted.degree, coupling, self._g)
        known = centers is self._moved and self._energy > 0
        share = max(0.0, (energy - common) / self._energy) if known else 0.0
        line = update_direction(*around, weighted.degree, coupling, self._g, self._v, share)
        if line.slope >= 0 and share > 0:  # not downhill
            line = update_direction(*around, weighted.degree, coupling, self._g, self._v, 0.0)
        self._energy = energy
        moved: Real = self._v * self._v.dtype.type(self._length(centers, weighted, line))
        moved += centers
        self._moved = held.confine(moved)
        return self._moved

    def _length(self, centers: Real, weighted: SparseWeights, line: Line) -> float:
        """The length of a step along the direction, at which the objective is nearly lowest.

        The majoriser is lowest at a shorter length; the secant of the slopes there and at the start leads on.
        """
        pairs, penalty, coupling = self._pairs, self.problem.penalty, 2 * self.problem.lam
        cross, squares = edge_products(centers, self._v, pairs.first, pairs.second)
        stiffness = line.bend + coupling * float(weighted.weights @ squares)
        if not (line.slope < 0 < stiffness):
            return 0.0
        short = -line.slope / stiffness
        weights = penalty.value_and_weight(squares_at(short, weighted.squares, cross, squares))[1]
        pull = slope_at(short, pairs.affinity, weights, cross, squares)
        slope = line.tilt + short * line.bend + coupling * pull
        turn = 1 - slope / line.slope  # the share of the slope that is gone
        return short * min(1 / turn, STRETCH) if turn > 0 else STRETCH * short


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
