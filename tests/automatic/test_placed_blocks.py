"""Blocks placed in clusters that are known, and results compared by the rows that these explain."""

import numpy as np
import pytest

from fusewise.automatic import settling
from fusewise.automatic.hints import Hints
from fusewise.automatic.settling import are_right, obeyed, placed, supported, worth


def hints_of(blocks, conflicts=()):
    """Blocks given as lists of rows."""
    block = np.repeat(np.arange(len(blocks)), [len(b) for b in blocks])
    return Hints(np.concatenate(blocks).astype(int), block, np.array(conflicts, int).reshape(-1, 2))


def flags(*counts):
    """Rows right in both results, in the first alone, in the second alone, and in none."""
    one, other = np.repeat([1, 1, 0, 0], counts), np.repeat([1, 0, 1, 0], counts)
    return one.astype(bool), other.astype(bool)


class TestSupported:
    def test_rows_right_in_both_or_in_none_say_nothing(self):
        assert not supported(*flags(20, 0, 0, 5), 0.0)
        assert supported(*flags(20, 1, 0, 5), 0.0)
        assert not supported(*flags(20, 3, 3, 0), 0.0)

    def test_the_lead_must_be_more_than_chance_gives(self):
        assert [supported(*flags(9, n, 0, 9), 1.645) for n in (1, 2, 3, 4)] == [False, False, True, True]
        assert not supported(*flags(9, 8, 3, 9), 1.645)  # 5 of 11, sqrt(11) = 3.3
        assert supported(*flags(9, 9, 3, 9), 1.645)

    def test_chance_is_taken_for_support_in_about_one_of_twenty(self):
        rng = np.random.default_rng(0)
        one, other = rng.random((2, 4000, 200)) < 0.8
        taken = np.mean([supported(a, b, 1.645) for a, b in zip(one, other, strict=True)])
        assert 0.03 < taken < 0.07


class TestPlaced:
    densities = np.log([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])

    def test_blocks_are_where_most_of_their_rows_are_expected(self):
        hints = hints_of([[0, 1, 2], [3]])
        cluster = placed(self.densities, hints, np.array([20.0, 20.0]))
        assert cluster.tolist() == [0, 0]
        assert are_right(self.densities, hints, cluster).tolist() == [True, True, False, True]

    def test_conflicts_are_obeyed_and_cost_the_fewest_rows(self):
        hints = hints_of([[0, 1, 2], [3]], [(0, 1)])
        cluster = placed(self.densities, hints, np.array([20.0, 20.0]))
        assert cluster.tolist() == [0, 1]
        assert are_right(self.densities, hints, cluster).tolist() == [True, True, False, False]

    def test_a_stray_row_does_not_decide_for_its_block(self):
        densities = np.array([[-1.0, -3.0], [-1.0, -3.0], [-900.0, -1.0]])
        assert placed(densities, hints_of([[0, 1, 2]]), np.ones(2)).tolist() == [0]

    def test_more_blocks_than_clusters_need_new_ones(self, monkeypatch):
        hints = hints_of([[0], [1], [2, 3]], [(0, 1), (0, 2), (1, 2)])
        assert sorted(placed(self.densities, hints, np.array([20.0, 20.0])))[2] >= 2
        monkeypatch.setattr(settling, "MOST_NEW", 0)
        assert placed(self.densities, hints, np.array([20.0, 20.0])) is None
        assert not are_right(self.densities, hints, None).any()


def test_the_posterior_of_a_block_is_that_of_its_rows_together():
    rng = np.random.default_rng(0)
    densities = rng.normal(size=(4, 3))
    hints = hints_of([[0, 2], [1], [3]], [(1, 2)])
    labels, posterior = obeyed(densities, hints, np.ones(3))  # rows in the order of the hints: 0, 2, 1, 3
    together = np.exp(densities[0] + densities[1])
    np.testing.assert_allclose(posterior[0], together / together.sum())
    np.testing.assert_array_equal(posterior[0], posterior[1])
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    assert labels.tolist() == posterior.argmax(axis=1).tolist()
    assert posterior[2, labels[3]] < 1e-20
    assert posterior[3, labels[2]] < 1e-20


class TestClasses:
    """Two classes of known labels; the first has 100 rows in cluster 0, and 30 in cluster 1."""

    hints = hints_of([[0, 1, 2, 3, 4], [5, 6]], [(0, 1)])
    sizes = np.array([100.0, 30.0, 50.0])

    def densities(self, *home):
        return np.where(np.arange(3) == np.array(home)[:, None], 0.0, -60.0)

    def test_what_a_place_is_worth_counts_pairs_of_rows_of_one_class(self):
        class_of = np.repeat([0, 0, 1, 1], [60, 30, 40, 50])  # all 180 rows
        cluster_of = np.repeat([0, 1, 0, 2], [60, 30, 40, 50])
        told = np.arange(180) % 10 == 0
        hints = hints_of([np.flatnonzero(told & (class_of == c)) for c in (0, 1)], [(0, 1)])
        found = worth(self.densities(*cluster_of[hints.rows]), hints, self.sizes)
        for c, k in np.ndindex(2, 3):
            rows = np.flatnonzero(told & (class_of == c))
            pairs = len(rows) * ((class_of == c) & (cluster_of == k)).sum()
            n_told = (told & (cluster_of == k)).sum()
            assert found[c, k] == pytest.approx(pairs * n_told / (1 + n_told))  # drawn towards none

    def test_a_class_in_two_clusters_is_gathered_where_most_of_its_rows_are(self):
        """Not where most of its rows with hints happen to be: 2 of 5 are in the cluster with 100 rows."""
        labels, posterior = obeyed(self.densities(0, 0, 1, 1, 1, 2, 2), self.hints, self.sizes)
        assert labels.tolist() == [0] * 5 + [2] * 2
        assert posterior[0, 0] > posterior[0, 1] > 0.1
        np.testing.assert_allclose(posterior.sum(axis=1), 1)

    def test_the_larger_class_stays_in_a_cluster_of_two(self):
        labels, _ = obeyed(self.densities(0, 0, 0, 0, 0, 0, 0), self.hints, self.sizes)
        assert labels[0] == 0 != labels[5]

    def test_likelihood_decides_between_clusters_of_no_worth(self):
        densities = self.densities(0, 0, 0, 0, 0, 0, 0) - np.array([0, 900, 900])
        densities[5:, 2] += 1
        labels, posterior = obeyed(densities, self.hints, self.sizes)
        assert labels.tolist() == [0] * 5 + [2] * 2
        assert posterior[5].tolist() == [0, 0, 1]

    def test_blocks_that_are_not_all_in_conflict_are_no_classes(self):
        assert self.hints.are_classes
        assert not hints_of([[0, 1]]).are_classes
        assert not hints_of([[0], [1], [2]], [(0, 1)]).are_classes
        np.testing.assert_allclose(
            worth(self.densities(0, 0, 1), hints_of([[0, 1, 2]]), self.sizes), [[2, 1, 0]], atol=1e-9
        )
