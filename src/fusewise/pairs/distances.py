"""Distances between rows by matrix products, one block of rows at a time: never an N x N x P array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import Entries, InMemory

#: Entries in one block of pairs: small enough for a processor's cache, large enough for its matrix products.
BLOCK_ENTRIES = 2**19


def real_view(centers: Values) -> Real:
    """View rows of complex numbers as rows of twice as many real ones, with the same distances."""
    return np.ascontiguousarray(centers).view(centers.real.dtype)


def row_blocks(n_rows: int, row_length: int, block_entries: int = BLOCK_ENTRIES) -> Iterator[slice]:
    """Slices that divide `n_rows` rows of `row_length` entries into blocks of about `block_entries`."""
    step = max(1, block_entries // max(row_length, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def squared_distances(rows: Values, others: Values | None = None) -> Real:
    """||a_i - b_j||² for all rows a_i, b_j."""
    a = real_view(rows)
    b = a if others is None else real_view(others)
    s = a @ b.T
    s *= -2
    s += np.square(a).sum(axis=1)[:, None]
    s += np.square(b).sum(axis=1)
    np.maximum(s, 0, out=s)
    if others is None:
        np.fill_diagonal(s, 0)
    return s


def partial_squared_distances(
    entries: Entries, rows: slice | Index = slice(None), others: slice | Index = slice(None), *, min_overlap: int = 1
) -> Real:
    """(P / |w|) ||S_w (x_i - x_j)||², w = I_i ∩ I_j; infinite if |w| < min_overlap.

    Three matrix products: with V the values (zero where missing) and M the mask,
    ||S_w (x_i - x_j)||² = (|V|² M' + M |V|²' - 2 Re V V^H)_ij and |w| = (M M')_ij.
    P counts the columns with any observed entry.

    Parameters
    ----------
    entries : the table.
    rows, others : which rows i and j.
    min_overlap : fewest common entries for a finite distance.
    """
    # Shifting the columns does not change distances; centring them reduces rounding errors.
    a, b = entries.centred[rows], entries.centred[others]
    seen_a, seen_b = entries.seen[rows], entries.seen[others]
    common = seen_a @ seen_b.T
    s = real_view(a) @ real_view(b).T
    s *= -2
    s += np.square(np.abs(a)) @ seen_b.T
    s += seen_a @ np.square(np.abs(b)).T
    np.maximum(s, 0, out=s)
    s *= np.count_nonzero(entries.column_counts) / np.maximum(common, 1)
    s[common < min_overlap] = np.inf
    return s


def partial_squared_distances_between(entries: Entries, first: Index, second: Index, *, min_overlap: int = 1) -> Real:
    """Partial squared distances, as ``partial_squared_distances``, for given pairs (i, j)."""
    s = np.empty(len(first), dtype=entries.seen.dtype)
    n_features = np.count_nonzero(entries.column_counts)
    for some in row_blocks(len(s), entries.shape[1]):
        i, j = first[some], second[some]
        common = entries.mask[i] & entries.mask[j]
        squares = np.square(np.abs(np.where(common, entries.values[i] - entries.values[j], 0))).sum(axis=1)
        counts = common.sum(axis=1)
        s[some] = np.where(counts >= min_overlap, squares * (n_features / np.maximum(counts, 1)), np.inf)
    return s


def partial_squared_distances_to(rows: InMemory, points: Values) -> Real:
    """(P / |I_i|) ||S_i (x_i - c_k)||² for complete points c_k; NaN for a row without observed entries.

    The distances of a row depend on that row alone, not on the other rows it is passed with.
    """
    p = rows.shape[1]
    shift = points.mean(axis=0) if len(points) else np.zeros(p, points.dtype)
    near, moved = rows.standardised(np.arange(p), np.ones(p), shift), points - shift
    s = -2 * np.asarray(near.values @ moved.conj().T).real
    s += np.asarray(near.squares.sum(axis=1)).reshape(-1, 1)
    s += near.seen @ np.square(np.abs(moved)).T
    np.maximum(s, 0, out=s)
    counts = rows.row_counts[:, None]
    return np.where(counts > 0, s * (p / np.maximum(counts, 1)), np.nan).astype(np.finfo(rows.dtype).dtype)
