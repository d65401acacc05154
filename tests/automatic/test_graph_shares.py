"""Shares of a graph that no edge joins, and the merge of what happens in them."""

import heapq

import numpy as np
import pytest
from scipy import sparse

from fusewise.automatic import fusion_tree as module
from fusewise.automatic.fusion_tree import SHARES, fusion_tree, merged_order, shares_of
from fusewise.kernels import threads
from fusewise.observations import Quadratics
from fusewise.pairs import NeighborPairs


def islands(rng, n_parts, size):
    """Edges within parts, whose points are scattered."""
    numbers = rng.permutation(n_parts * size).reshape(n_parts, size)
    chains = np.concatenate([np.column_stack([part[:-1], part[1:]]) for part in numbers])
    extra = np.concatenate([rng.choice(part, (size, 2)) for part in numbers])
    ends = np.sort(np.concatenate([chains, extra[extra[:, 0] != extra[:, 1]]]), axis=1)
    return np.unique(ends, axis=0)


@pytest.mark.parametrize("n_parts", [1, 2, SHARES, 3 * SHARES])
def test_shares_hold_every_point_and_edge_once_and_no_edge_leaves_one(n_parts):
    ends = islands(np.random.default_rng(n_parts), n_parts, 7)
    shares = shares_of(7 * n_parts, ends)
    assert len(shares) == min(SHARES, n_parts)
    np.testing.assert_array_equal(np.sort(np.concatenate([rows for rows, _ in shares])), np.arange(7 * n_parts))
    np.testing.assert_array_equal(np.sort(np.concatenate([along for _, along in shares])), np.arange(len(ends)))
    for rows, along in shares:
        assert np.isin(ends[along], rows).all()
        assert len(rows) == 7 * n_parts / len(shares)


def test_points_without_edges_have_a_share():
    shares = shares_of(3, np.array([[0, 2]]))
    assert sorted(rows.tolist() for rows, _ in shares) == [[0, 2], [1]]


def test_the_smallest_next_price_goes_first():
    """Against a heap that holds the next price of each path."""
    rng = np.random.default_rng(0)
    paths = [rng.permutation(100)[:k] + k / 10 for k in (0, 1, 5, 9)]
    begin = np.cumsum([0, *map(len, paths)])
    heap = [(path[0], k, 0) for k, path in enumerate(paths) if len(path)]
    heapq.heapify(heap)
    expected = []
    while heap:
        _, k, at = heapq.heappop(heap)
        expected.append(begin[k] + at)
        if at + 1 < len(paths[k]):
            heapq.heappush(heap, (paths[k][at + 1], k, at + 1))
    np.testing.assert_array_equal(merged_order(paths), expected)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_tree_is_that_of_the_whole_graph(n_threads, monkeypatch):
    """With each part by itself, or all in one; which of two joined nodes is named first is left open."""
    monkeypatch.setattr(threads, "WORTH_A_THREAD", 1)
    monkeypatch.setattr(threads, "n_threads", lambda: n_threads)
    monkeypatch.setattr(module, "few", lambda n: False)
    rng = np.random.default_rng(1)
    n, r = 20 * 30, 3
    ends = islands(rng, 20, 30)
    graph = sparse.csr_matrix((rng.uniform(0.5, 2, len(ends)), (ends[:, 0], ends[:, 1])), (n, n))
    parts = rng.normal(size=(n, r, r)) * (rng.random((n, r, 1)) < 0.7)
    gram = np.einsum("nki,nkj->nij", parts, parts)
    rows = Quadratics(gram, np.einsum("nij,nj->ni", gram, rng.normal(size=(n, r))), np.zeros(n))
    pairs = NeighborPairs.from_graph(graph)
    shared = fusion_tree(rows, pairs).linkage
    monkeypatch.setattr(module, "shares_of", lambda n, ends: [(np.arange(n), np.arange(len(ends)))])
    whole = fusion_tree(rows, pairs).linkage
    np.testing.assert_array_equal(np.sort(shared[:, :2], axis=1), np.sort(whole[:, :2], axis=1))
    np.testing.assert_allclose(shared[:, 2], whole[:, 2], rtol=1e-9)
    np.testing.assert_array_equal(shared[:, 3], whole[:, 3])
