"""Axes that stand out from chance, and the search along these alone."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import choosing
from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.permuted import permuted
from fusewise.automatic.search.distinct_axes import n_distinct
from fusewise.automatic.search.searching import TreeSearch
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries


def factors(n, p, n_factors, hidden, seed):
    """Rows that vary along some directions, besides noise."""
    rng = np.random.default_rng(seed)
    X = 1.5 * rng.standard_normal((n, n_factors)) @ rng.standard_normal((n_factors, p)) + rng.standard_normal((n, p))
    return hide_entries(X, hidden, random_state=seed) if hidden else X


def paper(p0, seed):
    """The paper's Dataset-2, a fraction p0 of it observed."""
    X, y, _ = make_clusters(3, 200, 50, noise=0.1**0.5, shrink=0.5, random_state=seed)
    return hide_entries(X, 1 - p0, random_state=seed), y


@pytest.mark.parametrize("hidden", [0.0, 0.4])
@pytest.mark.parametrize("n_factors", [0, 1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_as_many_axes_stand_out_as_there_are_factors(hidden, n_factors, seed):
    table = as_entries(factors(300, 30, n_factors, hidden, seed))
    assert n_distinct(table, fit_axes(table, 6)) == n_factors


def test_permuted_columns_have_the_same_values_and_gaps_but_no_relations():
    table = as_entries(factors(2000, 5, 1, 0.3, 0))
    other = permuted(table, np.random.default_rng(0))
    np.testing.assert_array_equal(other.mask, table.mask)
    for column, mask in enumerate(table.mask.T):
        np.testing.assert_array_equal(np.sort(other.values[mask, column]), np.sort(table.values[mask, column]))
    both = table.mask[:, 0] & table.mask[:, 1]
    assert abs(np.corrcoef(table.values[both, :2].T)[0, 1]) > 0.25
    assert abs(np.corrcoef(other.values[both, :2].T)[0, 1]) < 0.1
    np.testing.assert_array_equal(as_entries(factors(2000, 5, 1, 0.3, 0)).values, table.values)  # left alone


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_clusters_that_axes_of_noise_hide(monkeypatch, seed):
    """60% hidden: along six axes one or two clusters are found, along two of them three."""
    X, y = paper(0.4, seed)
    found = FusionClustering(random_state=0).fit(X)
    assert found.n_clusters_ == 3
    assert adjusted_rand_score(y, found.labels_) > 0.45
    monkeypatch.setattr(choosing, "along_distinct_axes", lambda _, searched: searched)
    monkeypatch.setattr(TreeSearch, "by_even_axes", lambda _, searched: searched)
    assert FusionClustering(random_state=0).fit(X).n_clusters_ < 3


@pytest.mark.parametrize("hidden", [0.0, 0.4])
@pytest.mark.parametrize("n_factors", [1, 2])
def test_factors_are_no_clusters(hidden, n_factors):
    found = [FusionClustering().fit(factors(300, 30, n_factors, hidden, seed)).n_clusters_ for seed in range(5)]
    assert found == [1] * 5
