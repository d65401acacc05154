"""Products, factors and inverses of many small positive definite matrices at once.

The lane loops hold the matrices as r x r x lanes: an entry is a row of lanes, contiguous in memory, since loops over a
slice of a larger array, whose step the compiler cannot know, would take twice as long. Four products at a time share
the way of their sum to memory and back. Few matrices are left to NumPy, large ones to LAPACK. Systems of many patterns
of missing values are held likewise, r x r x U, with the rows that have them, r x N.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels import _tensors
from fusewise.kernels._arrays import Array, Index, Real
from fusewise.kernels._compiling import compiled, few, in_ranges

Blocks = npt.NDArray[Any]

#: Matrices worked on at once: long enough for the loops over them to be worth entering, and all in the nearest caches.
LANES = 128

#: Blocks turned into lanes and back at a time, within a core's cache.
BLOCK = 1000


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


@compiled
def factorise(lower: Any, pivot: Any, n: int) -> None:
    """R with R R' = C in place of the lower triangles of the first n matrices C (r x r x lanes).

    But for the diagonals: one over these goes to `pivot` (r x lanes).
    """
    for i in range(lower.shape[0]):
        for j in range(i + 1):
            entry, scale = lower[i, j], pivot[j]
            if i == j:
                for c in range(n):
                    scale[c] = 1e-15 * entry[c]
            for k in range(j):
                one, other = lower[i, k], lower[j, k]
                for c in range(n):
                    entry[c] -= one[c] * other[c]
            if i == j:
                for c in range(n):
                    scale[c] = 1 / np.sqrt(max(entry[c], scale[c]))  # a pivot below rounding is rounding
            else:
                for c in range(n):
                    entry[c] *= scale[c]


@compiled
def invert(lower: Any, undone: Any, pivot: Any, log_det: Any, n: int) -> None:
    """Replace the lower triangles of the first n matrices C (r x r x lanes) by those of C^-1.

    With R R' = C, (R^-1)' goes to `undone` (r x r x lanes), its diagonal to `pivot` (r x lanes), and the logarithm of
    the determinant to `log_det`.
    """
    r = lower.shape[0]
    factorise(lower, pivot, n)
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
            for k in range(j, i):
                one, other = lower[i, k], undone[j, k]
                for c in range(n):
                    entry[c] -= one[c] * other[c]
            for c in range(n):
                entry[c] *= scale[c]
    for i in range(r):
        for j in range(i + 1):
            entry = lower[i, j]
            for c in range(n):
                entry[c] = 0.0
            for k in range(i, r):
                one, other = undone[i, k], undone[j, k]
                for c in range(n):
                    entry[c] += one[c] * other[c]


def invert_in_lanes(matrices: Blocks, *, roots: bool = False, small: bool = False) -> tuple[Blocks, Blocks]:
    """C^-1 in place of positive definite C (r x r x N); returns log det C, and if `roots` R^-1 with C = R R'.

    R is lower triangular; of the C the lower triangles are used. `small`: leave them to NumPy, as complex ones are.
    """
    r, _, n = matrices.shape
    if small or np.iscomplexobj(matrices):
        root, log_det = inverse_roots(matrices)
        np.einsum("kin,kjn->ijn", root.conj(), root, out=matrices)
        return log_det, root
    log_det, root, none = np.empty(n), np.zeros((r, r, n if roots else 0)), np.empty((r, r, 0))
    in_ranges(n, r**3, lambda *ends: _invert_in_lanes(matrices, none, np.array(ends), log_det, root))
    return log_det, root


@compiled(shapes=("r r N", "r r K", "begin", "N", "r r R"))
def _invert_in_lanes(matrices: Any, factors: Any, begin: Any, log_det: Any, root: Any) -> None:
    """(I + L' A L)^-1 in place of the matrices A of each group, `begin` where these begin; A^-1 if there are no L."""
    r = len(matrices)
    held, turned, undone = np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, r, LANES))
    half, pivot, factor = np.empty((r, LANES)), np.empty((r, LANES)), np.empty((r, r))
    for g in range(len(begin) - 1):
        if factors.shape[2]:
            factor[:] = factors[:, :, g]
        for start in range(begin[g], begin[g + 1], LANES):
            n = min(LANES, begin[g + 1] - start)
            for i in range(r):
                for j in range(r if factors.shape[2] else i + 1):
                    entry, source = held[i, j], matrices[i, j]
                    for c in range(n):
                        entry[c] = source[start + c]
            lower = held
            if factors.shape[2]:
                _turn(held, factor, half, turned, n)
                lower = turned
            invert(lower, undone, pivot, log_det[start : start + n], n)
            for i in range(r):
                for j in range(i + 1):
                    source, one, other = lower[i, j], matrices[i, j], matrices[j, i]
                    for c in range(n):
                        one[start + c] = source[c]
                        other[start + c] = source[c]
                    if root.shape[2]:
                        to, source = root[i, j], undone[j, i]
                        for c in range(n):
                            to[start + c] = source[c]


@compiled
def _turn(matrices: Any, factor: Any, half: Any, turned: Any, n: int) -> None:
    """The lower triangles of I + L' A L, A symmetric and the factor L lower triangular."""
    r = len(factor)
    for i in range(r):
        for j in range(r):
            row = half[j]
            for c in range(n):
                row[c] = 0.0
            for k in range(i, r):
                weight, entry = factor[k, i], matrices[j, k]
                for c in range(n):
                    row[c] += weight * entry[c]
        for j in range(i + 1):
            entry = turned[i, j]
            for c in range(n):
                entry[c] = 1.0 if i == j else 0.0
            for k in range(j, r):
                weight, row = factor[k, j], half[k]
                for c in range(n):
                    entry[c] += weight * row[c]


def block_products(blocks: Array, vectors: Array) -> Array:
    """G_i u_i, for Hermitian blocks N x r x r and vectors N x r."""
    if not isinstance(blocks, np.ndarray):
        return _tensors.block_products(blocks, vectors)
    return np.einsum("nij,nj->ni", blocks, vectors)


def block_inverses(blocks: Array, shift: Array) -> Array:
    """(G_i + t_i I)^-1 of Hermitian G_i (N x r x r), each sum positive definite."""
    if not isinstance(blocks, np.ndarray):
        return _tensors.block_inverses(blocks, shift)
    n, r, _ = blocks.shape
    out, small = np.empty_like(blocks, order="C"), few(n)
    for some in (slice(begin, begin + BLOCK) for begin in range(0, n, BLOCK)):
        lanes = np.array(blocks[some].transpose(1, 2, 0), np.result_type(blocks, float), order="C")
        lanes[range(r), range(r)] += shift[some]
        invert_in_lanes(lanes, small=small)
        out[some] = lanes.transpose(2, 0, 1)
    return out


def inverses_in_place(matrices: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """C^-1 of symmetric positive definite matrices (..., n, n), float32 or float64, written over them.

    Raises LinAlgError if a matrix is not positive definite.
    """
    stack = np.ascontiguousarray(matrices)
    size = stack.shape[-1]
    order, info = ctypes.byref(ctypes.c_int(size)), ctypes.c_int()
    for address in range(stack.ctypes.data, stack.ctypes.data + stack.nbytes, size * size * stack.itemsize or 1):
        for routine in _routines(stack.dtype.char):
            # LAPACK stores by columns: its upper triangle is our lower one.
            routine(b"U", order, address, order, ctypes.byref(info))
            if info.value:
                raise np.linalg.LinAlgError(f"a matrix of order {size} is not positive definite")
    upper = stack.swapaxes(-1, -2)
    np.copyto(upper, stack, where=np.tri(size, k=-1, dtype=bool))
    return stack


@cache
def _routines(kind: str) -> tuple[Any, Any]:
    """Routines that factor a matrix and invert it from the factor: xPOTRF and xPOTRI for "f" or "d"."""
    from numba.extending import get_cython_function_address  # slow to import

    number = ctypes.POINTER(ctypes.c_int)
    signature = ctypes.CFUNCTYPE(None, ctypes.c_char_p, number, ctypes.c_void_p, number, number)
    prefix = {"f": "s", "d": "d"}[kind]
    factor, invert = (
        signature(get_cython_function_address("scipy.linalg.cython_lapack", prefix + name))
        for name in ("potrf", "potri")
    )
    return factor, invert


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


def shifted_inverses(precision: Real, factors: Real, begin: Index, roots: bool, small: bool) -> tuple[Real, Real, Real]:
    """B^-1 and log det B of each pattern, B = I + L' A L with the L of its group; R^-1 with B = R R' if `roots`."""
    r, _, n = precision.shape
    if small:
        factor = np.repeat(factors, np.diff(begin), axis=2)
        inverse = np.einsum("kiu,kju->iju", factor, np.einsum("klu,lju->kju", precision, factor))
        inverse[range(r), range(r)] += 1
        return inverse, *invert_in_lanes(inverse, small=True)
    inverse, log_det, root = precision.copy(), np.empty(n), np.zeros((r, r, n if roots else 0))
    _invert_in_lanes(inverse, factors, begin, log_det, root)
    return inverse, log_det, root


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
            factorise(lower, pivot, n_now)
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
