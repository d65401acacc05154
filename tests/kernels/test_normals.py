"""Truncated normal distributions, their sites, and moments of columns, against integration and optimisation."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from fusewise.kernels import column_moments, sites, truncated

INTERVALS = [(-1.0, 2.0), (0.5, np.inf), (-np.inf, -4.0), (6.0, 7.0), (-np.inf, np.inf), (1.0, 1.01), (-30.0, 30.0)]


def moments(mean: float, variance: float, low: float, high: float) -> tuple[float, float, float]:
    """Mass, mean and variance by adaptive quadrature, in pieces where the density is."""
    sd = np.sqrt(variance)
    ends = np.clip([low, high], mean - 12 * sd, mean + 12 * sd)

    def integral(power: int, about: float = 0.0) -> float:
        pieces = np.linspace(*ends, 25)
        density = norm(mean, sd).pdf
        return sum(quad(lambda x: (x - about) ** power * density(x), a, b)[0] for a, b in pairwise(pieces))

    mass = integral(0)
    middle = integral(1) / mass
    return mass, middle, integral(2, middle) / mass


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_moments_are_integrals(low, high):
    found = truncated(np.array([0.4]), np.array([1.7]), np.array([low]), np.array([high]))
    mass, mean, variance = moments(0.4, 1.7, low, high)
    np.testing.assert_allclose([np.exp(found.log_mass[0]), found.mean[0]], [mass, mean], rtol=1e-7)
    np.testing.assert_allclose(found.variance[0], variance, rtol=1e-6)


@pytest.mark.parametrize("a", [1e2, 1e4, 1e6])
def test_far_tails_follow_their_expansion(a):
    """Beyond a, mean and variance are a + 1/a - 2/a³ + ... and 1/a² - 6/a⁴ + ... (Mills's ratio)."""
    found = truncated(np.zeros(1), np.ones(1), np.array([a]), np.array([np.inf]))
    assert found.mean[0] - a == pytest.approx(1 / a - 2 / a**3, rel=1e-4)
    assert found.variance[0] == pytest.approx(1 / a**2 - 6 / a**4, rel=1e-4)
    assert found.log_mass[0] == pytest.approx(norm.logsf(a), rel=1e-9)


def test_a_site_does_what_its_interval_does():
    """N(x; m, s) N(y; x, v), normalised, has the precision 1/s + 1/v and the mean (m/s + y/v) / (1/s + 1/v)."""
    m, s, low, high = np.array([0.3, 0.3, -2.0]), np.array([1.0, 4.0, 1.0]), np.array([-np.inf, 0, 3.0]), np.ones(3)
    high[2] = 3.5
    given = truncated(m, s, low, high)
    y, v = sites(m, s, given)
    assert (v > 0).all()
    np.testing.assert_allclose(1 / (1 / s + 1 / v), given.variance)
    np.testing.assert_allclose((m / s + y / v) * given.variance, given.mean)


def test_an_interval_that_says_nothing_is_no_observation():
    m, s = np.zeros(2), np.ones(2)
    y, v = sites(m, s, truncated(m, s, np.full(2, -np.inf), np.array([np.inf, 20.0])))
    assert np.isinf(v).all()
    assert np.isfinite(y).all()


def test_moments_of_columns_are_the_likeliest():
    rng = np.random.default_rng(0)
    x = rng.normal([3.0, -1.0], [2.0, 0.5], (150, 2))
    errors = rng.uniform(0, 2, x.shape) * (rng.random(x.shape) < 0.5)
    y = x + errors * rng.standard_normal(x.shape)
    low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    inside = x < [2.5, -1.2]
    high[inside] = np.broadcast_to([2.5, -1.2], x.shape)[inside]
    low[:40][inside[:40]] = high[:40][inside[:40]] - 1
    errors[inside] = 0
    counts = rng.integers(0, 3, len(x)).astype(float)
    known = rng.random(x.shape) < 0.9
    mean, variance = column_moments(np.where(inside, 0, y), known, errors**2, counts, low, high)

    for j in range(2):

        def loss(p, j=j):
            sd = np.exp(p[1])
            each = norm.logpdf(y[:, j], p[0], np.sqrt(sd**2 + errors[:, j] ** 2))
            each[inside[:, j]] = np.log(norm.cdf(high[:, j], p[0], sd) - norm.cdf(low[:, j], p[0], sd))[inside[:, j]]
            return -np.sum((counts * each)[known[:, j]])

        best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9, "maxiter": 2000})
        np.testing.assert_allclose([mean[j], variance[j]], [best.x[0], np.exp(2 * best.x[1])], rtol=1e-5)


def test_a_column_that_varies_less_than_its_errors_has_no_variance_of_its_own():
    y = np.array([[0.1], [-0.1], [0.05], [-0.05]])
    mean, variance = column_moments(y, np.ones(y.shape, bool), np.ones(y.shape), np.ones(4))
    assert mean[0] == pytest.approx(0)
    assert variance[0] == 0
