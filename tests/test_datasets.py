"""Simulated clusters, the Wine table, and the ways to hide entries."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from fusewise.datasets import hide_entries, load_wine_subset, make_clusters

MECHANISMS = ("mcar", "mar", "mnar", "block", "columns")
every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS)


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).normal(size=(600, 20)) ** 2  # positive: the larger, the larger


@every_mechanism
@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_the_fraction_is_kept(table, mechanism, fraction):
    hidden = np.isnan(hide_entries(table, fraction, mechanism=mechanism, random_state=0))
    # 12,000 entries: the mean of independent ones has a standard error below 0.005; runs and ranks a little more.
    tolerance = 0.015 + (0.04 if mechanism == "mar" and fraction == 0.5 else 0)
    assert hidden.mean() == pytest.approx(fraction, abs=tolerance)


@every_mechanism
def test_what_is_left_is_untouched_and_reproducible(table, mechanism):
    before = table.copy()
    once, again, other = (hide_entries(table, 0.3, mechanism=mechanism, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(once, again)
    assert (np.isnan(once) != np.isnan(other)).any()
    np.testing.assert_array_equal(table, before)
    np.testing.assert_array_equal(once[~np.isnan(once)], table[~np.isnan(once)])


def test_mnar_hides_the_larger(table):
    hidden = np.isnan(hide_entries(table, 0.3, mechanism="mnar", random_state=0))
    larger = table > np.median(table, axis=0)
    assert hidden[larger].mean() > 2 * hidden[~larger].mean()
    for column in range(20):
        assert table[hidden[:, column], column].mean() > table[~hidden[:, column], column].mean()


def test_mar_never_hides_the_first_column_and_follows_it(table):
    hidden = np.isnan(hide_entries(table, 0.3, mechanism="mar", random_state=0))
    assert not hidden[:, 0].any()
    large = table[:, 0] > np.median(table[:, 0])
    assert hidden[large, 1:].mean() > 2 * hidden[~large, 1:].mean()
    with pytest.raises(ValueError, match="at least two columns"):
        hide_entries(table[:, :1], 0.3, mechanism="mar")


def test_blocks_are_contiguous_on_the_circle(table):
    hidden = np.isnan(hide_entries(table, 0.4, mechanism="block", random_state=0))
    changes = (hidden != np.roll(hidden, 1, axis=1)).sum(axis=1)
    assert set(changes.tolist()) <= {0, 2}
    assert hidden.mean(axis=0) == pytest.approx(0.4, abs=0.08)


def test_columns_have_their_own_rates(table):
    rates = np.isnan(hide_entries(table, 0.3, mechanism="columns", random_state=0)).mean(axis=0)
    assert rates.min() < 0.05
    assert rates.max() > 0.5


def test_hidden_entries_stay_hidden_and_kinds_are_kept():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    assert np.isnan(hide_entries(X, 0.0)[0, 1])
    assert hide_entries(X * 1j, 0.5, random_state=0).dtype == complex
    assert hide_entries(X.astype(np.float32), 0.1, random_state=0).dtype == np.float32
    assert hide_entries(np.ones((3, 2), dtype=int), 0.1, random_state=0).dtype == float


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "mean"}, "unknown mechanism 'mean': use one of 'mcar', 'mar', 'mnar', 'block', 'columns'"),
    ],
)
def test_bad_requests(options, message):
    with pytest.raises(ValueError, match=message):
        hide_entries(np.zeros((3, 3)), **options)


class TestClusters:
    def test_normal(self):
        X, y, centers = make_clusters(3, 400, 10, noise=0.2, random_state=0)
        assert X.shape == (1200, 10)
        assert np.bincount(y).tolist() == [400] * 3
        assert centers.min() >= 0
        assert centers.max() <= 1
        assert (X - centers[y]).std() == pytest.approx(0.2, rel=0.03)
        assert np.abs(X - centers[y]).max() > 0.4  # tails

    def test_uniform(self):
        X, y, centers = make_clusters(2, 400, 10, noise=0.2, distribution="uniform", random_state=0)
        assert np.abs(X - centers[y]).max() <= 0.1
        assert (X - centers[y]).std() == pytest.approx(0.2 / np.sqrt(12), rel=0.03)

    def test_sizes_centres_and_shrinking(self):
        X, y, _ = make_clusters(3, [5, 1, 2], 4, random_state=0)
        assert np.bincount(y).tolist() == [5, 1, 2]
        _, _, wide = make_clusters(3, 5, 4, random_state=0)
        _, _, near = make_clusters(3, 5, 4, shrink=0.5, random_state=0)
        np.testing.assert_allclose(near[0] - near[1], (wide[0] - wide[1]) / 2)
        X, _, means = make_clusters(size=3, noise=0.0, centers=[[0.0, 1.0], [2.0, 3.0]])
        np.testing.assert_array_equal(X, np.repeat(means, 3, axis=0))


def test_wine_subset():
    """40 wines of each cultivar, scaled over all 178 (so that not every column reaches 0 and 1)."""
    X, y = load_wine_subset()
    assert X.shape == (120, 13)
    assert np.bincount(y).tolist() == [40, 40, 40]
    assert X.min() >= 0
    assert X.max() <= 1
    table, cultivar = load_wine(return_X_y=True)
    # The first, the 41st and the last row of the list in the paper's code are wines 0, 64 and 177.
    for row, wine in ((0, 0), (40, 64), (119, 177)):
        np.testing.assert_allclose(X[row] * np.ptp(table, axis=0) + table.min(axis=0), table[wine])
        assert y[row] == cultivar[wine]


@pytest.mark.parametrize("distribution", ["uniform", "normal"])
def test_one_seed_for_clusters_and_holes(distribution):
    """What is hidden has nothing to do with the noise, even where both were drawn with the same seed."""
    for centers in (None, np.zeros((2, 20))):
        X, y, means = make_clusters(2, 200, 20, distribution=distribution, centers=centers, random_state=0)
        hidden = np.isnan(hide_entries(X, 0.5, random_state=0))
        correlation = np.corrcoef(hidden.ravel(), (X - means[y]).ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(X.size)  # four standard errors of no correlation


@pytest.mark.parametrize(("given", "message"), [
    ({"n_clusters": 0}, "n_clusters must be at least 1"), ({"n_features": 2.5}, "n_features must be a whole number"),
    ({"size": -1}, "size must be at least 1"), ({"size": [1, None]}, "size must be a whole number"),
    ({"size": [1, 2, 3]}, "one for each of 2 clusters"), ({"noise": "x"}, "noise must be a number"),
    ({"shrink": np.inf}, "shrink must be finite"), ({"centers": [1.0, 2.0]}, "centers must be a table"),
])  # fmt: skip
def test_parameters_of_clusters(given, message):
    with pytest.raises(ValueError, match=message):
        make_clusters(**{"n_clusters": 2, "size": 5, "n_features": 3} | given)


def test_clusters_that_do_not_fit_in_memory_are_refused():
    with pytest.raises(MemoryError, match="the simulated table"):
        make_clusters(2, 10**12, 3)


@pytest.mark.parametrize("fraction", [None, [0.5], {}, "x", np.nan, 1.0, -0.1])
def test_a_fraction_that_is_none(fraction):
    with pytest.raises(ValueError, match="fraction must be"):
        hide_entries(np.ones((3, 3)), fraction)
