"""Small systems of many patterns of missing values, side by side: inverses, products and distances.

Matrices of r x r x U and vectors of r x N hold the patterns and the rows on their last axis, over which the innermost
loops run. Small tables are handled by NumPy, without a compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels.compiling import compiled
from fusewise.kernels.lanes import LANES, accumulate, combine, factorise, inverse_roots, undo
from fusewise.kernels.threads import each_of
from fusewise.kernels.types import Index, Real


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
    inverse, log_det, root = np.empty((r, r, n)), np.zeros(n), np.zeros((r, r, n if roots else 0))
    matrices, lower, undone = np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, r, LANES))
    pivot, half, total = np.empty((r, LANES)), np.empty((r, LANES)), np.empty(LANES)
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
            factorise(lower, pivot, 1.0, n_now)
            undo(lower, pivot, undone, n_now)
            for i in range(r):
                scale = pivot[i]
                for c in range(n_now):
                    log_det[start + c] -= 2 * np.log(scale[c])
                for j in range(i + 1):
                    for c in range(n_now):
                        total[c] = 0.0
                    accumulate(total, 1.0, undone[i], undone[j], i, r, n_now)
                    one, other = inverse[i, j], inverse[j, i]
                    for c in range(n_now):
                        one[start + c] = total[c]
                        other[start + c] = total[c]
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

    Parameters
    ----------
    covariances : r x r x U, the C of each kind.
    spreads, means : K x r x r and K x r.
    kinds : N, the kind of each x.
    places : r x N, the x.
    small : whether to leave it to NumPy.
    """
    if small:
        r, n_kinds, n_means = len(places), covariances.shape[2], len(means)
        both = covariances[:, :, None] + spreads.transpose(1, 2, 0)[:, :, :, None]
        roots, log_dets = inverse_roots(both.reshape(r, r, -1))
        own = roots.reshape(r, r, n_means, n_kinds)[:, :, :, kinds]
        whitened = np.einsum("abkn,bkn->akn", own, places[:, None] - means.T[:, :, None])
        return np.square(whitened).sum(axis=0), log_dets.reshape(n_means, n_kinds)
    r, n_kinds = len(places), covariances.shape[2]
    found = each_of(
        len(means),
        r**3 * n_kinds // 6 + r**2 * len(kinds) // 2,
        lambda k: _distances_in_lanes(covariances, spreads[k], means[k], kinds, places),
    )
    return np.array([distance for distance, _ in found]), np.array([log_det for _, log_det in found])


@compiled(shapes=("r r U", "r r", "r", "N", "r N"))
def _distances_in_lanes(covariances: Any, spread: Any, mean: Any, kinds: Any, places: Any) -> Any:
    r, n = places.shape
    n_kinds = covariances.shape[2]
    lower, pivot = np.empty((r, r, LANES)), np.empty((r, LANES))
    factors = np.empty((r, r, n_kinds))  # the reciprocal on the diagonal
    distance, log_det = np.zeros(n), np.zeros(n_kinds)
    for start in range(0, n_kinds, LANES):
        n_now = min(LANES, n_kinds - start)
        for i in range(r):
            for j in range(i + 1):
                entry, source, shift = lower[i, j], covariances[i, j], spread[i, j]
                for c in range(n_now):
                    entry[c] = source[start + c] + shift
        factorise(lower, pivot, 0.0, n_now)
        for i in range(r):
            for j in range(i + 1):
                to, source = factors[i, j], pivot[i] if i == j else lower[i, j]
                for c in range(n_now):
                    to[start + c] = source[c]
            for c in range(n_now):
                log_det[start + c] -= 2 * np.log(pivot[i, c])
    whitened = places.copy()
    for i in range(r):
        row, start_at = whitened[i], mean[i]
        for c in range(n):
            row[c] -= start_at
    for i in range(r):
        row, scale = whitened[i], factors[i, i]
        for k in range(i):
            entry, before = factors[i, k], whitened[k]
            for c in range(n):
                row[c] -= entry[kinds[c]] * before[c]
        for c in range(n):
            row[c] *= scale[kinds[c]]
            distance[c] += row[c] * row[c]
    return distance, log_det
