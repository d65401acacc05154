"""solve_l0 against brute force, at size, and when stopped early."""

import math
import sys
from functools import cache

import numpy as np
import pytest
from exact_helpers import brute_force, objective_of, path_graph, planted, random_graph, realise

from fusewise.exact import _solve as search_module
from fusewise.exact import solve_l0
from fusewise.exact._graph import feasible_pairs


def small_instance(k):
    """300 kinds of trouble: random graphs, paths and cycles, ties on a grid, epsilon = 0, values epsilon apart."""
    rng = np.random.default_rng(k)
    n = int(rng.integers(2, 10))
    kind = k % 5
    if kind == 0:
        return realise(random_graph(rng, n, rng.uniform(0.2, 0.95))), 1.0
    if kind == 1:
        graph = path_graph(n)
        extra = random_graph(rng, n, 0.15)
        order = rng.permutation(n)
        return realise((graph | extra)[np.ix_(order, order)]), 1.0
    if kind == 2:
        X = rng.integers(0, 4, (n, 3)) / 10.0  # tenths: every difference is a near-tie with epsilon
        epsilon = float(rng.choice([0.1, 0.2, 0.3]))
    elif kind == 3:
        X = rng.integers(0, 2, (n, 4)).astype(float)
        epsilon = 0.0
    else:
        X = rng.normal(size=(n, 2)) + 2.0 * rng.integers(0, 2, (n, 1))
        epsilon = float(rng.uniform(0.5, 2.5))
    X[rng.random(X.shape) < 0.35] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    return X, epsilon


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_equals_brute_force(start):
    for k in range(start, start + 50):
        X, epsilon = small_instance(k)
        adjacent = feasible_pairs(X, epsilon)
        solution = solve_l0(X, epsilon)
        expected = brute_force(adjacent)
        assert (solution.status, solution.objective, solution.bound) == ("optimal", expected, expected), k
        assert objective_of(solution.labels) == expected, k
        assert within_boxes(X, solution, epsilon), k


def within_boxes(X, solution, epsilon):
    with np.errstate(invalid="ignore"):
        return not (np.abs(X - solution.centers) > epsilon / 2 + 1e-12).any()


def test_too_many_cliques_leave_a_valid_bound(monkeypatch):
    best = optimum_of_hard_graph()
    monkeypatch.setattr(search_module, "_CLIQUE_LIMIT", 100)
    solution = solve_l0(hard_graph(), 1.0)
    assert solution.status == "too large"
    assert solution.bound <= best.objective <= solution.objective == objective_of(solution.labels)


@pytest.mark.parametrize(("n_features", "seed"), [(50, 0), (20, 1), (10, 2)])
def test_two_hundred_points_are_proven_optimal(n_features, seed):
    X, truth = planted(200, 4, n_features, kappa=0.9, p0=0.5, seed=seed)
    X[np.isnan(X).all(axis=1), 0] = 0.0
    solution = solve_l0(X, 1.0, time_limit=60)
    assert solution.status == "optimal"
    assert solution.gap == 0
    assert objective_of(solution.labels) == solution.objective == solution.bound
    assert within_boxes(X, solution, 1.0)
    if n_features == 50:  # where the theory promises it, the truth is the optimum
        assert objective_of(truth) == solution.objective
        assert all(len(set(truth[solution.labels == k])) == 1 for k in range(solution.n_clusters))


def test_noiseless_clusters_with_missing_entries():
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 3
    X = rng.normal(size=(3, 30))[truth]
    X[rng.random(X.shape) < 0.5] = np.nan
    solution = solve_l0(X, 0.0)
    assert solution.status == "optimal"
    assert solution.objective == objective_of(truth)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(solution.centers[seen], X[seen])


def test_values_epsilon_apart_can_share_a_centre():
    assert 0.3 - 0.1 != 0.2
    assert solve_l0([[0.1], [0.3]], 0.2).objective == 0
    assert solve_l0([[0.1], [0.3]], 0.1999).objective == 2
    assert solve_l0([[0.1 + 0.2], [0.3]], 0).objective == 0
    assert solve_l0([[1.0], [1.0 + 1e-9]], 0).objective == 2


def hard_graph():
    return realise(random_graph(np.random.default_rng(7), 32, 0.5))


@cache
def optimum_of_hard_graph():
    return solve_l0(hard_graph(), 1.0)


def test_time_limit_returns_a_valid_incumbent_and_bound():
    X = hard_graph()
    best = optimum_of_hard_graph()
    assert best.status == "optimal"
    for limit in (1e-9, 0.05, 0.2):
        stopped = solve_l0(X, 1.0, time_limit=limit)
        assert stopped.bound <= best.objective <= stopped.objective == objective_of(stopped.labels)
        assert within_boxes(X, stopped, 1.0)
        assert stopped.gap == pytest.approx(stopped.objective / stopped.bound - 1)
        assert stopped.status in ("time limit", "optimal")
    assert solve_l0(X, 1.0, time_limit=1e-9).status == "time limit"


def test_gap_stops_early():
    X = hard_graph()
    loose = solve_l0(X, 1.0, gap=0.5)
    assert loose.status == "within gap"
    assert 0 < loose.gap <= 0.5


@pytest.mark.parametrize("step", ["local_search", "enumerate_cliques", "solve_cliques", "drop_edges"])
def test_interruption_keeps_the_incumbent(monkeypatch, step):
    X = hard_graph()
    best = optimum_of_hard_graph()

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(search_module, step, interrupt)
    solution = solve_l0(X, 1.0)
    assert solution.status == "interrupted"
    assert solution.bound <= best.objective <= solution.objective == objective_of(solution.labels)
    assert solution.objective < 32 * 31
    assert within_boxes(X, solution, 1.0)


def test_missing_solver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(ImportError, match=r"fusewise\[exact\]"):
        solve_l0(hard_graph(), 1.0)
    assert solve_l0([[0.0], [0.0], [5.0]], 1.0).objective == 4  # nothing left for a programme


def test_rows_with_nothing_observed_are_left_out():
    X = np.array([[0.0, 1.0], [np.nan, np.nan], [0.1, np.nan]])
    with pytest.warns(UserWarning, match="row 1"):
        solution = solve_l0(X, 0.5)
    assert solution.labels.tolist() == [0, -1, 0]
    assert solution.objective == 0
    assert np.isnan(solution.centers[1]).all()
    with pytest.warns(UserWarning, match="no observed entry"):
        nothing = solve_l0(np.full((2, 2), np.nan), 1.0)
    assert nothing.labels.tolist() == [-1, -1]
    assert (nothing.status, nothing.objective, nothing.bound, nothing.n_clusters) == ("optimal", 0, 0, 0)
    assert nothing.centers.shape == (2, 2)
    assert np.isnan(nothing.centers).all()


def test_one_row_and_centres():
    single = solve_l0([[3.0, np.nan]], 1.0)
    assert (single.labels.tolist(), single.objective, single.status) == ([0], 0, "optimal")
    np.testing.assert_array_equal(single.cluster_centers, [[3.0, np.nan]])
    pair = solve_l0([[0.0, 7.0, np.nan], [1.0, np.nan, np.nan]], 1.0)
    np.testing.assert_array_equal(pair.cluster_centers, [[0.5, 7.0, np.nan]])


def test_mask_hides_entries():
    X = np.array([[0.0, 0.0], [0.0, 9.0]])
    assert solve_l0(X, 1.0).objective == 2
    assert solve_l0(X, 1.0, mask=[[True, True], [True, False]]).objective == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0.0]], -1.0), ValueError, "epsilon must be finite and >= 0, got -1.0"),
        (([[0.0]], "wide"), TypeError, "epsilon must be a number"),
        (([[0.0, 1.0], [2.0, math.inf]], 1.0), ValueError, "row 1, column 1"),
        (([[1j]], 1.0), TypeError, "complex"),
    ],
)
def test_bad_input_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        solve_l0(*arguments)


def test_bad_limits_are_named():
    with pytest.raises(ValueError, match="time_limit"):
        solve_l0([[0.0]], 1.0, time_limit=-1)
    with pytest.raises(ValueError, match="gap"):
        solve_l0([[0.0]], 1.0, gap=-0.1)


@pytest.mark.parametrize("huge", [1e3, 1e16, 1e300, -1e308])
def test_feasibility_of_a_pair_depends_on_that_pair_alone(huge):
    X, _ = planted(20, 2, 3, 1.5, 0.7, 0)
    alone = feasible_pairs(X, 1.0)
    with_huge = feasible_pairs(np.vstack([X, np.full(3, huge)]), 1.0)
    np.testing.assert_array_equal(with_huge[:-1, :-1], alone)


def test_rounding_is_forgiven_at_every_magnitude():
    for scale in 10.0 ** np.arange(-300, 300, 20):
        for a, b, width in ((1, 3, 2), (2, 3, 1), (1, 7, 6)):
            X = scale * np.array([[0.1 * a], [0.1 * b]])
            assert feasible_pairs(X, scale * (0.1 * width))[0, 1]
            assert not feasible_pairs(X, scale * (0.1 * width * (1 - 1e-14)))[0, 1]
