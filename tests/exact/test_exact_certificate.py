"""certify: what it says is true, in numbers and in words."""

import re
import sys

import numpy as np
import pytest
from exact_helpers import objective_of, planted, random_graph, realise

from fusewise.exact import Certificate, certify, solve_l0


def test_optimal_partition_is_certified():
    X, truth = planted(60, 3, 30, 0.7, 0.7, 0)
    certificate = certify(X, truth, 1.0)
    assert certificate.exact
    assert str(certificate).startswith("Optimal")
    assert certificate.objective == certificate.bound == objective_of(truth)


def test_suboptimal_partition_gets_its_distance():
    X, truth = planted(60, 3, 30, 0.7, 0.7, 0)
    split = np.where(np.arange(60) == 0, 7, truth)
    certificate = certify(X, split, 1.0)
    assert certificate.feasible
    assert certificate.gap == pytest.approx(objective_of(split) / objective_of(truth) - 1)
    assert str(objective_of(truth)) in str(certificate)


def test_the_percentage_is_of_the_optimum_and_never_too_small():
    X = [[0.0, np.nan], [0.1, 5.0], [3.0, 5.0], [3.1, np.nan]]
    assert str(certify(X, [0, 0, 1, 2], 0.2)).startswith("At most 25% above the optimum")  # 10 against 8
    rng = np.random.default_rng(0)
    for bound, above in rng.integers(1, [10**6, 10**4], (300, 2)).tolist():
        certificate = Certificate(bound + above, bound, np.zeros((0, 2), int), exact=False)
        said = float(re.match(r"At most ([\d.]+)% above", str(certificate)).group(1))
        assert 100 * above <= said * bound * (1 + 1e-9)
        assert said <= 110 * above / bound


def test_a_huge_entry_does_not_excuse_other_pairs():
    certificate = certify([[0.0], [0.5], [1e16]], [0, 0, 1], 0.1)
    assert "1 pair of points in the same group cannot share a centre" in str(certificate)


def test_infeasible_partition_names_its_pairs():
    X = np.array([[0.0], [0.5], [5.0]])
    certificate = certify(X, [0, 0, 0], 1.0)
    assert not certificate.feasible
    assert certificate.violations.tolist() == [[0, 2], [1, 2]]
    assert "2 pairs of points in the same group cannot share a centre" in str(certificate)
    assert "rows 0 and 2" in str(certificate)
    assert np.isnan(certificate.gap)


def test_rows_are_numbered_as_in_the_data_and_empty_ones_ignored():
    X = np.array([[np.nan], [0.0], [5.0]])
    assert certify(X, [0, 1, 1], 1.0).violations.tolist() == [[1, 2]]
    assert certify(X, [0, 0, 1], 1.0).gap == 0


def test_outliers_count_as_groups_of_one():
    X = np.array([[0.0], [9.0], [20.0]])
    certificate = certify(X, [0, -1, -1], 1.0)
    assert certificate.feasible
    assert certificate.objective == 6
    assert certificate.gap == 0


@pytest.mark.parametrize("X", [[[0.0], [0.0]], [[0.0, np.nan], [np.nan, 0.0]], [[0.0], [np.nan], [0.0]]])
def test_an_optimum_of_zero_is_known(X):
    # One group would do, so no percentage means anything; but the optimum was found.
    certificate = certify(X, np.arange(len(X)), 1.0)
    assert certificate.exact
    assert (certificate.bound, certificate.gap) == (0, np.inf)
    assert "the optimum is 0" in str(certificate)


def test_short_time_still_gives_a_valid_bound():
    X = realise(random_graph(np.random.default_rng(7), 28, 0.5))
    best = solve_l0(X, 1.0)
    certificate = certify(X, best.labels, 1.0, time_limit=0.05)
    assert certificate.bound <= best.objective == certificate.objective


def test_without_highs_the_bound_of_the_reductions_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    X = realise(random_graph(np.random.default_rng(7), 32, 0.5))
    certificate = certify(X, np.arange(32), 1.0)
    monkeypatch.undo()
    assert 0 < certificate.bound < certify(X, np.arange(32), 1.0).bound
    assert not certificate.exact


def test_bad_labels_are_named():
    with pytest.raises(ValueError, match="one entry per row"):
        certify([[0.0], [1.0]], [0], 1.0)
    with pytest.raises(TypeError, match="whole numbers"):
        certify([[0.0]], ["a"], 1.0)
