"""Tables read in blocks of rows, tables in which rows are repeated, and a uniform sample of a stream of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Mask, Real, Values, splitmix64
from fusewise.observations._checks import check_fits, refuse_infinite
from fusewise.observations._entries import BoundedEntries, Entries, InMemory, Table, row_blocks, stacked, wide
from fusewise.support import (
    Dims,
    InputError,
    Instance,
    Maybe,
    Number,
    NumberArray,
    PositionArray,
    Record,
    Several,
    Word,
    bind,
)


@dataclass(frozen=True, eq=False)
class ColumnMoments(Record):
    """Counts, means, variances and ranges of columns."""

    # n_rows, n_seen: number of rows, and of those with observed entries
    n_rows: int
    n_seen: int
    # counts, means, squares: for each column the number of observed entries, their mean (in double precision),
    # and the sum of the squared deviations from it
    counts: Index
    means: Values
    squares: Real
    # between, inexact: for each column the number of entries between bounds, which no other number is of; and whether
    # any entry of it has bounds or an error
    between: Index
    inexact: Mask
    # low, high: P x 1 (P x 2 if complex), the smallest and largest entry; inf and -inf if there is none
    low: Real
    high: Real
    dtype: str  # type of the values of a table of all the rows

    _rules: ClassVar = {
        "n_rows": Number(low=0, whole=True),
        "n_seen": Number(low=0, whole=True),
        "counts": PositionArray("P", below="more than N"),
        "means": NumberArray("P", kinds="fc"),
        "squares": NumberArray("P", low=0),
        "between": PositionArray("P", below="more than N"),
        "inexact": NumberArray("P", kinds="b"),
        "low": NumberArray("P", "parts", finite=False),
        "high": NumberArray("P", "parts", finite=False),
        "dtype": Word("<f4", "<f8", "<c8", "<c16", ">f4", ">f8", ">c8", ">c16"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["more than N"] = self.n_rows + 1

    @classmethod
    def of(cls, rows: Entries) -> ColumnMoments:
        """Those of a block of rows."""
        observed = Entries(rows.values, rows.mask) if rows.inexact.any() else rows
        counts = observed.column_counts
        low, high = (side.reshape(rows.shape[1], -1).astype(float) for side in observed._range)
        some = counts[:, None] > 0
        return cls(
            rows.shape[0],
            rows.n_seen,
            counts,
            observed.column_means.astype(wide(rows.dtype)),
            counts * observed.column_variances,
            rows.column_counts - counts,
            rows.inexact,
            np.where(some, low, np.inf),
            np.where(some, high, -np.inf),
            rows.dtype.str,
        )

    def merged(self, other: ColumnMoments) -> ColumnMoments:
        """Those of both groups of rows (Chan, Golub and LeVeque, 1979)."""
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1)
        gap = other.means - self.means
        return ColumnMoments(
            self.n_rows + other.n_rows,
            self.n_seen + other.n_seen,
            counts,
            self.means + gap * share,
            self.squares + other.squares + self.counts * share * np.square(np.abs(gap)),
            self.between + other.between,
            self.inexact | other.inexact,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.result_type(np.dtype(self.dtype), np.dtype(other.dtype)).str,
        )

    @property
    def variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        return np.asarray(self.squares / np.maximum(self.counts, 1))


#: Entries of a table that are read at a time: 64 MB in double precision.
READ_ENTRIES = 8_000_000
#: Types that are kept as they are; other numbers are converted to double precision.
FLOATS = (np.float64, np.float32)
COMPLEX = (np.complex128, np.complex64)


@runtime_checkable
class RowBlocks(Protocol):
    """A table as a sequence of blocks of rows that can be iterated over repeatedly."""

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""

    def blocks(self) -> Iterator[Entries]:
        """Iterate over the rows in order, in blocks."""


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """An array on disk, or any object with a shape whose rows can be sliced: ``numpy.memmap``, HDF5, Zarr."""

    array: Any  # N x P numbers; NaN is a missing value
    mask: Any = None  # N x P, true where observed; None: every entry that is not NaN

    @property
    def shape(self) -> tuple[int, int]:
        if len(self.array.shape) != 2:
            raise InputError(f"Expected 2D array, got {len(self.array.shape)}D array instead: one row per point")
        return tuple(self.array.shape)

    def blocks(self) -> Iterator[Entries]:
        for rows in row_blocks(*self.shape, READ_ENTRIES):
            values = np.asarray(self.array[rows])
            if values.dtype.kind not in "biufc":
                raise InputError(f"the array must be numeric, but its dtype is {values.dtype}")
            if values.dtype not in FLOATS + COMPLEX:
                values = values.astype(wide(values.dtype))
            observed = ~np.isnan(values)
            if self.mask is not None:
                observed &= np.asarray(self.mask[rows]).astype(bool)
            yield Entries(np.where(observed, values, 0), observed)


#: Rows from which means and variances of columns are estimated that are not known exactly.
SAMPLED = 20_000


@dataclass(frozen=True, eq=False)
class SummarisedTable(Table, Record):
    """A table whose rows are elsewhere, with the statistics of its columns."""

    source: Any  # where the rows are; None in a copy or a saved model, which do not include them
    moments: ColumnMoments
    # column_means, column_variances, feature_names: as in ``Entries``
    column_means: Values
    column_variances: Real
    feature_names: tuple[str, ...] | None

    _rules: ClassVar = {
        "moments": Instance(ColumnMoments, P="P"),
        "column_means": NumberArray("P", kinds="fc"),
        "column_variances": NumberArray("P", low=0),
        "feature_names": Maybe(Several(Word(), "P")),
    }

    @classmethod
    def _with_moments(cls, source: Any, moments: ColumnMoments, names: tuple[str, ...] | None, **others: Any) -> Self:
        """The table, given the moments of its observed entries.

        Where others are known in part, means and variances are those of a sample of the rows (``Entries.moments``).
        """
        means, inexact = moments.means.astype(np.dtype(moments.dtype)), moments.inexact
        table = cls(source, moments, means, moments.variances, names, **others)
        if not inexact.any():
            return table
        random = np.random.default_rng(0)
        rows = np.sort(random.choice(table.n_seen, min(table.n_seen, SAMPLED), replace=False))
        own, variances = table.take_seen(rows).dense().moments()
        return replace(
            table,
            column_means=np.where(inexact, own, means).astype(means.dtype),
            column_variances=np.where(inexact, variances, moments.variances),
        )

    @property
    def shape(self) -> tuple[int, int]:
        return self.moments.n_rows, len(self.moments.counts)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.moments.dtype)

    @property
    def n_seen(self) -> int:
        return self.moments.n_seen

    @property
    def column_counts(self) -> Index:
        return self.moments.counts + self.moments.between

    @property
    def inexact(self) -> Mask:
        return self.moments.inexact

    @property
    def is_constant(self) -> Mask:
        alike = (self.moments.low >= self.moments.high).all(axis=1)
        return np.where(self.moments.between > 0, self.column_variances == 0, alike)

    def _selected(self, rows: Index, select: Callable[[Index], Sequence[Entries]]) -> Entries:
        """Rows in any order, given what finds them in increasing order, in pieces."""
        check_fits("the selection of rows", (len(rows), self.shape[1]), self.dtype.itemsize + 1)
        none = Entries(np.zeros((0, self.shape[1]), self.dtype), np.zeros((0, self.shape[1]), bool), self.feature_names)
        if self.moments.between.any():
            ends = np.zeros(none.shape)
            none = BoundedEntries(none.values, none.mask, none.feature_names, low=ends, high=ends)
        order = np.argsort(rows, kind="stable")
        found = stacked([none, *select(rows[order])])
        return found if (np.diff(order) > 0).all() else found.take(np.argsort(order))

    @property
    def _there(self) -> Any:
        if self.source is None:
            raise InputError("saved and copied models do not include their table on disk, or of Dask: pass it again")
        return self.source

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}


@dataclass(frozen=True, eq=False)
class StreamedEntries(SummarisedTable):
    """A table that stays on disk; its rows are read in blocks (``RowBlocks``) when they are needed."""

    row_counts: Index  # as in ``Entries``

    _rules: ClassVar = SummarisedTable._rules | {"row_counts": NumberArray("N", kinds="iu", low=0)}

    def _agree(self, dims: Dims) -> None:
        bind(dims, "N", self.moments.n_rows, "StreamedEntries.moments")

    @classmethod
    def of(cls, source: RowBlocks) -> StreamedEntries:
        """Compute the statistics in one pass, adding up those of each block (Chan, Golub and LeVeque, 1979)."""
        row_counts: list[Index] = []
        moments = None
        for block in source.blocks():
            refuse_infinite(block.values, block.mask, block.feature_names, sum(map(len, row_counts)))
            own = ColumnMoments.of(block)
            moments = own if moments is None else moments.merged(own)
            row_counts.append(block.row_counts)
        assert moments is not None, "a table on disk has at least one block of rows"
        return cls._with_moments(source, moments, block.feature_names, row_counts=np.concatenate(row_counts))

    def parts(self) -> Iterator[Entries]:
        yield from self._there.blocks()

    def take(self, rows: Index) -> Entries:
        """Select rows, in one pass over the table."""

        def pieces(rows: Index) -> list[Entries]:
            found, begin = [], 0
            for part in self.parts():
                end = begin + part.shape[0]
                wanted = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
                found.append(part.take(wanted - begin))
                begin = end
            return found

        return self._selected(rows, pieces)

    def dense(self) -> Entries:
        return self.take(np.arange(self.shape[0]))


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
        """Means and variances if not all entries are exact."""
        if isinstance(self.table, Entries) and self.table.inexact.any():
            return self.table.moments(self.counts)
        return None

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


@dataclass(frozen=True, eq=False)
class RowSample(Record):
    """The rows with the smallest priorities among those of a stream that have observed entries.

    The priority of a row is a random number that follows from the seed and from the position of the row in the stream.
    """

    size: int  # largest number of rows
    seed: int  # seed of the priorities
    n_rows: int  # rows of the stream so far, with or without observed entries
    # rows, priorities: the rows kept, in increasing order of their priorities
    rows: Entries
    priorities: npt.NDArray[np.uint64]

    _rules: ClassVar = {
        "size": Number(low=1, whole=True),
        "seed": Number(low=0, whole=True),
        "n_rows": Number(low=0, whole=True),
        "rows": Instance(Entries, N="kept", P="P"),
        "priorities": NumberArray("kept", kinds="u"),
    }

    @classmethod
    def empty(cls, size: int, seed: int, n_columns: int, dtype: npt.DTypeLike) -> RowSample:
        """The sample before the first row."""
        none = Entries(np.zeros((0, n_columns), dtype), np.zeros((0, n_columns), bool))
        return cls(size, seed, 0, none, np.zeros(0, np.uint64))

    def with_rows(self, rows: Entries) -> RowSample:
        """The sample after further rows."""
        end = self.n_rows + rows.shape[0]
        positions = np.arange(self.n_rows, end).astype(np.uint64)
        priorities = splitmix64(positions + splitmix64(np.array([self.seed], np.uint64)))
        new = np.flatnonzero(rows.row_counts > 0)
        if len(self.priorities) == self.size:
            new = new[priorities[new] < self.priorities[-1]]
        both = np.concatenate([self.priorities, priorities[new]])
        kept = np.argsort(both, kind="stable")[: self.size]
        some = stacked([self.rows, rows.take(new)]).take(kept)
        return replace(self, n_rows=end, rows=some, priorities=both[kept])
