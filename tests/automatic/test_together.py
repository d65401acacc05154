"""Valleys judged together: what chance shows is no valley, and many shallow ones are not due to chance."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic.choosing import choose
from fusewise.automatic.valleys import Valley, by_chance, easiest, not_shown, settled
from fusewise.datasets import hide_entries
from fusewise.observations import as_entries


class Told:
    """Valleys with given evidence, in place of ``Between``; counts the pairs that are looked at."""

    def __init__(self, best, odds=0.0, known=1.0, r=2):
        self.best, self.evidence, self.seen = np.asarray(best, float), SimpleNamespace(shape=(300, r)), set()
        self.odds, self.known = odds, known

    def __call__(self, one, other):
        self.seen.add((min(one, other), max(one, other)))
        return Valley(0.0, float(self.best[one, other]), self.odds, self.known)


def symmetric(rng, n, zeros=0.3):
    """Random evidence of all pairs, some of it none at all."""
    upper = np.triu(rng.exponential(2.0, (n, n)) * (rng.random((n, n)) > zeros), 1)
    return upper + upper.T


def least_sum(evidence):
    """Of all sets of m - 1 edges that connect m points, the least sum."""
    m = len(evidence)
    pairs = list(combinations(range(m), 2))
    sums = []
    for tree in combinations(pairs, m - 1):
        reached, before = {0}, 0
        while len(reached) > before:
            before = len(reached)
            reached |= {point for edge in tree if reached & set(edge) for point in edge}
        if len(reached) == m:
            sums.append(sum(evidence[edge] for edge in tree))
    return min(sums)


@pytest.mark.parametrize("valleys", [1, 2, 3, 10])
def test_what_chance_shows_by_simulation(valleys):
    """Half the squares of normal numbers, one for each depth, of which only the positive ones count."""
    draws = np.maximum(np.random.default_rng(0).normal(size=(40_000, valleys)), 0)
    share = np.mean(0.5 * (draws**2).sum(axis=1) > by_chance(valleys))
    assert share == pytest.approx(valleys.CHANCE, abs=0.005)


@pytest.mark.parametrize("m", [2, 3, 5])
def test_the_easiest_way_to_connect_by_brute_force(m):
    """Also where some pairs have no evidence of a valley at all."""
    rng = np.random.default_rng(m)
    for _ in range(10):
        evidence = symmetric(rng, m)
        edges, total = easiest(np.where(np.eye(m, dtype=bool), np.inf, evidence))
        assert len(edges) == m - 1
        assert total == pytest.approx(least_sum(evidence))


def test_clusters_are_linked_where_the_valleys_are_not_shown():
    """Clusters of one to three components: as one component of each, with the least evidence of their pairs."""
    rng = np.random.default_rng(0)
    clusters = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5]), np.array([6])]
    for _ in range(20):
        told = Told(symmetric(rng, 7))
        least = np.array([[told.best[np.ix_(one, other)].min() for other in clusters] for one in clusters])
        total = least_sum(least)
        assert not_shown(told, clusters, total - 0.01) == []
        links = not_shown(told, clusters, total + 0.01)
        where = {int(k): number for number, cluster in enumerate(clusters) for k in cluster}
        assert sum(told.best[pair] for pair in links) == pytest.approx(total)
        ends = [(where[one], where[other]) for one, other in links]
        assert len({min(pair) + 10 * max(pair) for pair in ends}) == 3
        assert {end for pair in ends for end in pair} == {0, 1, 2, 3}


def test_few_pairs_are_looked_at_where_valleys_are_deep():
    told = Told(np.full((25, 25), 30.0))
    assert not_shown(told, [np.array([k]) for k in range(25)], 5.0) == []
    assert len(told.seen) == 24


@pytest.mark.parametrize(("evidence", "known", "links"), [(1.3, 1.0, 1), (1.4, 1.0, 0), (0.0, 0.3, 1), (0.0, 0.2, 0)])
def test_components_that_are_clusters_pay_for_chance_alone(evidence, known, links):
    """By chance 1.353, half of the 2.706 that a chi-squared number exceeds in 10% of cases; only known rows speak."""
    told = Told([[0.0, evidence], [evidence, 0.0]], known=known)
    assert len(settled(told, [], np.arange(2), np.zeros(2, int))) == links


@pytest.mark.parametrize(
    ("odds", "evidence", "links"), [(4.0, 3.9, [(0, 2)]), (4.0, 4.1, []), (20.0, 5.6, [(0, 2)]), (20.0, 5.8, [])]
)
def test_pieces_pay_for_the_odds_of_their_joins(odds, evidence, links):
    """Components 0 and 1 are joined; at most log 300 = 5.70."""
    best = [[0.0, 0.5, evidence], [0.5, 0.0, 9.0], [evidence, 9.0, 0.0]]
    joined = [(1, 0)]
    found = settled(Told(best, odds), joined, np.array([0, 0, 1]), np.zeros(3, int))
    assert found == joined + links


@pytest.mark.parametrize(("evidence", "r", "undone"), [(1.5, 2, False), (2.3, 2, True), (2.3, 1, False)])
def test_joins_that_rows_reject_together_are_undone(evidence, r, undone):
    """Three joins in a row, no one of which is rejected: together 4.5 or 6.9 nats, and by chance up to 4.74.

    Not on a line, where all components point to each other.
    """
    best = np.full((5, 5), 50.0)
    pairs = [(1, 0), (2, 1), (3, 2)]
    for one, other in pairs:
        best[one, other] = best[other, one] = evidence
    found = settled(Told(best, r=r), pairs, np.array([0, 0, 0, 0, 1]), np.zeros(5, int))
    assert found == ([] if undone else pairs)


def test_nothing_is_linked_across_a_gap():
    told = Told(np.zeros((4, 4)))
    found = settled(told, [], np.arange(4), np.array([0, 0, 1, 1]))
    assert sorted(found) == [(0, 1), (2, 3)]


def choice(X):
    X = X[~np.isnan(X).all(axis=1)]
    return choose(as_entries(X))


def test_a_bent_or_skewed_group_is_one_cluster():
    """Draws that were cut before valleys were judged together."""
    for seed in (2, 8, 14, 23):
        x = np.random.default_rng(seed).normal(size=(300, 2))
        assert choice(np.column_stack([x[:, 0], x[:, 0] ** 2 + 0.3 * x[:, 1]])).n_clusters == 1
    for seed in (4, 11):
        assert choice(np.random.default_rng(seed).exponential(size=(300, 2))).n_clusters == 1


def test_a_bent_group_with_missing_entries_is_one_cluster():
    """Ten arcs, of which seven were cut, and three still are."""
    cut = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        angle = rng.uniform(0, np.pi, 300)
        X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(300, 2))
        cut += choice(hide_entries(X, 0.2, random_state=seed)).n_clusters > 1
    assert cut <= 4


@pytest.mark.parametrize(("seed", "at_least"), [(4, 0.5), (5, 0.85)])
def test_many_shallow_valleys_are_no_chance(seed, at_least):
    """Nine round groups of 33 rows, four standard deviations apart: no valley is certain, but together they are.

    With the first seed each pair by itself left two clusters.
    """
    y = np.arange(300) % 9
    X = 4.0 * np.column_stack([y // 3, y % 3]) + np.random.default_rng(seed).normal(size=(300, 2))
    assert adjusted_rand_score(y, choice(X).classify(as_entries(X)).labels) > at_least
