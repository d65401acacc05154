"""All pairs, and pairs along a graph: energy, weights and degrees against a double loop; and the graph itself."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from fusewise.observations import as_entries
from fusewise.pairs import CompletePairs, NeighborPairs, partial_squared_distances
from fusewise.pairs import _complete as complete
from fusewise.pairs import _distances as distances
from fusewise.penalties import H1, L1, MCP, SCAD, GemanMcClure, Lp, TruncatedL2

PENALTIES = [
    H1(0.8), L1(), Lp(0.3, smoothing=0.01), MCP(2.0), SCAD(3.0), TruncatedL2(1.7), GemanMcClure(0.6)
]  # fmt: skip
N, P = 23, 3


def draw(kind="real", n=N, p=P):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) + (1j * rng.normal(size=(n, p)) if kind == "complex" else 0)
    X[1] = X[0]  # two centres that coincide
    return X


def naive(s, penalty):
    """Energy, weights and degrees from squared distances; an infinite one (unknown) has no weight."""
    n = len(s)
    matrix = np.zeros((n, n))
    energy = 0.0
    for i in range(n):
        for j in range(n):
            if i != j and np.isfinite(s[i, j]):
                matrix[i, j] = penalty.weight(np.sqrt(s[i, j]))
                energy += float(penalty.value(np.sqrt(s[i, j])))
    return energy, matrix, matrix.sum(axis=1)


def naive_distances(X):
    return np.array([[sum(abs(a - b) ** 2) for b in X] for a in X])


def assert_weighed(weighted, expected):
    energy, matrix, degree = expected
    assert weighted.energy == pytest.approx(energy, rel=1e-11)
    np.testing.assert_allclose(weighted.matrix, matrix, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.degree, degree, rtol=1e-9)
    np.testing.assert_array_equal(weighted.matrix, weighted.matrix.T)
    assert np.all(np.diagonal(weighted.matrix) == 0)


@pytest.mark.parametrize("side", [1, 5, 8, 22, 23, 1000])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_weigh(penalty, side, monkeypatch):
    monkeypatch.setattr(complete, "BLOCK_SIDE", side)
    X = draw()
    assert_weighed(CompletePairs(N).weigh(X, penalty), naive(naive_distances(X), penalty))


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("side", [5, 1000])
@pytest.mark.parametrize("penalty", [H1(2.0), Lp(0.3, smoothing=0.01)], ids=repr)
def test_weigh_partial(penalty, side, kind, monkeypatch):
    monkeypatch.setattr(complete, "BLOCK_SIDE", side)
    rng = np.random.default_rng(1)
    X = draw(kind, p=6)
    X[rng.uniform(size=X.shape) < 0.5] = np.nan
    s = np.full((N, N), np.inf)
    for i in range(N):
        for j in range(N):
            common = ~(np.isnan(X[i]) | np.isnan(X[j]))
            if common.sum() >= 2:
                s[i, j] = 6 / common.sum() * sum(abs(X[i, common] - X[j, common]) ** 2)
    assert np.isinf(s[np.triu_indices(N, 1)]).any(), "some pairs must have too little in common"
    energy, matrix, degree = naive(s, penalty)
    weighted = CompletePairs(N).weigh_partial(as_entries(X), penalty, 2)
    np.testing.assert_allclose(weighted.matrix, matrix, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(weighted.degree, degree, rtol=1e-9)
    assert weighted.energy == pytest.approx(energy, rel=1e-9)


def test_far_from_the_origin_nothing_is_lost():
    X = draw()
    near, far = (CompletePairs(N).weigh(X + shift, H1(0.8)) for shift in (0.0, 1e6))
    np.testing.assert_allclose(far.matrix, near.matrix, rtol=1e-7)


def test_laplacian():
    X = draw("complex")
    weighted = CompletePairs(N).weigh(X, H1(0.8))
    pulls = [sum(weighted.matrix[i, j] * (X[i] - X[j]) for j in range(N)) for i in range(N)]
    np.testing.assert_allclose(weighted.laplacian(X), pulls, atol=1e-12)


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
