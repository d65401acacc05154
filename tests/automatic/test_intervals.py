"""Entries with errors and in intervals, given clusters: densities by brute force, intervals by integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm

from fusewise.automatic import AxisMixture, Classifier, Clusters, ColumnMixture, Mixture, Units
from fusewise.automatic._columns import fit_columns
from fusewise.automatic._intervals import sites_of
from fusewise.observations import as_entries, half_known
from fusewise.subspace import Subspace

TAIL = 5.0
NOISE = 0.2
BASIS = np.linalg.qr(np.array([[1.0, 0.2], [0.5, -1.0], [-0.3, 0.6]]))[0]
MIDDLE = np.array([0.5, -0.2, 0.1])
MEANS = np.array([[1.5, 0.0], [-1.0, 1.0]])
SPREADS = np.array([[[1.0, 0.3], [0.3, 0.5]], [[0.4, 0.0], [0.0, 0.8]]])
SHARES = np.array([0.6, 0.4])


def along_axes(components=(0, 1)) -> Clusters:
    """Clusters in a plane of three columns."""
    some = list(components)
    mixture = Mixture(MEANS[some], SPREADS[some], SHARES[some] / SHARES[some].sum(), "full", 0.0, 0.0)
    return Clusters.of(AxisMixture(Subspace(MIDDLE, BASIS, np.ones(2), NOISE), mixture))


def independent() -> Clusters:
    """Clusters with independent columns."""
    means, variances = MEANS @ BASIS.T, np.array([[0.5, 1.0, 0.3], [0.7, 0.4, 0.6]])
    return Clusters.of(ColumnMixture(means, means, variances, SHARES, 0.0, 0.0, np.full((2, 3), 50.0)))


def in_units(clusters: Clusters) -> Classifier:
    """Rows are on the scale of the clusters already."""
    return Classifier(Units(np.arange(3), np.ones(3), np.zeros(3), np.zeros(3)), clusters)


def student(x, mean, spread, dimensions):
    """log t_5 of a row in as many dimensions as it determines, the rest of it normal: as the components are defined."""
    distance = (x - mean) @ np.linalg.solve(spread, x - mean)
    lead = gammaln((TAIL + dimensions) / 2) - gammaln(TAIL / 2) - dimensions / 2 * np.log(TAIL / 2)
    tail = lead - (TAIL + dimensions) / 2 * np.log1p(distance / TAIL)
    return tail - 0.5 * np.linalg.slogdet(2 * np.pi * spread)[1]


def test_densities_of_independent_columns_have_the_errors_in_their_variances():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    error = rng.uniform(0, 1, X.shape)
    table, clusters = half_known(as_entries(X), error=error), independent()
    part = clusters.parts[0]
    densities = clusters.log_densities(table)[0]
    for i, seen in enumerate(table.mask):
        for k in range(2):
            spread = np.diag(part.variances[k, seen] + error[i, seen] ** 2)
            expected = student(X[i, seen], part.means[k, seen], spread, seen.sum()) + np.log(SHARES[k])
            assert densities[i, k] == pytest.approx(expected)


def test_em_of_independent_columns_with_errors_finds_the_likeliest_parameters():
    """One component, of which sum_i log t(x_i; m, s + v_i) is maximised directly as well."""
    rng = np.random.default_rng(0)
    error = rng.choice([0.0, 0.5, 2.0], (1500, 2))
    X = rng.normal([1.0, -2.0], [1.0, 0.3], error.shape) + error * rng.standard_normal(error.shape)
    table = half_known(as_entries(X), error=error)
    fit = fit_columns(table, np.ones((len(X), 1)), 200)

    def loss(p):
        spread = np.exp(p[2:]) + error**2
        distance = (np.square(X - p[:2]) / spread).sum(axis=1)
        return (TAIL + 2) / 2 * np.log1p(distance / TAIL).sum() + 0.5 * np.log(spread).sum()

    best = minimize(loss, np.zeros(4)).x
    np.testing.assert_allclose(fit.means[0], best[:2], atol=0.005)
    np.testing.assert_allclose(fit.variances[0], np.exp(best[2:]), rtol=0.02)  # a few pseudo-entries are added


def test_densities_along_axes_have_the_errors_in_their_noise():
    """Complete rows determine both coordinates, whose density is Student's; the distance from the plane is normal."""
    rng = np.random.default_rng(0)
    X, error = rng.standard_normal((20, 3)), rng.uniform(0, 1, (20, 3))
    clusters = along_axes()
    densities, squares, dimensions = clusters.log_densities(half_known(as_entries(X), error=error))
    assert (dimensions == 2).all()
    for i in range(20):
        noise = np.diag(NOISE + error[i] ** 2)
        information = BASIS.T @ np.linalg.inv(noise) @ BASIS
        v = np.linalg.solve(information, BASIS.T @ np.linalg.solve(noise, X[i] - MIDDLE))
        for k in range(2):
            spread = SPREADS[k] + np.linalg.inv(information)
            square = (v - MEANS[k]) @ np.linalg.solve(spread, v - MEANS[k])
            normal = multivariate_normal(MIDDLE + BASIS @ MEANS[k], BASIS @ SPREADS[k] @ BASIS.T + noise).logpdf(X[i])
            lead = gammaln((TAIL + 2) / 2) - gammaln(TAIL / 2) - np.log(TAIL / 2)
            tails = lead - (TAIL + 2) / 2 * np.log1p(square / TAIL) + square / 2
            assert squares[i, k] == pytest.approx(square)
            assert densities[i, k] == pytest.approx(normal + tails + np.log(SHARES[k]))


def conditional(x):
    """Mean and covariance of the missing entries of a row in the first component, given the others."""
    mean, spread = MIDDLE + BASIS @ MEANS[0], BASIS @ SPREADS[0] @ BASIS.T + NOISE * np.eye(3)
    gone, seen = np.isnan(x), ~np.isnan(x)
    slope = np.linalg.solve(spread[np.ix_(seen, seen)], spread[np.ix_(seen, gone)]).T
    return mean[gone] + slope @ (x[seen] - mean[seen]), spread[np.ix_(gone, gone)] - slope @ spread[np.ix_(seen, gone)]


def test_one_interval_is_filled_with_its_truncated_mean():
    x = np.array([[0.7, np.nan, -0.2]])
    table = half_known(as_entries(x, min_rows=1), lower=[np.nan, -0.5, np.nan], upper=[np.nan, 0.3, np.nan])
    mean, spread = conditional(x[0])
    density = norm(mean[0], np.sqrt(spread[0, 0])).pdf
    mass = quad(density, -0.5, 0.3)[0]
    expected = quad(lambda v: v * density(v), -0.5, 0.3)[0] / mass
    assert in_units(along_axes([0])).completed(table)[0, 1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("low", "high"), [([-np.inf, -np.inf], [0.0, -0.5]), ([0.2, -1.0], [1.0, np.inf])])
def test_two_intervals_are_filled_with_the_mean_of_their_rectangle(low, high):
    x = np.array([[np.nan, np.nan, 0.4]])
    table = half_known(as_entries(x, min_rows=1), lower=[*low, np.nan], upper=[*high, np.nan])
    mean, spread = conditional(x[0])
    sds = np.sqrt(np.diag(spread))
    axes = [
        np.linspace(max(a, m - 9 * s), min(b, m + 9 * s), 801) for a, b, m, s in zip(low, high, mean, sds, strict=True)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    density = multivariate_normal(mean, spread).pdf(grid)
    for axis in (0, 1):  # half of the cells at the ends: the trapezoidal rule
        density[(slice(None),) * axis + ([0, -1],)] /= 2
    expected = (density[..., None] * grid).sum(axis=(0, 1)) / density.sum()
    found = in_units(along_axes([0])).completed(table)[0, :2]
    np.testing.assert_allclose(found, expected, atol=0.01 * sds.max())


@pytest.mark.parametrize("high", [[1.0, 0.5, np.inf], [0.0, -0.5, 0.2], [2.0, -1.0, np.inf]])
def test_sites_have_the_probability_of_a_rectangle(high):
    """The normal density of the sites and their scale: log P(x <= high), by SciPy's integration."""
    high = np.array(high)
    table = half_known(as_entries(np.full((1, 3), np.nan), min_rows=1), upper=high)
    sites = sites_of(along_axes([0]), table)
    mean, spread = MIDDLE + BASIS @ MEANS[0], BASIS @ SPREADS[0] @ BASIS.T + NOISE * np.eye(3)
    seen = sites.entries.mask[0]
    own = spread[np.ix_(seen, seen)] + np.diag(sites.entries.variances[0, seen])
    found = multivariate_normal(mean[seen], own).logpdf(sites.entries.values[0, seen]) + sites.log_scale[0]
    exact = multivariate_normal(mean[seen], spread[np.ix_(seen, seen)]).logcdf(high[seen])
    assert found == pytest.approx(exact, abs=0.01)


def test_sites_of_several_components_are_about_all_of_them():
    """Of one entry with independent columns: E[x | x <= high] of the mixture of normal densities, by quadrature."""
    clusters, high = independent(), 0.2
    part = clusters.parts[0]
    table = half_known(as_entries(np.full((1, 3), np.nan), min_rows=1), upper=[high, np.nan, np.nan])
    sites = sites_of(clusters, table)
    own = [norm(part.means[k, 0], np.sqrt(part.variances[k, 0])) for k in range(2)]
    mean = SHARES @ [each.mean() for each in own]
    variance = SHARES @ [each.var() + (each.mean() - mean) ** 2 for each in own]
    assert sites.mean[0] == pytest.approx(mean)
    assert sites.variance[0] == pytest.approx(variance)
