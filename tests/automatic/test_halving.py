"""Groups cut in two across the tree, if the number of clusters is given."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import choose, choosing
from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.models.partition_fit import describe
from fusewise.automatic.search.halving import _as_they_are, _in_own_spread, halves
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries
from fusewise.subspace import Subspace


def placed(X):
    p = X.shape[1]
    return Rows.of(Evidence.of(Subspace(np.zeros(p), np.eye(p), np.ones(p), 1e-6), as_entries(X)), np.ones(p))


def long_groups(seed=0, n=80):
    """Three groups in four dimensions; two of them lie side by side along their length, and look like one."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], n)
    X = rng.standard_normal((3 * n, 4)) * [3.0, 0.3, 0.3, 0.3]
    X[:, 1] += np.array([0.0, 2.2, 14.0])[y]
    return X, y


def test_iris_in_three_clusters():
    """The tree cuts the species that is apart; before, the other two stayed one cluster (0.45)."""
    X, y = load_iris(return_X_y=True)
    assert adjusted_rand_score(y, FusionClustering(n_clusters=3).fit_predict(X)) > 0.85


def size_of_smallest(choice, table):
    return np.bincount(choice.classify(table).labels, minlength=choice.n_clusters).min()


@pytest.mark.parametrize("hidden", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_the_criterion_is_lower_only_for_clusters_that_last(monkeypatch, hidden, seed):
    X = np.random.default_rng(seed).standard_t(4, (150, 6)) * [3, 2, 1, 1, 1, 1]
    table = as_entries(hide_entries(X, hidden, random_state=seed) if hidden else X)
    found = choose(table, n_clusters=4)
    monkeypatch.setattr(choosing, "with_halves", lambda _, searched: searched)
    alone = choose(table, n_clusters=4)
    assert found.criteria[-1] >= alone.criteria[-1] or size_of_smallest(alone, table) < 3 <= size_of_smallest(
        found, table
    )
    assert found.n_clusters == alone.n_clusters == 4
    np.testing.assert_allclose(found.criteria[:3], alone.criteria[:3])


def overlapping(p, apart, seed=0, n=1000):
    """Two Gaussians so many standard deviations apart, each of n rows and equally in all p columns."""
    y = np.repeat([0, 1], n)
    X = np.random.default_rng(seed).standard_normal((2 * n, p)) + apart / np.sqrt(p) * y[:, None]
    return X, y


@pytest.mark.parametrize("p", [8, 16, 32, 64])
@pytest.mark.parametrize("hidden", [0.0, 0.2])
def test_groups_that_overlap_are_found_if_their_number_is_given(p, hidden):
    """Before, one row or a few were cut off (0.00): the fewer, the less overlap."""
    X, y = overlapping(p, 2.4)
    table = hide_entries(X, hidden, random_state=0) if hidden else X
    bayes = adjusted_rand_score(y, np.nansum(table - 1.2 / np.sqrt(p), axis=1) > 0)
    found = FusionClustering(n_clusters=2).fit_predict(table)
    assert adjusted_rand_score(y, found) > 0.9 * bayes


def test_groups_that_overlap_are_cut_in_the_direction_in_which_they_lie_apart():
    X, y = overlapping(16, 2.4)
    rows = placed(X)
    one = describe(rows, np.zeros(len(y), np.intp))
    (plain,), (own,) = (list(halves(rows, one, 30, turned)) for turned in (_as_they_are, _in_own_spread))
    assert adjusted_rand_score(y, plain) > 0.5 > adjusted_rand_score(y, own)


def test_a_long_group_is_cut_along_its_length():
    X, y = long_groups()
    cuts = list(halves(placed(X), describe(placed(X), np.where(y == 2, 1, 0)), 3, _in_own_spread))
    assert [int(cut.max()) for cut in cuts] == [2, 2]
    assert max(adjusted_rand_score(y, cut) for cut in cuts) == 1.0


def test_own_spread():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [5, 1, 0]
    own = _in_own_spread(X)
    np.testing.assert_allclose(own.T @ own / 50, np.eye(2), atol=1e-12)
    assert _in_own_spread(np.ones((9, 3))).shape == (9, 0)


def test_equal_rows_and_small_groups_are_not_cut():
    X = np.r_[np.ones((30, 4)), np.random.default_rng(0).normal(9, 1, (5, 4))]
    rows = placed(X)
    assert list(halves(rows, describe(rows, np.repeat([0, 1], [30, 5])), 3, _in_own_spread)) == []
