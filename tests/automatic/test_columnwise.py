"""Mixtures with independent columns, against SciPy's multivariate t and simulated groups."""

import numpy as np
import pytest
from scipy import stats

from fusewise.automatic.columns import ColumnMixture, fit_columns
from fusewise.automatic.mixture import TAIL
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries


def two_groups(n=400, p=5, seed=0):
    """Groups with variances of their own in every column; table, truth, centres, deviations."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    centers = np.array([np.zeros(p), np.full(p, 6.0)])
    deviations = rng.uniform(0.3, 1.5, (2, p))
    return centers[y] + deviations[y] * rng.normal(size=(n, p)), y, centers, deviations


def any_mixture(p=4, seed=0):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(3, p))
    return ColumnMixture(means, means, rng.uniform(0.2, 2, (3, p)), np.array([0.5, 0.3, 0.2]), 0.0, 0.0)


class TestDensities:
    def test_student_on_the_observed_entries(self):
        mixture = any_mixture()
        X = hide_entries(np.random.default_rng(1).normal(size=(20, 4)), 0.4, random_state=1)
        densities, distances, seen = mixture.log_densities(as_entries(X))
        np.testing.assert_array_equal(seen, (~np.isnan(X)).sum(axis=1))
        for i, row in enumerate(X):
            (known,) = np.nonzero(~np.isnan(row))
            for k in range(3):
                if len(known) == 0:
                    assert densities[i, k] == pytest.approx(np.log(mixture.shares[k]))
                    continue
                mean, variance = mixture.means[k, known], mixture.variances[k, known]
                law = stats.multivariate_t(mean, np.diag(variance), df=TAIL)
                assert densities[i, k] == pytest.approx(law.logpdf(row[known]) + np.log(mixture.shares[k]))
                assert distances[i, k] == pytest.approx(((row[known] - mean) ** 2 / variance).sum())

    def test_complex_columns_are_two_real_ones(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 3)) + 1j * rng.normal(size=(60, 3))
        X[rng.uniform(size=X.shape) < 0.3] = complex(np.nan, np.nan)
        both = np.concatenate([X.real, X.imag], axis=1)
        posterior = rng.dirichlet(np.ones(2), 60)
        one, other = fit_columns(as_entries(X), posterior, 3), fit_columns(as_entries(both), posterior, 3)
        np.testing.assert_allclose(one.means, other.means)
        np.testing.assert_allclose(one.centers, other.centers[:, :3] + 1j * other.centers[:, 3:])
        assert one.log_likelihood == pytest.approx(other.log_likelihood)


class TestFit:
    @pytest.mark.parametrize("hidden", [0.0, 0.4])
    def test_finds_centres_and_deviations(self, hidden):
        X, y, centers, deviations = two_groups(3000)
        found = fit_columns(as_entries(hide_entries(X, hidden, random_state=0)), np.eye(2)[y], 20)
        np.testing.assert_allclose(found.centers, centers, atol=0.15)
        # The scale of a Student's law that fits a Gaussian is a little less than its deviation, alike in all columns.
        ratio = np.sqrt(found.variances) / deviations
        assert ratio.min() > 0.75 * ratio.max()
        np.testing.assert_allclose(found.shares, 0.5, atol=0.02)

    def test_likelihood_is_that_of_its_densities_and_rises(self):
        X, y, _, _ = two_groups(200)
        entries = as_entries(hide_entries(X, 0.3, random_state=0))
        doubt = 0.8 * np.eye(2)[y] + 0.1
        fits = [fit_columns(entries, doubt, rounds) for rounds in range(1, 12)]
        for fit in fits:
            assert fit.log_likelihood == pytest.approx(np.logaddexp.reduce(fit.log_densities(entries)[0], axis=1).sum())
        steps = np.diff([fit.log_likelihood for fit in fits])
        assert steps[0] > 1
        assert steps.min() > -0.5  # pseudo-entries pull at the likelihood by less than that

    def test_a_column_on_which_a_group_agrees_does_not_decide_everything(self):
        # Yes or no: half of group 0 says yes, all of group 1; another column tells the groups apart.
        rng = np.random.default_rng(0)
        y = np.arange(200) % 2
        X = np.column_stack([np.where(y == 1, 1.0, rng.integers(0, 2, 200)), rng.normal(size=200) + 8 * y])
        found = fit_columns(as_entries(X), np.eye(2)[y], 5)
        assert (found.variances[:, 0] >= 1 / 12 - 1e-12).all()

    def test_complexity(self):
        # Two shares less one, two centres, and between one and two variances for every column.
        X, y, _, _ = two_groups(100, p=7)
        found = fit_columns(as_entries(X), np.eye(2)[y], 2)
        assert 1 + 3 * 7 < found.complexity < 1 + 4 * 7


def test_completed_is_the_posterior_mean_of_the_centres():
    mixture = any_mixture()
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    np.testing.assert_allclose(mixture.completed(as_entries(np.ones((5, 4))), posterior), posterior @ mixture.means)
