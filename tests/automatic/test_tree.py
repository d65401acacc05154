"""The merge tree, against a greedy written with numpy.linalg.solve that recomputes every rise at every step."""

import itertools
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform

from fusewise.automatic._tree import (
    RIDGE,
    MergeTree,
    fusion_tree,
    join_heights,
    successors,
)
from fusewise.observations import Quadratics
from fusewise.pairs import NeighborPairs


def quadratics(rng, n, r, rows=None):
    """||A_i u - b_i||² with random A_i (rows x r): fewer rows than r leave directions unseen."""
    A = rng.normal(size=(n, r + 1 if rows is None else rows, r))
    b = rng.normal(size=A.shape[:2])
    return Quadratics(np.einsum("imk,iml->ikl", A, A), np.einsum("imk,im->ik", A, b), np.square(b).sum(axis=1))


def points(X):
    return Quadratics(np.broadcast_to(np.eye(X.shape[1]), (len(X), X.shape[1], X.shape[1])), X, (X**2).sum(axis=1))


def graph(rng, n, density):
    upper = np.triu(rng.uniform(0.5, 2, size=(n, n)) * (rng.uniform(size=(n, n)) < density), 1)
    return NeighborPairs(n, *upper.nonzero(), upper[upper > 0])


def complete(n):
    return NeighborPairs(n, *np.triu_indices(n, 1), np.ones(n * (n - 1) // 2))


def naive(observations, pairs):
    """Sets joined, in order, and the running maximum of their prices."""
    n, r = observations.shape
    ridge = RIDGE * np.trace(observations.gram.sum(axis=0)) / (n * r)
    gram = [g + ridge * np.eye(r) for g in observations.gram]
    affinity = np.zeros((pairs.n_points, pairs.n_points))
    affinity[pairs.first, pairs.second] = affinity[pairs.second, pairs.first] = pairs.affinity
    groups = [frozenset([i]) for i in range(n)]

    def explained(members):
        G, h = sum(gram[i] for i in members), sum(observations.target[i] for i in members)
        return h @ np.linalg.solve(G, h)

    joined, heights, loose = [], [], None
    while len(groups) > 1:
        left = list(combinations(groups, 2))
        tie = {(a, b): affinity[np.ix_(list(a), list(b))].sum() for a, b in left}
        if loose is None and not any(tie.values()):
            loose = list(groups)  # parts that no edge joins: one edge between every two of them
        if loose is not None:
            parts = {a: sum(part <= a for part in loose) for a in groups}
            tie = {(a, b): parts[a] * parts[b] for a, b in left}
        price = {(a, b): (explained(a) + explained(b) - explained(a | b)) / c for (a, b), c in tie.items() if c > 0}
        a, b = min(price, key=price.get)
        groups = [g for g in groups if g not in (a, b)] + [a | b]
        joined.append(a | b)
        heights.append(price[a, b])
    return joined, np.maximum.accumulate(heights)


def joined_sets(tree):
    """Members of each join, followed through the linkage itself."""
    sets = [frozenset([i]) for i in range(tree.n_points)]
    for left, right in tree.linkage[:, :2].astype(int):
        sets.append(sets[left] | sets[right])
    return sets[tree.n_points :]


CASES = [(2, 1, 1.0), (2, 3, 0.0), (3, 2, 1.0), (9, 2, 1.0), (12, 3, 0.4), (12, 1, 0.15), (11, 2, 0.0), (14, 2, 0.1)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "r", "density"), CASES)
def test_it_is_the_greedy(n, r, density, seed):
    rng = np.random.default_rng([seed, n, r])
    observations, pairs = quadratics(rng, n, r), graph(rng, n, density)
    joined, heights = naive(observations, pairs)
    tree = fusion_tree(observations, pairs)
    assert joined_sets(tree) == joined
    np.testing.assert_allclose(tree.linkage[:, 2], heights, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_greedy_where_points_have_not_seen_every_direction(seed):
    # One measurement each in the plane: two points alone can always agree, up to the ridge.
    rng = np.random.default_rng(seed)
    observations, pairs = quadratics(rng, 10, 2, rows=1), graph(rng, 10, 0.5)
    joined, heights = naive(observations, pairs)
    tree = fusion_tree(observations, pairs)
    # What is free comes first, in an order that rounding decides; what costs something is the same.
    costly = heights > 1e-4
    assert 0 < costly.sum() < 9
    assert [s for s, c in zip(joined_sets(tree), costly, strict=True) if c] == [
        s for s, c in zip(joined, costly, strict=True) if c
    ]
    np.testing.assert_allclose(tree.linkage[costly, 2], heights[costly], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_greedy_where_a_large_group_takes_in_one_point_after_another(seed):
    # Tight clusters and stragglers around them: what an edge cost before its ends moved decides which are priced anew.
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, 2)) * 4
    X = centres[rng.integers(3, size=36)] + rng.standard_t(2, size=(36, 2))
    gram = np.einsum("imk,iml->ikl", A := rng.normal(size=(36, 3, 2)), A)
    observations = Quadratics(gram, np.einsum("ikl,il->ik", gram, X), np.zeros(36))
    near = squareform(pdist(X)).argsort(axis=1)[:, 1:7]
    pairs = NeighborPairs.from_neighbors(near)
    joined, heights = naive(observations, pairs)
    tree = fusion_tree(observations, pairs)
    assert joined_sets(tree) == joined
    np.testing.assert_allclose(tree.linkage[:, 2], heights, rtol=1e-6)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.3, 1.0])
def test_scipy_takes_the_linkage(density):
    rng = np.random.default_rng(0)
    n = 40
    tree = fusion_tree(quadratics(rng, n, 2), graph(rng, n, density))
    assert is_valid_linkage(tree.linkage)
    assert np.all(np.diff(tree.linkage[:, 2]) >= 0)
    assert [len(s) for s in joined_sets(tree)] == tree.linkage[:, 3].astype(int).tolist()
    assert tree.linkage[-1, 3] == n
    assert sorted(dendrogram(tree.linkage, no_plot=True)["leaves"]) == list(range(n))
    heights = tree.linkage[:, 2]
    cuts = [k for k in range(2, n) if heights[-k] < heights[-k + 1]]  # at equal heights there is nothing to cut
    assert len(cuts) > 5
    for k in cuts:
        labels = fcluster(tree.linkage, heights[-k], criterion="distance")
        theirs = {frozenset(np.flatnonzero(labels == c)) for c in set(labels)}
        assert theirs == {frozenset(tree.members(node)) for node in tree.partitions(1, k)[-1]}


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 1), (4, 7)])
def test_the_rise_is_that_of_ward(a, b):
    rng = np.random.default_rng(a + b)
    X, Y = rng.normal(size=(a, 3)), rng.normal(size=(b, 3)) + 2
    groups = points(np.vstack([X, Y])).merge(np.repeat([0, 1], [a, b]), 2)
    (join,) = fusion_tree(groups, complete(2)).linkage
    ward = a * b / (a + b) * np.square(X.mean(axis=0) - Y.mean(axis=0)).sum()
    assert join[2] == pytest.approx(ward, rel=1e-4)


class TestPartitions:
    @pytest.mark.parametrize("min_size", [1, 2, 5, 11])
    @pytest.mark.parametrize("max_groups", [1, 4, 60])
    def test_nested_large_enough_and_none_left_out(self, min_size, max_groups):
        rng = np.random.default_rng(0)
        tree = fusion_tree(quadratics(rng, 60, 2), graph(rng, 60, 0.15))
        found = tree.partitions(min_size, max_groups)
        assert [len(groups) for groups in found] == list(range(1, len(found) + 1))
        assert len(found) <= max_groups
        for groups in found:
            members = [set(tree.members(node)) for node in groups]
            assert sum(map(len, members)) == len(set().union(*members))
            assert min(map(len, members)) >= min_size
        for coarse, fine in itertools.pairwise(found):
            for node in fine:
                assert sum(set(tree.members(node)) <= set(tree.members(other)) for other in coarse) == 1

    @staticmethod
    def tree(*joins):
        """Joins at lam 1, 2, ..."""
        n = len(joins) + 1
        sizes = [1] * n
        for left, right in joins:
            sizes.append(sizes[left] + sizes[right])
        rows = [[*map(float, join), k + 1.0, float(sizes[n + k])] for k, join in enumerate(joins)]
        return MergeTree(np.array(rows))

    def test_what_would_crumble_is_kept_whole(self):
        # Pairs 01, 23, 45; 01 with 23; all. At a size of 3 the pair 45 is shed, and 0123 is not taken apart.
        tree = self.tree((0, 1), (2, 3), (4, 5), (6, 7), (9, 8))
        assert tree.partitions(3, 9) == [[10]]
        assert [sorted(groups) for groups in tree.partitions(2, 9)] == [[10], [8, 9], [6, 7, 8]]


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
