"""Nearest neighbours on a device, in tiles and by force, against all distances."""

import numpy as np
import pytest

from fusewise.kernels import _nearest, nearest_in

torch = pytest.importorskip("torch")


def draw(n=700, r=4):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, r)) + 4 * rng.integers(0, 4, size=(n, 1))
    return torch.from_numpy(points.astype(np.float32))


def by_hand(points, k):
    points = points.double().numpy()
    s = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(s, np.inf)
    order = np.argsort(s, axis=1)[:, :k]
    return np.take_along_axis(s, order, axis=1), order


def collect(coordinates, some, radii, starts, near, n_places):
    """What the Triton kernel does (test_graph_triton.py runs that one), a tile at a time."""
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


@pytest.fixture
def small(monkeypatch):
    """Set the sizes of tiles, 16 points each."""

    def set_sizes(**sizes):
        for name, value in ({"TILE": 16, "SEED_TILES": 2} | sizes).items():
            monkeypatch.setattr(_nearest, name, value)

    return set_sizes


def check(points, k, found):
    squares, indices = (part.numpy() for part in found)
    expected, order = by_hand(points, k)
    np.testing.assert_allclose(squares, expected, rtol=1e-4, atol=1e-5)
    assert (indices == order).mean() > 0.999, "but for ties within rounding"


@pytest.mark.parametrize("k", [1, 15])
@pytest.mark.parametrize("block", [2**28, 5000], ids=["one block", "blocks"])
def test_by_force(k, block, monkeypatch):
    monkeypatch.setattr(_nearest, "BLOCK", block)
    points = draw()
    check(points, k, nearest_in(points, k))


@pytest.mark.parametrize(
    ("each", "attempts"), [(1, 1), (3, 4), (3, 1), (20, 1)], ids=["by force", "crowded", "crowded, once", "roomy"]
)
@pytest.mark.parametrize("n", [256, 259])
def test_tiles_find_the_same(n, each, attempts, small):
    small(PLACES_EACH=each, ATTEMPTS=attempts, LAUNCH=2**15, BLOCK=2**11)
    points = draw(n)
    check(points, 3, _nearest._by_tiles(points, 3, collect))
