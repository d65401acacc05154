"""The k nearest neighbours of every point on a device.

Points are sorted into tiles of a few dozen by median splits, so that each tile fills a small box. The tiles with the
nearest centres give every point k neighbours, and with them a radius that contains its true ones. A tile is then
compared only with the tiles whose boxes come within the radius of any of its points, by a kernel that keeps the few
distances below the radius and never writes the others to memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fusewise.kernels._arrays import Array
from fusewise.kernels._tensors import triton_kernels

#: Largest number of points in a tile: the distances between two tiles fit in the registers of a program.
TILE = 64

#: Nearest tiles whose points give the first radius.
SEED_TILES = 16

#: Candidates kept per neighbour, as the first radius contains more than k points. If it contains more than can be kept,
#: those kept give a smaller radius to try; after this many attempts, brute force is used.
PLACES_EACH, ATTEMPTS = 16, 4

#: Numbers in one block of distances, and in all the blocks of one launch of the kernel.
BLOCK, LAUNCH = 2**28, 2**30

#: A coordinate beyond all others whose square is still finite.
FAR = 1e18


def nearest_in(points: Array, k: int) -> tuple[Array, Array]:
    """Squared distances to the k nearest other points of each point, in single precision, and their indices."""
    import torch

    n = len(points)
    placed = (points - points.mean(0)).float().contiguous()
    kernels = triton_kernels(points.device)
    if kernels is None or n <= 4 * SEED_TILES * TILE or 4 * k > SEED_TILES * TILE:
        return _by_force(placed, k, torch.arange(n, device=points.device))
    return _by_tiles(placed, k, kernels.collect)


def _by_force(points: Array, k: int, which: Array) -> tuple[Array, Array]:
    """All distances of some of the points, block by block."""
    import torch

    found = []
    for some in which.split(max(1, BLOCK // len(points))):
        s = _squares(points[some].T, points.T)
        s[torch.arange(len(s), device=s.device), some] = torch.inf
        found.append(s.topk(k, dim=1, largest=False))
    return torch.cat([values for values, _ in found]), torch.cat([indices for _, indices in found])


def _squares(points: Array, others: Array) -> Array:
    """Squared distances between points given as ... x r x m, one coordinate at a time.

    Computed from differences, not from squared norms: a radius must contain the neighbours it was measured from.
    """
    s = 0
    for d in range(points.shape[-2]):
        s = (points[..., d, :, None] - others[..., d, None, :]).square_().add_(s)
    return s


class PointTiles(NamedTuple):
    """Points sorted into T tiles of m places; some places repeat a point, to make the tiles equal."""

    order: Array  # T x m, the point in each place
    filled: Array  # T x m, False for repeats
    coordinates: Array  # T x r x m, infinite for repeats, so that they are nobody's neighbours
    low: Array  # T x r
    high: Array  # T x r
    centres: Array  # T x r, far away if the tile is empty


def _tiles(points: Array) -> PointTiles:
    """Split at the median of the widest direction, all tiles at once, until they are small enough."""
    import torch

    n, r = points.shape
    splits = max(0, int(np.ceil(np.log2(n / TILE))))
    places = torch.arange(-(-n // 2**splits) * 2**splits, device=points.device)[None]
    order, filled = places.clip(None, n - 1), places < n
    for _ in range(splits):
        columns = (points[:, d][order] for d in range(r))
        widest = torch.stack([column.amax(1) - column.amin(1) for column in columns]).argmax(0)
        rank = points.reshape(-1)[order * r + widest[:, None]].argsort(dim=1)
        half = (2 * len(order), order.shape[1] // 2)
        order, filled = order.gather(1, rank).reshape(half), filled.gather(1, rank).reshape(half)
    known, inside = points[order].transpose(1, 2).contiguous(), filled[:, None]
    coordinates = known.masked_fill(~inside, torch.inf)
    high = known.masked_fill(~inside, -torch.inf).amax(2)
    centres = known.masked_fill(~inside, torch.nan).nanmean(2).nan_to_num(FAR)
    return PointTiles(order, filled, coordinates, coordinates.amin(2), high, centres)


def _by_tiles(points: Array, k: int, collect: Any) -> tuple[Array, Array]:
    """The k nearest, for some tiles at a time."""
    import torch

    n = len(points)
    tiles = _tiles(points)
    n_tiles, size = tiles.order.shape
    squares = torch.full((n, k), torch.inf, device=points.device)
    indices = torch.zeros((n, k), dtype=torch.int64, device=points.device)
    n_places = PLACES_EACH * k
    step = max(1, LAUNCH // (4 * max(n_tiles, size * n_places)))
    for start in range(0, n_tiles, step):
        some = slice(start, min(start + step, n_tiles))
        owners, left = tiles.order[some], tiles.filled[some]
        radii = _first_radii(tiles, some, k)
        for _ in range(ATTEMPTS):
            found, places, counts = collect(tiles.coordinates, some, radii, *_near_tiles(tiles, some, radii), n_places)
            best = found.topk(k, dim=2, largest=False)
            crowded = counts > n_places
            complete = left & (counts >= k) & ~crowded
            squares[owners[complete]] = best.values[complete]
            indices[owners[complete]] = tiles.order.reshape(-1)[places.gather(2, best.indices)[complete]]
            left = left & ~complete
            again = left & crowded
            if not again.any():
                break
            # The k nearest of those kept are no closer than the k nearest of all.
            radii = torch.where(again, _widened(best.values[:, :, -1]), -1)
        rest = owners[left]
        if len(rest):
            squares[rest], indices[rest] = _by_force(points, k, rest)
    return squares, indices


def _widened(radii: Array) -> Array:
    """Widen the radii slightly, so that rounding does not exclude the neighbour a radius was measured from."""
    return radii * (1 + 1e-5)


def _first_radii(tiles: PointTiles, some: slice, k: int) -> Array:
    """Squared distance from each point of some tiles to its k-th nearest in the tiles with the nearest centres."""
    import torch

    near = torch.cdist(tiles.centres[some], tiles.centres).topk(SEED_TILES, dim=1, largest=False).indices
    radii = []
    step = max(1, BLOCK // (SEED_TILES * TILE**2))
    for start in range(0, len(near), step):
        part = slice(start, start + step)
        theirs, own, order = near[part], tiles.coordinates[some][part], tiles.order[some][part]
        s = _squares(own, tiles.coordinates[theirs].transpose(1, 2).flatten(2))  # tiles x m x candidates
        s.masked_fill_(order[:, :, None] == tiles.order[theirs].flatten(1)[:, None], torch.inf)
        radii.append(s.topk(k, dim=2, largest=False).values[:, :, -1])
    return torch.where(tiles.filled[some], _widened(torch.cat(radii)), -1)


def _near_tiles(tiles: PointTiles, some: slice, radii: Array) -> tuple[Array, Array]:
    """Find, for each of some tiles, those whose boxes come within the radius of any of its points: rows and columns."""
    import torch

    gap = torch.zeros((some.stop - some.start, len(tiles.low)), device=radii.device)
    for low, high in zip(tiles.low.T, tiles.high.T, strict=True):
        gap += torch.maximum(low - high[some, None], low[some, None] - high).clip_(0, None).square_()
    near = gap <= radii.amax(1, keepdim=True)
    starts = torch.zeros(len(near) + 1, dtype=torch.int64, device=near.device)
    starts[1:] = near.sum(1).cumsum(0)
    return starts, near.nonzero()[:, 1].to(torch.int32)
