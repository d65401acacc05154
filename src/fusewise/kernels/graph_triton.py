"""Triton kernels of the loop along a graph: edges, the Laplacian, and products with and inverses of small blocks.

Each reads its input once and writes its result once; general sparse products and batched solvers take five to ten
times as long for these shapes.
"""

from __future__ import annotations

import triton
import triton.language as tl

from fusewise.kernels.arrays import Array

#: Largest block whose inverse fits in the registers of a program.
LARGEST_BLOCK = 32

#: Most coordinates of points whose differences fit in the registers of a program, for an edge at a time or more.
LARGEST_POINT = 2048


def laplacian(indptr: Array, indices: Array, data: Array, degree: Array, points: Array) -> Array:
    """L u: d_i u_i - sum_j w_ij u_j, a program for each row."""
    n, r = points.shape
    out = points.new_empty(points.shape)
    width = max(2, triton.next_power_of_2(r))
    _laplacian[(n,)](indptr, indices, data, degree, points.contiguous(), out, r, width=width, chunk=32, num_warps=1)
    return out


def edge_squares(points: Array, first: Array, second: Array) -> Array:
    """||u_i - u_j||² of every edge; its two points stay in registers."""
    r, n_edges = points.shape[1], len(first)
    out = points.new_empty(n_edges)
    width = max(2, triton.next_power_of_2(r))
    some = max(1, 2048 // width)
    if n_edges:
        _edge_squares[(triton.cdiv(n_edges, some),)](
            first, second, points.contiguous(), out, n_edges, r, width=width, some=some, num_warps=4
        )
    return out


def block_products(blocks: Array, points: Array) -> Array:
    """G_i u_i."""
    n, r = points.shape
    out = points.new_empty(points.shape)
    width = max(2, triton.next_power_of_2(r))
    some = max(1, 2048 // width**2)
    _products[(triton.cdiv(n, some),)](blocks, points.contiguous(), out, n, r, width=width, some=some, num_warps=4)
    return out


def block_inverses(blocks: Array, shift: Array) -> Array:
    """(G_i + t_i I)^-1 for symmetric positive definite blocks, by Gauss-Jordan elimination in registers."""
    n, r, _ = blocks.shape
    out = blocks.new_empty(blocks.shape)
    width = max(2, triton.next_power_of_2(r))
    some = max(1, 1024 // width**2)
    _inverses[(triton.cdiv(n, some),)](blocks, shift, out, n, r=r, width=width, some=some, num_warps=4)
    return out


# Triton interprets annotations itself, so the kernels annotate only constants.


@triton.jit  # type: ignore[untyped-decorator]
def _laplacian(  # type: ignore[no-untyped-def]
    indptr, indices, data, degree, points, out, r, width: tl.constexpr, chunk: tl.constexpr
):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, width)
    inside = lane < r
    at, end = tl.load(indptr + i), tl.load(indptr + i + 1)
    own = tl.load(points + i * r + lane, mask=inside, other=0.0)
    row = tl.load(degree + i) * own
    while at < end:
        edge = at + tl.arange(0, chunk)
        there = edge < end
        j = tl.load(indices + edge, mask=there, other=0).to(tl.int64)
        w = tl.load(data + edge, mask=there, other=0.0)
        other = tl.load(points + j[:, None] * r + lane[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        row -= tl.sum(w[:, None] * other, 0)
        at += chunk
    tl.store(out + i * r + lane, row, mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _edge_squares(  # type: ignore[no-untyped-def]
    first, second, points, out, n, r, width: tl.constexpr, some: tl.constexpr
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
def _products(blocks, points, out, n, r, width: tl.constexpr, some: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0).to(tl.int64) * some + tl.arange(0, some)
    lane = tl.arange(0, width)
    rows, columns = lane[None, :, None], lane[None, None, :]
    vector = (i[:, None] < n) & (lane[None, :] < r)
    matrix = (i[:, None, None] < n) & (rows < r) & (columns < r)
    block = tl.load(blocks + i[:, None, None] * r * r + rows * r + columns, mask=matrix, other=0.0)
    point = tl.load(points + i[:, None] * r + lane[None, :], mask=vector, other=0.0)
    tl.store(out + i[:, None] * r + lane[None, :], tl.sum(block * point[:, None, :], 2), mask=vector)


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
