"""Small systems of many patterns of missing values, side by side: inverses, products and distances.

Matrices of r x r x U and vectors of r x N hold the patterns and the rows on their last axis, over which the innermost
loops run. Small tables are handled by NumPy, without a compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels._arrays import Index, Real
from fusewise.kernels._compiling import compiled
from fusewise.kernels._small_matrices import LANES, combine, factorise, inverse_roots, invert
from fusewise.kernels._threads import in_ranges


@compiled(shapes=("r r U", "N", "r N"))
def each_applied(matrices: Any, kinds: Any, vectors: Any) -> Any:
    """The product of each vector (r x N) with the matrix (r x r x U) of its kind."""
    r, n = vectors.shape
    found = np.zeros((r, n))
    for i in range(r):
        for j in range(r):
            for c in range(n):
                found[i, c] += matrices[i, j, kinds[c]] * vectors[j, c]
    return found


@compiled(shapes=("r r U", "begin", "r K"))
def by_groups(matrices: Any, begin: Any, vectors: Any) -> Any:
    """The product of each matrix (r x r x U) with the vector (r x K) of its group."""
    r, _, n = matrices.shape
    found = np.zeros((r, n))
    for i in range(r):
        row = found[i]
        for j in range(r):
            entries = matrices[i, j]
            for g in range(len(begin) - 1):
                weight = vectors[j, g]
                for c in range(begin[g], begin[g + 1]):
                    row[c] += weight * entries[c]
    return found


def shifted_inverses(precision: Real, factors: Real, begin: Index, roots: bool, small: bool) -> tuple[Real, Real, Real]:
    """B^-1 and log det B of each pattern, B = I + L' A L with the L of its group; R^-1 with B = R R' if `roots`."""
    r, _, n = precision.shape
    if small:
        factor = np.repeat(factors, np.diff(begin), axis=2)
        turned = np.einsum("kiu,kju->iju", factor, np.einsum("klu,lju->kju", precision, factor))
        root, log_det = inverse_roots(turned + np.eye(r)[:, :, None])
        return np.einsum("kiu,kju->iju", root, root), log_det, root[:, :, : n if roots else 0]
    inverse, log_det, root = _inverses_in_lanes(precision, factors, begin, roots)
    return inverse, log_det, root


@compiled(shapes=("r r U", "r r K", "begin", ""))
def _inverses_in_lanes(precision: Any, factors: Any, begin: Any, roots: bool) -> Any:
    r, n = precision.shape[0], precision.shape[2]
    inverse, log_det, root = np.empty((r, r, n)), np.empty(n), np.zeros((r, r, n if roots else 0))
    matrices, lower, undone = np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, r, LANES))
    pivot, half = np.empty((r, LANES)), np.empty((r, LANES))
    for g in range(len(begin) - 1):
        factor = factors[:, :, g].T.copy()
        for start in range(begin[g], begin[g + 1], LANES):
            n_now = min(LANES, begin[g + 1] - start)
            for i in range(r):
                for j in range(r):
                    held, source = matrices[i, j], precision[i, j]
                    for c in range(n_now):
                        held[c] = source[start + c]
            _turn(matrices, factor, half, lower, n_now)
            invert(lower, undone, pivot, 1.0, log_det[start : start + n_now], n_now)
            for i in range(r):
                for j in range(i + 1):
                    source, one, other = lower[i, j], inverse[i, j], inverse[j, i]
                    for c in range(n_now):
                        one[start + c] = source[c]
                        other[start + c] = source[c]
                    if roots:
                        to, source = root[i, j], undone[j, i]
                        for c in range(n_now):
                            to[start + c] = source[c]
    return inverse, log_det, root


@compiled
def _turn(matrices: Any, factor: Any, half: Any, turned: Any, n: int) -> None:
    """The lower triangles of L' A L, A symmetric; `factor` is L'."""
    r = len(factor)
    for i in range(r):
        for j in range(r):
            combine(half[j], factor[i], matrices[j], i, r, n)
        for j in range(i + 1):
            combine(turned[i, j], factor[j], half, j, r, n)


def pattern_distances(
    covariances: Real, spreads: Real, kinds: Index, places: Real, means: Real, small: bool
) -> tuple[Real, Real]:
    """(x - m_k)' (C + S_k)^-1 (x - m_k) of each x with the C of its kind, K x N; and log det(C + S_k), K x U.

    The C are r x r x U, the S_k K x r x r, the m_k K x r, the x (`places`) r x N. `small`: leave it to NumPy.
    """
    (r, n), n_kinds, n_means = places.shape, covariances.shape[2], len(means)
    if small:
        both = covariances[:, :, None] + spreads.transpose(1, 2, 0)[:, :, :, None]
        roots, log_dets = inverse_roots(both.reshape(r, r, -1))
        own = roots.reshape(r, r, n_means, n_kinds)[:, :, :, kinds]
        whitened = np.einsum("abkn,bkn->akn", own, places[:, None] - means.T[:, :, None])
        return np.square(whitened).sum(axis=0), log_dets.reshape(n_means, n_kinds)
    order = np.argsort(kinds, kind="stable")
    begin = np.concatenate([[0], np.cumsum(np.bincount(kinds, minlength=n_kinds))])
    distances, log_dets = np.empty((n_means, n)), np.empty((n_means, n_kinds))
    in_ranges(
        n_means,
        r**3 * n_kinds // 6 + r**2 * n // 2,
        lambda first, last: _distances_in_lanes(
            covariances, spreads, means, order, begin, places, distances, log_dets, first, last
        ),
    )
    return distances, log_dets


@compiled(shapes=("r r U", "K r r", "K r", "N", "begin", "r N", "K N", "K U", "", ""))
def _distances_in_lanes(
    covariances: Any, spreads: Any, means: Any, order: Any, begin: Any, places: Any, distances: Any, log_dets: Any,
    first: int, last: int,
) -> None:  # fmt: skip
    """The same for some of the means; `order` has the rows of each kind together, `begin` where these begin."""
    r, n_kinds = len(places), covariances.shape[2]
    lower, pivot, kind = np.empty((r, r, LANES)), np.empty((r, LANES)), np.empty(LANES, np.int64)
    for start in range(0, n_kinds, LANES):
        n_now = min(LANES, n_kinds - start)
        for k in range(first, last):
            for i in range(r):
                for j in range(i + 1):
                    entry, source, shift = lower[i, j], covariances[i, j], spreads[k, i, j]
                    for c in range(n_now):
                        entry[c] = source[start + c] + shift
            factorise(lower, pivot, 0.0, n_now)
            for c in range(n_now):
                product = 1.0
                for i in range(r):
                    product *= pivot[i, c]
                log_dets[k, start + c] = -2 * np.log(product)
            u = 0
            for at in range(begin[start], begin[start + n_now], LANES):
                n_rows = min(LANES, begin[start + n_now] - at)
                for c in range(n_rows):
                    while begin[start + u + 1] <= at + c:
                        u += 1
                    kind[c] = u
                _square_in_lanes(lower, pivot, kind, places, means[k], order[at : at + n_rows], distances[k])


@compiled
def _square_in_lanes(lower: Any, pivot: Any, kind: Any, places: Any, mean: Any, rows: Any, distance: Any) -> None:
    """Set |R^-1 (x - m)|² of some rows, each with the R of its kind that ``factorise`` leaves."""
    r, n = len(places), len(rows)
    whitened, total = np.empty((r, LANES)), np.zeros(LANES)
    for i in range(r):
        row, place, scale, here = whitened[i], places[i], pivot[i], mean[i]
        for c in range(n):
            row[c] = place[rows[c]] - here
        for k in range(i):
            entry, before = lower[i, k], whitened[k]
            for c in range(n):
                row[c] -= entry[kind[c]] * before[c]
        for c in range(n):
            row[c] *= scale[kind[c]]
            total[c] += row[c] * row[c]
    for c in range(n):
        distance[rows[c]] = total[c]
