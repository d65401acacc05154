"""Steps that lower the majoriser  sum_i f_i(u_i) + lam sum_ij w_ij ||u_i - u_j||²  with the weights held fixed.

``average`` works for every fidelity. ``solve_quadratic`` minimises the majoriser directly if f is quadratic; one call
replaces hundreds of averaging steps.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from fusewise.fusion.pooled import PooledEntries
from fusewise.fusion.problem import Problem
from fusewise.kernels.arrays import Array, copied, inner_product
from fusewise.kernels.graph_systems import ColumnSystems
from fusewise.kernels.krylov import conjugate_gradients, shrunk_by
from fusewise.kernels.types import Values
from fusewise.pairs import DenseWeights, SparseWeights, Weighted


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
