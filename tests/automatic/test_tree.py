"""The lam of each partition of a merge tree, beside a search through all of its nodes."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from fusewise.automatic.tree import MergeTree, join_heights, successors


def lowest_of_both(tree, labels, a, b):
    """The smallest lam of a node that has more than half of the rows of both groups."""
    nodes = range(tree.n_points, 2 * tree.n_points - 1)
    inside = {node: labels[tree.members(node)] for node in nodes}
    most = [node for node in nodes if all(2 * np.sum(inside[node] == g) > np.sum(labels == g) for g in (a, b))]
    return min(tree.linkage[node - tree.n_points, 2] for node in most)


@pytest.mark.parametrize("seed", range(10))
def test_partitions_begin_where_their_last_two_groups_join(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    tree = MergeTree(linkage(rng.normal(size=(n, 3)), "average"))
    partitions = []
    for number in (9, 5, 4, 1):
        labels = fcluster(tree.linkage, number, "maxclust") - 1
        strayed = rng.random(n) < 0.1  # small parts go to the nearest group, wherever they are in the tree
        labels[strayed] = rng.integers(number, size=strayed.sum())
        partitions.append(np.unique(labels, return_inverse=True)[1])
    expected = []
    for fine, coarse in pairwise(partitions):
        above = successors(fine, coarse)
        joined = [(a, b) for a, b in combinations(range(len(above)), 2) if above[a] == above[b]]
        expected.append(max((lowest_of_both(tree, fine, a, b) for a, b in joined), default=0.0))
    heights = join_heights(tree, tuple(partitions))
    np.testing.assert_allclose(heights[1:], np.maximum.accumulate(expected))


def test_totals_under_the_nodes_of_a_tree():
    tree = MergeTree(np.array([[0, 1, 0.1, 2], [2, 3, 0.2, 2], [4, 5, 0.3, 4]]))
    np.testing.assert_allclose(tree.totals(np.array([0.5, 0.5, 2.0, 1.0])), [0.5, 0.5, 2, 1, 1, 3, 4])
    assert tree.partitions(2, 4) == [[6], [4, 5]]
    assert tree.partitions(2, 4, tree.totals(np.array([0.5, 0.5, 1.0, 1.0])) >= 2) == [[6]]
