"""The default choice: clear clusters are found, and nothing that should not matter does."""

import numpy as np
import pytest
from scipy.linalg import hadamard
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic import choose
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries


def clear(hidden=0.0, k=3, size=40, p=10, seed=0):
    """Clusters that are far apart, every row with something observed; the table and the truth."""
    X, y, _ = make_clusters(k, size, p, noise=0.06, random_state=seed)
    X = hide_entries(X, hidden, random_state=seed + 1)
    some = ~np.isnan(X).all(axis=1)
    return X[some], y[some]


def two(shape, gap=9.0, seed=0):
    """Two Gaussian groups, `gap` standard deviations apart in every column."""
    rng = np.random.default_rng(seed)
    y = np.arange(shape[0]) % 2
    return rng.normal(size=shape) + gap * y[:, None], y


def chosen(X, **settings):
    entries = as_entries(X)
    choice = choose(entries, **settings)
    return choice, choice.classify(entries).labels


class TestFinds:
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("hidden", [0.0, 0.3, 0.6])
    def test_three_clear_clusters(self, hidden, seed):
        # With 60% hidden some rows show one or two entries, which two clusters may share.
        X, y = clear(hidden, seed=seed)
        choice, labels = chosen(X)
        assert choice.mixture.n_components == 3
        assert adjusted_rand_score(y, labels) >= (0.9 if hidden > 0.5 else 1.0)

    @pytest.mark.parametrize("seed", range(10))
    def test_one_blob_is_one_cluster(self, seed):
        X = np.random.default_rng(seed).normal(size=(150, 6)) @ np.diag([3, 2, 1, 1, 1, 0.5])
        X = hide_entries(X, 0.3 * (seed % 2), random_state=seed)
        choice, labels = chosen(X[~np.isnan(X).all(axis=1)])
        assert choice.mixture.n_components == 1
        assert not labels.any()

    def test_more_clusters_than_the_first_subspace_has_room_for(self):
        X, y = clear(k=10, size=25, p=30)
        choice, labels = chosen(X)
        assert adjusted_rand_score(y, labels) == 1
        assert choice.subspace.rank >= 9

    def test_more_columns_than_rows(self):
        X, y = clear(k=2, size=8, p=60)
        assert adjusted_rand_score(y, chosen(X, n_clusters=2)[1]) == 1

    @pytest.mark.parametrize("hidden", [0.0, 0.3])
    def test_complex(self, hidden):
        # Clusters that differ in the imaginary part alone.
        rng = np.random.default_rng(0)
        y = np.arange(100) % 2
        X = rng.normal(size=(100, 8)) + 1j * (rng.normal(size=(100, 8)) + 8 * y[:, None])
        choice, labels = chosen(hide_entries(X, hidden, random_state=0))
        assert adjusted_rand_score(y, labels) == 1
        assert np.iscomplexobj(choice.ambient(choice.mixture.means))


class TestDoesNotMatter:
    @pytest.mark.parametrize("hidden", [0.0, 0.4])
    def test_order_of_rows_and_columns(self, hidden):
        X, _ = clear(hidden)
        rng = np.random.default_rng(0)
        _, labels = chosen(X)
        rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
        assert adjusted_rand_score(labels[rows], chosen(X[rows])[1]) == 1
        assert adjusted_rand_score(labels, chosen(X[:, columns])[1]) == 1

    @pytest.mark.parametrize("hidden", [0.0, 0.4])
    def test_units_of_columns(self, hidden):
        X, _ = clear(hidden)
        rng = np.random.default_rng(0)
        choice, labels = chosen(X)
        units, origin = 10.0 ** rng.uniform(-4, 4, X.shape[1]), rng.normal(size=X.shape[1])
        units[::2] *= -1
        other, others = chosen((X + origin) * units)
        np.testing.assert_array_equal(others, labels)
        np.testing.assert_allclose(other.criteria, choice.criteria, rtol=3e-3)
        centres = (choice.ambient(choice.mixture.means) + origin) * units
        np.testing.assert_allclose(other.ambient(other.mixture.means) / units, centres / units, atol=1e-3)


class TestAsked:
    @pytest.mark.parametrize("n_clusters", range(1, 7))
    def test_number_of_clusters(self, n_clusters):
        X, y = clear(0.3)
        choice, labels = chosen(X, n_clusters=n_clusters)
        assert choice.mixture.n_components == n_clusters
        assert [p.max() + 1 for p in choice.partitions] == list(range(1, n_clusters + 1))
        if n_clusters <= 3:  # clear clusters are joined, never cut
            assert all(len(set(labels[y == k])) == 1 for k in range(3))
        else:
            assert adjusted_rand_score(y, np.minimum(labels, 99)) > 0.5

    def test_smallest_cluster(self):
        X, _ = clear(size=[60, 40, 6], k=3)
        for min_size, found in ((3, 3), (20, 2), (70, 1)):
            choice, _ = chosen(X, min_size=min_size)
            assert choice.mixture.n_components == found
            assert min(np.bincount(p).min() for p in choice.partitions) >= min_size


class TestPoorTables:
    @pytest.mark.parametrize("n", [2, 3, 4, 5])
    def test_few_rows(self, n):
        X = np.random.default_rng(0).normal(size=(n, 3))
        _, labels = chosen(X)
        assert len(labels) == n
        choice, _ = chosen(X, n_clusters=2)
        assert choice.mixture.n_components == 2

    @pytest.mark.parametrize("p", [1, 3, 10])
    @pytest.mark.parametrize("hole", [False, True])
    def test_all_rows_the_same(self, p, hole):
        X = np.full((20, p), 0.1)
        if hole and p > 1:
            X[0, 0] = np.nan
        choice, labels = chosen(X)
        assert choice.mixture.n_components == 1
        assert not labels.any()
        completed = choice.completed(as_entries(X), np.ones((20, 1)))
        np.testing.assert_allclose(completed, 0.1, rtol=1e-6)

    @pytest.mark.parametrize("value", [3.0, 0.1, 1e9])
    @pytest.mark.parametrize("p", [4, 10])
    @pytest.mark.parametrize("hidden", [0.0, 0.2])
    def test_a_constant_column(self, value, p, hidden):
        # 0.1 has no exact mean: its column must not be blown up to unit variance by the rounding.
        X, y = two((100, p))
        X[:, 2] = value
        X = hide_entries(X, hidden, random_state=0)
        telling = ~np.isnan(np.delete(X, 2, axis=1)).all(axis=1)  # rows that show more than the constant
        choice, labels = chosen(X[telling])
        assert adjusted_rand_score(y[telling], labels) == 1
        assert choice.units.scale[2] == 1

    @pytest.mark.parametrize("p", [6, 9, 20])
    def test_columns_that_follow_from_others(self, p):
        X, y = two((100, 3))
        X = np.hstack([X, X @ np.random.default_rng(1).normal(size=(3, p - 3))])
        choice, labels = chosen(X)
        assert choice.mixture.n_components == 2
        assert adjusted_rand_score(y, labels) == 1

    def test_one_blob_that_fills_few_dimensions(self):
        rng = np.random.default_rng(0)
        for p in (4, 10):
            X = np.hstack([rng.normal(size=(80, 3)), np.ones((80, p - 3))])
            assert chosen(X)[0].mixture.n_components == 1


class TestSample:
    def test_a_large_table_is_clustered_from_a_sample_of_its_rows(self, monkeypatch):
        monkeypatch.setattr("fusewise.automatic._sample.SAMPLE", 150)
        X, y = clear(0.3, size=200)
        choice, labels = chosen(X)
        assert len(choice.rows) == len(choice.partitions[0]) == choice.tree.n_points == 150
        assert len(np.unique(choice.rows)) == 150
        assert adjusted_rand_score(y, labels) > 0.99
        other, others = chosen(X, seed=1)
        assert not np.array_equal(other.rows, choice.rows)
        assert adjusted_rand_score(labels, others) > 0.98

    def test_the_smallest_cluster_is_counted_in_rows_of_the_table(self, monkeypatch):
        monkeypatch.setattr("fusewise.automatic._sample.SAMPLE", 200)
        X, _ = clear(size=[300, 200, 100], k=3)
        assert chosen(X, min_size=50)[0].n_clusters == 3
        assert chosen(X, min_size=150)[0].n_clusters == 2


def test_a_table_without_direction_is_looked_at_whole():
    """Columns made uncorrelated and equal: any six directions are as good as any other six."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 50)
    X = hadamard(8)[y] + 0.3 * rng.standard_normal((len(y), 8))
    X = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T))).T
    found = choose(as_entries(X))
    assert found.subspace.rank == 8
    assert adjusted_rand_score(y, found.classify(as_entries(X)).labels) > 0.95


@pytest.mark.parametrize(("n_clusters", "hidden"), [(40, 0.0), (100, 0.2)])
def test_many_clusters_are_found(n_clusters, hidden):
    X, y = make_blobs(30 * n_clusters, centers=n_clusters, n_features=10, random_state=0)
    X[np.random.default_rng(0).random(X.shape) < hidden] = np.nan
    found = choose(as_entries(X))
    assert found.n_clusters == n_clusters
    assert adjusted_rand_score(y, found.classify(as_entries(X)).labels) > 0.95


def test_looking_further_loses_nothing_that_was_found():
    """Close clusters with half of the entries, and rows that occur three times: three clusters, as among few."""
    X, _, _ = make_clusters(3, 200, 50, noise=0.1**0.5, shrink=0.5, random_state=0)
    assert choose(as_entries(hide_entries(X, 0.5, random_state=100))).n_clusters == 3
    X, _, _ = make_clusters(3, 60, 8, noise=0.12, random_state=1)
    X = hide_entries(X, 0.2, random_state=1)
    assert choose(as_entries(np.vstack([X, X[:90], X[:90]]))).n_clusters == 3


@pytest.mark.parametrize("rows", [20, 40])  # all of the table is searched, and a sample of it
def test_many_narrow_clusters_in_two_columns_are_found(rows):
    """Each is a hundredth of the table wide, at a random place."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(150), rows)
    X = rng.uniform(0, 100, (150, 2))[truth] + rng.normal(0, 0.3, (len(truth), 2))
    assert adjusted_rand_score(truth, choose(as_entries(X)).classify(as_entries(X)).labels) > 0.9


class TestUncorrelatedColumns:
    """As of principal component scores of one variance, whose axes are all alike."""

    def scores(self, n_groups, n_rows, n_columns, apart):
        rng = np.random.default_rng(0)
        centers = apart * rng.standard_normal((n_groups, n_columns)) / np.sqrt(2 * n_columns)
        truth = rng.integers(n_groups, size=n_rows)
        rows = centers[truth] + rng.standard_normal((n_rows, n_columns))
        return PCA(n_columns, whiten=True).fit_transform(rows), truth

    def test_groups_are_found(self):
        X, truth = self.scores(8, 600, 15, apart=7)
        for told in ({}, {"n_clusters": 8}):
            assert adjusted_rand_score(truth, chosen(X, **told)[1]) > 0.95

    def test_there_are_none_in_noise(self):
        for n_rows, n_columns, seed in ((300, 20, 0), (52, 50, 0), (52, 50, 1), (52, 50, 3)):
            noise = np.random.default_rng(seed).standard_normal((n_rows, n_columns + 5))
            assert chosen(PCA(n_columns, whiten=True).fit_transform(noise))[0].n_clusters == 1


def test_a_coin_beside_many_clusters_changes_none():
    X, truth = make_blobs(1200, 8, centers=40, center_box=(-20, 20), random_state=0)
    coin = np.random.default_rng(0).integers(2, size=(1200, 1))
    labels = [chosen(table)[1] for table in (X, np.hstack([X, coin]))]
    assert adjusted_rand_score(truth, labels[0]) > 0.99
    assert adjusted_rand_score(*labels) > 0.99
