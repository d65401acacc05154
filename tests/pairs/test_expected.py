"""Neighbours of uncertain points: the expected weight against Monte Carlo, the graph against scikit-learn's."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from fusewise.pairs import _neighbors as expected
from fusewise.pairs import nearest_expected

N, R = 60, 3


@pytest.fixture(autouse=True, params=[10**9, 0], ids=["small", "compiled"])
def small(request, monkeypatch):
    """Every property holds of what is done without compiled loops, and with them."""
    monkeypatch.setattr(expected, "few", lambda n: n <= request.param)


def edges(pairs):
    return set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))


def nearest_edges(X, k):
    ends = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    return {(min(i, j), max(i, j)) for i, row in enumerate(ends.tolist()) for j in row}


def covariances(rng, n, r, scale=1.0):
    factors = scale * rng.normal(size=(n, r, r))
    return factors @ factors.transpose(0, 2, 1)


def all_log_weights(places, spreads, variance):
    n = len(places)
    first, second = np.divmod(np.arange(n * n), n)
    return expected._log_expected_weights(places, spreads, first, second, variance).reshape(n, n)


@pytest.mark.parametrize("n", [12, 150, 450])
@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_no_other_pair_has_a_larger_weight(n, scale):
    # Against the formula for every pair; some points are known well, some hardly.
    rng = np.random.default_rng(n)
    places = rng.normal(size=(n, R))
    spreads = covariances(rng, n, R, scale) * rng.random((n, 1, 1)) ** 4
    tree = cKDTree(places)
    variance = float(np.median(tree.query(places, [6])[0])) ** 2
    both = variance * np.eye(R) + spreads[:, None] + spreads
    away = places[:, None] - places
    square = np.einsum("ijr,ijr->ij", away, np.linalg.solve(both, away[..., None])[..., 0])
    weights = -0.5 * (square + np.linalg.slogdet(both)[1]) - 1e300 * np.eye(n)
    best = np.argsort(-weights, axis=1)[:, :5]
    wanted = {(min(i, j), max(i, j)) for i, row in enumerate(best.tolist()) for j in row}
    assert edges(nearest_expected(places, spreads, 5)) == wanted


@pytest.mark.parametrize("r", [1, 2, 4])
def test_the_weight_is_an_expectation(r):
    # Against the mean over 200 000 draws, within five of its standard errors.
    rng = np.random.default_rng(r)
    places, spreads, variance = rng.normal(size=(4, r)), covariances(rng, 4, r, 0.7), 1.7
    weights = np.exp(all_log_weights(places, spreads, variance))
    draws = [rng.multivariate_normal(places[i], spreads[i], size=200_000) for i in range(4)]
    for i in range(4):
        for j in range(i):
            sample = np.exp(-np.square(draws[i] - draws[j]).sum(axis=1) / (2 * variance))
            error = sample.std() / np.sqrt(len(sample))
            assert weights[i, j] == pytest.approx(sample.mean(), abs=5 * error)
            assert weights[j, i] == pytest.approx(weights[i, j])
    assert np.all(np.diag(weights) == 0)


@pytest.mark.parametrize("k", [1, 5, 12])
@pytest.mark.parametrize("exhaustive", [1500, 10])
def test_known_places_give_the_graph_of_nearest_neighbours(k, exhaustive, monkeypatch):
    monkeypatch.setattr(expected, "EXHAUSTIVE", exhaustive)
    X = np.random.default_rng(1).normal(size=(N, R))
    pairs = nearest_expected(X, np.zeros((N, R, R)), k)
    assert edges(pairs) == nearest_edges(X, k)
    assert set(pairs.affinity) == {1.0}


def test_nobody_is_near_a_place_nobody_knows():
    # It has the k neighbours it chose itself, and the others have theirs as if it were not there.
    X = np.random.default_rng(3).normal(size=(N, R))
    spreads = np.zeros((N, R, R))
    X[0], spreads[0] = X[1:].mean(axis=0), 1e6 * np.eye(R)
    found = edges(nearest_expected(X, spreads, 5))
    assert sum(i == 0 for i, _ in found) == 5
    assert {(i - 1, j - 1) for i, j in found if i > 0} == nearest_edges(X[1:], 5)


@pytest.mark.parametrize("hidden", [0.0, 1.0])
def test_a_device_finds_the_same(hidden, monkeypatch):
    pytest.importorskip("torch")
    from fusewise.pairs import _neighbors as device_expected

    rng = np.random.default_rng(5)
    places, spreads = rng.normal(size=(200, R)), hidden * covariances(rng, 200, R, 0.5)
    monkeypatch.setattr(expected, "EXHAUSTIVE", 10)
    monkeypatch.setattr(device_expected, "DEVICE_BLOCK", 1000)  # several blocks
    host, device = nearest_expected(places, spreads, 5), nearest_expected(places, spreads, 5, "torch:cpu")
    assert edges(device) == edges(host)
    assert (edges(host) == nearest_edges(places, 5)) == (hidden == 0)
