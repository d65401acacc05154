"""Blocks of rows one after another."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import DataWarning, FusionClustering
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import RowSample, as_entries
from fusewise.progress import listening
from fusewise.tables import FrameEncoder


def blobs(n, missing, p=10, k=4, seed=0):
    X, y, _ = make_clusters(k, n // k, p, noise=0.1, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(X))
    return hide_entries(X, missing, random_state=seed)[order], y[order]


def in_blocks(X, rng):
    """The rows in blocks of random sizes."""
    cuts = np.sort(rng.integers(1, len(X), size=rng.integers(3, 9)))
    return [part for part in np.split(X, cuts) if len(part)]


class TestAgainstOneFit:
    @pytest.mark.parametrize(("n", "missing"), [(1000, 0.3), (8000, 0.3)])
    def test_blocks_of_any_size(self, n, missing):
        X, y = blobs(n, missing)
        whole = FusionClustering(random_state=0).fit(X)
        models = []
        for seed in range(2):
            parts = in_blocks(X, np.random.default_rng(seed))
            model = FusionClustering(random_state=0)
            for part in parts:
                assert model.partial_fit(part) is model
            models.append(model)
        given = model.predict(X)
        np.testing.assert_array_equal(given, models[0].predict(X))
        np.testing.assert_array_equal(model.labels_, given[-len(parts[-1]) :])
        assert model.observations_.shape == parts[-1].shape
        assert adjusted_rand_score(given, whole.labels_) >= 0.98
        assert adjusted_rand_score(given, y) >= adjusted_rand_score(whole.labels_, y) - 0.02

    def test_a_cluster_that_comes_later_is_found(self):
        X, y = blobs(400, 0.2)
        model = FusionClustering().partial_fit(X[y < 3])
        assert model.n_clusters_ == 3
        assert model.partial_fit(X[y == 3]).n_clusters_ == 4
        assert adjusted_rand_score(model.predict(X), y) > 0.95


class TestWhenClustersAreComputed:
    def test_only_when_a_result_is_asked_for(self):
        calls = []

        def count(stage, *progress, **values):
            calls.extend([1] if stage.startswith("labelling") else [])

        X, _ = blobs(300, 0.0)
        model = FusionClustering()
        with listening(count):
            for begin in range(0, 300, 50):
                model.partial_fit(X[begin : begin + 50])
            assert not calls
            assert len(model.predict(X)) == 300
            assert model.probabilities_.shape == (50, model.n_clusters_)
            assert model.confidence_.shape == (50,)
            assert model.fused_.shape == (50, 10)
            assert len(calls) == 1
            model.partial_fit(X[:50]).predict_proba(X)
            assert len(calls) == 2

    def test_a_single_row_is_not_yet_a_table(self):
        model = FusionClustering().partial_fit(np.ones((1, 3)))
        with pytest.raises(ValueError, match="at least 2 rows with an observed entry"):
            model.predict(np.ones((2, 3)))
        X, _ = blobs(200, 0.0)
        assert FusionClustering().partial_fit(X[:1]).partial_fit(X[1:]).n_clusters_ == 4


class TestBlocksThatAreRefused:
    def test_they_change_nothing(self):
        X, _ = blobs(400, 0.1)
        model = FusionClustering().partial_fit(X)
        before = model.predict(X)
        with pytest.raises(ValueError, match="X has 3 features, but FusionClustering is expecting 10"):
            model.partial_fit(X[:, :3])
        with pytest.raises(ValueError, match="infinity"):
            model.partial_fit(np.full((2, 10), np.inf))
        np.testing.assert_array_equal(model.predict(X), before)

    def test_what_needs_all_rows_says_so(self, tmp_path):
        X, _ = blobs(200, 0.0)
        with pytest.raises(ValueError, match="does not work with semi_supervised"):
            FusionClustering(semi_supervised=True).partial_fit(X)
        model = FusionClustering().partial_fit(X)
        with pytest.raises(ValueError, match="holds only a sample"):
            model.stability()
        with pytest.raises(ValueError, match="holds only a sample"):
            model.report(tmp_path / "r.html")
        with pytest.raises(ValueError, match="cannot go on from a fit with sample_weight"):
            FusionClustering().fit(X, sample_weight=np.arange(200) % 2 * 2).partial_fit(X)


class TestDrift:
    def test_columns_that_move_far_are_named(self):
        X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=["a", "b", "c"])
        model = FusionClustering().partial_fit(X[:200])
        with pytest.warns(DataWarning, match="the mean of column 'b' .*drifting"):
            model.partial_fit(X[200:].assign(b=X["b"][200:] + 9))

    def test_blocks_of_one_table_do_not_drift(self, recwarn):
        X, _ = blobs(600, 0.2)
        model = FusionClustering()
        for begin in range(0, 600, 60):
            model.partial_fit(X[begin : begin + 60])
        assert not [w for w in recwarn if "drifting" in str(w.message)]


class TestCategories:
    def frame(self, n=300):
        rng = np.random.default_rng(0)
        y = rng.integers(3, size=n)
        colour = np.array(["red", "green", "blue"])[np.where(rng.random(n) < 0.95, y, rng.integers(3, size=n))]
        sizes = pd.Categorical.from_codes(np.clip(y + rng.integers(2, size=n), 0, 2), ["S", "M", "L"], ordered=True)
        frame = pd.DataFrame({"x": 3 * y + 0.3 * rng.normal(size=n), "colour": colour, "size": sizes})
        frame.loc[rng.random(n) < 0.2, "colour"] = None
        return frame, y

    def test_an_encoder_knows_the_levels_of_later_blocks(self):
        frame, y = self.frame()
        model = FusionClustering(categorical_features=FrameEncoder.of(frame))
        for k in range(3):
            model.partial_fit(frame[y == k])
        whole = FusionClustering().fit(frame)
        assert model.encoder_.features == whole.encoder_.features
        assert adjusted_rand_score(model.predict(frame), whole.labels_) >= 0.98

    def test_other_levels_are_missing(self):
        frame, y = self.frame()
        model = FusionClustering().partial_fit(frame)
        with pytest.warns(DataWarning, match=r"treated as missing: column 'colour' \(white\)"):
            model.partial_fit(frame[y == 0].assign(colour="white"))

    def test_a_column_keeps_its_kind(self):
        frame, _ = self.frame(60)
        model = FusionClustering().partial_fit(frame)
        before = model.predict(frame)
        with pytest.raises(ValueError, match="column 'x', row 0: 'a' is not a number"):
            model.partial_fit(frame.assign(x="a", colour="white"))
        np.testing.assert_array_equal(model.predict(frame), before)


class TestSaving:
    def test_a_loaded_model_goes_on_learning(self, tmp_path):
        X, _ = blobs(600, 0.2)
        model = FusionClustering(random_state=3).partial_fit(X[:400])
        model.save(tmp_path / "m.fusewise")
        again = fusewise.load(tmp_path / "m.fusewise")
        np.testing.assert_array_equal(again.labels_, model.labels_)
        for one in (model, again):
            one.partial_fit(X[400:])
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


class TestRowSample:
    def sample(self, rows, size, seed=0, block=100):
        kept = RowSample.empty(size, seed, rows.shape[1], float)
        for begin in range(0, len(rows), block):
            kept = kept.with_rows(as_entries(rows[begin : begin + block], min_rows=0))
        return kept

    def test_every_row_has_the_same_chance(self):
        rows = np.arange(400.0)[:, None]
        counts = np.zeros(400)
        for seed in range(200):
            counts[self.sample(rows, 100, seed).rows.values[:, 0].astype(int)] += 1
        # 200 draws with probability 1/4: mean 50, standard deviation 6.1 (5.3 in a sample without replacement)
        assert counts.sum() == 200 * 100
        assert abs(counts - 50).max() < 5 * 6.2
        assert 4.5 < counts.std() < 7.5

    def test_the_same_in_blocks_of_any_size(self):
        rows = np.arange(400.0)[:, None]
        np.testing.assert_array_equal(self.sample(rows, 50).rows.values, self.sample(rows, 50, block=7).rows.values)
