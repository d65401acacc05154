"""Clusters found without hints, corrected, against those found with hints."""

from dataclasses import replace

import numpy as np
import pytest
from hinted import hints_of
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering, load
from fusewise.automatic.clusters import Clusters
from fusewise.automatic.with_hints import better_supported
from fusewise.estimators import _result

GRID = np.array([(0.0, 0.0), (9.0, 0.0), (0.0, 9.0)])


def blobs(n=40, centers=GRID, seed=0):
    """n rows around each centre."""
    y = np.repeat(np.arange(len(centers)), n)
    return centers[y] + np.random.default_rng(seed).standard_normal((len(y), 2)), y


@pytest.fixture
def told(monkeypatch):
    """Makes the search with hints return what a function makes of its result, and collects the results without."""
    before = []

    def with_result(change):
        choose = _result.choose

        def changed(table, **given):
            found = choose(table, **given)
            if given.get("hints"):
                return change(found)
            before.append(found)
            return found

        monkeypatch.setattr(_result, "choose", changed)
        return before

    return with_result


class TestStays:
    def test_only_rows_with_hints_move_if_the_search_with_hints_is_no_better(self, told):
        X, y = blobs()
        t = np.full(len(y), -1)
        t[::4] = y[::4]
        t[0] = 1  # a row of the first cluster that is said to belong to the second
        seen = []
        before = told(lambda found: seen.append(found) or found)
        model = FusionClustering(semi_supervised=True).fit(X, t)
        plain = FusionClustering().fit_predict(X)
        assert seen  # as the clusters did not obey
        assert model.path_.tree is before[0].tree
        np.testing.assert_array_equal(plain[1:] == plain[1], model.labels_[1:] == model.labels_[1])
        assert model.labels_[0] == model.labels_[44]

    def test_hints_that_are_right_more_often_change_the_clusters(self):
        X, hump = blobs()
        y = np.array([0, 1, 0])[hump]
        t = np.where(np.arange(len(y)) % 5 == 0, y, -1)
        model = FusionClustering(semi_supervised=True).fit(X, t)
        assert adjusted_rand_score(y, model.labels_) == 1

    @pytest.mark.parametrize("n_clusters", [None, 3])
    def test_a_number_that_was_given_leaves_the_search_with_hints_alone(self, told, n_clusters):
        X, y = blobs()
        t = np.where(np.arange(len(y)) % 4 == 0, y, -1)
        t[0] = 1
        before = told(lambda found: found)
        model = FusionClustering(n_clusters=n_clusters, semi_supervised=True).fit(X, t)
        assert (model.path_.tree is before[0].tree) == (n_clusters is None)

    def test_an_interruption_of_the_second_search_is_not_forgotten(self, told):
        X, y = blobs()
        t = np.where(np.arange(len(y)) % 4 == 0, y, -1)
        t[0] = 1
        told(lambda found: replace(found, interrupted=True))
        assert not FusionClustering(semi_supervised=True).fit(X, t).converged_


class TestNewClusters:
    @staticmethod
    def with_too_few(told, blocks):
        """Three clear clusters, `blocks` of rows of the first that must be apart, and a useless search with hints."""
        X, y = blobs()
        t = np.where(np.arange(len(y)) % 4 == 0, y, -1)
        for k, rows in enumerate(blocks):
            t[rows] = 3 + k
        before = told(lambda found: replace(found, clusters=found.clusters.only(np.zeros(1, np.intp))))
        return X, t, before

    def test_blocks_that_no_cluster_holds_get_their_own_and_nobody_else_moves(self, told, tmp_path):
        X, t, before = self.with_too_few(told, [[1, 2, 3], [5, 6]])
        model = FusionClustering(semi_supervised=True).fit(X, t)
        plain = FusionClustering().fit_predict(X)
        assert model.n_clusters_ == 5
        assert model.path_.tree is before[0].tree
        assert len({model.labels_[t == k][0] for k in range(5)}) == 5
        assert all(len(set(model.labels_[t == k])) == 1 for k in range(5))
        others = t < 0
        assert adjusted_rand_score(plain[others], model.labels_[others]) == 1
        model.save(tmp_path / "model.fusewise")
        np.testing.assert_array_equal(load(tmp_path / "model.fusewise").labels_, model.labels_)

    def test_a_new_cluster_amid_others_attracts_no_row(self, told):
        near = np.square(blobs()[0][:40] - 1.3).sum(axis=1).argsort()[:12:2]
        X, t, _ = self.with_too_few(told, [near])
        labels = FusionClustering(semi_supervised=True).fit(X, t).labels_
        assert set(np.flatnonzero(labels == labels[near[0]])) == set(near)

    def test_one_wrong_row_is_enough_where_clusters_are_too_few_to_hold_the_hints(self):
        # A test of one row never decides; the search with hints parts the cluster, and is right in one row more.
        X, y = blobs(60, np.array([(0.0, 0.0), (2.4, 0.0)]))
        low, high = X[:, 0].argmin(), X[:, 0].argmax()
        model = FusionClustering().fit(X, cannot_link=[(low, high)])
        assert adjusted_rand_score(y, model.labels_) > 0.4

    def test_rare_clusters_beside_others_take_no_further_ones(self, told):
        X, t, _ = self.with_too_few(told, [[1, 2, 3]])
        model = FusionClustering(semi_supervised=True).fit(X, t)
        beside = model.path_
        assert len(beside.clusters.parts) == 2
        hints = hints_of([[0], [1], [2], [3], [4]], [(i, j) for i in range(5) for j in range(i)])
        other = replace(beside, clusters=Clusters.of(beside.clusters.parts[0]))
        assert better_supported(beside, other, model.observations_, hints) is other


def partitions_of(n):
    """All partitions of n rows, as labels in order of appearance."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*labels, k) for labels in found for k in range(max(labels) + 2)]
    return found


def test_no_method_that_obeys_labels_can_promise_never_to_lose():
    """Rows 0, 1 and 2 are in one cluster, row 3 is alone, and the labels say that 0 and 1 differ.

    Whatever partition obeys this, the truth may be one that the first clusters are nearer to.
    """
    before, obeying = (0, 0, 0, 1), [labels for labels in partitions_of(4) if labels[0] != labels[1]]
    assert len(partitions_of(4)) == 15  # Bell's number
    assert len(obeying) == 10

    def lost(labels):
        return max(adjusted_rand_score(truth, before) - adjusted_rand_score(truth, labels) for truth in obeying)

    assert min(map(lost, obeying)) > 0.3
