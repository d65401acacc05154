"""certify: what it says is true, in numbers and in words."""

import numpy as np
import pytest
from exact_helpers import brute_force, objective_of, planted, random_graph, realise

from fusewise.exact import certificate as certificate_module
from fusewise.exact import certify, fewest_splits, solve_l0
from fusewise.exact.feasibility import feasible_pairs


def test_optimal_partition_is_certified():
    X, truth = planted(60, 3, 30, 0.7, 0.7, 0)
    certificate = certify(X, truth, 1.0)
    assert certificate.status == "optimal"
    assert certificate.exact
    assert str(certificate).startswith("Optimal")
    assert certificate.objective == certificate.bound == objective_of(truth)


def test_suboptimal_partition_gets_its_distance():
    X, truth = planted(60, 3, 30, 0.7, 0.7, 0)
    split = np.where(np.arange(60) == 0, 7, truth)
    certificate = certify(X, split, 1.0)
    assert certificate.feasible
    assert certificate.gap == pytest.approx((objective_of(split) - objective_of(truth)) / objective_of(split))
    assert certificate.status.startswith("within ")
    assert str(objective_of(truth)) in str(certificate)


def test_infeasible_partition_names_its_pairs():
    X = np.array([[0.0], [0.5], [5.0]])
    certificate = certify(X, [0, 0, 0], 1.0)
    assert certificate.status == "infeasible"
    assert not certificate.feasible
    assert certificate.violations.tolist() == [[0, 2], [1, 2]]
    assert certificate.n_violations == 2
    assert "rows 0 and 2" in str(certificate)
    assert np.isnan(certificate.gap)


def test_rows_are_numbered_as_in_the_data_and_empty_ones_ignored():
    X = np.array([[np.nan], [0.0], [5.0]])
    assert certify(X, [0, 1, 1], 1.0).violations.tolist() == [[1, 2]]
    assert certify(X, [0, 0, 1], 1.0).status == "optimal"


def test_nothing_observed_at_all():
    X = np.full((2, 2), np.nan)
    assert certify(X, [0, 1], 1.0).status == "optimal"
    with pytest.warns(UserWarning, match="no observed entry"):
        assert fewest_splits(X, 1.0) == 0


def test_outliers_count_as_groups_of_one():
    X = np.array([[0.0], [9.0], [20.0]])
    certificate = certify(X, [0, -1, -1], 1.0)
    assert certificate.feasible
    assert certificate.objective == 6
    assert certificate.status == "optimal"


def test_nothing_proven_is_unknown():
    certificate = certificate_module.Certificate(6, 0, 1.0, True, 0, np.zeros((0, 2), int), 1.0, False, "unknown")
    assert str(certificate).startswith("Unknown")
    # A perfect partition exists, but this one is split: the optimum is 0 and no percentage means anything.
    assert certify([[0.0], [0.0]], [0, 1], 1.0).status == "unknown"


def test_short_time_still_gives_a_valid_bound():
    X = realise(random_graph(np.random.default_rng(7), 28, 0.5))
    best = solve_l0(X, 1.0)
    certificate = certify(X, best.labels, 1.0, time_limit=0.05)
    assert certificate.bound <= best.objective == certificate.objective


def test_without_highs_the_cheap_bound_is_used(monkeypatch):
    def missing(*args, **kwargs):
        raise ImportError

    monkeypatch.setattr(certificate_module, "solve_l0", missing)
    X = realise(random_graph(np.random.default_rng(7), 12, 0.5))
    certificate = certify(X, np.arange(12), 1.0)
    assert certificate.bound == fewest_splits(X, 1.0)
    assert not certificate.exact


def test_fewest_splits_is_below_the_optimum():
    for seed in range(60):
        X = realise(random_graph(np.random.default_rng(seed), 8, 0.6))
        assert fewest_splits(X, 1.0) <= brute_force(feasible_pairs(X, 1.0))


def test_bad_labels_are_named():
    with pytest.raises(ValueError, match="one entry per row"):
        certify([[0.0], [1.0]], [0], 1.0)
    with pytest.raises(TypeError, match="whole numbers"):
        certify([[0.0]], ["a"], 1.0)
