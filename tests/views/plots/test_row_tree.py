"""The ordered heat map with its tree, and the map of nearest neighbours."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from fusewise import FusionClustering, PenalizedFusion
from fusewise.datasets import hide_entries, make_clusters
from fusewise.penalties import H1
from fusewise.views import _trees as row_trees
from fusewise.views import read_findings
from fusewise.views._layouts import neighbour_layout
from fusewise.views._trees import row_tree


@pytest.fixture(scope="module")
def found():
    X, _, _ = make_clusters(3, 30, 6, noise=0.1, random_state=0)
    X = hide_entries(X, 0.2, random_state=1)
    X[4] = np.nan  # not drawn
    with pytest.warns(UserWarning, match="observed"):
        return read_findings(FusionClustering().fit(X))


def test_rows_once_each_and_joins_as_in_the_tree(found):
    """The rows under each join, found by following the linkage, are those at its positions."""
    table, tree = row_tree(found), found.path.tree
    assert sorted(table.rows) == list(range(89))
    assert table.is_named
    members = {k: {k} for k in range(tree.n_points)}
    looked_at = np.delete(np.arange(90), 4)[found.path.rows]
    assert len(table.joins) == len(tree.linkage)
    for k, (join, (left, right, lam, _)) in enumerate(zip(table.joins, tree.linkage, strict=True)):
        node = tree.n_points + k
        members[node] = members[int(left)] | members[int(right)]
        under = {int(found.drawn[row]) for row in table.rows[join.begin : join.end]}
        assert under == {int(looked_at[point]) for point in members[node]}
        assert (join.lam, join.groups) == (lam, 88 - k)
        assert join.begin <= join.left < join.right <= join.end


def test_cells_are_standardised_and_gaps_stay_gaps(found):
    table = row_tree(found)
    scaled = (found.values - np.nanmean(found.values, axis=0)) / np.nanstd(found.values, axis=0)
    expected = scaled[found.drawn[table.rows]][:, [int(name[1:]) for name in table.features]]
    np.testing.assert_allclose(table.deviations, expected, rtol=1e-9, atol=1e-12)


def test_long_tables_are_collapsed(found, monkeypatch):
    """Lines are means over consecutive rows, and few branches are drawn, none of them small."""
    monkeypatch.setattr(row_trees, "MOST_NAMED", 50)
    monkeypatch.setattr(row_trees, "MOST_LINES", 20)
    monkeypatch.setattr(row_trees, "MOST_BRANCHES", 8)
    table = row_tree(found)
    assert not table.is_named
    assert table.deviations.shape == (20, 6)
    assert 2 <= len(table.joins) < 8
    rows = found.drawn[table.rows[table.lines[3] : table.lines[4]]]
    scaled = (found.values - np.nanmean(found.values, axis=0)) / np.nanstd(found.values, axis=0)
    np.testing.assert_allclose(
        table.deviations[3], np.nanmean(scaled[rows][:, [int(name[1:]) for name in table.features]], axis=0), rtol=1e-9
    )


def test_without_a_tree_rows_are_sorted_by_cluster():
    X, _, _ = make_clusters(2, 10, 4, noise=0.05, random_state=0)
    plain = read_findings(PenalizedFusion(0.05, penalty=H1(0.5)).fit(X))
    table = row_tree(plain)
    assert table.joins == ()
    labels = plain.labels[plain.drawn][table.rows]
    labels = np.where(labels < 0, labels.max() + 1, labels)
    assert (np.diff(labels) >= 0).all()


@pytest.mark.parametrize("most", [3_000, 80])
def test_neighbours_stay_neighbours(most):
    """Six groups in ten dimensions that overlap in two: a row's nearest row in the layout is of its own group."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), 30)
    rows = 4 * np.eye(6, 10)[groups] + 0.5 * rng.normal(size=(180, 10))
    start = rng.normal(size=(180, 2))
    places = neighbour_layout(rows, start, most)
    away = cdist(places, places) + np.diag(np.full(180, np.inf))
    assert np.mean(groups[away.argmin(axis=1)] == groups) > 0.95
    np.testing.assert_array_equal(places, neighbour_layout(rows, start, most))
