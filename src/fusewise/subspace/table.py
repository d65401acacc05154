"""A table with holes, read in blocks of rows: dense with a mask, sparse, or streamed from where it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fusewise.observations import Entries, RowBlocks, SparseEntries

Array = NDArray[Any]

#: Floats held at once per block of rows (32 MB, within the last-level cache of a server), and rows: some for each core.
BLOCK_ENTRIES, BLOCK_ROWS = 4_000_000, 2048


def is_sparse(values: Any) -> bool:
    """Whether the table is a scipy.sparse matrix."""
    return bool(sparse.issparse(values))


@dataclass(frozen=True)
class Table:
    """Values with their holes: a dense array and a boolean mask (None: complete), or a CSR matrix."""

    values: Any
    mask: Any

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        n, p = self.values.shape
        return n, p

    @property
    def dtype(self) -> np.dtype[Any]:
        """Double precision, real or complex."""
        return np.dtype(np.complex128 if self.values.dtype.kind == "c" else np.float64)

    def slices(self, width: int) -> list[slice]:
        """The rows in blocks, with at most `width` floats of work space per row besides its entries."""
        n, p = self.shape
        entries = self.values.nnz // max(n, 1) + 1 if is_sparse(self.values) else p
        step = min(max(1, BLOCK_ENTRIES // (width + 2 * entries)), BLOCK_ROWS)
        return [slice(start, min(start + step, n)) for start in range(0, n, step)]

    def block(self, rows: slice) -> tuple[Any, Any]:
        """``(values, pattern)`` of some rows, in double precision, with zeros in the holes."""
        block = self.values[rows]
        if is_sparse(block):
            pattern = sparse.csr_matrix((np.ones(block.nnz), block.indices, block.indptr), block.shape)
            return block.astype(self.dtype, copy=False), pattern
        block = np.asarray(block, self.dtype)
        if self.mask is None:
            return block, np.ones(block.shape)
        mask = np.asarray(self.mask[rows])
        return np.where(mask, block, 0), mask.astype(float)

    @property
    def complete(self) -> bool:
        """Whether no entry is hidden."""
        return not is_sparse(self.values) and (self.mask is None or bool(np.all(self.mask)))

    def parts(self) -> Iterator[Table]:
        """The table piece by piece, as it fits in memory: all of it."""
        yield self

    def rows_at(self, rows: Array) -> Table:
        """The table restricted to the given rows."""
        return Table(self.values[rows], None if self.mask is None else self.mask[rows])


@dataclass(frozen=True)
class Streamed:
    """A table of which one part at a time is in memory."""

    source: RowBlocks
    complete = False
    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        return self.source.shape

    def parts(self) -> Iterator[Table]:
        """The table piece by piece."""
        for entries in self.source.blocks():
            yield as_table(entries, None)

    def rows_at(self, rows: Array) -> Table:
        """Some of the rows, in rising order: one pass over the table."""
        pieces, begin = [], 0
        for part in self.parts():
            end = begin + part.shape[0]
            pieces.append(part.rows_at(rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)] - begin))
            begin = end
        stack = sparse.vstack if is_sparse(pieces[0].values) else np.concatenate
        masks = None if pieces[0].mask is None else np.concatenate([piece.mask for piece in pieces])
        return Table(stack([piece.values for piece in pieces]), masks)


def as_source(values: Any, mask: Any) -> Table | Streamed:
    """A table as `as_table` reads it, or one that is streamed."""
    if isinstance(values, RowBlocks):
        return Streamed(values)
    return as_table(values, mask)


def as_table(values: Any, mask: Any) -> Table:
    """A table from values with a mask, from ``Entries``, or from a sparse matrix, whose stored entries are observed."""
    if isinstance(values, Table):
        return values
    if isinstance(values, Entries):
        return Table(values.values, values.mask)
    if isinstance(values, SparseEntries):
        return Table(values.rows, None)
    if is_sparse(values):
        if mask is not None:
            raise ValueError("a sparse table carries its own mask: its stored entries; pass mask=None")
        return Table(sparse.csr_matrix(values), None)
    return Table(np.asarray(values), None if mask is None else np.asarray(mask, dtype=bool))


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


def column_means(table: Table | Streamed) -> tuple[Array, float, Array]:
    """Column means, mean variance of the observed entries, and observed entries per column; in two passes."""
    p = table.shape[1]
    total, counts = np.zeros(p, table.dtype), np.zeros(p)
    for block, pattern in _blocks(table):
        total += np.asarray(block.sum(0)).ravel()
        counts += np.asarray(pattern.sum(0)).ravel()
    mean = total / np.maximum(counts, 1)
    energy = sum(float(row_squares(centered(block, pattern, mean)).sum()) for block, pattern in _blocks(table))
    return mean, energy / max(float(counts.sum()), 1.0), counts


def _blocks(table: Table | Streamed) -> Iterator[tuple[Any, Any]]:
    for part in table.parts():
        for rows in part.slices(0):
            yield part.block(rows)
