"""Blocks placed in clusters and components joined, against all ways to do so."""

import itertools

import numpy as np
import pytest
from hinted import hints_of

from fusewise.automatic._hints import STRAY, held, joined, log_odds, obeyed, place, settle


def all_placed(scores, conflicts):
    """The largest sum of scores over all placements without a conflict; minus infinity if there is none."""
    ways = itertools.product(range(scores.shape[1]), repeat=len(scores))
    sums = [scores[np.arange(len(way)), way].sum() for way in ways if all(way[a] != way[b] for a, b in conflicts)]
    return max(sums, default=-np.inf)


class TestPlace:
    @pytest.mark.parametrize("seed", range(20))
    def test_blocks_all_in_conflict_and_free_ones_are_placed_as_well_as_possible(self, seed):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(6, 4))
        conflicts = np.array([(0, 1), (0, 2), (1, 2), (3, 4)])
        found = place(scores, conflicts)
        assert scores[np.arange(6), found].sum() == pytest.approx(all_placed(scores, conflicts))
        assert all(found[a] != found[b] for a, b in conflicts)

    @pytest.mark.parametrize("seed", range(40))
    def test_any_conflicts_are_obeyed_where_that_is_possible(self, seed):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(7, 3))
        conflicts = np.array([p for p in itertools.combinations(range(7), 2) if rng.uniform() < 0.4]).reshape(-1, 2)
        found, best = place(scores, conflicts), all_placed(scores, conflicts)
        if found is None:
            assert best == -np.inf
            return
        assert all(found[a] != found[b] for a, b in conflicts)
        assert scores[np.arange(7), found].sum() <= best + 1e-9
        for block, cluster in itertools.product(range(7), range(3)):
            moved = np.where(np.arange(7) == block, cluster, found)
            if all(moved[a] != moved[b] for a, b in conflicts):
                assert scores[block, cluster] <= scores[block, found[block]]

    def test_more_blocks_apart_than_clusters(self):
        assert place(np.zeros((4, 3)), np.array(list(itertools.combinations(range(4), 2)))) is None
        wheel = [(i, (i + 1) % 5) for i in range(5)] + [(i, 5) for i in range(5)]  # needs four colours, has no K4
        assert place(np.zeros((6, 3)), np.array(wheel)) is None
        assert place(np.zeros((6, 4)), np.array(wheel)) is not None


def partitions_of(n):
    """All ways to join n components, as arrays of group numbers."""
    ways = {tuple(np.unique(way, return_inverse=True)[1]) for way in itertools.product(range(n), repeat=n)}
    first = {}
    for way in ways:
        first.setdefault(frozenset(frozenset(np.flatnonzero(np.array(way) == g)) for g in set(way)), np.array(way))
    return list(first.values())


def likeliest(densities, hints, price):
    """The largest value of `settle` over all ways to join components and to place blocks."""
    best = -np.inf
    for group in partitions_of(densities.shape[1]):
        n = group.max() + 1
        chance = np.exp(densities)
        stray = STRAY * chance.sum(axis=1)
        columns = np.log(np.column_stack([chance[:, group == g].sum(axis=1) + stray for g in range(n)]))
        sums = np.array([columns[hints.block == b].sum(axis=0) for b in range(hints.n_blocks)])
        best = max(best, all_placed(sums, hints.conflicts) - price * (densities.shape[1] - n))
    return best


class TestSettle:
    @pytest.mark.parametrize("seed", range(15))
    def test_two_components_and_any_blocks(self, seed):
        rng = np.random.default_rng(seed)
        densities = rng.normal(0, 3, size=(7, 2))
        hints = hints_of([[0, 1, 2], [3, 4], [5, 6]], [(0, 1)] if seed % 2 else [])
        assert settle(densities, hints, 1.5).value == pytest.approx(likeliest(densities, hints, 1.5))

    def test_a_class_of_two_humps_is_one_cluster_and_others_stay(self):
        # Components 0 and 2 hold class 0, component 1 class 1, component 3 nobody that is known.
        home = np.array([0, 0, 2, 2, 2, 1, 1, 1])
        densities = np.where(np.arange(4) == home[:, None], -1.0, -9.0)
        hints = hints_of([[0, 1, 2, 3, 4], [5, 6, 7]], [(0, 1)])
        settled = settle(densities, hints, np.log(100))
        assert settled.group.tolist() == [0, 1, 0, 2]
        assert settled.cluster.tolist() == [0, 1]
        assert settled.value == pytest.approx(likeliest(densities, hints, np.log(100)))

    def test_a_single_pair_joins_no_components_but_several_do(self):
        pair = np.array([[-1.0, -99.0], [-99.0, -1.0]])
        assert settle(pair, hints_of([[0, 1]]), np.log(200)).group.tolist() == [0, 1]
        pairs = hints_of([[0, 1], [2, 3], [4, 5]])
        assert settle(np.tile(pair, (3, 1)), pairs, np.log(200)).group.tolist() == [0, 0]
        near = settle(np.array([[-1.0, -9.0], [-3.0, -1.0]]), hints_of([[0, 1]]), np.log(200))
        assert near.cluster.tolist() == [0]  # where they lose 2 and not 8

    def test_a_given_number_of_clusters_is_kept(self):
        home = np.array([0, 1, 2, 3])
        densities = np.where(np.arange(4) == home[:, None], -1.0, -50.0)
        hints = hints_of([[0, 1], [2], [3]], [(1, 2)])
        assert settle(densities, hints, 1.0, n_clusters=4).group.max() == 3
        assert settle(densities, hints, 1.0, n_clusters=2, exactly=True).group.max() == 1
        assert log_odds(densities, hints, 1.0, 3) == pytest.approx(-np.log(4))  # one union; every row is at home
        unsure = np.log([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
        apart, once, twice = hints_of([[0], [1]], [(0, 1)]), np.log(0.9 * 0.8), np.log([0.9, 0.9, 0.8, 0.8]).sum()
        assert log_odds(unsure, apart, 1.0, None) == pytest.approx(once)
        assert log_odds(unsure, apart, 2.0, None) == pytest.approx(twice)
        assert log_odds(densities, hints, 1.0, 2) is None
        assert settle(densities[:, :1], hints, 1.0) is None

    def test_components_without_a_valley_are_not_joined_across_a_conflict(self):
        densities = np.where(np.arange(3) == np.array([[0], [2]]), -1.0, -50.0)
        hints = hints_of([[0], [1]], [(0, 1)])
        assert joined(densities, hints, 5.0, [(1, 0), (2, 1), (2, 0)], None).tolist() == [0, 0, 1]
        assert joined(densities, hints, 5.0, [(2, 1), (1, 0), (2, 0)], None).tolist() == [0, 1, 1]
        with pytest.raises(ValueError, match=r"keep apart all rows of cannot_link in 1 cluster:"):
            joined(densities[:, :1], hints, 5.0, [], None)

    def test_rows_are_held_in_the_cluster_of_their_block(self):
        home = np.array([0, 2, 1, 0])
        densities = np.where(np.arange(3) == home[:, None], -1.0, -50.0)
        away = held(densities, hints_of([[0, 1], [2]], [(0, 1)]), None)
        assert ((away == 0) == [[1, 0, 1], [1, 0, 1], [0, 1, 0], [1, 1, 1]]).all()


def test_hints_on_some_rows_and_on_repeated_ones():
    hints = hints_of([[1, 4], [2], [6]], [(0, 1), (1, 2)])
    some = hints.among(np.array([0, 1, 1, 2, 4]))  # without 6
    assert some.rows.tolist() == [1, 2, 4, 3]
    assert some.block.tolist() == [0, 0, 0, 1]
    assert some.conflicts.tolist() == [[0, 1]]
    assert not hints.among(np.array([0, 3, 9]))
    assert not hints.among(np.empty(0, np.intp))


def test_a_sample_has_rows_of_each_block():
    hints = hints_of([[3, 7, 9], [2, 4], [6]], [(0, 1), (1, 2)])
    for seed in range(5):
        sample = hints.sample(3, np.random.default_rng(seed))
        assert (np.diff(sample) > 0).all()
        assert len({hints.block_of(10)[row] for row in sample}) == 3


def test_the_posterior_of_a_block_is_that_of_its_rows_together():
    """Each row lies in its cluster, or anywhere in the table with the probability of a stray."""
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.1, 1, size=(4, 3))
    hints = hints_of([[0, 2], [1], [3]], [(1, 2)])
    labels, posterior = obeyed(np.log(chance), hints)  # rows in the order of the hints: 0, 2, 1, 3
    robust = chance + STRAY * chance.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(posterior[0], robust[0] * robust[1] / (robust[0] * robust[1]).sum())
    np.testing.assert_array_equal(posterior[0], posterior[1])
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert labels.tolist() == posterior.argmax(axis=1).tolist()
    assert posterior[2, labels[3]] < 1e-20
    assert posterior[3, labels[2]] < 1e-20


def test_a_stray_row_does_not_decide_for_its_block():
    densities = np.array([[-1.0, -5.0], [-1.0, -5.0], [-900.0, -1.0]])
    assert obeyed(densities, hints_of([[0, 1, 2]]))[0].tolist() == [0, 0, 0]
