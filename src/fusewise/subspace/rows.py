"""Blocks of rows for EM: in double precision, zero where missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fusewise.kernels.types import Values
from fusewise.observations import InMemory
from fusewise.observations.entries import wide

#: Floats in a block of rows (32 MB, within the last-level cache of a server), and rows in it: a block for each core.
BLOCK_ENTRIES, BLOCK_ROWS = 4_000_000, 2048


def is_sparse(values: Any) -> bool:
    """Whether `values` is a scipy.sparse matrix."""
    return bool(sparse.issparse(values))


def row_slices(table: InMemory, width: int) -> list[slice]:
    """Slices that divide the rows into blocks, with `width` floats of work space per row besides its entries."""
    n = table.shape[0]
    step = min(max(1, BLOCK_ENTRIES // (width + 2 * (table.n_stored // max(n, 1) + 1))), BLOCK_ROWS)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def block(table: InMemory, rows: slice) -> tuple[Any, Any]:
    """``(values, pattern)`` of some rows: the entries, zero where missing; and 1 where observed, 0 where missing."""
    some = table.take(rows)
    return some.values.astype(wide(table.dtype), copy=False), some.seen.astype(float, copy=False)


def centered(values: Any, pattern: Any, mean: Values) -> Any:
    """``pattern * (values - mean)``, zero at the missing entries."""
    if is_sparse(values):
        return sparse.csr_matrix((values.data - mean[values.indices], values.indices, values.indptr), values.shape)
    return (values - mean) * pattern


def row_squares(values: Any) -> Values:
    """Row sums of ``|x|^2``."""
    if is_sparse(values):
        return np.asarray(abs(values).power(2).sum(1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", values.conj(), values).real)
