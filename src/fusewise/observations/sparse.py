"""Entries of a table nearly all of which are hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.observations.entries import Entries, Real, Values


@dataclass(frozen=True, eq=False)
class SparseEntries:
    """x_i seen on the index set I_i, only what was seen being stored; the words of ``Entries``.

    Attributes
    ----------
    rows : N x P, in compressed sparse rows; every stored entry is observed, zeros among them, and nothing else is.
    feature_names : names of the columns, where the table had them.
    """

    rows: Any
    feature_names: tuple[str, ...] | None = field(default=None)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        n, p = self.rows.shape
        return n, p

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
        """Whether nothing is hidden."""
        return bool(self.rows.nnz == self.shape[0] * self.shape[1])

    @property
    def observed_fraction(self) -> float:
        """p0: observed entries over all entries."""
        return float(self.rows.nnz / (self.shape[0] * self.shape[1]))

    @cached_property
    def column_means(self) -> Values:
        """Mean of the observed entries of each column (0 where there is none)."""
        return np.asarray(self._column_sums(self.rows.data) / np.maximum(self.column_counts, 1), self.rows.dtype)

    @cached_property
    def column_variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        squares = np.square(np.abs(self.rows.data - self.column_means[self.rows.indices]), dtype=float)
        return np.asarray(self._column_sums(squares) / np.maximum(self.column_counts, 1))

    def _column_sums(self, data: Values) -> Values:
        ones = np.ones(self.shape[0])
        return np.asarray(sparse.csr_matrix((data, self.rows.indices, self.rows.indptr), self.shape).T @ ones)

    def take(self, rows: npt.NDArray[Any]) -> SparseEntries:
        """Some of the rows."""
        return SparseEntries(self.rows[rows], self.feature_names)

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> SparseEntries:
        """(x - middle) / scale in some columns (in double precision)."""
        kept = self.rows[:, columns]
        data = (kept.data - middle[columns][kept.indices]) / scale[columns][kept.indices]
        return SparseEntries(sparse.csr_matrix((data, kept.indices, kept.indptr), kept.shape))

    def dense(self) -> Entries:
        """The same as ``Entries``: where these are few rows."""
        values, mask = np.zeros(self.shape, self.rows.dtype), np.zeros(self.shape, bool)
        where = np.repeat(np.arange(self.shape[0]), np.diff(self.rows.indptr)), self.rows.indices
        values[where], mask[where] = self.rows.data, True
        return Entries(values, mask, self.feature_names)
