"""Conjugate gradients of a convex objective: descent, the minimum, and what happens when a step fails."""

import itertools

import numpy as np
import pytest
from fusion_naive import draw

from fusewise.datasets import hide_entries, make_clusters
from fusewise.fusion import _loop as loop
from fusewise.fusion import pose
from fusewise.fusion._loop import ConjugateSteps, descend
from fusewise.fusion._merging import Merged
from fusewise.fusion.fidelity import Box, Quadratic
from fusewise.fusion.penalties import H1, L1


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


def test_fewer_steps_than_majorisers(monkeypatch):
    """Where clusters collapse, steps along the objective itself are longer."""
    X = table(0.0)
    problem = problem_of(X, 0.15, n_neighbors=8)
    options = {"solver": "exact", "max_iter": 2000, "tol": 1e-3}
    conjugate = descend(problem, start(X), **options)
    products = []
    solve = loop.solve_quadratic
    monkeypatch.setattr(loop.ConjugateSteps, "suit", lambda problem: False)
    monkeypatch.setattr(
        loop, "solve_quadratic", lambda *args, **how: products.append(how["max_steps"]) or solve(*args, **how)
    )
    plain = descend(problem, start(X), **options)
    assert conjugate.history[-1] == pytest.approx(plain.history[-1], rel=1e-5)
    assert 2 * conjugate.n_iter < sum(products)


def test_which_problems_suit():
    X = draw("real", 0.3)
    assert ConjugateSteps.suit(problem_of(X, 0.1))
    others = [
        problem_of(X, 0.1, H1(1.0)),
        problem_of(X, 0.1, fidelity=Box(0.5)),
        problem_of(X, 0.1, n_neighbors=None),
        problem_of(draw("complex", 0.3), 0.1),
    ]
    assert not any(map(ConjugateSteps.suit, others))


def test_a_step_that_fails_is_replaced_and_the_next_begins_anew(monkeypatch):
    X = table(0.3)
    problem = problem_of(X, 0.1)
    move, calls = ConjugateSteps.move, itertools.count()
    bad = lambda self, centers, weighted: 3 * centers + 1 if next(calls) % 3 == 1 else move(self, centers, weighted)  # noqa: E731
    monkeypatch.setattr(ConjugateSteps, "move", bad)
    descent = descend(problem, start(X), solver="exact", max_iter=300, tol=1e-5)
    assert np.all(np.diff(descent.history) <= 1e-12 * descent.history[0])
    assert descent.status == loop.Status.CONVERGED
    monkeypatch.undo()
    steps, centers = ConjugateSteps(problem), start(X)
    fresh = ConjugateSteps(problem).move(centers, problem.weigh(centers))
    steps.move(descent.centers, problem.weigh(descent.centers))
    np.testing.assert_array_equal(steps.move(centers, problem.weigh(centers)), fresh)


def test_a_point_at_the_minimum_stays():
    X = table(0.0)
    problem = problem_of(X, 0.0)
    np.testing.assert_array_equal(ConjugateSteps(problem).move(X, problem.weigh(X)), X)
