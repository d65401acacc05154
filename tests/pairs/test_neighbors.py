"""Pairs along a graph: the graph itself, and its weights against those of all pairs."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from fusewise.observations import as_entries
from fusewise.pairs import CompletePairs, NeighborPairs, partial_squared_distances
from fusewise.pairs import _distances as distances
from fusewise.penalties import H1, MCP, Lp

N, P = 20, 4


@pytest.fixture(params=["real", "complex"])
def table(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P)) + (1j * rng.normal(size=(N, P)) if request.param == "complex" else 0)
    X[rng.uniform(size=X.shape) < 0.3] = np.nan
    X[:, 0] = rng.normal(size=N)
    return as_entries(X)


def edges(pairs):
    return {(int(i), int(j)): float(c) for i, j, c in zip(pairs.first, pairs.second, pairs.affinity, strict=True)}


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("block", [2**19, 50])
def test_each_point_is_joined_with_its_nearest(table, k, block, monkeypatch):
    monkeypatch.setattr(distances.row_blocks, "__defaults__", (block, None))
    s = partial_squared_distances(table)
    expected = set()
    for i in range(N):
        others = sorted((s[i, j], j) for j in range(N) if j != i)
        expected |= {(min(i, j), max(i, j)) for _, j in others[:k]}
    pairs = NeighborPairs.nearest(table, k)
    assert set(edges(pairs)) == expected
    assert set(edges(pairs).values()) == {1.0}
    degrees = np.bincount(np.concatenate([pairs.first, pairs.second]), minlength=N)
    assert degrees.min() >= k
    assert pairs.largest_degree == degrees.max()


def test_points_with_too_little_in_common_are_not_joined():
    X = np.full((4, 4), np.nan)
    X[:2, :2], X[2:, 2:] = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]]
    assert set(edges(NeighborPairs.nearest(as_entries(X), 3))) == {(0, 1), (2, 3)}


@pytest.mark.parametrize("penalty", [H1(1.0), MCP(2.0), Lp(0.4)], ids=repr)
def test_weights_are_those_of_all_pairs_on_the_edges(table, penalty):
    rng = np.random.default_rng(3)
    pairs = NeighborPairs.nearest(table, 3)
    pairs = NeighborPairs(N, pairs.first, pairs.second, rng.uniform(0.5, 2, len(pairs.first)))
    U = table.fill(table.column_means)
    affinity = np.zeros((N, N))
    for (i, j), c in edges(pairs).items():
        affinity[i, j] = affinity[j, i] = c
    t = np.array([[np.linalg.norm(a - b) for b in U] for a in U])
    weighted = pairs.weigh(U, penalty)
    matrix = affinity * penalty.weight(t)
    np.testing.assert_allclose(weighted.matrix.toarray(), matrix, rtol=1e-12)
    np.testing.assert_allclose(weighted.degree, matrix.sum(axis=1), rtol=1e-12)
    assert weighted.energy == pytest.approx(float((affinity * penalty.value(t)).sum()))
    np.testing.assert_allclose(weighted.laplacian(U), matrix.sum(axis=1)[:, None] * U - matrix @ U, atol=1e-10)
    t = np.sqrt(partial_squared_distances(table, min_overlap=2))
    known = np.isfinite(t)
    partial = pairs.weigh_partial(table, penalty, 2)
    expected = np.where(known, affinity * penalty.weight(np.where(known, t, 0)), 0)
    np.testing.assert_allclose(partial.matrix.toarray(), expected, rtol=1e-10)


@pytest.mark.parametrize(
    "pairs", [CompletePairs(N), NeighborPairs(N, *np.triu_indices(N, 1), np.ones(N * (N - 1) // 2))]
)
def test_shortest_links(table, pairs):
    """Those of single linkage."""
    U = table.fill(table.column_means)
    heights = linkage(distances.real_view(U), method="single")[:, 2]
    first, second, lengths = pairs.spans(U)
    np.testing.assert_allclose(np.sort(lengths), heights)
    np.testing.assert_allclose(lengths, np.linalg.norm(U[first] - U[second], axis=1))
