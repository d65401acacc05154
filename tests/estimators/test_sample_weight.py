"""Weights of rows: whole ones are repeated rows, zero is absence, and they travel as metadata."""

import numpy as np
import pytest
import sklearn
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fusewise import FusionClustering, FusionImputer


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(1).integers(0, 4, 90)


@pytest.mark.parametrize("settings", [{}, {"n_clusters": 2}, {"min_cluster_size": 25}])
def test_whole_weights_are_repeated_rows(clusters, weights, settings):
    X, _ = clusters
    weighted = FusionClustering(**settings).fit(X, sample_weight=weights)
    repeated = FusionClustering(**settings).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, rtol=1e-8)
    np.testing.assert_allclose(weighted.path_.criteria, repeated.path_.criteria)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-8)


def test_zero_is_absence_but_for_the_label(clusters):
    X, _ = clusters
    strange = np.vstack([X, np.full((30, 10), 40.0), np.full((1, 10), np.nan)])
    weights = np.append(np.ones(90), np.zeros(31))
    without = FusionClustering().fit(X)
    with pytest.warns(UserWarning, match="row 120 has no observed entry"):
        model = FusionClustering().fit(strange, sample_weight=weights)
    np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_, rtol=1e-8)
    np.testing.assert_array_equal(model.labels_[:120], without.predict(strange[:120]))
    assert model.labels_[120] == -1
    np.testing.assert_allclose(model.fused_[120], without.probabilities_.mean(axis=0) @ without.cluster_centers_, 1e-4)


def test_a_long_table_is_sampled_by_its_weights(monkeypatch, clusters, weights):
    monkeypatch.setattr("fusewise.automatic._sample.SAMPLE", 60)
    X, _ = clusters
    weighted = FusionClustering(random_state=3).fit(X, sample_weight=weights)
    repeated = FusionClustering(random_state=3).fit(np.repeat(X, weights, axis=0))
    assert len(weighted.path_.rows) == 60
    np.testing.assert_array_equal(weighted.path_.rows, np.repeat(np.arange(90), weights)[repeated.path_.rows])
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)


def test_the_imputer_takes_them_too(clusters, weights):
    X, _ = clusters
    weighted = FusionImputer(random_state=0).fit(X, sample_weight=weights)
    repeated = FusionImputer(random_state=0).fit(np.repeat(X, weights, axis=0))
    assert weighted.fill_ == repeated.fill_
    assert weighted.held_out_error_ == pytest.approx(repeated.held_out_error_)
    np.testing.assert_array_equal(weighted.ranges_.low, np.nanmin(X[weights > 0], axis=0))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-6)
    again = FusionImputer(random_state=0).fit_transform(X, sample_weight=weights)
    np.testing.assert_array_equal(again, weighted.transform(X))


def test_routed_as_metadata(clusters, weights):
    X, _ = clusters
    direct = FusionClustering().fit_predict(StandardScaler().fit_transform(X), sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=True):
        model = FusionClustering().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, sample_weight=weights)
        np.testing.assert_array_equal(routed[-1].labels_, direct)
        scores = cross_val_score(model, X, params={"sample_weight": weights}, cv=2)
    halves = [np.arange(45), np.arange(45, 90)]
    fitted = FusionClustering().fit(X[halves[1]], sample_weight=weights[halves[1]])
    assert scores[0] == pytest.approx(fitted.score(X[halves[0]], sample_weight=weights[halves[0]]))


@pytest.mark.parametrize("scale", [0.5, 1, 5])
def test_measurements_are_clustered_alike_at_every_scale_of_the_weights(clusters, scale):
    X, y = clusters
    weights = scale * np.random.default_rng(4).lognormal(sigma=0.5, size=90)
    model = FusionClustering().fit(X, sample_weight=weights)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) == 1.0
