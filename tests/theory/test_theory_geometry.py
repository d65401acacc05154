"""The geometry read off data, with and without holes, and from models and plans."""

import numpy as np
import pytest

from fusewise import theory
from fusewise.theory import ClusterGeometry


def square_clusters(rng=None, M=30, P=20, gap=3.0):
    """Two clusters whose geometry is known: all corners of [-1/2, 1/2]^P rounded to two points, plus the interior."""
    rng = rng or np.random.default_rng(0)
    noise = rng.uniform(-0.5, 0.5, (2 * M, P))
    noise[0], noise[1], noise[M], noise[M + 1] = 0.5, -0.5, 0.5, -0.5
    labels = np.repeat([0, 1], M)
    return noise + gap * labels[:, None], labels


def test_coherence_of_known_vectors():
    assert theory.coherence(np.ones(7)) == pytest.approx(1)
    assert theory.coherence([0, 0, 5.0, 0]) == pytest.approx(4)
    assert theory.coherence([[1e200, 1e200], [3e-200, 0]]) == pytest.approx([1, 2])
    assert np.isnan(theory.coherence(np.zeros(3)))


def test_from_complete_data_is_exact():
    X, labels = square_clusters()
    g = ClusterGeometry.from_data(X, labels)
    gaps = X[labels == 0][:, None] - X[labels == 1][None]
    assert g.epsilon == pytest.approx(1.0)
    assert g.delta == pytest.approx(np.linalg.norm(gaps, axis=2).min())
    assert g.mu0 == pytest.approx(theory.coherence(gaps).max())
    assert g.measured_separating == (np.abs(gaps) > 1).sum(axis=2).min() == 20
    assert g.kappa == pytest.approx(np.sqrt(20) / g.delta)
    assert (g.sizes, g.n_clusters, g.observed) == ((30, 30), 2, 1.0)


def test_from_data_with_holes_errs_in_the_documented_directions():
    X, labels = square_clusters(M=60)
    full = ClusterGeometry.from_data(X, labels)
    holed = np.where(np.random.default_rng(1).random(X.shape) < 0.7, X, np.nan)
    g = ClusterGeometry.from_data(holed, labels)
    assert 0.9 * full.epsilon < g.epsilon <= full.epsilon
    assert 0.6 * full.delta < g.delta <= 1.05 * full.delta
    assert g.observed == pytest.approx(0.7, abs=0.03)
    assert g.separating > 0


def test_measured_count_beats_the_count_implied_by_kappa_and_mu0():
    rng = np.random.default_rng(4)
    for _ in range(20):
        X, labels = square_clusters(rng, M=8, P=15, gap=rng.uniform(1.2, 3))
        g = ClusterGeometry.from_data(X, labels)
        if g.kappa < 1:
            assert g.measured_separating >= theory.separating_features(15, g.kappa, g.mu0)


def test_outliers_are_left_out_and_names_are_free():
    X, labels = square_clusters()
    outlier = np.vstack([X, np.full(20, 1e6)])
    assert ClusterGeometry.from_data(outlier, [*labels, -1]) == ClusterGeometry.from_data(X, labels)
    named = np.where(labels == 0, "ham", "eggs")
    assert ClusterGeometry.from_data(X, named).delta == ClusterGeometry.from_data(X, labels).delta


def test_a_huge_entry_leaves_the_separation_of_other_pairs_alone():
    X, labels = square_clusters()
    extra = np.full((2, 20), np.nan)
    extra[:, 0] = 1e16  # a cluster of its own, that shares too few entries with others to be counted
    whole = ClusterGeometry.from_data(np.vstack([X, extra]), [*labels, 9, 9], min_common=2)
    assert whole.measured_separating == ClusterGeometry.from_data(X, labels).measured_separating > 0


def test_one_cluster_has_nothing_to_confuse():
    X, _ = square_clusters()
    g = ClusterGeometry.from_data(X, np.zeros(len(X)))
    assert theory.success_probability(g, 0.01) == 1
    assert "one cluster" in theory.promise(g).sentences[-1]


def test_from_parameters():
    g = ClusterGeometry.from_parameters(n_clusters=3, size=200, n_features=50, kappa=0.4, mu0=2)
    assert g.kappa == pytest.approx(0.4)
    assert g.sizes == (200, 200, 200)
    uneven = ClusterGeometry.from_parameters(n_clusters=2, size=[5, 9], n_features=50, kappa=1.1, mu0=2)
    assert (uneven.sizes, uneven.separating) == ((5, 9), 0)
    with pytest.raises(ValueError, match="mu0 = 70 is out of range"):
        ClusterGeometry.from_parameters(n_clusters=3, size=200, n_features=50, kappa=0.4, mu0=70)
    with pytest.raises(ValueError, match="must agree"):
        ClusterGeometry.from_parameters(n_clusters=3, size=[1, 2], n_features=50, kappa=0.4, mu0=2)


def test_too_few_common_entries_and_bad_tables_are_refused():
    X = np.array([[1.0, np.nan], [np.nan, 2.0]])
    with pytest.raises(ValueError, match="smaller min_common"):
        ClusterGeometry.from_data(X, [0, 1])
    with pytest.raises(ValueError, match="infinity"):
        ClusterGeometry.from_data([[np.inf], [0]], [0, 1])
    with pytest.raises(ValueError, match="all -1"):
        ClusterGeometry.from_data([[1.0], [0]], [-1, -1])


def test_points_that_coincide_are_said_without_an_endless_ratio():
    g = ClusterGeometry.from_data(np.array([[0.0, 1], [2, 3], [2, 3], [4, 5]]), [0, 0, 1, 1])
    said = " ".join(theory.promise(g).sentences)
    assert "two points of different clusters coincide" in said
    assert "inf" not in said
