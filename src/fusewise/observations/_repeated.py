"""A table in which rows are repeated, without copying them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations._checks import check_fits
from fusewise.observations._entries import Entries, InMemory, Table, wide
from fusewise.observations._streamed import SAMPLED


@dataclass(frozen=True, eq=False)
class RepeatedRows(Table):
    """A table in which row i of another table occurs counts_i times in succession; the interface of ``Table``."""

    table: Table  # the table with every row once
    counts: Index  # number of copies of each row, which may be 0

    @cached_property
    def _ends(self) -> Index:
        return np.cumsum(self.counts)

    def source(self, rows: Index) -> Index:
        """The rows of the other table of which given rows are copies."""
        return np.searchsorted(self._ends, rows, side="right")

    @property
    def shape(self) -> tuple[int, int]:
        return int(self._ends[-1]), self.table.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.table.dtype

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self.table.feature_names

    @cached_property
    def row_counts(self) -> Index:
        return np.repeat(self.table.row_counts, self.counts)

    @cached_property
    def column_counts(self) -> Index:
        return np.asarray(np.rint(sum(part.known.T @ weights for part, weights in self._parts())), np.intp)

    @property
    def inexact(self) -> Mask:
        return self.table.inexact

    @cached_property
    def _moments(self) -> tuple[Real, Real] | None:
        """Means and variances if not all entries are exact; of a table that is not in memory from some of its rows."""
        if not self.table.inexact.any():
            return None
        if isinstance(self.table, Entries):
            return self.table.moments(self.counts)
        n = self.table.shape[0]
        rows = np.sort(np.random.default_rng(0).choice(n, min(n, SAMPLED), replace=False))
        return self.table.take(rows).dense().moments(self.counts[rows])

    @cached_property
    def column_means(self) -> Values:
        if self._moments is not None:
            return self._moments[0].astype(self.dtype)
        sums = sum(part.values.astype(wide(self.dtype)).T @ weights for part, weights in self._parts())
        return np.asarray(sums / np.maximum(self.column_counts, 1), self.dtype)

    @cached_property
    def column_variances(self) -> Real:
        if self._moments is not None:
            return self._moments[1]
        p = self.shape[1]
        centred = ((part.standardised(np.arange(p), np.ones(p), self.column_means), w) for part, w in self._parts())
        squares = sum(part.squares.T @ weights for part, weights in centred)
        return np.asarray(squares / np.maximum(self.column_counts, 1))

    @property
    def n_stored(self) -> int:
        return self.table.n_stored * self.shape[0] // max(self.table.shape[0], 1)

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.column_variances == 0)

    def take(self, rows: Index) -> InMemory:
        return self.table.take(self.source(rows))

    def parts(self) -> Iterator[InMemory]:
        for part, weights in self._parts():
            yield part.take(np.repeat(np.arange(len(weights)), weights))

    def dense(self) -> Entries:
        check_fits("the table with its rows repeated", self.shape, self.dtype.itemsize + 1)
        return self.table.dense().take(np.repeat(np.arange(len(self.counts)), self.counts))

    def _parts(self) -> Iterator[tuple[InMemory, Index]]:
        """Blocks of rows of the other table, and their numbers of copies."""
        begin = 0
        for part in self.table.parts():
            yield part, self.counts[begin : begin + part.shape[0]]
            begin += part.shape[0]
