"""Tables too large for memory, read in blocks of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Mask, Values
from fusewise.observations.entries import Entries

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
    """An array on disk, or any object with a shape whose rows can be sliced: ``numpy.memmap``, HDF5, Zarr.

    Attributes
    ----------
    array : N x P numbers; NaN is a missing value.
    mask : N x P, true where observed; None: every entry that is not NaN.
    """

    array: Any
    mask: Any = None

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
    """A Parquet file, read one row group at a time; nulls and NaN are missing values.

    Attributes
    ----------
    path : path of the file.
    columns : names of the numeric columns to read, in order; None: all columns.
    """

    path: str | os.PathLike[str]
    columns: tuple[str, ...] | None = None

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
