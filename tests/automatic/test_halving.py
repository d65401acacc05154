"""Groups cut in two across the tree, if the number of clusters is given."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import choice, choose
from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.models.partition_fit import describe
from fusewise.automatic.search.halving import _in_own_spread, halves
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


@pytest.mark.parametrize("hidden", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(3))
def test_the_criterion_is_never_lower(monkeypatch, hidden, seed):
    X = np.random.default_rng(seed).standard_t(4, (150, 6)) * [3, 2, 1, 1, 1, 1]
    table = as_entries(hide_entries(X, hidden, random_state=seed) if hidden else X)
    found = choose(table, n_clusters=4)
    monkeypatch.setattr(choice, "with_halves", lambda _, searched: searched)
    alone = choose(table, n_clusters=4)
    assert found.criteria[-1] >= alone.criteria[-1]
    assert found.n_clusters == alone.n_clusters == 4
    np.testing.assert_allclose(found.criteria[:3], alone.criteria[:3])


def test_a_long_group_is_cut_along_its_length():
    X, y = long_groups()
    cuts = list(halves(placed(X), describe(placed(X), np.where(y == 2, 1, 0)), 3))
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
    assert list(halves(rows, describe(rows, np.repeat([0, 1], [30, 5])), 3)) == []
