"""The optimisation loop: weigh the pairs at the current centres, lower the majoriser, repeat.

Steps lower the majoriser  sum_i f_i(u_i) + lam sum_ij w_ij ||u_i - u_j||²  with the weights held fixed. ``average``
works for every fidelity; ``solve_quadratic`` nearly minimises it if f is quadratic, and one call replaces hundreds of
averaging steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from fusewise.fusion._problem import Problem
from fusewise.kernels import Array, conjugate_gradients, copied, inner_product, shrunk_by
from fusewise.pairs import PairWeights
from fusewise.progress import Progress, silent


def average(problem: Problem, weighted: PairWeights, centers: Array, n_steps: int = 1) -> Array:
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
    problem: Problem, weighted: PairWeights, centers: Array, *, shrink: float = 1e-2, max_steps: int = 100
) -> Array:
    """Solve (A'A + 2 lam L) U = A'b, the majoriser's minimum for the quadratic fidelity.

    Preconditioned conjugate gradients run from the current centres until the residual has shrunk by `shrink`: each step
    lowers the majoriser, so stopping early still descends, and centres stay unchanged where nothing was observed (a
    feature that no neighbour has). All features are solved at once; each has its own step length where the observations
    do not couple them.
    """
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


#: Averaging steps between two updates of the weights: a step costs one matrix product, an update two and the penalty.
AVERAGING_STEPS = 8

#: Most steps of conjugate gradients between two updates of the weights.
LINEAR_STEPS = 50

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
    """Result of the optimisation loop."""

    centers: Array
    weighted: PairWeights  # the weights of the pairs at these centres
    history: tuple[float, ...]  # the objective at the start and after every iteration
    stationarity: float  # relative gradient (or KKT residual) at the end
    status: Status

    @property
    def n_iter(self) -> int:
        return len(self.history) - 1


def descend(problem: Problem, centers: Array, *, max_iter: int, tol: float, progress: Progress = silent) -> Descent:
    """Run the loop until the relative gradient is below `tol`, or only rounding errors are left.

    Ctrl-C ends it with the best centres so far (the last ones, as the objective never rises).
    """
    weighted = problem.weigh(centers)
    history = [problem.objective(centers, weighted)]
    stationarity = problem.stationarity(centers, weighted)
    status, stalled, stride, gain, best = Status.MAX_ITER, 0, 1.0, math.inf, math.inf
    try:
        for iteration in range(1, max_iter + 1):
            if stationarity <= tol or stalled >= STALLED_ITERATIONS:
                status = Status.CONVERGED if stationarity <= tol * STALLED_TOLERANCE else Status.STALLED
                break
            slack = problem.rounding(centers, weighted, history[-1])
            # An extrapolation is judged by the objective, so it is not tried where rounding hides its gain. It must
            # gain at least a quarter of what the last iteration did; of other steps rises within rounding are accepted.
            promising = stationarity < EXTRAPOLATE_BELOW and math.inf > gain > 10 * slack
            wanted, safe = history[-1] - gain / 4, history[-1] + slack
            objective = history[-1]
            moves = _moves(problem, centers, weighted, stride if promising else 0.0, wanted, safe)
            for moved, limit, following in moves:
                reweighed = problem.weigh(moved)
                reached = problem.objective(moved, reweighed)
                if reached <= limit:
                    centers, weighted, objective, stride = moved, reweighed, reached, following
                    break
                del reweighed  # an array of all pairs
            history.append(objective)
            stationarity = problem.stationarity(centers, weighted)
            gain = history[-2] - history[-1]
            # Near a minimum the gradient still shows progress that the objective no longer shows.
            moving = gain > slack or stationarity < 0.9 * best
            best = min(best, stationarity) if moving else best
            stalled = 0 if moving else stalled + 1
            progress(f"fusing, lam {problem.lam:.4g}", iteration, max_iter, objective=objective, gradient=stationarity)
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
    return Descent(centers, weighted, tuple(history), stationarity, status)


def _moves(
    problem: Problem, centers: Array, weighted: PairWeights, stride: float, wanted: float, safe: float
) -> Iterator[tuple[Array, float, float]]:
    """Yield steps, the longest first: centres, the largest objective accepted there, and the stride that follows.

    An extrapolation past the minimum of the majoriser by a stride (if it is above 0), which must reach an objective
    that is `wanted`; that minimum; and the plain averaging step, which never fails except for rounding.
    """
    lowered = lower_majoriser(problem, weighted, centers)
    if stride:
        yield _extrapolate(problem, weighted, centers, lowered, stride), wanted, 2 * stride
    yield lowered, safe, 1.0
    yield average(problem, weighted, centers), safe, 1.0


def _extrapolate(problem: Problem, weighted: PairWeights, centers: Array, lowered: Array, stride: float) -> Array:
    """Extrapolate past the minimum of the majoriser by `stride` times the step to it, then apply the constraint if any.

    A point with almost no pull stays: its missing entries hardly affect the objective, and repeated extrapolation
    would make them drift.
    """
    if problem.fidelity.constrained:
        bound = weighted.degree >= MIN_PULL_SHARE * weighted.degree.max()
    else:
        bound = problem.pull(weighted.degree) >= 1
    return problem.confined(lowered + bound[:, None] * (stride * (lowered - centers)))


def lower_majoriser(problem: Problem, weighted: PairWeights, centers: Array, effort: float = 1) -> Array:
    """Lower the majoriser, for `effort` well above 1 nearly to its minimum; solve it where it is quadratic."""
    if problem.fidelity.constrained:
        lowered = average(problem, weighted, centers, int(AVERAGING_STEPS * effort))
    else:
        shrink, max_steps = 10 ** (-1 - effort), int(LINEAR_STEPS * effort)
        lowered = solve_quadratic(problem, weighted, centers, shrink=shrink, max_steps=max_steps)
    return problem.confined(lowered)
