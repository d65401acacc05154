"""Triton kernels: edges, the Laplacian, small blocks, and the comparison of tiles of points.

Each reads its input once and writes its result once; general sparse products and batched solvers take two to ten times
as long for these shapes. The numbers of rows, edges and warps in a program are the fastest of those measured on an H200
for points of ten coordinates (``benchmarks/gpu.py``).
"""

from __future__ import annotations

import triton
import triton.language as tl

from fusewise.kernels._arrays import Array

#: Largest block that fits in the registers of a program.
LARGEST_BLOCK = 32

#: Most coordinates of points whose differences fit in the registers of a program, for an edge at a time or more.
LARGEST_POINT = 2048


def laplacian(indptr: Array, indices: Array, data: Array, degree: Array, points: Array) -> Array:
    """L u: d_i u_i - sum_j w_ij u_j, a warp for a few rows, or several for a row of many coordinates."""
    n, r = points.shape
    out = points.new_empty(points.shape)
    width = max(2, triton.next_power_of_2(r))
    rows, warps = max(1, 64 // width), min(max(1, width // 64), 8)
    _laplacian[(triton.cdiv(n, rows),)](
        indptr, indices, data, degree, points.contiguous(), out, n,
        r=r, width=width, rows=rows, chunk=8, num_warps=warps,
    )  # fmt: skip
    return out


def edge_squares(points: Array, first: Array, second: Array) -> Array:
    """||u_i - u_j||² of every edge; its two points stay in registers."""
    r, n_edges = points.shape[1], len(first)
    out = points.new_empty(n_edges)
    width = max(2, triton.next_power_of_2(r))
    some = max(1, 1024 // width)
    if n_edges:
        _edge_squares[(triton.cdiv(n_edges, some),)](
            first, second, points.contiguous(), out, n_edges, r=r, width=width, some=some, num_warps=2
        )
    return out


def block_products(blocks: Array, points: Array) -> Array:
    """G_i u_i for symmetric blocks, a column of theirs at a time."""
    n, r = points.shape
    out = points.new_empty(points.shape)
    width = max(2, triton.next_power_of_2(r))
    some = max(1, 1024 // width)
    _products[(triton.cdiv(n, some),)](
        blocks.contiguous(), points.contiguous(), out, n, r=r, width=width, some=some, num_warps=4
    )
    return out


def block_inverses(blocks: Array, shift: Array) -> Array:
    """(G_i + t_i I)^-1 for symmetric positive definite blocks, by Gauss-Jordan elimination in registers."""
    n, r, _ = blocks.shape
    blocks, shift, out = blocks.contiguous(), shift.contiguous(), blocks.new_empty(blocks.shape)
    width = max(2, triton.next_power_of_2(r))
    some = max(1, 1024 // width**2)
    _inverses[(triton.cdiv(n, some),)](blocks, shift, out, n, r=r, width=width, some=some, num_warps=4)
    return out


def collect(
    coordinates: Array, some: slice, radii: Array, starts: Array, near: Array, n_places: int
) -> tuple[Array, Array, Array]:
    """Find, for each point of some tiles, the other points of the nearby tiles within its squared radius.

    Tile i is compared with tiles near[starts[i]:starts[i + 1]]. Returns squared distances (infinite where there is
    none) and positions in the order of tiles, both tiles x m x n_places, and the number found, of which at most
    n_places are kept.
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


# Triton interprets annotations itself, so the kernels annotate only constants.


@triton.jit  # type: ignore[untyped-decorator]
def _laplacian(  # type: ignore[no-untyped-def]
    indptr, indices, data, degree, points, out, n,
    r: tl.constexpr, width: tl.constexpr, rows: tl.constexpr, chunk: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)
    lane = tl.arange(0, width)
    there, inside = i < n, lane < r
    where = i[:, None] * r + lane[None, :]
    known = there[:, None] & inside[None, :]
    at, end = tl.load(indptr + i, mask=there, other=0), tl.load(indptr + i + 1, mask=there, other=0)
    row = tl.load(degree + i, mask=there, other=0.0)[:, None] * tl.load(points + where, mask=known, other=0.0)
    done, longest = 0, tl.max(end - at)
    while done < longest:
        edge = at[:, None] + done + tl.arange(0, chunk)[None, :]
        left = edge < end[:, None]
        j = tl.load(indices + edge, mask=left, other=0).to(tl.int64)
        w = tl.load(data + edge, mask=left, other=0.0)
        seen = left[:, :, None] & inside[None, None, :]
        other = tl.load(points + j[:, :, None] * r + lane[None, None, :], mask=seen, other=0.0)
        row -= tl.sum(w[:, :, None] * other, 1)
        done += chunk
    tl.store(out + where, row, mask=known)


@triton.jit  # type: ignore[untyped-decorator]
def _edge_squares(  # type: ignore[no-untyped-def]
    first, second, points, out, n, r: tl.constexpr, width: tl.constexpr, some: tl.constexpr
):
    edge = tl.program_id(0).to(tl.int64) * some + tl.arange(0, some)
    there = edge < n
    i = tl.load(first + edge, mask=there, other=0).to(tl.int64)
    j = tl.load(second + edge, mask=there, other=0).to(tl.int64)
    lane = tl.arange(0, width)
    inside = there[:, None] & (lane[None, :] < r)
    one = tl.load(points + i[:, None] * r + lane[None, :], mask=inside, other=0.0)
    other = tl.load(points + j[:, None] * r + lane[None, :], mask=inside, other=0.0)
    difference = one - other
    tl.store(out + edge, tl.sum(difference * difference, 1), mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _products(  # type: ignore[no-untyped-def]
    blocks, points, out, n, r: tl.constexpr, width: tl.constexpr, some: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * some + tl.arange(0, some)
    lane = tl.arange(0, width)
    there = i < n
    known = there[:, None] & (lane[None, :] < r)
    total = tl.zeros((some, width), points.dtype.element_ty)
    for k in tl.static_range(r):
        u = tl.load(points + i * r + k, mask=there, other=0.0)
        # Row k, which is also column k, lies together in memory.
        total += u[:, None] * tl.load(blocks + (i[:, None] * r + k) * r + lane[None, :], mask=known, other=0.0)
    tl.store(out + i[:, None] * r + lane[None, :], total, mask=known)


@triton.jit  # type: ignore[untyped-decorator]
def _inverses(  # type: ignore[no-untyped-def]
    blocks, shift, out, n, r: tl.constexpr, width: tl.constexpr, some: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64) * some + tl.arange(0, some)
    lane = tl.arange(0, width)
    rows, columns = lane[None, :, None], lane[None, None, :]
    there = (i[:, None, None] < n) & (rows < r) & (columns < r)
    where = i[:, None, None] * r * r + rows * r + columns
    t = tl.load(shift + i, mask=i < n, other=1.0)
    system = tl.load(blocks + where, mask=there, other=0.0) + tl.where(rows == columns, t[:, None, None], 0.0)
    for p in tl.static_range(r):
        row = tl.sum(tl.where(rows == p, system, 0.0), 1)
        column = tl.sum(tl.where(columns == p, system, 0.0), 2)
        pivot = tl.sum(tl.where(lane[None, :] == p, row, 0.0), 1)
        row, column = row / pivot[:, None], column / pivot[:, None]
        eliminated = system - (column * pivot[:, None])[:, :, None] * row[:, None, :]
        eliminated = tl.where(rows == p, row[:, None, :], eliminated)
        eliminated = tl.where(columns == p, -column[:, :, None], eliminated)
        system = tl.where((rows == p) & (columns == p), 1 / pivot[:, None, None], eliminated)
    tl.store(out + where, system, mask=there)


@triton.jit  # type: ignore[untyped-decorator]
def _collect(  # type: ignore[no-untyped-def]
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
        own = lane + ((tile - other) * width).to(tl.int32)  # the lane of the point itself, if this is its tile
        kept = (square <= radius[None, :]) & inside[:, None] & (lane[:, None] != own[None, :])
        found = tl.sum(kept.to(tl.int32), 0)
        if tl.max(found) > 0:  # in most tiles none
            place = count[None, :] + tl.cumsum(kept.to(tl.int32), 0) - 1
            room = kept & (place < n_places)
            tl.store(squares + base[None, :] + place, square, mask=room)
            tl.store(places + base[None, :] + place, (other * size + lane[:, None]).to(tl.int32), mask=room)
            count += found
        at += 1
    tl.store(counts + row * size + lane, count, mask=inside)
