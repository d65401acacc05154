"""Powers that make columns symmetric, and the units of which they are part."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import skew
from sklearn.preprocessing import PowerTransformer

from fusewise.automatic._units import Powers, units_of
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries

EXPONENTS = [-1.5, 0.0, 0.5, 1.0, 2.0, 3.0]


@pytest.fixture(scope="module")
def lognormal():
    return np.random.default_rng(0).lognormal(size=(1000, 8))


def symmetric(X):
    table = as_entries(X)
    return Powers.of(table).applied(table)


def powers(exponents, last):
    """Powers of some columns, without anything before or after them."""
    same = np.array([np.ones(len(exponents)), np.zeros(len(exponents))])
    return Powers(np.array(exponents, float), np.full(len(exponents), last), same, same)


class TestPowers:
    def test_tangents(self):
        """Beyond the rows of the fit y is a straight line, and its slope does not jump."""
        made, step = powers(EXPONENTS, 2.0), 1e-6

        def at(t):
            return made.applied(as_entries(np.full((2, len(EXPONENTS)), t))).values[0]

        for end, beyond in ((0.0, -3.0), (2.0, 7.0)):
            inside = np.sign(beyond) * (at(end) - at(end - np.sign(beyond) * step)) / step
            np.testing.assert_allclose((at(beyond) - at(end)) / (beyond - end), np.abs(inside), rtol=1e-5)

    @pytest.mark.parametrize("kind", ["lognormal", "exponential", "normal"])
    def test_the_power_is_the_likeliest(self, kind):
        """That of scikit-learn without the two extreme values, in the origin and unit in which values are counted."""
        X = getattr(np.random.default_rng(0), kind)(size=(500, 4))
        X -= X.min(axis=0)
        X /= np.median(X, axis=0)
        peer = PowerTransformer().fit(np.sort(X, axis=0)[1:-1])
        found = Powers.of(as_entries(X))
        turned = found.before[0] > 0  # others have their long tail at the other end
        np.testing.assert_allclose(found.exponents[turned], peer.lambdas_[turned], atol=1e-3)
        expected = peer.transform(X)
        expected = (expected - expected.mean(axis=0)) / expected.std(axis=0)
        np.testing.assert_allclose(found.applied(as_entries(X)).values[:, turned], expected[:, turned], atol=5e-3)
        assert turned.any()

    def test_a_column_of_two_values_and_a_huge_one(self):
        X = np.column_stack([np.arange(100) % 2, np.arange(100) % 2, np.arange(100.0)]).astype(float)
        X[0, 1], X[5, 2] = 1e90, 1e90
        assert np.isfinite(symmetric(X).values).all()

    def test_skewed_columns(self, lognormal):
        X = np.column_stack([lognormal[:, 0], -lognormal[:, 1], lognormal[:, 2] * 1e6 + 3, lognormal[:, 3] * 1e-6])
        found = symmetric(X).values
        assert np.abs(skew(X)).min() > 3
        assert np.abs(skew(found)).max() < 0.3
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.std(axis=0), 1, rtol=1e-6)

    def test_there_and_back(self, lognormal):
        X = np.column_stack([lognormal, -lognormal, np.random.default_rng(1).normal(size=1000)])
        found = Powers.of(as_entries(X))
        np.testing.assert_allclose(found.undone(found.applied(as_entries(X)).values), X, rtol=1e-6, atol=1e-9)

    def test_what_is_beyond_the_range_is_confined(self, lognormal):
        found = Powers.of(as_entries(lognormal))
        ends = found.undone(np.array([np.full(8, -1e3), np.full(8, 1e3)]))
        np.testing.assert_allclose(ends, [lognormal.min(axis=0), lognormal.max(axis=0)], rtol=1e-6)
        far = found.applied(as_entries(np.array([np.full(8, -1e99), np.full(8, 1e99)]))).values
        np.testing.assert_array_equal(far, [np.full(8, -1e6), np.full(8, 1e6)])


class TestUnits:
    def test_there_and_back(self, lognormal):
        X = hide_entries(np.column_stack([lognormal, np.full(1000, 3.0)]), 0.2, random_state=0)
        table = as_entries(X)
        units, _ = units_of(table, (), table)
        assert units.columns.tolist() == list(range(8))
        for each in (units, replace(units, powers=Powers.of(units.scaled(table)))):
            z = each.applied(table)
            assert z.shape == (1000, 8)
            np.testing.assert_allclose(each.undone(z.values)[table.mask], X[table.mask], rtol=1e-6)


@pytest.mark.parametrize("low_and_step", [(0.0, 1.0), (1.1, 2.54)])
def test_columns_of_which_every_row_has_exactly_one_are_a_category(low_and_step):
    """In any units, also where some rows have none; not if a row has two."""
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=200)
    low, step = low_and_step
    X = np.column_stack([rng.normal(size=(200, 2)), low + step * np.eye(4)[kind], rng.integers(2, size=200)])
    X[rng.random(200) < 0.2, 2:6] = np.nan
    units, levels = units_of(as_entries(X), (), as_entries(X))
    assert [(start, stop) for start, stop, _ in levels] == [(2, 6), (6, 8)]
    z = units.applied(as_entries(X))
    assert np.var(z.values[:, 2:6][z.mask[:, 2]], axis=0).sum() == pytest.approx(1)
    np.testing.assert_allclose(units.undone(z.values)[z.mask[:, 2], 2:6], X[z.mask[:, 2], 2:6])
    X[np.flatnonzero(kind == 0)[0], 2:6] = low + step * np.array([1, 1, 0, 0])
    assert len(units_of(as_entries(X), (), as_entries(X))[1]) == 5
