"""Tables too large for memory: read in blocks of rows, with statistics of their columns kept in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations._checks import check_fits, refuse_infinite
from fusewise.observations._entries import Entries, Table, wide
from fusewise.support import Dims, InputError, Maybe, Number, NumberArray, PositionArray, Record, Several, Word


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
        "low": NumberArray("P", "parts", finite=False),
        "high": NumberArray("P", "parts", finite=False),
        "dtype": Word("<f4", "<f8", "<c8", "<c16", ">f4", ">f8", ">c8", ">c16"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["more than N"] = self.n_rows + 1

    @classmethod
    def of(cls, rows: Entries) -> ColumnMoments:
        """Those of a block of rows."""
        counts = rows.column_counts
        low, high = (side.reshape(rows.shape[1], -1).astype(float) for side in rows._range)
        some = counts[:, None] > 0
        return cls(
            rows.shape[0],
            rows.n_seen,
            counts,
            rows.column_means.astype(wide(rows.dtype)),
            counts * rows.column_variances,
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
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.result_type(np.dtype(self.dtype), np.dtype(other.dtype)).str,
        )

    @property
    def table_means(self) -> Values:
        """The means in the type of the table."""
        return self.means.astype(np.dtype(self.dtype))

    @property
    def variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        return np.asarray(self.squares / np.maximum(self.counts, 1))

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        return np.asarray((self.low >= self.high).all(axis=1))

    def drift_of(self, later: ColumnMoments) -> Real:
        """|mean of later rows - mean| over the larger standard deviation of the two; 0 where one has no entries."""
        away = np.abs(later.means - self.means)
        spread = np.sqrt(np.maximum(self.variances, later.variances))
        ratio = np.divide(away, spread, out=np.full(len(away), np.inf), where=spread > 0)
        return np.where((self.counts > 0) & (later.counts > 0) & (away > 0), ratio, 0.0)


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
        ...

    def blocks(self) -> Iterator[Entries]:
        """Iterate over the rows in order, in blocks."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """An array on disk, or any object with a shape whose rows can be sliced: ``numpy.memmap``, HDF5, Zarr."""

    array: Any  # N x P numbers; NaN is a missing value
    mask: Any = None  # N x P, true where observed; None: every entry that is not NaN

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        if len(self.array.shape) != 2:
            raise InputError(f"Expected 2D array, got {len(self.array.shape)}D array instead: one row per point")
        n, p = self.array.shape
        return n, p

    def blocks(self) -> Iterator[Entries]:
        """Iterate over the rows in order, in blocks."""
        n, p = self.shape
        step = max(1, READ_ENTRIES // max(p, 1))
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            yield _entries(np.asarray(self.array[rows]), None if self.mask is None else np.asarray(self.mask[rows]))


@dataclass(frozen=True, eq=False)
class ParquetBlocks:
    """A Parquet file, read one row group at a time; nulls and NaN are missing values."""

    path: str | os.PathLike[str]  # path of the file
    columns: tuple[str, ...] | None = None  # names of the numeric columns to read, in order; None: all columns

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are read."""
        known = tuple(_parquet().ParquetFile(self.path).schema_arrow.names)
        unknown = set(self.columns or ()).difference(known)
        if unknown:
            raise InputError(f"{os.fspath(self.path)} has no column {min(unknown)!r}; it has {', '.join(known[:20])}")
        return self.columns or known

    @property
    def header(self) -> Any:
        """The columns without their rows, as an Arrow table."""
        schema = _parquet().ParquetFile(self.path).schema_arrow
        return schema.empty_table().select(list(self.names))

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        return _parquet().ParquetFile(self.path).metadata.num_rows, len(self.names)

    def blocks(self) -> Iterator[Entries]:
        """Iterate over the rows in order, in blocks of at most one row group."""
        names = list(self.names)
        single = all(str(kind) == "float" for kind in self.header.schema.types)  # Arrow's name for float32
        with _parquet().ParquetFile(self.path) as file:
            for batch in file.iter_batches(max(1, READ_ENTRIES // max(len(names), 1)), columns=names):
                values = np.empty((len(batch), len(names)), np.float32 if single else np.float64)
                for j, name in enumerate(names):
                    values[:, j] = self._numbers(batch, name)
                yield _entries(values, None, tuple(names))

    def _numbers(self, batch: Any, name: str) -> Values:
        """A column as floats, NaN where null."""
        try:
            return np.asarray(batch.column(name).cast("float64").to_numpy(zero_copy_only=False))
        except (ValueError, NotImplementedError) as error:
            raise InputError(f"column {name!r} of {os.fspath(self.path)} is not numeric: leave it out") from error


def _entries(values: Values, mask: Mask | None, names: tuple[str, ...] | None = None) -> Entries:
    if values.dtype.kind not in "biufc":
        raise InputError(f"the array must be numeric, but its dtype is {values.dtype}")
    if values.dtype not in FLOATS + COMPLEX:
        values = values.astype(np.complex128 if values.dtype.kind == "c" else np.float64)
    observed = ~np.isnan(values)
    if mask is not None:
        observed &= mask.astype(bool)
    return Entries(np.where(observed, values, 0), observed, names)


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('reading Parquet files requires pyarrow: pip install "fusewise[frames]"') from error
    return parquet


@dataclass(frozen=True, eq=False)
class StreamedEntries(Table, Record):
    """Counts, means and variances of a table that stays on disk; its rows are read when they are needed."""

    # the blocks of rows; None in a copy or a saved model, which do not include the table on disk
    source: RowBlocks | None
    # row_counts, column_counts, column_means, column_variances, is_constant, feature_names: as in ``Entries``
    row_counts: Index
    column_counts: Index
    column_means: Values
    column_variances: Real
    is_constant: npt.NDArray[np.bool_]
    feature_names: tuple[str, ...] | None = field(default=None)

    _rules: ClassVar = {
        "row_counts": PositionArray("N", below="more than P"),
        "column_counts": PositionArray("P", below="more than N"),
        "column_means": NumberArray("P", kinds="fc"),
        "column_variances": NumberArray("P", low=0),
        "is_constant": NumberArray("P", kinds="b"),
        "feature_names": Maybe(Several(Word(), "P")),
    }

    def _agree(self, dims: Dims) -> None:
        dims["more than P"], dims["more than N"] = dims["P"] + 1, dims["N"] + 1

    @classmethod
    def of(cls, source: RowBlocks) -> StreamedEntries:
        """Compute the statistics in one pass, adding up those of each block (Chan, Golub and LeVeque, 1979)."""
        row_counts: list[Index] = []
        names, moments = None, None
        for block in source.blocks():
            refuse_infinite(block.values, block.mask, block.feature_names, sum(map(len, row_counts)))
            own = ColumnMoments.of(block)
            moments = own if moments is None else moments.merged(own)
            names = block.feature_names
            row_counts.append(block.row_counts)
        assert moments is not None, "a table on disk has at least one block of rows"
        return cls(
            source,
            np.concatenate(row_counts),
            moments.counts,
            moments.table_means,
            moments.variances,
            moments.is_constant,
            names,
        )

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_counts), len(self.column_counts)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.column_means.dtype

    def parts(self) -> Iterator[Entries]:
        """Iterate over the rows in order, in blocks."""
        if self.source is None:
            raise InputError("saved and copied models do not include their table on disk: pass the table again")
        return self.source.blocks()

    def take(self, rows: Index) -> Entries:
        """Select rows, given in increasing order, in one pass over the table."""
        check_fits("the selection of rows", (len(rows), self.shape[1]), self.dtype.itemsize + 1)
        pieces, begin = [], 0
        for part in self.parts():
            end = begin + part.shape[0]
            wanted = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
            pieces.append(part.take(wanted - begin))
            begin = end
        values, mask = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("values", "mask"))
        return Entries(values, mask, self.feature_names)

    def dense(self) -> Entries:
        """Read all rows; raises MemoryError if they do not fit."""
        return self.take(np.arange(self.shape[0]))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}
