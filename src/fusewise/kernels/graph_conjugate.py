"""Compiled loops of nonlinear conjugate gradients along a graph (see ``fusion.conjugate``).

A centre u_i is held by n_ip entries with mean m_ip in each column p, and pulled by weights w_ij along the edges. Sums
over many numbers are taken in double precision, row by row, so that ranges of rows run on threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.kernels.compiling import compiled
from fusewise.kernels.graph import Integers
from fusewise.kernels.threads import in_ranges
from fusewise.kernels.types import Real


@dataclass(frozen=True)
class Line:
    """The misfit sum_ip n_ip (u_ip - m_ip)² along u + a v: that at u + 2 a tilt + a² bend, and the slope at u.

    Attributes
    ----------
    tilt, bend : sum_ip n_ip (u_ip - m_ip) v_ip and sum_ip n_ip v_ip².
    slope : sum_ip g_ip v_ip, half the derivative of the whole objective in a at 0.
    """

    tilt: float
    bend: float
    slope: float


def gradient(
    counts: Real, means: Real, centers: Real, laplacian: Real, degree: Real, coupling: float, g: Real
) -> tuple[float, float]:
    """Overwrite an earlier g with g_ip = n_ip (u_ip - m_ip) + t (L u)_ip, half the gradient.

    Returns
    -------
    <C g, g> and <C g, earlier g>, where C divides by n_ip + t d_i.
    """
    sums = np.empty((len(g), 2))
    in_ranges(
        len(g),
        4 * g.shape[1],
        lambda begin, end: _gradient(counts, means, centers, laplacian, degree, coupling, g, sums, begin, end),
    )
    own, earlier = sums.sum(axis=0)
    return float(own), float(earlier)


def direction(
    counts: Real, means: Real, centers: Real, degree: Real, coupling: float, g: Real, v: Real, share: float
) -> Line:
    """Overwrite an earlier direction v with -C g + share v, where C divides by n_ip + t d_i."""
    sums = np.empty((len(g), 3))
    in_ranges(
        len(g),
        5 * g.shape[1],
        lambda begin, end: _direction(counts, means, centers, degree, coupling, g, v, share, sums, begin, end),
    )
    return Line(*(float(one) for one in sums.sum(axis=0)))


def edge_products(points: Real, moves: Real, first: Integers, second: Integers) -> tuple[Real, Real]:
    """<u_i - u_j, v_i - v_j> and ||v_i - v_j||² for every edge (i, j)."""
    cross, squares = np.empty((2, len(first)), points.dtype)
    in_ranges(
        len(first),
        2 * points.shape[1],
        lambda begin, end: _edge_products(points, moves, first, second, cross, squares, begin, end),
    )
    return cross, squares


def squares_at(length: float, s: Real, cross: Real, squares: Real) -> Real:
    """||u_i - u_j||² for every edge at the end of a step of this `length`, from s at its start and edge products."""
    stepped = np.empty_like(s)
    in_ranges(len(s), 1, lambda begin, end: _squares_at(length, s, cross, squares, stepped, begin, end))
    return stepped


def slope_at(length: float, affinity: Real, weights: Real, cross: Real, squares: Real) -> float:
    """sum_e c_e w_e <u_i - u_j, v_i - v_j> at the end of a step of this `length`, with the weights there."""
    return float(_slope_at(length, affinity, weights, cross, squares))


@compiled(shapes=("N P", "N P", "N P", "N P", "N", "", "N P", "N 2", "", ""))
def _gradient(
    counts: Any,
    means: Any,
    centers: Any,
    laplacian: Any,
    degree: Any,
    coupling: float,
    g: Any,
    sums: Any,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        held, mean, center, pull, row = counts[i], means[i], centers[i], laplacian[i], g[i]
        own, both, pulled = 0.0, 0.0, coupling * degree[i]
        for q in range(len(row)):
            slope = held[q] * (center[q] - mean[q]) + coupling * pull[q]
            weight = held[q] + pulled
            scaled = slope / (weight if weight > 0 else 1)
            own += scaled * slope
            both += scaled * row[q]
            row[q] = slope
        sums[i, 0], sums[i, 1] = own, both


@compiled(shapes=("N P", "N P", "N P", "N", "", "N P", "N P", "", "N 3", "", ""))
def _direction(
    counts: Any,
    means: Any,
    centers: Any,
    degree: Any,
    coupling: float,
    g: Any,
    v: Any,
    share: float,
    sums: Any,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        held, mean, center, slope, row = counts[i], means[i], centers[i], g[i], v[i]
        tilt, bend, down, pulled = 0.0, 0.0, 0.0, coupling * degree[i]
        for q in range(len(row)):
            weight = held[q] + pulled
            move = share * row[q] - slope[q] / (weight if weight > 0 else 1)
            row[q] = move
            tilt += held[q] * (center[q] - mean[q]) * move
            bend += held[q] * move * move
            down += slope[q] * move
        sums[i, 0], sums[i, 1], sums[i, 2] = tilt, bend, down


@compiled(shapes=("N P", "N P", "E", "E", "E", "E", "", ""))
def _edge_products(
    points: Any, moves: Any, first: Any, second: Any, cross: Any, squares: Any, begin: int, end: int
) -> None:
    for e in range(begin, end):
        i, j = first[e], second[e]
        a, b, c, d = points[i], points[j], moves[i], moves[j]
        both = square = points.dtype.type(0)
        for p in range(points.shape[1]):
            apart = c[p] - d[p]
            both += (a[p] - b[p]) * apart
            square += apart * apart
        cross[e], squares[e] = both, square


@compiled(shapes=("", "E", "E", "E", "E", "", ""))
def _squares_at(length: float, s: Any, cross: Any, squares: Any, stepped: Any, begin: int, end: int) -> None:
    for e in range(begin, end):
        # Rounding may make it negative where the ends meet.
        stepped[e] = max(s[e] + length * (2 * cross[e] + length * squares[e]), 0.0)


@compiled(shapes=("", "E", "E", "E", "E"))
def _slope_at(length: float, affinity: Any, weights: Any, cross: Any, squares: Any) -> float:
    total = 0.0
    for e in range(len(cross)):
        total += affinity[e] * weights[e] * (cross[e] + length * squares[e])
    return total
