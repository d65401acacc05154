"""Entries of a table that are mostly missing, as a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.kernels.checked import Checked
from fusewise.kernels.field_rules import Maybe, Several, Sparse, Word
from fusewise.kernels.types import Real, Values
from fusewise.observations.checks import check_fits
from fusewise.observations.entries import Entries
from fusewise.observations.seen_rows import SeenRows


@dataclass(frozen=True, eq=False)
class SparseEntries(SeenRows, Checked):
    """x_i observed on the index set I_i, with only the observed entries stored; the interface of ``Entries``.

    ``values``, ``seen`` and ``squares`` are sparse matrices where those of ``Entries`` are arrays; matrix products
    work the same way with both.

    Attributes
    ----------
    rows : N x P, in compressed sparse rows; the stored entries, including zeros, are the observed ones.
    feature_names : names of the columns, if the table had any.
    """

    rows: Any
    feature_names: tuple[str, ...] | None = field(default=None)

    _rules: ClassVar = {"rows": Sparse("N", "P"), "feature_names": Maybe(Several(Word(), "P"))}

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        n, p = self.rows.shape
        return n, p

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the values."""
        dtype: np.dtype[Any] = self.rows.dtype
        return dtype

    @property
    def n_stored(self) -> int:
        """Numbers held in memory."""
        return int(self.rows.nnz)

    @property
    def values(self) -> Any:
        """The observed values, zero where missing."""
        return self.rows

    @cached_property
    def seen(self) -> Any:
        """1 where observed, 0 where missing."""
        return self._alike(np.ones(self.n_stored, self.rows.real.dtype))

    @property
    def squares(self) -> Any:
        """|x|², zero where missing."""
        return self._alike(np.square(np.abs(self.rows.data)))

    @cached_property
    def row_counts(self) -> npt.NDArray[np.intp]:
        """Observed entries in each row."""
        return np.asarray(np.diff(self.rows.indptr), np.intp)

    @cached_property
    def column_counts(self) -> npt.NDArray[np.intp]:
        """Observed entries in each column."""
        return np.bincount(self.rows.indices, minlength=self.shape[1])

    @property
    def is_complete(self) -> bool:
        """Whether no entry is missing."""
        return self.n_stored == self.shape[0] * self.shape[1]

    @property
    def observed_fraction(self) -> float:
        """p0: observed entries over all entries."""
        return self.n_stored / (self.shape[0] * self.shape[1])

    @cached_property
    def column_means(self) -> Values:
        """Mean of the observed entries of each column (0 where there is none)."""
        return np.asarray(self._column_sums(self.rows.data) / np.maximum(self.column_counts, 1), self.rows.dtype)

    @cached_property
    def column_variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        squares = np.square(np.abs(self.rows.data - self.column_means[self.rows.indices]), dtype=float)
        return np.asarray(self._column_sums(squares) / np.maximum(self.column_counts, 1))

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        first = np.zeros(self.shape[1], self.dtype)
        first[self.rows.indices] = self.rows.data  # some entry of each column
        other = self.rows.data != first[self.rows.indices]
        return np.asarray(np.bincount(self.rows.indices[other], minlength=self.shape[1]) == 0)

    def columns(self) -> Iterator[Values]:
        """Iterate over the columns: the observed entries of each."""
        by_column = self.rows.tocsc()
        return (by_column.data[a:b] for a, b in zip(by_column.indptr[:-1], by_column.indptr[1:], strict=True))

    def take(self, rows: npt.NDArray[Any] | slice) -> SparseEntries:
        """Select rows."""
        return SparseEntries(self.rows[rows], self.feature_names)

    def parts(self) -> Iterator[SparseEntries]:
        """Iterate over blocks of rows that fit in memory: here a single block."""
        yield self

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> SparseEntries:
        """(x - middle) / scale in some columns (in double precision)."""
        kept = self.rows if len(columns) == self.shape[1] else self.rows[:, columns]
        data = (kept.data - middle[columns][kept.indices]) / scale[columns][kept.indices]
        return SparseEntries(sparse.csr_matrix((data, kept.indices, kept.indptr), kept.shape))

    def real(self) -> SparseEntries:
        """Split complex columns: all real parts, then all imaginary parts. A real table is returned unchanged."""
        if self.dtype.kind != "c":
            return self
        both = [self._alike(part) for part in (self.rows.data.real, self.rows.data.imag)]
        return SparseEntries(sparse.hstack(both, "csr"))

    def dense(self) -> Entries:
        """Convert to ``Entries``; raises MemoryError if that does not fit."""
        check_fits("the table as a dense array", self.shape, self.dtype.itemsize + 1)
        values, mask = np.zeros(self.shape, self.rows.dtype), np.zeros(self.shape, bool)
        where = np.repeat(np.arange(self.shape[0]), np.diff(self.rows.indptr)), self.rows.indices
        values[where], mask[where] = self.rows.data, True
        return Entries(values, mask, self.feature_names)

    def _alike(self, data: Values) -> Any:
        """A sparse matrix with the same pattern and other values."""
        return sparse.csr_matrix((data, self.rows.indices, self.rows.indptr), self.shape)

    def _column_sums(self, data: Values) -> Values:
        return np.asarray(self._alike(data).T @ np.ones(self.shape[0]))
