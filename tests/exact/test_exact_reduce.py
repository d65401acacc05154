"""Each reduction keeps the optimum: against brute force, and on graphs made for it."""

import numpy as np
import pytest
from exact_helpers import brute_force, planted, random_graph

from fusewise.exact._bounds import Shares, best_shares, drop_edges, merge_twins
from fusewise.exact._graph import Clock, WeightedGraph, climb_from_greedy, feasible_pairs


def most_kept(graph):
    """Pairs of points kept at best: brute force on the points behind the vertices."""
    owner = np.repeat(np.arange(graph.size), graph.weights)
    points = graph.adjacent[np.ix_(owner, owner)] | (owner[:, None] == owner[None, :])
    np.fill_diagonal(points, False)
    n = len(owner)
    return (n * (n - 1) - brute_force(points)) // 2


def clustered_graph(rng, n):
    """Cliques with a few edges more and fewer: where twins and cores are found."""
    truth = rng.integers(0, 2, n)
    adjacent = truth[:, None] == truth[None, :]
    flip = random_graph(rng, n, 0.12)
    adjacent = adjacent ^ flip
    np.fill_diagonal(adjacent, False)
    return adjacent


def test_twins_are_merged_and_the_optimum_kept():
    merged_away = 0
    for seed in range(80):
        graph = WeightedGraph.of_points(clustered_graph(np.random.default_rng(seed), 9))
        merged, labels = merge_twins(graph, np.arange(9))
        merged_away += graph.size - merged.size
        assert sum(len(m) for m in merged.members) == 9
        assert merged.valid(labels)
        # Twins left apart lose something in every partition, so the weighted optimum is the same.
        assert most_kept(graph) == most_kept(merged)
    assert merged_away > 80


def test_dropped_edges_never_hide_a_better_partition():
    dropped = 0
    for seed in range(200):
        graph = WeightedGraph.of_points(clustered_graph(np.random.default_rng(seed), 9))
        for labels in (climb_from_greedy(graph), np.arange(9)):
            slim, count, upper = drop_edges(graph, labels, Clock())
            dropped += count
            optimum = most_kept(graph)
            assert max(graph.kept(labels), most_kept(slim)) == optimum, seed
            assert upper >= most_kept(slim)
            assert max(upper, graph.kept(labels)) >= optimum
    assert dropped > 100


def test_bounds_are_bounds():
    for seed in range(150):
        rng = np.random.default_rng(seed)
        graph, _ = merge_twins(WeightedGraph.of_points(random_graph(rng, 9, rng.uniform(0.2, 0.9))), np.arange(9))
        optimum = most_kept(graph)
        assert Shares(graph).doubled // 2 >= optimum
        assert Shares(graph, rng.random(graph.size) < 0.4).doubled // 2 >= optimum
        assert best_shares(graph, climb_from_greedy(graph)).doubled // 2 >= optimum


def test_a_vertex_with_two_homes_is_settled_by_shares():
    # Two cliques of 6 and a vertex adjacent to all: counted once at each end, both cliques hope to have it.
    adjacent = np.kron(np.eye(2, dtype=bool), np.ones((6, 6), dtype=bool))
    adjacent = np.pad(adjacent, (0, 1), constant_values=True)
    np.fill_diagonal(adjacent, False)
    graph = WeightedGraph.of_points(adjacent)
    optimum = 21 + 15
    assert Shares(graph).doubled // 2 > optimum
    assert best_shares(graph, climb_from_greedy(graph)).doubled // 2 == optimum


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
