"""``fit(X, like=model)``: clusters keep the numbers of an earlier model as far as they match."""

import itertools

import numpy as np
import pytest

from fusewise import FusionClustering, PenalizedFusion, load

CENTERS = 30 * np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 0]])


def table(sizes, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    return CENTERS[y] + np.random.default_rng(seed).uniform(-1, 1, (len(y), 4)), y


@pytest.fixture(scope="module")
def old():
    return FusionClustering().fit(table([40, 30, 20], 0)[0])


def test_numbers_stay_though_sizes_change(old, tmp_path):
    X, _ = table([15, 30, 50], 1)
    plain, model = FusionClustering().fit(X), FusionClustering().fit(X, like=old)
    assert plain.labels_[[0, -1]].tolist() == [2, 0]  # the largest first
    np.testing.assert_array_equal(model.labels_, old.predict(X))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.probabilities_.argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.predict_proba(X), model.probabilities_)
    np.testing.assert_allclose(model.cluster_centers_, old.cluster_centers_, atol=2)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    np.testing.assert_array_equal(model.matching_.similarity, 1)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.labels_)
    assert repr(again.matching_) == repr(model.matching_)
    assert not hasattr(model.fit(X), "matching_")


def test_a_new_cluster_gets_a_new_number(old):
    X, y = table([10, 20, 30, 80], 2)
    model = FusionClustering().fit(X, like=old)
    np.testing.assert_array_equal(model.labels_, y)
    assert model.matching_.earlier.tolist() == [0, 1, 2, -1]
    assert "cluster 3 is new" in repr(model.matching_)
    assert repr(model.matching_) in repr(model.describe())
    frame = model.matching_.to_frame()
    assert frame["size"].tolist() == [10, 20, 30, 80]


def test_a_cluster_that_is_gone_leaves_its_number_to_the_last(old):
    X, y = table([20, 0, 40], 3)
    model = FusionClustering().fit(X, like=old)
    np.testing.assert_array_equal(model.labels_, np.where(y == 2, 1, 0))  # there is no number 2 of two clusters
    assert model.matching_.earlier.tolist() == [0, 2]
    assert model.matching_.gone.tolist() == [1]
    assert "cluster 1 is the earlier cluster 2: 40 of 40 rows of the earlier one, and 0 others" in repr(model.matching_)
    assert "earlier cluster 1: gone" in repr(model.matching_)


def test_overlaps_add_up_to_the_most():
    """Among all ways to pair clusters of two different partitions of a table without clusters."""
    X = np.random.default_rng(0).normal(size=(150, 3))
    old = FusionClustering(n_clusters=5, outliers=False).fit(X)
    model = FusionClustering(n_clusters=4, outliers=False).fit(X[::-1] + 0.3, like=old)
    before, now = old.predict(X[::-1] + 0.3), model.labels_
    similarity = np.array(
        [[((now == k) & (before == j)).sum() / ((now == k) | (before == j)).sum() for j in range(5)] for k in range(4)]
    )
    best = max(similarity[range(4), list(way)].sum() for way in itertools.permutations(range(5), 4))
    assert model.matching_.similarity.sum() == pytest.approx(best)
    earlier = model.matching_.earlier
    assert similarity[np.arange(4), earlier] == pytest.approx(model.matching_.similarity)
    assert all(k == j for k, j in enumerate(earlier) if j < 4)


def test_rows_count_by_their_weights_and_a_model_may_follow_itself(old):
    X, y = table([15, 30, 50], 1)
    weights = np.where(y == 0, 5, 1)
    model = FusionClustering().fit(X, sample_weight=weights, like=old)
    assert model.matching_.sizes.tolist() == [75, 30, 50]
    labels = model.labels_
    np.testing.assert_array_equal(model.fit(X[::-1], like=model).labels_, labels[::-1])
    rough = PenalizedFusion(n_clusters=3).fit(X)
    np.testing.assert_array_equal(FusionClustering().fit(X, like=rough).labels_, rough.labels_)


def test_what_cannot_be_followed_is_refused(old):
    X, _ = table([15, 30, 50], 1)
    with pytest.raises(ValueError, match=r"like must be an earlier model.*got str: read the file with fusewise.load"):
        FusionClustering().fit(X, like="old.fusewise")
    with pytest.raises(ValueError, match="not fitted"):
        FusionClustering().fit(X, like=FusionClustering())
    with pytest.raises(ValueError, match="X has 2 features, but FusionClustering is expecting 4"):
        FusionClustering().fit(X[:, :2], like=old)
