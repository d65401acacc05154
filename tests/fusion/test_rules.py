"""The rules along the paper's path, on paths made by hand."""

import numpy as np
import pytest

from fusewise.fidelity import Quadratic
from fusewise.fusion import FusionPath, Solution, choose_sigma, cut_to, longest_plateau
from fusewise.observations import as_entries
from fusewise.penalties import H1

NAN = np.nan


def path_of(*labels, centers=None, table=None):
    """A path with the given labels at each point; a centre per label unless centres are given."""
    n = len(labels[0])
    entries = as_entries(np.ones((n, 2)) if table is None else table)
    solutions = []
    for k, each in enumerate(labels):
        names = np.array(each)
        where = np.column_stack([names, 0 * names]).astype(float) if centers is None else np.array(centers, float)
        solutions.append(Solution(where, names, 2.0**k, H1(1.0), Quadratic(), (1.0,), 0.0, "converged", entries))
    return FusionPath(tuple(solutions))


FINE, PAIRS, CROSSED, ONE, NONE = [0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [-1, -1, -1, -1]


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        ((NONE, FINE, FINE, PAIRS, PAIRS, PAIRS, ONE), 5),  # the partition that persists, at its last point
        ((FINE, FINE, PAIRS, PAIRS, ONE), 3),  # of equally long ones the later
        ((PAIRS, ONE, ONE, ONE), 0),  # one group is no candidate
        ((NONE, NONE, NONE, PAIRS, ONE), 3),  # no group is none either
        ((PAIRS, PAIRS, CROSSED, PAIRS, CROSSED), 1),  # as many groups, but other ones
        ((ONE, ONE, ONE), 2),  # with nothing else the last point
        ((NONE, NONE, NONE), 2),
    ],
)
def test_the_longest_plateau(labels, chosen):
    assert longest_plateau(path_of(*labels)) == chosen


class TestCut:
    def test_the_nearest_groups_are_joined(self):
        # Groups at 0, 1 and 10, and a path that goes from three to one.
        centers = [[0, 0], [0, 0], [1, 0], [1, 0], [10, 0]]
        path = path_of([0, 0, 1, 1, 2], [0, 0, 0, 0, 0], centers=centers)
        k, labels = cut_to(path, 2)
        assert k == 0
        np.testing.assert_array_equal(labels, [0, 0, 0, 0, 1])

    def test_outliers_are_joined_to_the_nearest(self):
        centers = [[0, 0], [0, 0], [9, 0], [9, 0], [8, 0], [1, 0], [0, 1]]
        k, labels = cut_to(path_of([0, 0, 1, 1, -1, -1, -1], centers=centers), 2)
        assert k == 0
        np.testing.assert_array_equal(labels, [0, 0, 1, 1, 1, 0, 0])

    def test_rows_with_nothing_observed_stay_out(self):
        table = [[1.0, 1.0], [1.0, NAN], [NAN, NAN], [5.0, 5.0]]
        centers = [[1, 1], [1, 1], [2, 2], [5, 5]]
        _, labels = cut_to(path_of([0, 0, -1, 1], centers=centers, table=table), 1)
        np.testing.assert_array_equal(labels, [0, 0, -1, 0])
        _, labels = cut_to(path_of([0, 0, -1, 1], centers=centers, table=table), 2)
        np.testing.assert_array_equal(labels, [0, 0, -1, 1])

    @pytest.mark.parametrize("n_clusters", [1, 2, 3, 4, 5, 6])
    def test_as_many_as_asked_for(self, n_clusters):
        centers = np.random.default_rng(0).normal(size=(6, 2))
        path = path_of([-1] * 6, [0, 0, 0, 1, 1, -1], [0] * 6, centers=centers)
        _, labels = cut_to(path, n_clusters)
        assert sorted(set(labels.tolist())) == list(range(n_clusters))


def test_sigma_is_half_the_median_of_the_nearest_distances():
    # On a line, 0 1 3 7: the nearest are at 1, 1, 2 and 4.
    assert choose_sigma(as_entries([[0.0], [1.0], [3.0], [7.0]])) == pytest.approx(0.75)


def test_sigma_does_not_count_rows_on_top_of_each_other():
    assert choose_sigma(as_entries([[0.0], [0.0], [3.0], [5.0], [5.0]])) == pytest.approx(0.5 * 2)
    assert choose_sigma(as_entries(np.ones((4, 2)))) == 1.0
