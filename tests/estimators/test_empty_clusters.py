"""Clusters have rows, whatever their number; categories with one level, or none, say nothing and break nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import fusewise
from fusewise import FusionClustering, FusionImputer, PenalizedFusion


def sizes(model):
    return np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)


SQUARE = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])


@pytest.mark.parametrize("n_clusters", range(1, 9))
def test_equal_rows_are_one_cluster_whatever_the_number(n_clusters, tmp_path):
    """Four different rows, each twice: more than four clusters cannot have rows, as equal rows have equal labels."""
    X = np.repeat(SQUARE, 2, axis=0)
    model = FusionClustering(n_clusters=n_clusters)
    if n_clusters > 4:
        with pytest.warns(ConvergenceWarning, match=f"{n_clusters} clusters were requested, but only"):
            model.fit(X)
    else:
        model.fit(X)
    assert model.n_clusters_ == min(n_clusters, 4)
    assert sizes(model).min() > 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(model.cluster_centers_) == model.n_clusters_
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(fusewise.load(tmp_path / "m").predict(X), model.labels_)


@pytest.mark.parametrize("n_clusters", range(1, 5))
def test_equal_distances_are_no_reason_for_fewer_clusters(n_clusters):
    """The corners of a square, joined by the paper's algorithm: its two first merges have the same height."""
    model = PenalizedFusion(1e-6, n_clusters=n_clusters).fit(SQUARE)
    assert sorted(sizes(model)) == {1: [4], 2: [2, 2], 3: [1, 1, 2], 4: [1, 1, 1, 1]}[n_clusters]


@pytest.mark.parametrize("dtype", ["object", "category", "boolean"])
@pytest.mark.parametrize("known", [0, 1, 3], ids=lambda n: f"{n} known")
def test_a_category_with_one_level_or_none(dtype, known):
    level = True if dtype == "boolean" else "red"
    column = pd.Series([level] * known + [None] * (6 - known)).astype(dtype)
    frame = pd.DataFrame({"c": column, "x": pd.array([1, None, 1, 1, 1, 1], dtype="Int64")})
    for table in (frame, frame[["c"]]) if known > 1 else (frame,):
        model = FusionClustering().fit(table)
        assert np.isfinite(model.cluster_centers_).all()
        assert np.isfinite(model.probabilities_).all()
        assert model.n_clusters_ == 1
        filled = FusionImputer().fit_transform(table)
        assert known == 0 or (filled["c"] == level).all()
