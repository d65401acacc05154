"""Merged nodes: the same objective as the points held equal, descent, and the labels of the path without merging."""

import itertools

import numpy as np
import pytest
from fusion_naive import EXAMPLES, draw, objective

from fusewise.datasets import hide_entries, make_clusters
from fusewise.fidelity import Quadratic
from fusewise.fusion import fusion_path, pose
from fusewise.fusion._loop import descend
from fusewise.fusion._merging import MergedProblem
from fusewise.penalties import H1, L1, MCP

KINDS = ("real", "complex")
MISSING = (0.0, 0.4)
GROUPS = np.array([0, 1, 2, 0, 3, 2, 0, 4, 5, 1, 1, 6, 6, 6, 7, 0, 8, 9])  # of 18 points
COARSER = np.array([0, 1, 2, 0, 3, 2, 0, 0, 3, 1, 1, 4, 4, 4, 2, 0, 5, 1])


def problem_of(X, penalty, n_neighbors=None, rank=None, lam=0.3):
    return pose(X, None, lam, penalty, Quadratic(), rank, n_neighbors).problem


def any_centers(n, shape, kind, seed=1):
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(n, shape))
    return centers + 1j * rng.normal(size=(n, shape)) if kind == "complex" else centers


@pytest.mark.parametrize("penalty", EXAMPLES, ids=lambda p: type(p).__name__)
def test_the_objective_is_that_of_the_points_held_equal(penalty):
    for kind, missing in itertools.product(KINDS, MISSING):
        X = draw(kind, missing)
        merged, _ = MergedProblem.unmerged(problem_of(X, penalty)).merge(GROUPS, X)
        U = any_centers(10, X.shape[1], kind)
        value = merged.problem.objective(U, merged.problem.weigh(U))
        assert value == pytest.approx(objective(X, U[GROUPS], 0.3, penalty, Quadratic()), rel=1e-10)


@pytest.mark.parametrize("rank", [None, 3])
@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_so_it_is_on_a_graph_in_a_subspace_and_merged_twice(rank, n_neighbors):
    X = draw("real", 0.2)
    whole = problem_of(X, H1(0.7), n_neighbors, rank)
    once, _ = MergedProblem.unmerged(whole).merge(GROUPS, any_centers(18, whole.observations.shape[1], "real"))
    twice, _ = once.merge(COARSER, any_centers(10, whole.observations.shape[1], "real"))
    U = any_centers(6, whole.observations.shape[1], "real")
    spread = U[COARSER]
    expected = whole.objective(spread, whole.weigh(spread))
    assert twice.problem.objective(U, twice.problem.weigh(U)) == pytest.approx(expected, rel=1e-10)
    np.testing.assert_array_equal(twice.node_of, COARSER)
    np.testing.assert_array_equal(twice.problem.members, np.bincount(COARSER))


def test_the_objective_never_rises():
    for penalty, missing, n_neighbors in itertools.product(EXAMPLES, MISSING, (None, 4)):
        X = draw("real", missing)
        first = np.where(np.isnan(X), 0.1, X)
        merged, start = MergedProblem.unmerged(problem_of(X, penalty, n_neighbors)).merge(GROUPS, first)
        np.testing.assert_allclose(start[6], first[GROUPS == 6].mean(axis=0))
        history = np.array(descend(merged.problem, start, max_iter=12, tol=0).history)
        assert np.all(np.diff(history) <= 1e-12 * np.abs(history[:-1])), (penalty, missing, n_neighbors)
        assert history[-1] < history[0]


def table(n_clusters=4, size=40, missing=0.0):
    X, y, _ = make_clusters(n_clusters, size, 20, noise=0.08, random_state=3)
    return hide_entries(X, missing, random_state=4), y


@pytest.mark.parametrize("penalty", [H1(0.6), L1(1e-3), MCP(1.2)], ids=repr)
@pytest.mark.parametrize(("missing", "n_neighbors"), [(0.0, 8), (0.3, 8), (0.0, None), (0.3, None)])
def test_labels_are_those_without_merging(penalty, missing, n_neighbors):
    X, _ = table(missing=missing)
    least = 1e-3 if n_neighbors else 1e-4
    options = {
        "lams": np.geomspace(least, 1e4 * least, 14),
        "penalty": penalty,
        "n_neighbors": n_neighbors,
        "tol": 1e-5,
    }
    merging, plain = (fusion_path(X, merge=merge, max_iter=2000, **options) for merge in (True, False))
    assert plain.n_clusters[0] == len(X)
    assert plain.n_clusters[-1] <= 8
    for one, other in zip(merging.labels, plain.labels, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "back",
    [{"lams": [0.1, 5.0, 10.0, 20.0, 1e-3]}, {"lams": 5.0, "sigmas": [0.6, 0.6, 0.6, 100.0]}],
    ids=["lam", "sigma"],
)
def test_what_pulls_less_hard_lets_go_again(back):
    X, _ = table()
    path = fusion_path(X, penalty=H1(0.6), n_neighbors=8, **back)
    assert path.n_clusters[-2] == 4
    assert path.n_clusters[-1] == len(X)


def test_points_no_edge_joins_are_not_fused():
    """Two blobs at one place, in a graph that knows nothing of each other: neighbours are nearest by what both saw."""
    X = np.full((8, 4), np.nan)
    X[:4, :2] = np.arange(4)[:, None] * 1e-3
    X[4:, 2:] = np.arange(4)[:, None] * 1e-3
    path = fusion_path(X, lams=[1.0, 10.0], penalty=H1(1.0), n_neighbors=2)
    assert path.labels[-1].tolist() == [0] * 4 + [1] * 4
