"""Compiled steps of fusion along a graph, where a centre is held by n_ip entries with mean m_ip in each column p.

The quadratic that majorises the objective,  sum_ip n_ip (u_ip - m_ip)² + lam sum_ij w_ij ||u_i - u_j||²,  has the
minimum  n_ip u_ip + t sum_j w_ij (u_ip - u_jp) = n_ip m_ip  with t = 2 lam: a system for each column, all with the same
graph. Besides its solution by conjugate gradients there are the loops of nonlinear conjugate gradients on the objective
itself. Arrays of N x P numbers are written once and read in one loop: allocating temporary ones would take longer than
the arithmetic. Sums over many numbers are taken in double precision, row by row, so that ranges of rows run on threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from fusewise.kernels._arrays import Real
from fusewise.kernels._compiling import compiled
from fusewise.kernels._graph import Integers
from fusewise.kernels._threads import in_threads, threads_for


@dataclass(frozen=True, eq=False)
class ColumnSystems:
    """n_ip u_ip + t sum_j w_ij (u_ip - u_jp) = n_ip m_ip, for every column p."""

    # counts, means: N x P, the n and m
    counts: Real
    means: Real
    # indptr, indices, data: the w_ij in compressed sparse rows, symmetric
    indptr: Integers
    indices: Integers
    data: Real
    degree: Real  # sum_j w_ij
    coupling: float  # t
    spare: list[Any] = field(default_factory=list)  # arrays for intermediate results, kept from one call to the next

    def solve(self, centers: Real, laplacian: Real, *, shrink: float, max_steps: int) -> Real:
        """Approach the solution from `centers`, given sum_j w_ij (u_i - u_j) there.

        Conjugate gradients, preconditioned by the diagonal, until the residual of every column has shrunk by `shrink`.
        """
        solved = centers.copy()
        p = solved.shape[1]
        # Columns are independent, so that threads share nothing but the graph.
        parts = min(threads_for(len(self.data) * p * max_steps), p)
        cuts = [p * k // parts for k in range(parts + 1)]

        def work(ends: tuple[int, int]) -> None:
            room = self._take_room(ends[1] - ends[0], solved.dtype)
            _solve_columns(
                self.counts, self.means, self.indptr, self.indices, self.data, self.degree, self.coupling,
                laplacian, solved, room, shrink, max_steps, *ends,
            )  # fmt: skip
            self.spare.append(room)

        for _ in in_threads(work, list(pairwise(cuts))):
            pass
        return solved

    def _take_room(self, width: int, dtype: Any) -> Real:
        """Three arrays of N x width numbers; of those that are kept, where they have this size."""
        shape = (3, len(self.degree), width)
        while self.spare:
            room: Real = self.spare.pop()
            if room.shape == shape and room.dtype == dtype:
                return room
        return np.empty(shape, dtype)


def misfit(counts: Real, means: Real, centers: Real) -> float:
    """sum_ip n_ip (u_ip - m_ip)²."""
    sums = np.empty(len(centers))
    _misfits.in_ranges(len(centers), centers.shape[1], counts, means, centers, sums)
    return float(sums.sum())


def scatter(weights: Real, mean: Real, centers: Real) -> float:
    """sum_i d_i ||u_i - m||²."""
    sums = np.empty(len(centers))
    _scatters.in_ranges(len(centers), centers.shape[1], weights, mean, centers, sums)
    return float(sums.sum())


def squared_gradients(counts: Real, means: Real, centers: Real, laplacian: Real, coupling: float) -> Real:
    """sum_p (n_ip (u_ip - m_ip) + t (L u)_ip)² for each i: a quarter of the squared gradient."""
    sums = np.empty(len(centers))
    _squared_gradients.in_ranges(len(centers), centers.shape[1], counts, means, centers, laplacian, coupling, sums)
    return sums


@compiled(shapes=("N P", "N P", "N P", "N", "", ""))
def _misfits(counts: Any, means: Any, centers: Any, sums: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        held, mean, center, square = counts[i], means[i], centers[i], 0.0
        for q in range(len(center)):
            difference = center[q] - mean[q]
            square += held[q] * difference * difference
        sums[i] = square


@compiled(shapes=("N", "P", "N P", "N", "", ""))
def _scatters(weights: Any, mean: Any, centers: Any, sums: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        center, square = centers[i], 0.0
        for q in range(len(center)):
            difference = center[q] - mean[q]
            square += difference * difference
        sums[i] = weights[i] * square


@compiled(shapes=("N P", "N P", "N P", "N P", "", "N", "", ""))
def _squared_gradients(
    counts: Any, means: Any, centers: Any, laplacian: Any, coupling: float, sums: Any, begin: int, end: int
) -> None:
    for i in range(begin, end):
        held, mean, center, pull, square = counts[i], means[i], centers[i], laplacian[i], 0.0
        for q in range(len(center)):
            slope = held[q] * (center[q] - mean[q]) + coupling * pull[q]
            square += slope * slope
        sums[i] = square


@compiled
def _begin_columns(
    counts: Any, means: Any, degree: Any, coupling: float, laplacian: Any, centers: Any, residual: Any,
    direction: Any, energy: Any, begin: int,
) -> None:  # fmt: skip
    """Residuals and their energies at the centres, and no direction yet."""
    n, p = direction.shape
    end = begin + p
    for i in range(n):
        held, mean, center = counts[i, begin:end], means[i, begin:end], centers[i, begin:end]
        pull, row, rest, own = laplacian[i, begin:end], direction[i], residual[i], coupling * degree[i]
        for q in range(p):
            rest[q] = held[q] * (mean[q] - center[q]) - coupling * pull[q]
            weight = held[q] + own
            energy[q] += rest[q] * rest[q] / (weight if weight > 0 else 1)
            row[q] = 0


@compiled(shapes=("N P", "N P", "ends", "halves", "halves", "N", "", "N P", "N P", "three N width", "", "", "", ""))
def _solve_columns(
    counts: Any, means: Any, indptr: Any, indices: Any, data: Any, degree: Any, coupling: float, laplacian: Any,
    centers: Any, room: Any, shrink: float, max_steps: int, begin: int, end: int,
) -> None:  # fmt: skip
    residual, direction, pushed = room[0], room[1], room[2]
    n, p = direction.shape
    energy, before, length = np.zeros(p), np.zeros(p), np.zeros(p)
    _begin_columns(counts, means, degree, coupling, laplacian, centers, residual, direction, energy, begin)
    goal = shrink * shrink * energy
    for step in range(max_steps):
        if np.all(energy <= goal):
            break
        for q in range(p):
            length[q] = energy[q] / before[q] if step > 0 and before[q] > 0 else 0
            before[q] = energy[q]
        for i in range(n):
            row, rest, held, own = direction[i], residual[i], counts[i, begin:end], coupling * degree[i]
            for q in range(p):
                weight = held[q] + own
                row[q] = rest[q] / (weight if weight > 0 else 1) + length[q] * row[q]
        length[:] = 0
        for i in range(n):
            row, push, held, own = direction[i], pushed[i], counts[i, begin:end], degree[i]
            for q in range(p):
                push[q] = own * row[q]
            for e in range(indptr[i], indptr[i + 1]):
                w = data[e]
                other = direction[indices[e]]
                for q in range(p):
                    push[q] -= w * other[q]
            for q in range(p):
                push[q] = held[q] * row[q] + coupling * push[q]
                length[q] += row[q] * push[q]
        for q in range(p):
            length[q] = energy[q] / length[q] if length[q] > 0 else 0
            energy[q] = 0
        for i in range(n):
            row, push, rest, center = direction[i], pushed[i], residual[i], centers[i, begin:end]
            held, own = counts[i, begin:end], coupling * degree[i]
            for q in range(p):
                center[q] += length[q] * row[q]
                rest[q] -= length[q] * push[q]
                weight = held[q] + own
                energy[q] += rest[q] * rest[q] / (weight if weight > 0 else 1)


@dataclass(frozen=True)
class Line:
    """The misfit sum_ip n_ip (u_ip - m_ip)² along u + a v: that at u + 2 a tilt + a² bend, and the slope at u."""

    # tilt, bend: sum_ip n_ip (u_ip - m_ip) v_ip and sum_ip n_ip v_ip²
    tilt: float
    bend: float
    slope: float  # sum_ip g_ip v_ip, half the derivative of the whole objective in a at 0


def update_gradient(
    counts: Real, means: Real, centers: Real, laplacian: Real, degree: Real, coupling: float, g: Real
) -> tuple[float, float]:
    """Overwrite an earlier g with g_ip = n_ip (u_ip - m_ip) + t (L u)_ip, half the gradient.

    Returns <C g, g> and <C g, earlier g>, where C divides by n_ip + t d_i.
    """
    sums = np.empty((len(g), 2))
    _gradient.in_ranges(len(g), 4 * g.shape[1], counts, means, centers, laplacian, degree, coupling, g, sums)
    own, earlier = sums.sum(axis=0)
    return float(own), float(earlier)


def update_direction(
    counts: Real, means: Real, centers: Real, degree: Real, coupling: float, g: Real, v: Real, share: float
) -> Line:
    """Overwrite an earlier direction v with -C g + share v, where C divides by n_ip + t d_i."""
    sums = np.empty((len(g), 3))
    _direction.in_ranges(len(g), 5 * g.shape[1], counts, means, centers, degree, coupling, g, v, share, sums)
    return Line(*(float(one) for one in sums.sum(axis=0)))


def edge_products(points: Real, moves: Real, first: Integers, second: Integers) -> tuple[Real, Real]:
    """<u_i - u_j, v_i - v_j> and ||v_i - v_j||² for every edge (i, j)."""
    cross, squares = np.empty((2, len(first)), points.dtype)
    _edge_products.in_ranges(len(first), 2 * points.shape[1], points, moves, first, second, cross, squares)
    return cross, squares


def squares_at(length: float, s: Real, cross: Real, squares: Real) -> Real:
    """||u_i - u_j||² for every edge at the end of a step of this `length`, from s at its start and edge products."""
    stepped = np.empty_like(s)
    _squares_at.in_ranges(len(s), 1, length, s, cross, squares, stepped)
    return stepped


def slope_at(length: float, affinity: Real, weights: Real, cross: Real, squares: Real) -> float:
    """sum_e c_e w_e <u_i - u_j, v_i - v_j> at the end of a step of this `length`, with the weights there."""
    return float(_slope_at(length, affinity, weights, cross, squares))


@compiled(shapes=("N P", "N P", "N P", "N P", "N", "", "N P", "N 2", "", ""))
def _gradient(
    counts: Any, means: Any, centers: Any, laplacian: Any, degree: Any, coupling: float, g: Any, sums: Any,
    begin: int, end: int,
) -> None:  # fmt: skip
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
    counts: Any, means: Any, centers: Any, degree: Any, coupling: float, g: Any, v: Any, share: float, sums: Any,
    begin: int, end: int,
) -> None:  # fmt: skip
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
