"""Clusters in words, and how sure they are."""

import numpy as np
import pytest

from fusewise import FusionClustering, PenalizedFusion
from fusewise.fusion.penalties import H1
from fusewise.views.certainty import UNCERTAIN, how_sure
from fusewise.views.findings import read_findings


def test_words_hold_the_numbers(described, frame):
    labels = described._findings.labels
    for cluster in described.clusters:
        member = labels == cluster.cluster
        assert cluster.sentence.startswith(f"{member.sum()} rows ({member.mean():.0%}). ")
        assert len(cluster.traits) == 3
        for contrast in described.contrasts.clusters[cluster.cluster][:3]:
            said = next(trait for trait in cluster.traits if contrast.name in trait)
            if contrast.kind == "number" and "median" in said:
                here, there = frame[contrast.name][member].median(), frame[contrast.name][~member].median()
                assert said.startswith("higher" if here > there else "lower")
                assert f"{here:.3g}" in said.replace(",", "").replace("−", "-")


def test_a_range_is_said_where_values_are_neither_higher_nor_lower():
    rng = np.random.default_rng(1)
    X = np.column_stack([np.repeat([-8.0, 0.0, 8.0], 40), np.repeat([0.0, 9.0, 0.0], 40)]) + rng.normal(size=(120, 2))
    model = FusionClustering().fit(X)
    cluster = model.labels_[60]
    said = model.describe().clusters[cluster]
    inside = X[model.labels_ == cluster, 0]
    low, high = np.quantile(inside, [0.1, 0.9])
    within = [((x >= low) & (x <= high)).mean() for x in (inside, X[model.labels_ != cluster, 0])]
    shares = f"({within[0]:.0%} against {within[1]:.0%} elsewhere)"
    assert f"x0 from {low:.3g} to {high:.3g} {shares}".replace("-", "−") in said.apart


def test_text_and_frame(described, frame):
    text = repr(described)
    assert text.startswith("3 clusters in 120 rows and 7 columns; ")
    assert f"{frame.notna().to_numpy().mean():.1%} of the values observed" in text
    assert "1 column does not differ between the clusters: noise." in text
    for rule in described.rules:
        assert str(rule) in " ".join(text.split())
    table = described.to_frame()
    assert len(table) == 3 * 7
    assert table["separation"].between(0, 1).all()
    assert "what sets it apart" in described._repr_html_()


def test_one_cluster_is_explained():
    described = FusionClustering().fit(np.random.default_rng(0).normal(size=(120, 4))).describe()
    assert described.clusters[0].sentence == "120 rows (100%). Every row: there is only one cluster."
    assert described.certainty.number.startswith("1 cluster: no split is supported.")
    assert "nats" not in repr(described)
    assert len(described.certainty.advice) == 3
    assert described.rules[0].conditions == ()


def test_doubtful_rows_and_their_second_cluster():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [3.2, 0.0]], 150, axis=0)
    model = FusionClustering(n_clusters=2).fit(X)
    sure = how_sure(read_findings(model))
    doubtful = np.flatnonzero(model.confidence_ < UNCERTAIN)
    assert sorted(row.row for row in sure.doubtful) == doubtful.tolist() != []
    assert sure.n_doubtful == len(doubtful)
    confidences = [row.confidence for row in sure.doubtful]
    assert confidences == sorted(confidences)
    for row in sure.doubtful:
        if row.cluster >= 0:
            order = np.argsort(-model.probabilities_[row.row])
            assert (row.cluster, row.second) == tuple(order[:2])
            assert row.second_probability == pytest.approx(model.probabilities_[row.row, order[1]])
    for k, cluster in enumerate(sure.clusters):
        assert cluster.mean == pytest.approx(model.confidence_[model.labels_ == k].mean())


def test_alternatives_carry_their_labels(described):
    model = described._findings.model
    data = described.certainty.as_dict()
    assert [other["clusters"] for other in data["alternatives"]] == [o.n_clusters for o in model.alternatives()]
    for shown, other in zip(data["alternatives"], model.alternatives(), strict=True):
        np.testing.assert_array_equal(shown["labels"], other.labels)


def test_the_plain_algorithm_has_no_confidence():
    X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0.0], [20.0]], 15, axis=0)
    described = PenalizedFusion(0.3, penalty=H1(2.0)).fit(X).describe()
    assert described.certainty.n_doubtful == 0
    assert [cluster.mean for cluster in described.certainty.clusters] == [None] * len(described.clusters)


def test_only_outliers():
    described = PenalizedFusion(1e-6, penalty=H1(0.1)).fit(np.eye(4)).describe()
    assert described.clusters == ()
    assert "There is no cluster." in repr(described)


def test_a_saved_model_describes_itself(described, tmp_path):
    from fusewise.saving import load, save

    model = described._findings.model
    save(model, tmp_path / "model.fusewise")
    assert repr(load(tmp_path / "model.fusewise").describe()) == repr(described)
