"""The objective never rises, every iterate is feasible, and the solvers solve what they say."""

import itertools

import numpy as np
import pytest
from fusion_naive import EXAMPLES, draw, objective

from fusewise.fidelity import Ball, Box, Quadratic
from fusewise.fusion import pose
from fusewise.fusion._fuse import start as start_of
from fusewise.fusion._loop import average, descend, solve_quadratic
from fusewise.penalties import H1

MISSING = (0.0, 0.3, 0.7)
STARTS = ("partial", "zero", "mean")
KINDS = ("real", "complex")
every_fidelity = pytest.mark.parametrize("fidelity", [Quadratic(), Box(0.5), Ball(0.4)], ids=lambda f: type(f).__name__)
every_penalty = pytest.mark.parametrize("penalty", EXAMPLES, ids=lambda p: type(p).__name__)


def posed(X, lam, penalty, fidelity, n_neighbors=None):
    return pose(X, None, lam, penalty, fidelity, None, n_neighbors)


def start(posed, init):
    return start_of(posed, posed.problem, init, min_overlap=1)


@every_fidelity
@every_penalty
def test_the_objective_never_rises(penalty, fidelity):
    for missing, kind, init in itertools.product(MISSING, KINDS, STARTS):
        X = draw(kind, missing, n=12)
        problem = (whole := posed(X, 0.05, penalty, fidelity)).problem
        first = start(whole, init)
        descent = descend(problem, first, max_iter=12, tol=0)
        history = np.array(descent.history)
        where = f"{missing:.0%} missing, {kind}, from {init}"
        assert np.all(np.diff(history) <= 1e-12 * np.abs(history[:-1])), where
        assert history[0] == pytest.approx(objective(X, first, 0.05, penalty, fidelity), rel=1e-9), where
        last = objective(X, descent.centers, 0.05, penalty, fidelity)
        assert history[-1] == pytest.approx(last, rel=1e-9), where
        if init != "partial":  # which may already be the minimum
            assert last < history[0], where


@every_penalty
def test_the_plain_step_never_raises_it_without_any_check(penalty):
    """Majorise-minimise by itself, before the loop's safeguard: `average` with one step, and the exact solve."""
    for missing, kind in itertools.product(MISSING, KINDS):
        X = draw(kind, missing, n=12)
        for fidelity, lam in itertools.product((Quadratic(), Box(0.5), Ball(0.4)), (0.01, 1.0)):
            problem = (whole := posed(X, lam, penalty, fidelity)).problem
            U = start(whole, "mean")
            for _ in range(3):
                before = objective(X, U, lam, penalty, fidelity)
                weighted = problem.weigh(U)
                moves = [average(problem, weighted, U)]
                if not fidelity.constrained:
                    moves.append(solve_quadratic(problem, weighted, U))
                for moved in moves:
                    assert objective(X, moved, lam, penalty, fidelity) <= before * (1 + 1e-12)
                U = moves[-1]


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_the_exact_solve_is_a_dense_solve_of_each_feature(missing, kind, n_neighbors):
    X = draw(kind, missing)
    lam = 0.3
    problem = (whole := posed(X, lam, H1(2.0), Quadratic(), n_neighbors)).problem
    U = start(whole, "mean")
    weighted = problem.weigh(U)
    weights = weighted.matrix if n_neighbors is None else weighted.matrix.toarray()
    laplacian = np.diag(weights.sum(axis=1)) - weights
    solved = solve_quadratic(problem, weighted, U, shrink=1e-13, max_steps=500)
    for p in range(X.shape[1]):
        seen = ~np.isnan(X[:, p])
        expected = np.linalg.solve(np.diag(seen.astype(float)) + 2 * lam * laplacian, np.where(seen, X[:, p], 0))
        np.testing.assert_allclose(solved[:, p], expected, atol=1e-9)


def test_a_point_without_weights_keeps_to_its_data():
    X = np.array([[0.0, 0.0], [0.1, 0.1], [99.0, np.nan]])
    problem = posed(X, 1.0, H1(0.5), Quadratic()).problem
    U = np.array([[0.0, 0.0], [0.1, 0.0], [98.0, 7.0]])
    for moved in (average(problem, problem.weigh(U), U), solve_quadratic(problem, problem.weigh(U), U, shrink=1e-12)):
        np.testing.assert_allclose(moved[2], [99.0, 7.0], atol=1e-9)
