"""Hints given to FusionClustering: pairs of rows, and labels of some."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering
from fusewise.automatic import _sample as sample
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import DataWarning

GRID = [(0.0, 0.0), (8.0, 0.0), (0.0, 8.0)]


def blobs(n=30, spread=1.0, seed=0, centers=GRID):
    """n rows around each centre."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(centers)), n)
    return np.array(centers)[y] + spread * rng.standard_normal((len(y), len(centers[0]))), y


def obeys(labels, must_link=(), cannot_link=()):
    kept = all(labels[i] == labels[j] >= 0 for i, j in must_link)
    return kept and all(labels[i] != labels[j] for i, j in cannot_link)


def known(y, share, seed=0):
    """y with -1 where it is unknown."""
    rng = np.random.default_rng(seed)
    return np.where(rng.permutation(len(y)) < share * len(y), y, -1)


class TestObeyed:
    def test_a_pair_far_apart_and_a_row_that_would_be_an_outlier(self):
        X, _ = blobs()
        X = np.vstack([X, [[60.0, 60.0]]])
        assert FusionClustering().fit(X).labels_[90] == -1
        model = FusionClustering().fit(X, must_link=[(90, 0)])
        assert model.labels_[90] == model.labels_[0] >= 0

    def test_no_hints_and_those_that_the_clusters_obey_change_nothing(self):
        X, y = blobs()
        plain = FusionClustering().fit(X)
        for model in (
            FusionClustering().fit(X, y),
            FusionClustering().fit(X, must_link=[], cannot_link=np.empty((0, 2), int)),
            FusionClustering().fit(X, must_link=[(0, 1), (40, 50)], cannot_link=[(0, 40)]),
            FusionClustering(semi_supervised=True).fit(X, np.full(len(y), -1)),
            FusionClustering(semi_supervised=True).fit(X, known(y, 0.2)),
        ):
            np.testing.assert_array_equal(plain.labels_, model.labels_)

    @pytest.mark.parametrize("n_clusters", [3, 4, 5])
    def test_a_given_number_of_clusters(self, n_clusters):
        X, y = blobs(spread=2.0)
        t = known(y, 0.2)
        model = FusionClustering(n_clusters=n_clusters, semi_supervised=True).fit(X, t)
        assert model.n_clusters_ == n_clusters == len(set(model.labels_[model.labels_ >= 0]))
        assert len({model.labels_[t == k][0] for k in range(3)}) == 3
        assert all(len(set(model.labels_[t == k])) == 1 for k in range(3))


class TestUseful:
    def test_the_best_partition_of_a_tiny_table_that_obeys(self):
        # Two pairs that geometry puts otherwise; the best partition in two by squares, among all that obey.
        X = np.array([0.0, 0.3, 0.5, 2.2, 3.8, 5.6, 5.9, 6.1])[:, None] * [1.0, 1.0]
        must, cannot = [(3, 5)], [(0, 7), (4, 6)]

        def energy(way):
            groups = [X[np.array(way) == k] for k in range(2)]
            return sum(np.square(g - g.mean(axis=0)).sum() for g in groups)

        ways = [w for w in itertools.product(range(2), repeat=8) if 0 < sum(w) < 8 and obeys(w, must, cannot)]
        model = FusionClustering(n_clusters=2).fit(X, must_link=must, cannot_link=cannot)
        assert adjusted_rand_score(min(ways, key=energy), model.labels_) == 1

    def test_a_pair_parts_what_looks_like_one(self):
        X, y = blobs(60, centers=[(0.0, 0.0), (2.4, 0.0)])
        assert FusionClustering().fit(X).n_clusters_ == 1
        model = FusionClustering().fit(X, cannot_link=[(X[:, 0].argmin(), X[:, 0].argmax())])
        assert model.n_clusters_ == 2
        assert adjusted_rand_score(y, model.labels_) > 0.4

    def test_a_class_of_two_far_humps_is_one_cluster(self):
        X, hump = blobs()
        y = np.array([0, 1, 0])[hump]
        assert FusionClustering().fit(X).n_clusters_ == 3
        model = FusionClustering(semi_supervised=True).fit(X, known(y, 0.2))
        assert adjusted_rand_score(y, model.labels_) == 1

    def test_a_cluster_that_nobody_labelled_is_found(self):
        X, y = blobs()
        t = np.where(y == 2, -1, known(y, 0.2))
        model = FusionClustering(semi_supervised=True).fit(X, t)
        assert adjusted_rand_score(y, model.labels_) == 1

    def test_labels_raise_the_score_where_clusters_overlap(self):
        plain, hinted = [], []
        for seed in range(2):
            X, y, _ = make_clusters(3, 40, 8, noise=0.6, random_state=seed)
            X, t = hide_entries(X, 0.3, random_state=seed), known(y, 0.1, seed)
            rest = t < 0
            plain.append(adjusted_rand_score(y[rest], FusionClustering().fit_predict(X)[rest]))
            hinted.append(adjusted_rand_score(y[rest], FusionClustering(semi_supervised=True).fit_predict(X, t)[rest]))
        assert np.mean(hinted) > np.mean(plain) + 0.02

    def test_large_tables_keep_rows_with_hints_in_the_sample(self, monkeypatch):
        monkeypatch.setattr(sample, "SAMPLE", 120)
        X, y = blobs(200, centers=[(0.0, 0.0), (2.4, 0.0)])
        low, high = X[:, 0].argsort()[:10], X[:, 0].argsort()[-10:]
        must = [*itertools.pairwise(low), *itertools.pairwise(high)]
        cannot = [(low[0], high[0])]
        model = FusionClustering().fit(X, must_link=must, cannot_link=cannot)
        assert np.isin(np.concatenate([low, high]), model.path_.rows).all()
        assert obeys(model.labels_, must, cannot)
        t = known(y, 0.5)  # more than are sampled
        model = FusionClustering(semi_supervised=True).fit(X, t)
        assert len(model.path_.rows) <= 180
        assert all(len(set(model.labels_[t == k])) == 1 for k in range(2))


class TestRefused:
    X = blobs(4)[0]

    @pytest.mark.parametrize(("hints", "message"), [
        ({"must_link": [(0, 12)]}, r"must_link names row 12, but X has 12 rows, numbered from 0"),
        ({"cannot_link": [(-1, 2)]}, r"cannot_link names row -1"),
        ({"must_link": [(3, 3)]}, r"must_link pairs row 3 with itself"),
        ({"cannot_link": [(0, 1, 2)]}, r"cannot_link must be pairs of row numbers.*shape \(1, 3\)"),
        ({"must_link": [0, 1]}, r"must_link must be pairs"),
        ({"must_link": [(0.5, 1)]}, r"must_link must be pairs.*float64"),
        ({"must_link": [("a", "b")]}, r"must_link must be pairs"),
        ({"must_link": [(True, False)]}, r"must_link must be pairs.*bool"),
        (
            {"must_link": [(3, 7), (1, 2), (7, 11)], "cannot_link": [(0, 1), (3, 11)]},
            r"rows 3-7-11 must be together, but cannot_link separates rows 3 and 11",
        ),
    ])  # fmt: skip
    def test_pairs(self, hints, message):
        with pytest.raises(ValueError, match=message):
            FusionClustering().fit(self.X, **hints)

    def test_labels(self):
        model = FusionClustering(semi_supervised=True)
        with pytest.raises(ValueError, match="semi_supervised=True needs y"):
            model.fit(self.X)
        with pytest.raises(ValueError, match=r"one label for each of 12 rows; its shape is \(3,\)"):
            model.fit(self.X, [1, 2, 3])
        y = ["a", "b"] + 10 * [None]
        with pytest.raises(ValueError, match=r"rows 0-5-1 must be together, but y labels row 0 'a' and row 1 'b'"):
            model.fit(self.X, y, must_link=[(0, 5), (5, 1)])
        with pytest.raises(ValueError, match=r"rows 2-0 must be together, but cannot_link separates rows 2 and 0"):
            model.fit(self.X, ["a", "b", "a"] + 9 * [None], cannot_link=[(2, 0)])
        with pytest.raises(ValueError, match=r"y has 3 labels \(a, b, c\), but n_clusters=2"):
            FusionClustering(semi_supervised=True, n_clusters=2).fit(self.X, [*"abc"] + 9 * [None])

    def test_more_rows_apart_than_clusters(self):
        everyone = list(itertools.combinations(range(4), 2))
        with pytest.raises(ValueError, match=r"keep apart all rows of cannot_link in 3 clusters"):
            FusionClustering(n_clusters=3).fit(self.X, cannot_link=everyone)
        labels = FusionClustering(n_clusters=4).fit(self.X, cannot_link=everyone).labels_
        assert len(set(labels[:4])) == 4


@pytest.mark.parametrize(
    "missing",
    [
        lambda y: np.where(y < 0, np.nan, y),
        lambda y: np.array([None if k < 0 else f"class {k}" for k in y], object),
        lambda y: _nullable(y),
        lambda y: pd.Categorical.from_codes(y, ["x", "y", "z"]),
        lambda y: list(y),
    ],
    ids=["nan", "none", "nullable", "categorical", "list"],
)
def test_labels_of_any_type(missing):
    X, y = blobs(spread=2.5)
    t = known(y, 0.2)
    one = FusionClustering(semi_supervised=True).fit(X, t)
    other = FusionClustering(semi_supervised=True).fit(X, missing(t))
    np.testing.assert_array_equal(one.labels_, other.labels_)


def _nullable(y):
    found = pd.array(y, dtype="Int64")
    found[y < 0] = pd.NA
    return found


def test_labels_are_the_pairs_that_they_mean():
    X, y = blobs(spread=2.5)
    t = known(y, 0.15)
    rows = np.flatnonzero(t >= 0)
    pairs = list(itertools.combinations(rows, 2))
    must, cannot = ([p for p in pairs if (t[p[0]] == t[p[1]]) == same] for same in (True, False))
    one = FusionClustering(semi_supervised=True).fit(X, t)
    other = FusionClustering().fit(X, must_link=must, cannot_link=cannot)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.probabilities_, other.probabilities_)


def test_a_row_without_entries_is_placed_by_its_hints_and_said_to_be():
    X, _ = blobs()
    X[[3, 5]] = np.nan
    with pytest.warns(DataWarning) as told:
        labels = FusionClustering().fit(X, must_link=[(3, 40)]).labels_
    assert labels[3] == labels[40] >= 0 > labels[5]
    said = [str(warning.message) for warning in told]
    assert any(message.startswith("row 3 has no observed entry: placed") for message in said)
    assert any(message.startswith("row 5 has no observed entry: labelled -1") for message in said)


def test_weighted_rows_with_hints_are_repeated_rows_with_hints():
    X, y = blobs(spread=2.5)
    t, weights = known(y, 0.2), np.arange(90) % 3
    weighted = FusionClustering(semi_supervised=True).fit(X, t, sample_weight=weights)
    repeated = FusionClustering(semi_supervised=True).fit(np.repeat(X, weights, axis=0), np.repeat(t, weights))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    assert all(len(set(weighted.labels_[t == label])) == 1 for label in range(3))
    assert len(weighted.stability(2, n_jobs=1).clusters) == weighted.n_clusters_


def test_more_classes_than_the_table_shows_clusters():
    """Two groups, and labels of twelve classes: each class is a cluster of its own, as was asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8)) + 6 * rng.integers(0, 2, (200, 1))
    y = np.full(200, -1)
    y[:24] = np.arange(24) % 12
    found = FusionClustering(semi_supervised=True, random_state=0).fit(X, y).labels_[:24]
    assert adjusted_rand_score(y[:24], found) == 1
