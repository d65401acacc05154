"""On a device the same loop gives the same result. Torch on the CPU takes the same way as a card; both are tried."""

import numpy as np
import pytest
from fusion_naive import EXAMPLES, draw

from fusewise.fidelity import Ball, Quadratic
from fusewise.fusion import fuse, fusion_path, pose
from fusewise.fusion._problem import place
from fusewise.kernels import beside, to_host
from fusewise.penalties import H1

torch = pytest.importorskip("torch")
DEVICES = ["torch:cpu", "cuda"] if torch.cuda.is_available() else ["torch:cpu"]
WAYS = pytest.mark.parametrize(
    "way", [{"n_neighbors": None}, {"n_neighbors": 5}, {"n_neighbors": None, "rank": 3}, {"n_neighbors": 5, "rank": 3}],
    ids=["all pairs", "graph", "all pairs, rank 3", "graph, rank 3"],
)  # fmt: skip


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def seen_well(missing=0.25, n=40):
    """Every row seen in at least as many entries as the rank: a direction nobody saw could be anywhere."""
    X = draw("real", 0.0, n=n, p=6)
    rng = np.random.default_rng(2)
    for row in X:
        row[rng.permutation(6)[: rng.binomial(3, missing)]] = np.nan
    return X


@pytest.mark.parametrize("penalty", EXAMPLES, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_neighbors", [None, 5])
def test_what_the_loop_asks_of_pairs_is_the_same(penalty, missing, n_neighbors, device):
    X = draw("real", missing)
    posed = pose(X, None, 0.3, penalty, Quadratic(), None, n_neighbors)
    problem, placed = posed.problem, place(posed.problem, device)
    U = np.where(np.isnan(X), 0.1, X)
    V = beside(U, placed.observations.target)
    pairs = [
        (problem.weigh(U), placed.weigh(V)),
        (problem.pairs.weigh_partial(posed.entries, penalty, 2), placed.pairs.weigh_partial(posed.entries, penalty, 2)),
    ]
    for one, other in pairs:
        np.testing.assert_allclose(to_host(other.degree), one.degree, rtol=1e-9)
        np.testing.assert_allclose(to_host(other.laplacian(V)), one.laplacian(U), atol=1e-9)
    (one, other), partial = pairs[0], pairs[1]
    assert other.energy == pytest.approx(one.energy, rel=1e-10)
    assert placed.objective(V, other) == pytest.approx(problem.objective(U, one), rel=1e-10)
    assert placed.stationarity(V, other) == pytest.approx(problem.stationarity(U, one), rel=1e-9)
    assert partial[1].degree.dtype == torch.float64


@WAYS
def test_one_problem(way, device):
    X = seen_well()
    options = {"lam": 0.1, "penalty": H1(1.0), "max_iter": 2000, **way}
    host, placed = fuse(X, **options), fuse(X, device=device, **options)
    assert isinstance(placed.centers, np.ndarray)
    assert (placed.n_iter, placed.status) == (host.n_iter, host.status)
    np.testing.assert_allclose(placed.history, host.history, rtol=1e-10)
    np.testing.assert_allclose(placed.centers, host.centers, atol=1e-7)
    np.testing.assert_array_equal(placed.labels, host.labels)


@WAYS
def test_a_path_with_merging(way, device):
    X = seen_well()
    options = {"lams": np.geomspace(1e-3, 10, 8), "penalty": H1(1.0), "max_iter": 2000, **way}
    host, placed = fusion_path(X, **options), fusion_path(X, device=device, **options)
    assert host.n_clusters[-1] < len(X) / 2
    for one, other in zip(host, placed, strict=True):
        np.testing.assert_array_equal(other.labels, one.labels)
        assert other.objective == pytest.approx(one.objective, rel=1e-9)


def test_all_pairs_where_their_weights_do_not_fit(monkeypatch, device):
    """Weights are then computed anew for every product, a block of rows at a time."""
    from fusewise.pairs import _complete as device_complete

    X = draw("real", 0.3)
    options = {"lam": 0.1, "penalty": H1(1.0), "device": device}
    stored = fuse(X, **options)
    monkeypatch.setattr(device_complete, "device_memory", lambda device: 0)
    monkeypatch.setattr(device_complete, "BLOCK_PAIRS", 100)
    anew = fuse(X, **options)
    np.testing.assert_allclose(anew.centers, stored.centers, atol=1e-10)
    placed = place(pose(X, None, 0.1, H1(1.0), Quadratic(), None, None).problem, device)
    assert placed.weigh(beside(np.nan_to_num(X), placed.observations.target)).matrix is None


def test_what_a_device_does_not_do(device):
    X = draw("real", 0.3)
    with pytest.raises(ValueError, match="use Ball on 'cpu'"):
        fuse(X, fidelity=Ball(0.3), device=device)
    with pytest.raises(ValueError, match="use device='cpu' for complex ones"):
        fuse(draw("complex", 0.3), device=device)
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        fuse(X, device="tpu")
