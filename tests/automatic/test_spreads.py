"""Steps of the spreads, against finite differences, moments by simulation, and the linear system written out."""

import numpy as np
import pytest

from fusewise.automatic import mixture as module
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import (
    TAIL,
    Seen,
    Spreads,
    _explain,
    _information,
    _solved,
    em_step,
    fisher_step,
    fit_means,
    row_weights,
    seen_of,
)
from fusewise.automatic.mixture_fit import fit_groups
from fusewise.observations import as_entries
from fusewise.subspace import Subspace

R, P, N = 3, 7, 150


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def symmetric(rng, *shape):
    x = rng.normal(size=(*shape, R, R))
    return x + np.swapaxes(x, -1, -2)


def spread_of(rng):
    factor = rng.normal(size=(R, R))
    return factor @ factor.T + 0.3 * np.eye(R)


def table(rng, noise, spread=0.5):
    """Rows of two groups in a subspace, a third of the entries hidden; their evidence and labels."""
    labels = np.repeat([0, 1], [N // 3, N - N // 3])
    basis = np.linalg.qr(rng.normal(size=(P, R)))[0]
    places = 2 * rng.normal(size=(2, R))[labels] + spread * rng.standard_t(TAIL, size=(N, R))
    X = places @ basis.T + np.sqrt(noise) * rng.normal(size=(N, P))
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    return Evidence.of(Subspace(np.zeros(P), basis, np.ones(R), noise), as_entries(X)), labels


def test_scatter_less_size_is_the_gradient_of_the_fit(rng):
    # Along Sigma = L (I + t X) L' the fit changes by t tr(X D) / 2, D = L^-1 scatter L^-T - n I: a finite difference.
    evidence, labels = table(rng, 0.1)
    groups, each = evidence.grouped(labels, 2), np.array([spread_of(rng), spread_of(rng)])
    means = rng.normal(size=(2, R))

    def fit(spreads):
        return _explain(groups, groups.marginal(spreads), means)

    here = fit(each)
    seen = seen_of(groups, here, np.ones(N), row_weights(groups.evidence, here.distance))
    factors = np.linalg.cholesky(each)
    inverse = np.linalg.inv(factors)
    gradients = inverse @ seen.scatter @ inverse.transpose(0, 2, 1) - seen.sizes[:, None, None] * np.eye(R)
    x, step = symmetric(rng, 2), 1e-5
    moved = [factors @ (np.eye(R) + t * x) @ factors.transpose(0, 2, 1) for t in (step, -step)]
    difference = (fit(moved[0]).density.sum() - fit(moved[1]).density.sum()) / (2 * step)
    assert 0.5 * np.einsum("kij,kji->", x, gradients) == pytest.approx(difference, rel=1e-5)


def test_information_is_the_variance_of_the_score(rng):
    # Rows known exactly, 200,000 of them drawn from the Student's law itself: 1% of chance, 4% allowed.
    n = 200_000
    v = rng.standard_normal((n, R)) / np.sqrt(rng.chisquare(TAIL, size=(n, 1)) / TAIL)
    weights = (TAIL + R) / (TAIL + np.square(v).sum(axis=1))
    a, b = _information(R)
    for x in (np.eye(R), np.diag([1.0, -1.0, 0.0]), symmetric(rng)):
        scores = 0.5 * (weights * np.einsum("ni,ij,nj->n", v, x, v) - np.trace(x))
        expected = 0.5 * (a * np.trace(x @ x) - b * np.trace(x) ** 2)
        assert np.square(scores).mean() == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("n", [0.0, 3.0, 400.0])
def test_the_step_solves_its_equations(rng, n):
    gradient, known = symmetric(rng), np.linalg.inv(np.eye(R) + spread_of(rng))
    a, b = _information(R)
    x = _solved(gradient, known, n)
    left = n * (a * known @ x @ known - b * np.trace(known @ x) * known) + (R + 2) * x
    np.testing.assert_allclose(left, gradient, atol=1e-8)


def test_groups_are_solved_for_one_by_one(rng):
    gradients, sizes = symmetric(rng, 4), np.array([1.0, 5.0, 50.0, 500.0])
    known = np.array([np.linalg.inv(np.eye(R) + spread_of(rng)) for _ in range(4)])
    together = _solved(gradients, known, sizes)
    for k in range(4):
        np.testing.assert_allclose(together[k], _solved(gradients[k], known[k], sizes[k]), atol=1e-10)


@pytest.mark.parametrize("family", ["scale", "full"])
def test_both_steps_rest_at_the_same_place(rng, family):
    evidence, labels = table(rng, 0.05)
    groups, prior = evidence.grouped(labels, 2), 0.4 * np.eye(R)

    def settled(step, rounds):
        spreads, weights = Spreads(np.array([np.eye(R), np.eye(R)]), np.eye(R)), np.ones(N)
        for _ in range(rounds):
            explained = fit_means(groups, spreads.each, weights)
            weights = row_weights(groups.evidence, explained.distance)
            spreads = step(spreads, seen_of(groups, explained, np.ones(N), weights), prior, family)
        return spreads.each

    np.testing.assert_allclose(settled(fisher_step, 60), settled(em_step, 2000), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("family", ["scale", "full"])
def test_scoring_gets_there_sooner_where_noise_hides_the_spread(rng, family, monkeypatch):
    evidence, labels = table(rng, 1.0, spread=0.05)
    arguments = evidence, labels, np.eye(R), 0.05 * np.eye(R), family
    fits = {}
    for name in ("fisher", "em"):
        with monkeypatch.context() as patch:
            patch.setattr("fusewise.automatic.mixture_fit.ROUNDS", 5)
            if name == "em":
                patch.setattr("fusewise.automatic.mixture_fit.fisher_step", lambda now, *rest: em_step(now, *rest[:3]))
            fits[name] = fit_groups(*arguments).fit
    assert fits["fisher"] > fits["em"] + 1


@pytest.mark.parametrize("family", ["scale", "full"])
def test_no_step_is_too_long_or_leaves_the_positive_ones(rng, family, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_STEP", 4.0)
    now = Spreads(np.array([np.eye(R), 2 * np.eye(R)]), np.eye(R))
    for scatter in (1e6, 0.0):
        seen = Seen(scatter * np.array([np.eye(R), np.eye(R)]), np.array([np.eye(R), np.eye(R)]), np.array([9.0, 9.0]))
        step = fisher_step(now, seen, np.eye(R), family)
        for before, after in ((now.each, step.each), (now.common[None], step.common[None])):
            ratios = np.linalg.eigvalsh(np.linalg.solve(before, after))
            most = 16.0 if family == "scale" and len(before) == 2 else 4.0  # size and shape have a step each
            assert ratios.min() > 1 / most - 1e-6
            assert ratios.max() < most + 1e-6
