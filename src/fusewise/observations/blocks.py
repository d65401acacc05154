"""Tables too large for memory, read some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fusewise.observations.entries import Entries, Mask, Values

#: Entries of a table read at once: 256 MB of doubles.
READ_ENTRIES = 32_000_000


@runtime_checkable
class RowBlocks(Protocol):
    """A table as a sequence of blocks of rows, which can be gone through again and again."""

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        ...

    def blocks(self) -> Iterator[Entries]:
        """The rows in order, some at a time."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """An array on disk, or anything that has a shape and gives rows for a slice: ``numpy.memmap``, HDF5, Zarr.

    Attributes
    ----------
    array : N x P real numbers; NaN is a hole.
    mask : N x P, true where observed; None: all that is not NaN.
    """

    array: Any
    mask: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        n, p = self.array.shape
        return n, p

    def blocks(self) -> Iterator[Entries]:
        """The rows in order, some at a time."""
        n, p = self.shape
        step = max(1, READ_ENTRIES // p)
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            yield _entries(np.asarray(self.array[rows]), None if self.mask is None else np.asarray(self.mask[rows]))


@dataclass(frozen=True, eq=False)
class ParquetBlocks:
    """A Parquet file, row group by row group; nulls and NaN are holes.

    Attributes
    ----------
    path : of the file.
    columns : names of the numeric columns to read, in order; None: all columns.
    """

    path: str | os.PathLike[str]
    columns: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return self.columns or tuple(_parquet().ParquetFile(self.path).schema_arrow.names)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        return _parquet().ParquetFile(self.path).metadata.num_rows, len(self.names)

    def blocks(self) -> Iterator[Entries]:
        """The rows in order, some at a time: never more than a row group holds."""
        names = list(self.names)
        with _parquet().ParquetFile(self.path) as file:
            for batch in file.iter_batches(max(1, READ_ENTRIES // len(names)), columns=names):
                columns = [self._numbers(batch, name) for name in names]
                yield _entries(np.column_stack(columns), None, tuple(names))

    def _numbers(self, batch: Any, name: str) -> Values:
        """A column as floats, NaN where null."""
        try:
            return np.asarray(batch.column(name).cast("float64").to_numpy(zero_copy_only=False))
        except (ValueError, NotImplementedError) as error:
            raise ValueError(f"column {name!r} of {os.fspath(self.path)} is not numeric: leave it out") from error


def _entries(values: Values, mask: Mask | None, names: tuple[str, ...] | None = None) -> Entries:
    observed = ~np.isnan(values)
    if mask is not None:
        observed &= mask.astype(bool)
    return Entries(np.where(observed, values, 0), observed, names)


def _parquet() -> Any:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError('Parquet files need pyarrow: pip install "fusewise[frames]"') from error
    return parquet
