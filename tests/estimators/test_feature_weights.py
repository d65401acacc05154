"""``FusionClustering(feature_weights=...)``: columns that count several times, in part, or not at all."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from fusewise import DataWarning, FusionClustering, load
from fusewise.datasets import hide_entries


@pytest.fixture(scope="module")
def mixed():
    """Three clusters of numbers and a category, with entries missing, and columns of another partition."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 60)
    frame = pd.DataFrame(2.5 * random.normal(size=(3, 4))[y] + random.normal(size=(180, 4)), columns=list("abcd"))
    frame = pd.DataFrame(hide_entries(frame.to_numpy(), 0.1, random_state=0), columns=list("abcd"))
    frame["colour"] = np.array(["red", "blue", "green"])[np.where(random.random(180) < 0.8, y, 0)]
    frame["flag"] = np.where(random.random(180) < np.where(y == 1, 0.9, 0.2), "yes", "no")
    return frame


@pytest.fixture(scope="module")
def nuisance():
    """Three clusters in three columns, and a fourth column that cuts each of them in two."""
    random = np.random.default_rng(0)
    y, half = np.repeat([0, 1, 2], 100), random.integers(2, size=300)
    X = np.array([[0, 0, 0, 0], [2.5, 2.5, 0, 0], [0, 2.5, 2.5, 0]])[y] + 0.6 * random.normal(size=(300, 4))
    X[:, 3] += 8 * half
    return X, y, half


def same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.probabilities_, other.probabilities_)
    np.testing.assert_array_equal(one.confidence_, other.confidence_)


def test_weights_of_one_are_no_weights(mixed):
    plain = FusionClustering().fit(mixed)
    for weights in (np.ones(6), {"a": 1, "c*": 1.0}, {}):
        model = FusionClustering(feature_weights=weights).fit(mixed)
        same(model, plain)
        np.testing.assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
        assert model.score(mixed) == plain.score(mixed)


@pytest.mark.parametrize("name", ["a", "colour", "flag"])
def test_a_column_of_weight_zero_is_absent(mixed, name):
    some = mixed.copy()
    some.loc[3, :] = None
    some.loc[3, name] = mixed.loc[0, name]  # the row has nothing else
    kept = some.drop(columns=name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model, other = FusionClustering(feature_weights={name: 0}).fit(some), FusionClustering().fit(kept)
        same(model, other)
        assert model.labels_[3] == -1
        np.testing.assert_array_equal(model.predict(some[::2]), other.predict(kept[::2]))
        np.testing.assert_array_equal(model.transform(some), other.transform(kept))
        assert model.score(some) == pytest.approx(other.score(kept))
    places = [feature.split("=")[0] != name for feature in model.encoder_.features]
    np.testing.assert_array_equal(model.cluster_centers_[:, places], other.cluster_centers_)
    np.testing.assert_allclose(model.fused_[:, places], other.fused_)
    if name == "a":
        np.testing.assert_allclose(model.cluster_centers_[:, 0], some["a"].mean())


def test_absent_among_the_columns_of_one_category_and_in_sparse_tables():
    random = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    level = np.where(random.random(120) < 0.9, y, random.integers(3, size=120))
    columns = np.column_stack([random.normal(size=120) + 6 * y, np.eye(3)[level]])
    X = np.insert(columns, 2, random.normal(size=120), axis=1)  # between the levels
    weights = [1, 1, 0, 1, 1]
    model = FusionClustering(feature_weights=weights).fit(X)
    same(model, FusionClustering().fit(columns))
    sparse = FusionClustering(feature_weights=weights).fit(csr_matrix(X + 5.0))
    same(sparse, FusionClustering().fit(csr_matrix(columns + 5.0)))


def test_a_column_that_hides_the_clusters_may_count_less(nuisance):
    X, y, half = nuisance
    plain = FusionClustering().fit(X)
    assert plain.n_clusters_ == 6
    model = FusionClustering(feature_weights=[1, 1, 1, 0.1]).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    other = FusionClustering(n_clusters=2, feature_weights=[0.1, 0.1, 0.1, 2]).fit(X)
    assert adjusted_rand_score(half, other.labels_) > 0.98


def test_a_column_that_counts_often_is_not_cut_for_it():
    """Its own values would be evidence of ever narrower slices, if it were evidence more than once."""
    random = np.random.default_rng(5)
    y = np.arange(400) % 2
    X = random.normal(size=(400, 4)) + 5 * y[:, None] * [0, 1, 1, 0]
    for weights in ([4, 1, 1, 1], [3, 3, 3, 3], [1, 2, 1.5, 5]):
        assert adjusted_rand_score(y, FusionClustering(feature_weights=weights).fit(X).labels_) > 0.95
    alone = FusionClustering(feature_weights=[1, 5, 1]).fit(random.normal(size=(400, 3)))
    assert alone.n_clusters_ == 1


def test_what_an_entry_adds_is_multiplied_by_its_weight(nuisance):
    """Categories of latent classes: by the definition, from the shares of levels and of classes."""
    random = np.random.default_rng(3)
    y = np.repeat([0, 1], 80)
    answers = np.where(random.random((160, 4)) < 0.8, y[:, None], 1 - y[:, None]).astype(str).astype(object)
    answers[random.random(answers.shape) < 0.2] = None
    frame = pd.DataFrame(answers, columns=list("abcd"))
    weights = np.array([0.5, 1, 2, 3])
    model = FusionClustering(2, feature_weights=weights).fit(frame)
    shares = model.path_.clusters.shares
    logs = np.tile(np.log(shares), (len(frame), 1))
    for j, name in enumerate("abcd"):
        for level in ("0", "1"):
            of_level = model.cluster_centers_[:, model.encoder_.features.index(f"{name}={level}")]
            logs[frame[name] == level] += weights[j] * np.log(of_level)
    expected = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
    np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-6)
    (row,) = model.explain(frame[frame.notna().all(axis=1)].iloc[[0]])
    best, second = row.cluster, row.runner_up
    value = frame[frame.notna().all(axis=1)].iloc[0]["d"]
    own = model.cluster_centers_[[best, second], model.encoder_.features.index(f"d={value}")]
    assert row.nats[3] == pytest.approx(3 * np.log(own[0] / own[1]), rel=1e-5)


def test_models_keep_their_weights(nuisance, tmp_path):
    X, _, _ = nuisance
    X = hide_entries(X, 0.1, random_state=0)
    model = FusionClustering(feature_weights={"x3": 0.1, "x[01]": 2, "x1": 1.5}).fit(X)
    assert model._weights.tolist() == [2, 1.5, 1, 0.1]
    np.testing.assert_array_equal(clone(model).fit(X).labels_, model.labels_)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    np.testing.assert_allclose(again.predict_proba(X), model.probabilities_)
    pd.testing.assert_frame_equal(again.alternatives().to_frame(), model.alternatives().to_frame())
    assert model.stability(2).n_draws == 2
    learnt = FusionClustering(feature_weights=model.feature_weights).partial_fit(X[::2]).partial_fit(X[1::2])
    assert adjusted_rand_score(learnt.predict(X), model.labels_) > 0.95


@pytest.mark.parametrize(("weights", "message"), [
    ([1, 2, -1, 1], r"feature_weights of 'x2' is -1: a column counts 0 times or more"),
    ([1, np.nan, 1, 1], r"feature_weights of 'x1' is nan"),
    ([1, 2, 3], "feature_weights has 3 numbers, but X has 4 columns: one number for each"),
    ([0, 0, 0, 0], "every feature_weights is zero: no column is left"),
    ({"x*": "two"}, r"feature_weights of 'x\*' is 'two'"),
    ({"x00": 2}, r"feature_weights: the table has no column 'x00' \(did you mean 'x0'\?\)"),
    ({"q_*": 2}, r"feature_weights: the table has no column 'q_\*'"),
    (2.0, r"must be one number for each of the 4 columns, or a mapping such as \{'age': 2, 'q_\*': 0.5\}; got 2.0"),
    ("x0=2", r"must be one number for each of the 4 columns.*got 'x0=2'"),
])  # fmt: skip
def test_weights_that_cannot_be_are_refused(nuisance, weights, message):
    with pytest.raises(ValueError, match=message):
        FusionClustering(feature_weights=weights).fit(nuisance[0])
