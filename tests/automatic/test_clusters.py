"""Which model of a cluster is kept: the one under which the table was drawn."""

import numpy as np
import pytest

from fusewise.automatic import choose
from fusewise.automatic._clusters import AxisMixture, Clusters
from fusewise.automatic._columns import ColumnMixture, fit_columns
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import TAIL, Mixture, probabilities
from fusewise.automatic._units import LevelBlock
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.subspace import Smooth, Subspace

P = 20


def table(correlated, hidden, seed=0, n=300):
    """Three groups; within them columns are independent with noises of their own, or follow three common factors."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = rng.normal(size=(3, P)) * 2
    noise = rng.uniform(0.5, 2.0, P) * rng.normal(size=(n, P))
    if correlated:
        noise = 2 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, P)) + 0.3 * rng.normal(size=(n, P))
    return as_entries(hide_entries(centers[y] + noise, hidden, random_state=seed))


@pytest.mark.parametrize("hidden", [0.0, 0.4])
@pytest.mark.parametrize(("correlated", "kind"), [(False, ColumnMixture), (True, AxisMixture)])
def test_the_likelier_model_is_kept(correlated, kind, hidden):
    assert isinstance(choose(table(correlated, hidden), n_clusters=3).clusters.parts[0], kind)


def test_joined_clusters_are_sums_of_their_components():
    rng = np.random.default_rng(0)
    subspace = Subspace(np.zeros(4), np.linalg.qr(rng.normal(size=(4, 2)))[0], np.ones(2), 0.1)
    spreads = np.array([np.eye(2)] * 3)
    parts = AxisMixture(
        subspace, Mixture(rng.normal(size=(3, 2)), spreads, np.array([0.2, 0.3, 0.5]), "full", 0.0, 0.0)
    )
    X = rng.normal(size=(30, 4))
    X[rng.random(X.shape) < 0.3] = np.nan
    table = as_entries(X)
    joined = Clusters.of(parts, np.array([0, 1, 0]))
    own, total = probabilities(parts.log_densities(table)[0])
    posterior, together = probabilities(joined.log_densities(table)[0])
    np.testing.assert_allclose(together, total)
    np.testing.assert_allclose(posterior[:, 0], own[:, 0] + own[:, 2])
    np.testing.assert_allclose(joined.shares, [0.7, 0.3])
    np.testing.assert_allclose(joined.completed(table, posterior), parts.completed(table, own))
    np.testing.assert_allclose(joined.centers[0], (0.2 * parts.centers[0] + 0.5 * parts.centers[2]) / 0.7)


MANY = 20_000


def repeated(row):
    return as_entries(np.repeat(np.array([row], float), MANY, axis=0))


@pytest.fixture(scope="module")
def covariance():
    root = np.random.default_rng(0).normal(size=(3, 3))
    return root @ root.T + 0.3 * np.eye(3)


def test_student_s_conditional_in_all_dimensions(covariance):
    """x_m | x_o ~ t_{nu+d}(mu_m + S_mo S_oo^-1 (x_o - mu_o), (nu + d²) / (nu + d) S_m.o), and noise is negligible."""
    variances, basis = np.linalg.eigh(covariance)
    subspace = Subspace(np.zeros(3), basis, variances, 1e-4)
    mu = np.array([1.0, -1.0, 0.5])
    mixture = Mixture((mu @ basis)[None], np.diag(variances)[None], np.ones(1), "full", 0.0, 0.0)
    seen = np.array([2.5, -2.0])
    draws = AxisMixture(subspace, mixture).drawn(repeated([np.nan, *seen]), np.ones(3), np.random.default_rng(1))
    solved = np.linalg.solve(covariance[1:, 1:], np.column_stack([seen - mu[1:], covariance[1:, 0]]))
    distance, dof = (seen - mu[1:]) @ solved[:, 0], TAIL + 2
    left = covariance[0, 0] - covariance[0, 1:] @ solved[:, 1]
    assert draws[:, 0].mean() == pytest.approx(mu[0] + covariance[0, 1:] @ solved[:, 0], abs=0.02)
    assert draws[:, 0].var() == pytest.approx((TAIL + distance) / dof * left * dof / (dof - 2), rel=0.04)


def test_the_component_and_the_noise_of_a_draw():
    """Two components far apart along one axis, given a column without information: a mixture with the shares."""
    subspace = Subspace(np.zeros(2), np.array([[1.0], [0.0]]), np.ones(1), 0.04)
    mixture = Mixture(np.array([[-5.0], [5.0]]), np.full((2, 1, 1), 1e-6), np.array([0.3, 0.7]), "full", 0.0, 0.0)
    draws = AxisMixture(subspace, mixture).drawn(repeated([np.nan, 0.1]), np.ones(2), np.random.default_rng(2))[:, 0]
    assert np.mean(draws > 0) == pytest.approx(0.7, abs=0.01)
    assert draws[draws > 0].mean() == pytest.approx(5, abs=0.01)
    assert draws[draws > 0].std() == pytest.approx(0.2, rel=0.02)
    wider = AxisMixture(subspace, mixture).drawn(
        repeated([np.nan, 0.1]), np.array([3.0, 1.0]), np.random.default_rng(2)
    )
    assert wider[wider[:, 0] > 0, 0].std() == pytest.approx(0.6, rel=0.02)


def test_categories_have_the_probabilities_of_bayes():
    """A number and a category in two components; the number is observed, the category is not."""
    means = np.array([[0.0, 0.8, 0.2], [2.0, 0.1, 0.9]])
    variances, shares = np.array([[1.0, 1, 1], [0.25, 1, 1]]), np.array([0.4, 0.6])
    mixture = ColumnMixture(means, means, variances, shares, 0.0, 0.0, np.ones_like(means), ((1, 3),))
    draws = mixture.drawn(repeated([1.2, np.nan, np.nan]), np.ones(3), np.random.default_rng(3))
    scale = np.sqrt(variances[:, 0])
    density = shares / scale * (1 + np.square((1.2 - means[:, 0]) / scale) / TAIL) ** (-(TAIL + 1) / 2)
    expected = density / density.sum() @ means[:, 1:]
    np.testing.assert_allclose(draws[:, 1:].mean(axis=0), expected, atol=0.01)
    np.testing.assert_array_equal(draws[:, 1:].sum(axis=1), 1)
    assert np.isin(draws[:, 1:], [0, 1]).all()


def test_the_normal_conditional_of_a_subspace(covariance):
    basis, noise = np.linalg.qr(np.random.default_rng(4).normal(size=(4, 2)))[0], 0.2
    whole = basis @ np.diag([3.0, 1.0]) @ basis.T + noise * np.eye(4)
    smooth = Smooth(np.arange(4), np.ones(4), np.zeros(4), Subspace(np.zeros(4), basis, np.array([3.0, 1.0]), noise))
    seen = np.array([1.0, -0.5])
    draws = smooth.drawn(repeated([np.nan, np.nan, *seen]), np.ones(4), 5)[:, :2]
    slope = np.linalg.solve(whole[2:, 2:], whole[2:, :2])
    np.testing.assert_allclose(draws.mean(axis=0), seen @ slope, atol=0.02)
    np.testing.assert_allclose(np.cov(draws.T), whole[:2, :2] - whole[:2, 2:] @ slope, atol=0.02)


def test_parameters_are_as_uncertain_as_the_rows_leave_them():
    """The mean of n normal rows has the variance s / n; the share of n answers q (1 - q) / n."""
    random = np.random.default_rng(6)
    answers = random.random(80) < 0.3
    table = as_entries(np.column_stack([random.normal(size=80), answers, ~answers]).astype(float))
    mixture = fit_columns(table, np.ones((80, 1)), 4, (LevelBlock(1, 3),))
    means = np.array([mixture.redrawn(None, np.random.default_rng(seed)).means[0] for seed in range(2000)])
    assert means[:, 0].std() == pytest.approx(np.sqrt(mixture.variances[0, 0] / 80), rel=0.1)
    assert means[:, 1].std() == pytest.approx(np.sqrt(0.3 * 0.7 / 80), rel=0.15)
    np.testing.assert_allclose(means[:, 1:].sum(axis=1), 1)


def test_rows_drawn_with_replacement_move_the_centres():
    random = np.random.default_rng(7)
    X = random.normal(size=(100, 2)) * [2, 1]
    subspace = Subspace(np.zeros(2), np.eye(2), np.array([4.0, 1.0]), 1e-6)
    evidence = Evidence.of(subspace, as_entries(X))
    along = AxisMixture(subspace, Mixture(X.mean(axis=0)[None], np.cov(X.T)[None], np.ones(1), "full", 0.0, 0.0))
    means = np.array([along.redrawn(evidence, np.random.default_rng(k)).mixture.means[0] for k in range(200)])
    np.testing.assert_allclose(means.std(axis=0), [0.2, 0.1], rtol=0.25)
    np.testing.assert_allclose(means.mean(axis=0), X.mean(axis=0), atol=0.1)
