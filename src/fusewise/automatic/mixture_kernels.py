"""What a round of EM needs to know of rows in groups, in one compiled loop.

With the coordinates of group k distributed as N(mu, S), a row with evidence A, b has the coordinates N(v, P) given its
entries, P = (S^-1 + A)^-1 and v = P (b + S^-1 mu), and with the least-squares coordinates u

    log p(x) = c + (log det P - log det S + b' v + mu' S^-1 (v - mu)) / 2,   d² = (v - mu)' S^-1 (u - mu).

The mean that maximises sum_i w_i log p(x_i) solves sum_i w_i (S^-1 - S^-1 P_i S^-1) mu = S^-1 sum_i w_i P_i b_i, in
coordinates in which S is I. Patterns and rows are the last axis of every array; of the symmetric P of each pattern the
lower triangle is held, row after row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels import LANES, compiled, invert_triangles

#: Degrees of freedom of the components: heavy tails, with a finite variance.
TAIL = 5.0


@compiled(
    shapes=(
        "r r U", "N", "r N", "r N", "N", "N", "begin", "begin", "K r r", "N", "N", "", "dimensions",
        "K r", "N", "N", "K r r", "K r r", "", "",
    )
)  # fmt: skip
def explain_groups(
    precision: Any, pattern: Any, vector: Any, places: Any, constant: Any, dimensions: Any, begin: Any,
    pattern_begin: Any, spreads: Any, shares: Any, weights: Any, renew: bool, lead: Any, means: Any, density: Any,
    distance: Any, scatter: Any, known: Any, first_group: int, last_group: int,
) -> None:  # fmt: skip
    """Find the means of some groups, and evaluate their rows.

    Parameters
    ----------
    precision, pattern, vector, places, constant, dimensions : evidence of rows in the order of their groups.
    begin, pattern_begin : where the rows and the patterns of each group begin, and the last one's end.
    spreads : K x r x r, the S of each group, positive definite.
    shares, weights : N, by which rows count: their product in the means and the scatter, the share alone elsewhere.
    renew : whether the scatter is taken with the weights that follow from the distances found here.
    lead : the constant of ``log_tails`` for each number of dimensions.
    means, density, distance, scatter, known : what is found, see ``mixture.Evaluated``.
    first_group, last_group : which groups; the last is not among them.
    """
    r = len(vector)
    undone, inverse, summed = np.empty((r, r)), np.empty((r, r)), np.empty((r, r))
    for g in range(first_group, last_group):
        first, n = begin[g], begin[g + 1] - begin[g]
        own, counts, share = np.empty(n, np.int64), np.empty(n), shares[first : first + n]
        for c in range(n):
            own[c] = pattern[first + c] - pattern_begin[g]
            counts[c] = share[c] * weights[first + c]
        spread_log_det = _inverted(spreads[g], undone, inverse)
        covariances, log_det = _covariances(precision, pattern_begin[g], pattern_begin[g + 1], inverse)
        away = _pulled(covariances, own, vector, first)
        size = _sum(covariances, own, counts, summed)
        _whiten(summed, undone, size)
        _set_mean(summed, undone, away, counts, size, means[g])
        _move(covariances, own, inverse, means[g], away)
        _evaluate(away, vector, places, inverse, means[g], first, density, distance)
        for c in range(n):
            at, d = first + c, dimensions[first + c]
            gaussian = constant[at] + 0.5 * (density[at] - log_det[own[c]] - spread_log_det + distance[at])
            density[at] = gaussian + lead[d] - (TAIL + d) / 2 * np.log1p(distance[at] / TAIL)
            if renew:
                counts[c] = share[c] * (TAIL + d) / (TAIL + distance[at])
        size = _sum(covariances, own, share, known[g])
        _set_scatter(away, counts, known[g], scatter[g])
        _whiten(known[g], undone, size)


@compiled
def _inverted(spread: Any, undone: Any, inverse: Any) -> float:
    """Set L^-1 with L L' = S, and S^-1; return log det S."""
    r, log_det = len(spread), 0.0
    for i in range(r):  # S bordered by a row: see `inverse_roots`
        square, row = spread[i, i], inverse[i]
        for j in range(i):
            row[j] = 0.0
            for k in range(j + 1):
                row[j] += undone[j, k] * spread[i, k]
            square -= row[j] * row[j]
        scale = 1 / np.sqrt(max(square, 1e-15 * spread[i, i]))
        for k in range(i):
            undone[i, k] = 0.0
            for j in range(k, i):
                undone[i, k] -= scale * row[j] * undone[j, k]
        undone[i, i] = scale
        log_det -= 2 * np.log(scale)
    for i in range(r):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, r):
                total += undone[k, i] * undone[k, j]
            inverse[i, j] = total
            inverse[j, i] = total
    return log_det


@compiled
def _covariances(precision: Any, begin: int, end: int, shift: Any) -> Any:
    """The lower triangles of P = (A + S^-1)^-1 of some patterns, and -log det P."""
    r, n = len(precision), end - begin
    found, log_det = np.empty((r * (r + 1) // 2, n)), np.empty(n)
    for i in range(r):
        for j in range(i + 1):
            entry, source, more = found[i * (i + 1) // 2 + j], precision[i, j], shift[i, j]
            for u in range(n):
                entry[u] = source[begin + u] + more
    invert_triangles(found, r, 0.0, log_det)
    return found, log_det


@compiled
def _pulled(covariances: Any, own: Any, vector: Any, first: int) -> Any:
    """P_i b_i of the rows of a group, r x n."""
    r, n = len(vector), len(own)
    found, held = np.zeros((r, n)), np.empty(LANES)
    for start in range(0, n, LANES):
        n_now = min(LANES, n - start)
        for i in range(r):
            for j in range(i + 1):
                line, which = covariances[i * (i + 1) // 2 + j], own[start : start + n_now]
                for c in range(n_now):
                    held[c] = line[which[c]]
                to, source = found[i, start : start + n_now], vector[j, first + start : first + start + n_now]
                for c in range(n_now):
                    to[c] += held[c] * source[c]
                if i != j:
                    to, source = found[j, start : start + n_now], vector[i, first + start : first + start + n_now]
                    for c in range(n_now):
                        to[c] += held[c] * source[c]
    return found


@compiled
def _sum(covariances: Any, own: Any, counts: Any, found: Any) -> float:
    """Set the sum of w_i P_i over the rows of a group, r x r; return that of w_i."""
    n_kinds, size = covariances.shape[1], 0.0
    mass = np.zeros(n_kinds)
    for c in range(len(own)):
        mass[own[c]] += counts[c]
        size += counts[c]
    for i in range(len(found)):
        for j in range(i + 1):
            total, line = 0.0, covariances[i * (i + 1) // 2 + j]
            for u in range(n_kinds):
                total += mass[u] * line[u]
            found[i, j] = total
            found[j, i] = total
    return size


@compiled
def _whiten(matrix: Any, undone: Any, size: float) -> None:
    """I - L^-1 M L^-T / size in place of M."""
    r = len(matrix)
    half = np.zeros((r, r))
    for i in range(r):
        for k in range(i + 1):
            for j in range(r):
                half[i, j] += undone[i, k] * matrix[k, j]
    for i in range(r):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += half[i, k] * undone[j, k]
            matrix[i, j] = (1.0 if i == j else 0.0) - total / size
            matrix[j, i] = matrix[i, j]


@compiled
def _set_mean(known: Any, undone: Any, pulled: Any, counts: Any, size: float, mean: Any) -> None:
    """mu = L m with (K + 1e-9 I) m = L^-1 sum_i w_i P_i b_i / size; K is the mean of I - L^-1 P_i L^-T.

    A direction that no row of a group determines stays at the origin.
    """
    r, n = pulled.shape
    sums, right = np.zeros(r), np.zeros(r)
    for i in range(r):
        line, total = pulled[i], 0.0
        for c in range(n):
            total += counts[c] * line[c]
        sums[i] = total / size
    for i in range(r):
        for j in range(i + 1):
            right[i] += undone[i, j] * sums[j]
        known[i, i] += 1e-9
    root, inverse = np.empty((r, r)), np.empty((r, r))
    _inverted(known, root, inverse)
    for i in range(r):  # from the first on, as L^-1 mu = m
        m = 0.0
        for j in range(r):
            m += inverse[i, j] * right[j]
        for j in range(i):
            m -= undone[i, j] * mean[j]
        mean[i] = m / undone[i, i]


@compiled
def _move(covariances: Any, own: Any, inverse: Any, mean: Any, away: Any) -> None:
    """v_i - mu = P_i b_i + P_i S^-1 mu - mu in place of P_i b_i, r x n."""
    (r, n), n_kinds = away.shape, covariances.shape[1]
    moved = np.zeros((r, n_kinds))
    for i in range(r):
        pull = 0.0
        for j in range(r):
            pull += inverse[i, j] * mean[j]
        for j in range(r):
            line = covariances[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)]
            to = moved[j]
            for u in range(n_kinds):
                to[u] += pull * line[u]
    for i in range(r):
        line, source, by = away[i], moved[i], mean[i]
        for c in range(n):
            line[c] += source[own[c]] - by


@compiled
def _evaluate(
    away: Any, vector: Any, places: Any, inverse: Any, mean: Any, first: int, gain: Any, distance: Any
) -> None:
    """Set b' v + mu' S^-1 (v - mu), and d², of the rows of a group."""
    r, n = away.shape
    gained, squared, far = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for start in range(0, n, LANES):
        n_now = min(LANES, n - start)
        for c in range(n_now):
            gained[c] = 0.0
            squared[c] = 0.0
        for i in range(r):
            pull, here, own = 0.0, mean[i], away[i, start : start + n_now]
            source = vector[i, first + start : first + start + n_now]
            for c in range(n_now):
                far[c] = 0.0
            for j in range(r):
                place, weight = places[j, first + start : first + start + n_now], inverse[i, j]
                pull += weight * mean[j]
                for c in range(n_now):
                    far[c] += weight * place[c]
            for c in range(n_now):
                squared[c] += own[c] * (far[c] - pull)
                gained[c] += source[c] * (own[c] + here) + pull * own[c]
        for c in range(n_now):
            gain[first + start + c] = gained[c]
            distance[first + start + c] = max(squared[c], 0.0)


@compiled
def _set_scatter(away: Any, counts: Any, unsure: Any, scatter: Any) -> None:
    """sum_i w_i (v_i - mu)(v_i - mu)' + sum_i P_i."""
    r, n = away.shape
    weighed = np.empty(n)
    for i in range(r):
        line = away[i]
        for c in range(n):
            weighed[c] = counts[c] * line[c]
        for j in range(i + 1):
            other, total = away[j], 0.0
            for c in range(n):
                total += weighed[c] * other[c]
            scatter[i, j] = unsure[i, j] + total
            scatter[j, i] = scatter[i, j]
