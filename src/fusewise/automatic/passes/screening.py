"""Loops over rows and components that keep, of each row, the components whose density is not negligible.

The bounds that they compare are derived in ``nearby``. Each loop takes rows in an order in which those with the same
columns missing follow each other, so that what depends on these alone is computed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.automatic.models.spreads import TAIL
from fusewise.kernels.compiling import compiled
from fusewise.kernels.types import Index, Real


def in_room(n: int, k: int, fill: Any) -> tuple[Index, Index, Real, Real]:
    """Call a loop with arrays for what it finds, larger ones until they suffice."""
    room = 16 * n
    while True:
        begin = np.zeros(n + 1, np.int64)
        component, density, distance = np.empty(room, np.int64), np.empty(room), np.empty(room)
        needed = int(fill(begin, component, density, distance))
        if needed <= room:
            return begin, component[:needed], density[:needed], distance[:needed]
        room = min(max(needed, 2 * room), n * k)


@compiled
def _whiten(root: Any, means: Any, whitened: Any) -> None:
    """The products of a lower triangular matrix with K vectors (K x r), as columns of r x K."""
    for k in range(len(means)):
        for j in range(len(root)):
            total = 0.0
            for m in range(j + 1):
                total += root[j, m] * means[k, m]
            whitened[j, k] = total


@compiled(shapes=("N r", "N", "N", "N", "U r r", "U r r", "K r", "K r r", "K", "K", "K", "", "M", "R", "R", "R"))
def screen_components(
    places: Any, pattern: Any, dimensions: Any, rows: Any, covariances: Any, roots: Any, means: Any, spreads: Any,
    shares: Any, least: Any, high: Any, span: float, begin: Any, component: Any, density: Any, distance: Any,
) -> int:  # fmt: skip
    """Find the components near each row; densities are without what does not depend on the component."""
    (n, r), k_all, room, at = places.shape, len(means), len(component), 0
    centres, bounds, scales = np.empty((r, k_all)), np.empty(k_all), np.empty(k_all)
    factors, sizes, ready = np.empty((k_all, r, r)), np.empty(k_all), np.zeros(k_all, np.bool_)
    place, work, before, power, base = np.empty(r), np.empty(r), -1, 0.0, 0.0
    for i in range(n):
        row = rows[i]
        if pattern[row] != before:
            before = pattern[row]
            root = roots[before]
            power, base = 2 / (TAIL + dimensions[row]), 0.0
            for j in range(r):
                base -= 2 * np.log(root[j, j])  # log det (W + C)
            _whiten(root, means, centres)
            for k in range(k_all):
                ready[k] = False
                scales[k] = np.exp(-power * least[k])
        for k in range(k_all):
            bounds[k] = 0.0
        for j in range(r):
            total, of_all = 0.0, centres[j]
            for m in range(j + 1):
                total += root[j, m] * places[row, m]
            for k in range(k_all):
                away = of_all[k] - total
                bounds[k] += away * away
        nearest, lowest = 0, np.inf
        for k in range(k_all):
            bounds[k] = (TAIL + bounds[k] / high[k]) * scales[k]
            if bounds[k] < lowest:
                nearest, lowest = k, bounds[k]
        for k in range(-1, k_all):
            if k < 0:
                now, limit = nearest, np.inf
            elif bounds[k] > limit:
                continue
            else:
                now = k
            if not ready[now]:
                sizes[now] = _factorise(covariances[before], spreads[now], factors[now]) - base
                ready[now] = True
            for j in range(r):
                place[j] = places[row, j] - means[now, j]
            square = _solved_square(factors[now], place, work)
            lead = shares[now] - 0.5 * sizes[now]
            if k < 0:
                limit = (TAIL + square) * np.exp(power * (span - lead)) * (1 + 1e-9)
                continue
            if at < room:
                component[at], density[at], distance[at] = now, lead - 0.5 * base, square
            at += 1
        begin[i + 1] = at
    return at


@compiled(shapes=("N P", "N P", "N", "P K", "P K", "P K", "K", "", "M", "R", "R", "R"))
def screen_columns(
    values: Any, mask: Any, rows: Any, means: Any, precisions: Any, halves: Any, shares: Any, span: float,
    begin: Any, component: Any, density: Any, distance: Any,
) -> int:  # fmt: skip
    """The same for independent columns, where the densities themselves are as quick as bounds."""
    (n, p), k_all, room, at = values.shape, len(shares), len(component), 0
    squares, scales, leads = np.empty(k_all), np.empty(k_all), np.empty(k_all)
    power, before = 0.0, -1
    for i in range(n):
        row = rows[i]
        same = before >= 0
        for j in range(p):
            same = same and mask[row, j] == mask[before, j]
        if not same:
            seen = 0
            for k in range(k_all):
                leads[k] = shares[k]
            for j in range(p):
                if mask[row, j]:
                    seen += 1
                    for k in range(k_all):
                        leads[k] -= halves[j, k]
            power = 2 / (TAIL + seen)
            for k in range(k_all):
                scales[k] = np.exp(power * (leads[0] - leads[k]))
        before = row
        for k in range(k_all):
            squares[k] = 0.0
        for j in range(p):
            if mask[row, j]:
                value, of_all, weights = values[row, j], means[j], precisions[j]
                for k in range(k_all):
                    away = of_all[k] - value
                    squares[k] += away * away * weights[k]
        lowest = np.inf
        for k in range(k_all):
            lowest = min(lowest, (TAIL + squares[k]) * scales[k])
        limit = lowest * np.exp(power * span) * (1 + 1e-9)
        for k in range(k_all):
            if (TAIL + squares[k]) * scales[k] <= limit:
                if at < room:
                    component[at], density[at], distance[at] = k, leads[k], squares[k]
                at += 1
        begin[i + 1] = at
    return at


@compiled
def _factorise(covariance: Any, spread: Any, lower: Any) -> float:
    """Cholesky factor of the sum of two matrices; returns the log-determinant."""
    log_det = 0.0
    for i in range(len(spread)):
        for j in range(i + 1):
            s = covariance[i, j] + spread[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(max(s, 1e-300)) if i == j else s / lower[j, j]
        log_det += 2 * np.log(lower[i, i])
    return log_det


@compiled
def _solved_square(lower: Any, right: Any, solved: Any) -> float:
    """|L^-1 x|²."""
    square = 0.0
    for i in range(len(right)):
        s = right[i]
        for k in range(i):
            s -= lower[i, k] * solved[k]
        solved[i] = s / lower[i, i]
        square += solved[i] * solved[i]
    return square
