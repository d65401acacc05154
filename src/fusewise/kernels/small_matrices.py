"""Compiled products and inverses of many small positive definite matrices, one per point, on all threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels.compiling import compiled, few
from fusewise.kernels.lanes import LANES, Blocks, accumulate, factorise, inverse_roots, undo
from fusewise.kernels.threads import in_ranges


def block_products(blocks: Blocks, vectors: Blocks) -> Blocks:
    """G_i u_i, for blocks N x r x r and vectors N x r."""
    n, r = vectors.shape
    out = np.empty((n, r), np.result_type(blocks, vectors))
    in_ranges(n, r * r, lambda begin, end: _products(blocks, vectors, out, begin, end))
    return out


def block_inverses(blocks: Blocks, shift: Blocks) -> tuple[Blocks, Blocks]:
    """(G_i + t_i I)^-1 of Hermitian G_i (N x r x r), each sum positive definite; and log det(G_i + t_i I)."""
    n, r, _ = blocks.shape
    if few(n):
        roots, log_det = inverse_roots(blocks.transpose(1, 2, 0) + shift * np.eye(r)[:, :, None])
        return np.einsum("kin,kjn->nij", roots.conj(), roots).astype(blocks.dtype, copy=False), log_det
    out, log_det = np.empty_like(blocks, order="C"), np.zeros(n)
    in_ranges(n, r**3, lambda begin, end: _inverses(blocks, shift, out, log_det, begin, end))
    return out, log_det


@compiled(shapes=("N r r", "N r", "N r", "", ""))
def _products(blocks: Any, vectors: Any, out: Any, begin: int, end: int) -> None:
    r = vectors.shape[1]
    for i in range(begin, end):
        for k in range(r):
            total = out.dtype.type(0)
            for j in range(r):
                total += blocks[i, k, j] * vectors[i, j]
            out[i, k] = total


@compiled(shapes=("N r r", "N", "N r r", "N", "", ""), fastmath=False)
def _inverses(blocks: Any, shift: Any, out: Any, log_det: Any, begin: int, end: int) -> None:
    r = blocks.shape[1]
    lower = np.zeros((r, r), blocks.dtype)  # a Cholesky factor, then its inverse
    for m in range(begin, end):
        for i in range(r):
            diagonal = blocks[m, i, i].real + shift[m]
            for j in range(i + 1):
                s = blocks[m, i, j]
                if i == j:
                    s += shift[m]
                for k in range(j):
                    s -= lower[i, k] * np.conj(lower[j, k])
                # a pivot below rounding is noise: rows with few entries are nearly singular
                lower[i, j] = np.sqrt(max(s.real, 1e-15 * diagonal)) if i == j else s / lower[j, j].real
            log_det[m] += 2 * np.log(lower[i, i].real)
        for j in range(r):
            lower[j, j] = 1 / lower[j, j].real
            for i in range(j + 1, r):
                s = lower[i, j] * lower[j, j]
                for k in range(j + 1, i):
                    s += lower[i, k] * lower[k, j]
                lower[i, j] = -s / lower[i, i].real
        for i in range(r):
            for j in range(i + 1):
                s = np.conj(lower[i, i]) * lower[i, j]
                for k in range(i + 1, r):
                    s += np.conj(lower[k, i]) * lower[k, j]
                out[m, i, j] = s
                out[m, j, i] = np.conj(s)


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
        factorise(lower, pivot, shift, n_now)
        undo(lower, pivot, undone, n_now)
        for c in range(n_now):
            product = 1.0
            for i in range(r):
                product *= pivot[i, c]
            log_det[start + c] = -2 * np.log(product)
        for i in range(r):
            for j in range(i + 1):
                total = triangles[i * (i + 1) // 2 + j, start : start + n_now]
                for c in range(n_now):
                    total[c] = 0.0
                accumulate(total, 1.0, undone[i], undone[j], i, r, n_now)
