"""A table with holes, read in blocks of rows: dense with a mask, or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]

#: Floats held at once per block of rows: 32 MB, within the last-level cache of a server.
BLOCK_ENTRIES = 4_000_000


def is_sparse(values: Any) -> bool:
    """Whether the table is a scipy.sparse matrix."""
    return bool(sparse.issparse(values))


@dataclass(frozen=True)
class Table:
    """Values with their holes: a dense array and a boolean mask (None: complete), or a CSR matrix."""

    values: Any
    mask: Any

    def blocks(self, width: int) -> Iterator[tuple[slice, Any, Any]]:
        """Row blocks ``(rows, values, pattern)`` with at most `width` floats of work space per row."""
        step = max(1, BLOCK_ENTRIES // max(width, 1))
        for start in range(0, self.values.shape[0], step):
            rows = slice(start, start + step)
            block = self.values[rows]
            if self.mask is not None:
                pattern = self.mask[rows].astype(float)
            elif is_sparse(block):
                pattern = sparse.csr_matrix((np.ones(block.nnz), block.indices, block.indptr), block.shape)
            else:
                pattern = np.ones(block.shape)
            yield rows, block, pattern

    @property
    def complete(self) -> bool:
        """Whether no entry is hidden."""
        return not is_sparse(self.values) and (self.mask is None or bool(np.all(self.mask)))

    def rows_at(self, rows: Array) -> Table:
        """The table restricted to the given rows."""
        return Table(self.values[rows], None if self.mask is None else self.mask[rows])


def as_table(values: Any, mask: Any) -> Table:
    """A table from values with a mask, or from a sparse matrix, whose stored entries are the observed ones."""
    if is_sparse(values):
        if mask is not None:
            raise ValueError("a sparse table carries its own mask: its stored entries; pass mask=None")
        return Table(sparse.csr_matrix(values), None)
    values = np.asarray(values)
    values = values if values.dtype.kind == "c" else values.astype(float, copy=False)
    if mask is None:
        return Table(values, None)
    mask = np.asarray(mask, dtype=bool)
    return Table(np.where(mask, values, 0), mask)


def centered(block: Any, pattern: Any, mean: Array) -> Any:
    """``pattern * (block - mean)``, zero at the hidden entries."""
    if is_sparse(block):
        return sparse.csr_matrix((block.data - mean[block.indices], block.indices, block.indptr), block.shape)
    return (block - mean) * pattern


def row_squares(block: Any) -> Array:
    """Row sums of ``|x|^2``."""
    if is_sparse(block):
        return np.asarray(abs(block).power(2).sum(1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", block.conj(), block).real)


def column_means(table: Table) -> tuple[Array, float, Array]:
    """Column means, mean variance of the observed entries, and observed entries per column."""
    total: Any = 0
    counts: Any = 0
    for _, block, pattern in table.blocks(table.values.shape[1]):
        total = total + np.asarray(block.sum(0)).ravel()
        counts = counts + np.asarray(pattern.sum(0)).ravel()
    mean = total / np.maximum(counts, 1)
    energy = sum(float(row_squares(centered(b, d, mean)).sum()) for _, b, d in table.blocks(table.values.shape[1]))
    return mean, energy / max(float(counts.sum()), 1.0), counts
