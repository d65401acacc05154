"""The kernel of ``nearest_torch``: compare a tile of points with others and keep the points within the radius."""

from __future__ import annotations

import triton
import triton.language as tl

from fusewise.kernels.arrays import Array


def collect(
    coordinates: Array, some: slice, radii: Array, starts: Array, near: Array, n_places: int
) -> tuple[Array, Array, Array]:
    """Find, for each point of some tiles, the other points of the nearby tiles within its radius.

    Parameters
    ----------
    coordinates : T x r x m.
    some : the tiles to process.
    radii : squared radii of their points, tiles x m.
    starts, near : tile i is compared with tiles near[starts[i]:starts[i + 1]].
    n_places : number of points to keep for each.

    Returns
    -------
    Squared distances (infinite where there is none) and positions in the order of tiles, both tiles x m x n_places, and
    the number found, of which at most n_places are kept.
    """
    import torch

    _, r, size = coordinates.shape
    shape = (some.stop - some.start, size)
    squares = torch.full((*shape, n_places), torch.inf, device=coordinates.device)
    places = torch.zeros((*shape, n_places), dtype=torch.int32, device=coordinates.device)
    counts = torch.zeros(shape, dtype=torch.int32, device=coordinates.device)
    width = triton.next_power_of_2(size)
    _collect[(shape[0],)](
        coordinates, radii, starts, near, squares, places, counts,
        some.start, size, n_places, r=r, width=width, num_warps=2,
    )  # fmt: skip
    return squares, places.to(torch.int64), counts


@triton.jit  # type: ignore[untyped-decorator]
def _collect(  # type: ignore[no-untyped-def]  # Triton interprets annotations itself
    coordinates, radii, starts, near, squares, places, counts,
    first, size, n_places, r: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    tile = (row + first).to(tl.int64)
    lane = tl.arange(0, width)
    inside = lane < size
    radius = tl.load(radii + row * size + lane, mask=inside, other=-1.0)
    count = tl.zeros((width,), tl.int32)
    base = (row.to(tl.int64) * size + lane) * n_places
    at, end = tl.load(starts + row), tl.load(starts + row + 1)
    while at < end:
        other = tl.load(near + at).to(tl.int64)
        square = tl.zeros((width, width), tl.float32)
        for d in range(r):
            mine = tl.load(coordinates + (tile * r + d) * size + lane, mask=inside, other=0.0)
            theirs = tl.load(coordinates + (other * r + d) * size + lane, mask=inside, other=0.0)
            difference = mine[None, :] - theirs[:, None]
            square += difference * difference
        kept = (square <= radius[None, :]) & inside[:, None]
        kept = kept & ((lane[:, None] != lane[None, :]) | (tile != other))
        found = tl.sum(kept.to(tl.int32), 0)
        if tl.max(found) > 0:  # in most tiles none
            place = count[None, :] + tl.cumsum(kept.to(tl.int32), 0) - 1
            room = kept & (place < n_places)
            tl.store(squares + base[None, :] + place, square, mask=room)
            tl.store(places + base[None, :] + place, (other * size + lane[:, None]).to(tl.int32), mask=room)
            count += found
        at += 1
    tl.store(counts + row * size + lane, count, mask=inside)
