"""The k nearest neighbours of every point on a device: exact, except for the largest sets of points.

Points are sorted into tiles of a few dozen by median splits, so that each tile fills a small box. The tiles with the
nearest centres give every point k neighbours, and with them a radius that contains its true ones. A tile is then
compared only with the tiles whose boxes come within the radius of any of its points, by a kernel that keeps the few
distances below the radius and never writes the others to memory.

In ten dimensions every tile of a cluster comes within that radius of every other. If these are too many (beyond about a
million points), only the nearest ``MOST_TILES`` are searched, which misses few neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels._arrays import Array, torch_device
from fusewise.kernels._tensors import triton_kernels

#: Largest number of points in a tile: the distances between two tiles fit in the registers of a program.
TILE = 64

#: Nearest tiles whose points give the first radius.
SEED_TILES = 16

#: Candidates kept per neighbour, as the first radius contains more than k points. If it contains more than can be kept,
#: those kept give a smaller radius to try; after this many attempts, brute force is used.
PLACES_EACH, ATTEMPTS = 16, 4

#: Approximate largest number of tiles a tile is compared with (some hundred thousand points), and its tolerance.
MOST_TILES, HALVINGS = 2048, 6

#: Numbers in one block of distances, and in all the blocks of one launch of the kernel.
BLOCK, LAUNCH = 2**28, 2**30

#: A coordinate beyond all others whose square is still finite.
FAR = 1e18


def nearest(
    points: npt.NDArray[Any], k: int, device: str = "cuda"
) -> tuple[npt.NDArray[np.floating[Any]], npt.NDArray[np.intp]]:
    """Distances to the k nearest other points of each point, and their indices, nearest first.

    Distances are computed in single precision from centred coordinates; neighbours whose distances differ by less than
    that precision may be swapped.

    Parameters
    ----------
    points : N x r, real.
    k : number of neighbours, at most N - 1.
    device : see ``torch_device``; "cpu" means torch on the CPU here.
    """
    import torch

    n = len(points)
    if not 1 <= k < n:
        raise ValueError(f"k must be from 1 to {n - 1} for {n} points, got {k!r}")
    squares, indices = nearest_in(torch.from_numpy(points).to(torch_device(device) or "cpu"), k)
    return np.sqrt(squares.cpu().numpy()).astype(points.dtype), indices.cpu().numpy().astype(np.intp)


def nearest_in(points: Array, k: int) -> tuple[Array, Array]:
    """Squared distances to the k nearest other points and their indices, both on the device of the points."""
    import torch

    n = len(points)
    placed = (points - points.mean(0)).float()
    collect = _kernel(points.device)
    seeds = SEED_TILES * TILE
    if collect is None or n <= 4 * seeds or 4 * k > seeds:
        return _by_force(placed, placed, k, torch.arange(n, device=points.device))
    return _by_tiles(placed.contiguous(), k, collect)


def _kernel(device: Any) -> Any:
    """The kernel that compares tiles; None if Triton cannot run it."""
    if triton_kernels(device) is None:
        return None
    from fusewise.kernels._triton import collect

    return collect


def _by_force(queries: Array, points: Array, k: int, own: Array) -> tuple[Array, Array]:
    """All distances, block by block; `own` is the index of each query among the points."""
    import torch

    found = []
    step = max(1, BLOCK // len(points))
    for start in range(0, len(queries), step):
        s = _squares(queries[start : start + step].T, points.T)
        s[torch.arange(len(s)), own[start : start + step]] = torch.inf
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


@dataclass(frozen=True, eq=False)
class PointTiles:
    """Points sorted into T tiles of m.

    Attributes
    ----------
    order : T x m, the point at each position; some positions repeat a point, to make the tiles equal.
    filled : T x m, False for such repeats.
    coordinates : T x r x m, infinite for repeats, so that they are nobody's neighbours.
    """

    order: Array
    filled: Array
    coordinates: Array

    @classmethod
    def of(cls, points: Array) -> PointTiles:
        """Split at the median of the widest direction, all tiles at once, until they are small enough."""
        import torch

        n, r = points.shape
        splits = max(0, int(np.ceil(np.log2(n / TILE))))
        size = -(-n // 2**splits)
        order = torch.arange(size * 2**splits, device=points.device)
        order = order.clip(None, n - 1).reshape(1, -1)
        filled = (torch.arange(order.numel(), device=points.device) < n).reshape(1, -1)
        for _ in range(splits):
            widest = torch.stack([_spread(points[:, d][order]) for d in range(r)]).argmax(0)
            keys = points.reshape(-1)[order * r + widest[:, None]]
            rank = keys.argsort(dim=1)
            half = (2 * len(order), order.shape[1] // 2)
            order, filled = order.gather(1, rank).reshape(half), filled.gather(1, rank).reshape(half)
        coordinates = torch.where(filled[:, :, None], points[order], torch.inf)
        return cls(order, filled, coordinates.transpose(1, 2).contiguous())

    @cached_property
    def boxes(self) -> tuple[Array, Array]:
        """Smallest and largest coordinates of each tile, T x r."""
        high = self.coordinates.masked_fill(~self.filled[:, None], -np.inf)
        return self.coordinates.amin(2), high.amax(2)

    @cached_property
    def centres(self) -> Array:
        """Mean of each tile, T x r; infinite if it is empty."""
        counts = self.filled.sum(1)[:, None]
        sums = self.coordinates.masked_fill(~self.filled[:, None], 0).sum(2)
        return (sums / counts.clip(1, None)).masked_fill(counts == 0, FAR)


def _spread(values: Array) -> Array:
    return values.amax(1) - values.amin(1)


def _by_tiles(points: Array, k: int, collect: Any) -> tuple[Array, Array]:
    import torch

    n = len(points)
    tiles = PointTiles.of(points)
    n_tiles, _, size = tiles.coordinates.shape
    squares = torch.full((n, k), torch.inf, device=points.device)
    indices = torch.zeros((n, k), dtype=torch.int64, device=points.device)
    n_places = PLACES_EACH * k
    step = max(1, min(LAUNCH // (4 * max(n_tiles, size * n_places)), n_tiles))
    for start in range(0, n_tiles, step):
        some = slice(start, min(start + step, n_tiles))
        owners, left = tiles.order[some], tiles.filled[some]
        radii = _first_radii(tiles, some, k)
        for _ in range(ATTEMPTS):
            found, places, counts = collect(tiles.coordinates, some, radii, *_near_tiles(tiles, some, radii), n_places)
            best = found.topk(k, dim=2, largest=False)
            chosen = tiles.order.reshape(-1)[places.gather(2, best.indices)]
            enough, crowded = counts >= k, counts > n_places
            complete = left & enough & ~crowded
            squares[owners[complete]], indices[owners[complete]] = best.values[complete], chosen[complete]
            left = left & ~complete
            again = left & crowded
            if not again.any():
                break
            # The k nearest of those kept are no closer than the k nearest of all.
            radii = torch.where(again, _widened(best.values[:, :, -1]), -1)
        rest = owners[left]
        if len(rest):
            squares[rest], indices[rest] = _by_force(points[rest], points, k, rest)
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
    for start in range(some.start, some.stop, step):
        part = slice(start, min(start + step, some.stop))
        theirs = near[part.start - some.start : part.stop - some.start]
        others = tiles.coordinates[theirs].transpose(1, 2).flatten(2)  # tiles x r x candidates
        s = _squares(tiles.coordinates[part], others)
        # Neither repeats nor the point itself are neighbours.
        repeats = ~tiles.filled[theirs].flatten(1)
        own = tiles.order[part][:, :, None] == tiles.order[theirs].flatten(1)[:, None]
        s.masked_fill_(repeats[:, None] | own, torch.inf)
        radii.append(s.topk(k, dim=2, largest=False).values[:, :, -1])
    return torch.where(tiles.filled[some], _widened(torch.cat(radii)), -1)


def _near_tiles(tiles: PointTiles, some: slice, radii: Array) -> tuple[Array, Array]:
    """Find, for each of some tiles, those whose boxes come within the radius of any of its points: rows and columns.

    Of more than ``MOST_TILES`` the nearest, by bisection of the radius until about this many are left.
    """
    import torch

    low, high = tiles.boxes
    gap = torch.zeros((some.stop - some.start, len(low)), device=low.device)
    for d in range(low.shape[1]):
        apart = torch.maximum(low[None, :, d] - high[some, None, d], low[some, None, d] - high[None, :, d])
        gap += apart.clip_(0, None).square_()
    reach = radii.amax(1)
    crowded = ((gap <= reach[:, None]).sum(1) > MOST_TILES).nonzero()[:, 0]
    if len(crowded):
        theirs, few, many = gap[crowded], torch.zeros_like(reach[crowded]), reach[crowded]
        for _ in range(HALVINGS):
            middle = (few + many) / 2
            fits = (theirs <= middle[:, None]).sum(1) <= MOST_TILES
            few, many = torch.where(fits, middle, few), torch.where(fits, many, middle)
        reach[crowded] = many
    near = gap <= reach[:, None]
    starts = torch.zeros(len(near) + 1, dtype=torch.int64, device=low.device)
    starts[1:] = near.sum(1).cumsum(0)
    return starts, near.nonzero()[:, 1].to(torch.int32)
