"""At convergence the gradient vanishes, computed without the library's matrix products."""

import numpy as np
import pytest
from fusion_naive import EXAMPLES, draw, gradient, objective, pair_gradient

from fusewise.fidelity import Ball, Quadratic
from fusewise.fusion import fuse
from fusewise.penalties import H1

KINDS = pytest.mark.parametrize("kind", ["real", "complex"])
MISSING = pytest.mark.parametrize("missing", [0.0, 0.3, 0.7])
every_penalty = pytest.mark.parametrize("penalty", EXAMPLES, ids=lambda p: type(p).__name__)

#: A lam at which some but not all of the table fuses, for each penalty.
LAM = 0.05


@KINDS
def test_the_gradient_used_below_is_that_of_the_objective(kind):
    rng = np.random.default_rng(5)
    X = draw(kind, 0.3, n=8)
    U = np.where(np.isnan(X), 0.1, X) + 0.2 * rng.normal(size=X.shape)
    for penalty in EXAMPLES:
        slope = gradient(X, U, LAM, penalty)
        direction = rng.normal(size=U.shape) + (1j * rng.normal(size=U.shape) if kind == "complex" else 0)
        h = 1e-6
        rise = objective(X, U + h * direction, LAM, penalty, Quadratic())
        rise -= objective(X, U - h * direction, LAM, penalty, Quadratic())
        assert rise / (2 * h) == pytest.approx(float(np.vdot(slope, direction).real), rel=1e-5, abs=1e-6)


@every_penalty
@MISSING
@KINDS
def test_the_gradient_vanishes_at_convergence(penalty, missing, kind):
    X = draw(kind, missing)
    solution = fuse(X, lam=LAM, penalty=penalty, max_iter=3000)
    assert solution.converged
    slope = np.linalg.norm(gradient(X, solution.centers, LAM, penalty))
    scale = np.linalg.norm(np.where(np.isnan(X), 0, 2 * (X - np.nanmean(X, axis=0))))
    assert slope / scale < 1e-5
    assert solution.stationarity == pytest.approx(slope / scale, rel=0.1, abs=1e-9)


def ball_residual(X, U, slope, radius):
    """As the box: inside no slope, on the sphere only slope along the inward radius, none in what is hidden."""
    residual = slope.copy()
    seen = ~np.isnan(X)
    for i in range(len(X)):
        outward = np.where(seen[i], U[i] - X[i], 0)
        length = np.linalg.norm(outward)
        if length > radius - 1e-9:
            along = float(np.vdot(outward, slope[i]).real) / length
            residual[i] -= min(along, 0) * outward / length
    return residual


@MISSING
@KINDS
def test_kkt_of_the_ball(missing, kind):
    penalty = H1(0.7)
    X = draw(kind, missing)
    solution = fuse(X, penalty=penalty, fidelity=Ball(0.3), max_iter=5000)
    assert solution.converged
    slope = pair_gradient(solution.centers, 1.0, penalty)
    assert np.linalg.norm(ball_residual(X, solution.centers, slope, 0.3)) < 1e-5 * scale(X, solution, penalty)


def scale(X, solution, penalty):
    """The pull of the weights towards the mean row, in which the residual is measured."""
    U = solution.centers
    degree = np.array([sum(float(penalty.weight(np.linalg.norm(u - v))) for v in U) for u in U])
    return np.linalg.norm(4 * degree[:, None] * np.where(np.isnan(X), 0, X - np.nanmean(X, axis=0)))


@MISSING
def test_a_complex_problem_is_the_stacked_real_one(missing):
    X = draw("complex", missing)
    stacked = np.hstack([X.real, np.where(np.isnan(X), np.nan, X.imag)])
    options = {"lam": 0.2, "penalty": H1(1.0), "tol": 1e-9, "max_iter": 3000}
    whole = fuse(X, min_overlap=1, **options)
    parts = fuse(stacked, min_overlap=2, **options)  # an entry seen is two entries seen
    np.testing.assert_allclose(np.hstack([whole.centers.real, whole.centers.imag]), parts.centers, atol=1e-5)
    assert whole.objective == pytest.approx(parts.objective, rel=1e-9)
    np.testing.assert_array_equal(whole.labels, parts.labels)


def test_two_points_by_hand():
    """Two points at distance D on a line: by symmetry u = ±t/2 with (D - t)/2 ... one equation in t, by bisection."""
    distance, lam, sigma = 1.0, 0.1, 2.0

    def total(t):
        return (distance - t) ** 2 / 2 + 2 * lam * (1 - np.exp(-(t**2) / (2 * sigma**2)))

    grid = np.linspace(0, distance, 200_001)
    best = grid[np.argmin([total(t) for t in grid[::100]]) * 100]
    fine = np.linspace(best - 1e-3, best + 1e-3, 20_001)
    best = fine[np.argmin(total(fine))]
    solution = fuse([[0.0], [distance]], lam=lam, penalty=H1(sigma), tol=1e-10)
    assert abs(solution.centers[1, 0] - solution.centers[0, 0]) == pytest.approx(best, abs=1e-5)
    assert solution.objective == pytest.approx(total(best), rel=1e-9)
