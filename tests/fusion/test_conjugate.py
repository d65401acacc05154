"""Conjugate gradients of a convex objective: descent, the minimum, and what happens when a step fails."""

import numpy as np
import pytest

from fusewise.datasets import hide_entries, make_clusters
from fusewise.fidelity import Quadratic
from fusewise.fusion import _loop as loop
from fusewise.fusion import pose
from fusewise.fusion._loop import ConjugateSteps, descend
from fusewise.fusion._merging import Merged
from fusewise.penalties import L1


def problem_of(X, lam, penalty=L1(1e-2), fidelity=Quadratic(), n_neighbors=4, **options):  # noqa: B008
    return Merged.unmerged(pose(X, None, lam, penalty, fidelity, None, n_neighbors, **options).problem).problem


def table(missing):
    X, _, _ = make_clusters(4, 30, 6, noise=0.1, random_state=0)
    return hide_entries(X, missing, random_state=1)


def start(X):
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def value(problem, X, centers):
    """The objective, edge by edge."""
    ends = zip(problem.pairs.first, problem.pairs.second, strict=True)
    s = np.array([np.sum((centers[i] - centers[j]) ** 2) for i, j in ends])
    return np.nansum((X - centers) ** 2) + 2 * problem.lam * np.sum(s / np.sqrt(s + 1e-4))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_every_step_lowers_the_objective_edge_by_edge(missing):
    X = table(missing)
    for lam in (0.01, 0.1, 1.0):
        problem = problem_of(X, lam)
        centers = start(X)
        steps, values = ConjugateSteps(problem), [value(problem, X, centers)]
        for _ in range(12):
            centers = steps.move(centers, problem.weigh(centers))
            values.append(value(problem, X, centers))
        assert np.all(np.diff(values) <= 1e-12 * values[0]), (lam, values)
        assert values[-1] < values[0]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_minimum_is_that_of_a_general_minimiser(missing):
    """L-BFGS of SciPy on the objective and its gradient, written out."""
    from scipy.optimize import minimize

    X = table(missing)
    for lam in (0.02, 0.1):
        problem = problem_of(X, lam)
        first, second = problem.pairs.first, problem.pairs.second

        def fun(flat, lam=lam, first=first, second=second):
            U = flat.reshape(X.shape)
            apart = U[first] - U[second]
            s = np.sum(apart**2, axis=1)
            misfit = np.where(np.isnan(X), 0, U - X)
            g = 2 * misfit
            pull = 4 * lam * ((0.5 * s + 1e-4) / (s + 1e-4) ** 1.5)[:, None] * apart
            np.add.at(g, first, pull)
            np.add.at(g, second, -pull)
            return np.sum(misfit**2) + 2 * lam * np.sum(s / np.sqrt(s + 1e-4)), g.ravel()

        best = minimize(
            fun,
            start(X).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9, "maxfun": 50_000},
        )
        descent = descend(problem, start(X), solver="exact", max_iter=2000, tol=1e-7)
        assert descent.status == loop.Status.CONVERGED
        assert descent.history[-1] == pytest.approx(best.fun, rel=1e-8)


def test_a_point_at_the_minimum_stays():
    X = table(0.0)
    problem = problem_of(X, 0.0)
    np.testing.assert_array_equal(ConjugateSteps(problem).move(X, problem.weigh(X)), X)
