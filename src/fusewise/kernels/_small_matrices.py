"""Products, factors and inverses of many small positive definite matrices at once.

The lane loops hold the matrices as r x r x lanes: an entry is a row of lanes, contiguous in memory, since loops over a
slice of a larger array, whose step the compiler cannot know, would take twice as long. Four products at a time share
the way of their sum to memory and back. Few matrices are left to NumPy. Systems of many patterns
of missing values are held likewise, r x r x U, with the rows that have them, r x N.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels import _tensors
from fusewise.kernels._arrays import Array, Index, Real
from fusewise.kernels._compiling import compiled, few, in_ranges

Blocks = npt.NDArray[Any]

#: Matrices worked on at once: long enough for the loops over them to be worth entering, and all in the nearest caches.
LANES = 128


def inverse_roots(matrices: Blocks) -> tuple[Blocks, Blocks]:
    """R^-1 with R R^H = C, R lower triangular, and log det C of a few Hermitian C (r x r x lanes), by NumPy.

    With C bordered by a row c and a corner, R has the row y = R^-1 c and the corner d = sqrt(corner - |y|²) below it,
    and its inverse -(y^H R^-1) / d and 1 / d.
    """
    r, _, n = matrices.shape
    roots, log_det = np.zeros_like(matrices), np.zeros(n)
    for i in range(r):
        before, corner = roots[:i, :i], matrices[i, i].real
        row = np.einsum("kn,jkn->jn", matrices[i, :i], before.conj())
        # A pivot below rounding is rounding.
        square = np.maximum(corner - np.square(np.abs(row)).sum(axis=0), 1e-15 * corner)
        scale = 1 / np.sqrt(square)
        roots[i, :i] = -scale * np.einsum("jn,jkn->kn", row, before)
        roots[i, i] = scale
        log_det += np.log(square)
    return roots, log_det


@compiled(inline="always")
def accumulate(total: Any, sign: float, a: Any, b: Any, first: int, last: int, n: int) -> None:
    """Add to the total (n lanes) sign (a_k b_k + ...), k from `first` up to `last`."""
    k = first
    while k + 4 <= last:
        a0, a1, a2, a3 = a[k], a[k + 1], a[k + 2], a[k + 3]
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        for c in range(n):
            total[c] += sign * (a0[c] * b0[c] + a1[c] * b1[c] + a2[c] * b2[c] + a3[c] * b3[c])
        k += 4
    while k < last:
        a0, b0 = a[k], b[k]
        for c in range(n):
            total[c] += sign * a0[c] * b0[c]
        k += 1


@compiled(inline="always")
def combine(total: Any, weights: Any, b: Any, first: int, last: int, n: int) -> None:
    """Set the total (n lanes) to w_k b_k + ..., k from `first` up to `last`, the weights alike in all lanes."""
    for c in range(n):
        total[c] = 0.0
    k = first
    while k + 4 <= last:
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        for c in range(n):
            total[c] += w0 * b0[c] + w1 * b1[c] + w2 * b2[c] + w3 * b3[c]
        k += 4
    while k < last:
        w0, b0 = weights[k], b[k]
        for c in range(n):
            total[c] += w0 * b0[c]
        k += 1


@compiled
def factorise(lower: Any, pivot: Any, shift: float, n: int) -> None:
    """R with R R' = C + shift I in place of the lower triangles of the first n matrices C (r x r x lanes).

    But for the diagonals: one over these goes to `pivot` (r x lanes).
    """
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            entry, scale = lower[i, j], pivot[j]
            if i == j:
                for c in range(n):
                    scale[c] = 1e-15 * (shift + entry[c])
            accumulate(entry, -1.0, lower[i], lower[j], 0, j, n)
            if i == j:
                for c in range(n):
                    scale[c] = 1 / np.sqrt(max(shift + entry[c], scale[c]))  # a pivot below rounding is rounding
            else:
                for c in range(n):
                    entry[c] *= scale[c]


@compiled
def invert(lower: Any, undone: Any, pivot: Any, shift: float, log_det: Any, n: int) -> None:
    """Replace the lower triangles of the first n matrices C (r x r x lanes) by those of (C + shift I)^-1.

    With R R' = C + shift I, (R^-1)' goes to `undone` (r x r x lanes), its diagonal to `pivot` (r x lanes), and the
    logarithm of the determinant to `log_det`.
    """
    r = lower.shape[0]
    factorise(lower, pivot, shift, n)
    for c in range(n):
        log_det[c] = 0.0
    for i in range(r):
        scale, diagonal = pivot[i], undone[i, i]
        for c in range(n):
            diagonal[c] = scale[c]
            log_det[c] -= 2 * np.log(scale[c])
        for j in range(i):
            entry = undone[j, i]
            for c in range(n):
                entry[c] = 0.0
            accumulate(entry, -1.0, lower[i], undone[j], j, i, n)
            for c in range(n):
                entry[c] *= scale[c]
    for i in range(r):
        for j in range(i + 1):
            entry = lower[i, j]
            for c in range(n):
                entry[c] = 0.0
            accumulate(entry, 1.0, undone[i], undone[j], i, r, n)


def block_products(blocks: Array, vectors: Array) -> Array:
    """G_i u_i, for Hermitian blocks N x r x r and vectors N x r."""
    if not isinstance(blocks, np.ndarray):
        return _tensors.block_products(blocks, vectors)
    return np.einsum("nij,nj->ni", blocks, vectors)


def block_inverses(blocks: Array, shift: Array) -> Array:
    """(G_i + t_i I)^-1 of Hermitian G_i (N x r x r), each sum positive definite."""
    if not isinstance(blocks, np.ndarray):
        return _tensors.block_inverses(blocks, shift)
    return inverses_and_log_dets(blocks, shift)[0]


def inverses_and_log_dets(blocks: Blocks, shift: Blocks) -> tuple[Blocks, Blocks]:
    """(G_i + t_i I)^-1 and log det(G_i + t_i I), as for ``block_inverses``."""
    n, r, _ = blocks.shape
    if few(n):
        roots, log_det = inverse_roots(blocks.transpose(1, 2, 0) + shift * np.eye(r)[:, :, None])
        return np.einsum("kin,kjn->nij", roots.conj(), roots).astype(blocks.dtype, copy=False), log_det
    if np.iscomplexobj(blocks):  # A + i B: by the real [[A, -B], [B, A]], whose determinant is the square
        rows = np.concatenate([blocks.real, -blocks.imag], axis=2), np.concatenate([blocks.imag, blocks.real], axis=2)
        inverse, log_det = inverses_and_log_dets(np.concatenate(rows, axis=1), shift)
        return (inverse[:, :r, :r] + 1j * inverse[:, r:, :r]).astype(blocks.dtype), log_det / 2
    out, log_det = np.empty_like(blocks, order="C"), np.empty(n)
    _inverses.in_ranges(n, r**3, blocks, shift, out, log_det)
    return out, log_det


@compiled(shapes=("N r r", "N", "N r r", "N", "", ""))
def _inverses(blocks: Any, shift: Any, out: Any, log_det: Any, begin: int, end: int) -> None:
    r = blocks.shape[1]
    lower, undone, pivot = np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, LANES))
    for start in range(begin, end, LANES):
        n = min(LANES, end - start)
        for c in range(n):
            for i in range(r):
                for j in range(i):
                    lower[i, j, c] = blocks[start + c, i, j]
                lower[i, i, c] = blocks[start + c, i, i] + shift[start + c]
        invert(lower, undone, pivot, 0.0, log_det[start : start + n], n)
        for c in range(n):
            for i in range(r):
                for j in range(i + 1):
                    out[start + c, i, j] = lower[i, j, c]
                    out[start + c, j, i] = lower[i, j, c]


@compiled(shapes=("entries n", "r n", ""))
def solve_triangles(triangles: Any, right: Any, shift: float) -> Any:
    """(G + t I)^-1 in place of the lower triangles of many G (their rows one after the other, the many last).

    In place of the right-hand sides the solutions; returns log det(G + t I).
    """
    r, n = right.shape
    log_det = np.empty(n)
    invert_triangles(triangles, r, shift, log_det)
    solved = np.zeros((r, n))
    for i in range(r):
        for j in range(r):
            line = triangles[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)]
            to, source = solved[i], right[j]
            for c in range(n):
                to[c] += line[c] * source[c]
    for i in range(r):
        to, source = right[i], solved[i]
        for c in range(n):
            to[c] = source[c]
    return log_det


@compiled
def invert_triangles(triangles: Any, r: int, shift: float, log_det: Any) -> None:
    """Replace the lower triangles of r x r matrices G by those of (G + t I)^-1, and set log det(G + t I)."""
    n = triangles.shape[1]
    lower, undone, pivot = np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, LANES))
    for start in range(0, n, LANES):
        n_now = min(LANES, n - start)
        for i in range(r):
            for j in range(i + 1):
                entry, source = lower[i, j], triangles[i * (i + 1) // 2 + j, start : start + n_now]
                for c in range(n_now):
                    entry[c] = source[c]
        invert(lower, undone, pivot, shift, log_det[start : start + n_now], n_now)
        for i in range(r):
            for j in range(i + 1):
                source, to = lower[i, j], triangles[i * (i + 1) // 2 + j, start : start + n_now]
                for c in range(n_now):
                    to[c] = source[c]


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
