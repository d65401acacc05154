"""Nearest neighbours in tensors, against all distances; and which device a name stands for."""

import sys

import numpy as np
import pytest

from fusewise.kernels import device_memory, torch_device

torch = pytest.importorskip("torch")

from fusewise.kernels import _nearest as nearest_torch  # noqa: E402
from fusewise.kernels._nearest import PointTiles, nearest  # noqa: E402


def draw(n=700, r=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, r)) + 4 * rng.integers(0, 4, size=(n, 1))


def by_hand(points, k):
    s = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(s, np.inf)
    order = np.argsort(s, axis=1)[:, :k]
    return np.sqrt(np.take_along_axis(s, order, axis=1)), order


def collect(coordinates, some, radii, starts, near, n_places):
    """What the kernel does, a tile at a time."""
    _, _, size = coordinates.shape
    shape = (some.stop - some.start, size, n_places)
    squares, places = torch.full(shape, torch.inf), torch.zeros(shape, dtype=torch.int64)
    counts = torch.zeros(shape[:2], dtype=torch.int32)
    for row, tile in enumerate(range(some.start, some.stop)):
        for other in near[starts[row] : starts[row + 1]].tolist():
            s = ((coordinates[tile][:, :, None] - coordinates[other][:, None]) ** 2).sum(0)
            for i, j in (s <= radii[row][:, None]).nonzero().tolist():
                if (tile, i) == (other, j):
                    continue
                if counts[row, i] < n_places:
                    squares[row, i, counts[row, i]] = s[i, j]
                    places[row, i, counts[row, i]] = other * size + j
                counts[row, i] += 1
    return squares, places, counts


@pytest.mark.parametrize("k", [1, 15])
def test_all_distances(k):
    points = draw()
    distances, indices = nearest(points, k, "torch:cpu")
    expected, order = by_hand(points, k)
    np.testing.assert_allclose(distances, expected, rtol=1e-4, atol=1e-5)
    assert (indices == order).mean() > 0.999, "but for ties within rounding"


@pytest.mark.parametrize(
    ("each", "attempts"), [(1, 1), (3, 4), (3, 1), (20, 1)], ids=["by force", "crowded", "crowded, once", "roomy"]
)
@pytest.mark.parametrize("n", [256, 259])
def test_tiles_find_the_same(n, each, attempts, monkeypatch):
    sizes = {"TILE": 16, "SEED_TILES": 2, "PLACES_EACH": each, "ATTEMPTS": attempts, "LAUNCH": 2**15}
    for name, value in sizes.items():
        monkeypatch.setattr(nearest_torch, name, value)
    points = draw(n)
    placed = torch.from_numpy(points.astype(np.float32))
    squares, indices = nearest_torch._by_tiles(placed, 3, collect)
    expected, order = by_hand(points, 3)
    np.testing.assert_allclose(np.sqrt(squares.numpy()), expected, rtol=1e-4, atol=1e-5)
    assert (indices.numpy() == order).mean() > 0.999


@pytest.mark.parametrize(("most", "recall"), [(1, 0.4), (6, 0.75), (24, 0.98)])
def test_of_many_tiles_the_nearest_are_searched(most, recall, monkeypatch):
    for name, value in (("TILE", 16), ("SEED_TILES", 2), ("MOST_TILES", most), ("HALVINGS", 12)):
        monkeypatch.setattr(nearest_torch, name, value)
    points = draw(1000)
    tiles = PointTiles.of(torch.from_numpy(points.astype(np.float32)))
    every = slice(0, len(tiles.order))
    radii = nearest_torch._first_radii(tiles, every, 3)
    kept = nearest_torch._near_tiles(tiles, every, radii)[0].diff()
    with monkeypatch.context() as unlimited:
        unlimited.setattr(nearest_torch, "MOST_TILES", len(tiles.order))
        near = nearest_torch._near_tiles(tiles, every, radii)[0].diff()
    crowded = near > most
    assert crowded.any()
    assert (kept[~crowded] == near[~crowded]).all()
    assert (kept[crowded] > most).all(), "enough are looked at"
    assert kept[crowded].float().mean() < most + 8, "and few more"
    squares, indices = nearest_torch._by_tiles(torch.from_numpy(points.astype(np.float32)), 3, collect)
    exact, order = by_hand(points, 3)
    found = np.linalg.norm(points[:, None] - points[indices.numpy()], axis=2)
    np.testing.assert_allclose(squares.sqrt(), found, rtol=1e-4)
    assert (squares.sqrt().numpy() >= exact * (1 - 1e-4)).all()
    assert (indices.numpy() == order).mean() > recall
    assert (np.sort(indices.numpy())[:, 1:] != np.sort(indices.numpy())[:, :-1]).all(), "k different ones"


def test_a_crowd_is_thinned_out_by_smaller_radii(monkeypatch):
    def force(queries, points, k, own):
        forced.append(len(queries))
        return by_force(queries, points, k, own)

    by_force, forced, counts = nearest_torch._by_force, [], {}
    monkeypatch.setattr(nearest_torch, "_by_force", force)
    for name, value in (("TILE", 16), ("SEED_TILES", 2), ("PLACES_EACH", 3)):
        monkeypatch.setattr(nearest_torch, name, value)
    for attempts in (1, 4):
        forced.clear()
        monkeypatch.setattr(nearest_torch, "ATTEMPTS", attempts)
        nearest_torch._by_tiles(torch.from_numpy(draw(256).astype(np.float32)), 3, collect)
        counts[attempts] = sum(forced)
    assert counts[4] <= counts[1] / 10


def test_tiles_hold_every_point_once_and_split_the_space():
    points = torch.from_numpy(draw(1000, 3).astype(np.float32))
    tiles = PointTiles.of(points)
    assert sorted(tiles.order[tiles.filled].tolist()) == list(range(1000))
    assert tiles.order.shape[1] <= nearest_torch.TILE
    low, high = tiles.boxes
    volume = (points.amax(0) - points.amin(0)).prod()
    assert float((high - low).clip(0, None).prod(1).sum()) <= 1.01 * float(volume), "boxes of median splits overlap not"


def test_the_triton_kernel_in_its_interpreter():
    """In a process of its own, since the interpreter is chosen when Triton is imported."""
    pytest.importorskip("triton")
    import subprocess

    script = """
import os
os.environ["TRITON_INTERPRET"] = "1"
import numpy as np
from fusewise.kernels import nearest_torch
nearest_torch.TILE, nearest_torch.SEED_TILES, nearest_torch.PLACES_EACH = 8, 2, 6
points = np.random.default_rng(0).normal(size=(80, 3))
_, indices = nearest_torch.nearest(points, 3, "torch:cpu")
s = ((points[:, None] - points) ** 2).sum(axis=2) + np.diag([np.inf] * 80)
assert (indices == np.argsort(s, axis=1)[:, :3]).all()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)


def test_too_many():
    with pytest.raises(ValueError, match="k must be from 1 to 9 for 10 points, got 10"):
        nearest(draw(10), 10, "torch:cpu")


class TestDevices:
    def test_names(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        assert torch_device("cpu") is None
        assert torch_device("auto") is None
        assert torch_device("torch:cpu").type == "cpu"
        with pytest.raises(RuntimeError, match="torch finds no such CUDA device"):
            torch_device("cuda")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert torch_device("auto").type == "cuda"
        assert torch_device("cuda:1").index == 1
        with pytest.raises(ValueError, match="unknown device 'mps'"):
            torch_device("mps")

    def test_without_torch(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)
        assert torch_device("auto") is None
        with pytest.raises(ImportError, match=r"fusewise\[gpu\]"):
            torch_device("cuda")

    def test_memory(self):
        assert device_memory(torch.device("cpu")) > 0
