"""At convergence the gradient vanishes, computed without the library's matrix products."""

import numpy as np
import pytest
from fusion_naive import EXAMPLES, draw, gradient, pair_gradient

from fusewise.fidelity import Ball
from fusewise.fusion import fuse
from fusewise.penalties import H1

KINDS = pytest.mark.parametrize("kind", ["real", "complex"])
MISSING = pytest.mark.parametrize("missing", [0.0, 0.3, 0.7])
every_penalty = pytest.mark.parametrize("penalty", EXAMPLES, ids=lambda p: type(p).__name__)

#: A lam at which some but not all of the table fuses, for each penalty.
LAM = 0.05


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
