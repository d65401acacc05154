"""The interface of a table, dense, sparse or on disk, as the default method uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations.entries import Entries
from fusewise.observations.sparse import SparseEntries

S = TypeVar("S")

#: Tables held in memory.
InMemory = Entries | SparseEntries

#: Largest number of rows in a block, and numbers of work space for it.
BLOCK_ROWS, SCAN_ENTRIES = 8192, 4_000_000


class Table(Protocol):
    """N rows and P columns with missing values: ``Entries``, ``SparseEntries`` or ``StreamedEntries``."""

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the values."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, if the table had any."""
        ...

    @property
    def row_counts(self) -> Index:
        """Observed entries in each row."""
        ...

    @property
    def n_seen(self) -> int:
        """Number of rows with observed entries."""
        ...

    @property
    def column_counts(self) -> Index:
        """Observed entries in each column."""
        ...

    @property
    def column_means(self) -> Values:
        """Mean of the observed entries of each column (0 where there is none)."""
        ...

    @property
    def column_variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        ...

    @property
    def n_stored(self) -> int:
        """Number of values that all rows take in memory."""
        ...

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether no entry is missing."""
        ...

    def take(self, rows: Index) -> InMemory:
        """Select rows, given in increasing order."""
        ...

    def take_seen(self, rows: Index) -> InMemory:
        """Select rows, numbered in increasing order among those with observed entries."""
        ...

    def parts(self) -> Iterator[InMemory]:
        """Iterate over blocks of rows that fit in memory."""
        ...

    def dense(self) -> Entries:
        """Return the table as an array with a mask; raises MemoryError if that does not fit."""
        ...


@runtime_checkable
class Remote(Protocol):
    """A table whose blocks are elsewhere, where functions of a block are sent."""

    def reduce(self, summarise: Callable[[InMemory, int], S], merge: Callable[[S, S], S]) -> S:
        """Summarise the blocks where they are, and merge the summaries (see ``reduce_blocks``)."""
        ...


def each_block(work: Callable[[InMemory, slice], None], table: Table, width: int | None = None) -> None:
    """Process a table in blocks of rows on all cores (the heavy parts release Python's global lock).

    Parameters
    ----------
    work : called with a block of rows and their positions in the table.
    table : all rows.
    width : numbers of work space for each row; by default as many as are stored of it.
    """
    for _ in _of_each_block(work, table, width):
        pass


def reduce_blocks(
    summarise: Callable[[InMemory, int], S], merge: Callable[[S, S], S], table: Table, width: int | None = None
) -> S:
    """Summarise a table in one pass over blocks of rows: on all cores, or where its blocks are.

    Only summaries are kept, and those of a table on a cluster travel; so they should be small and of bounded size.

    Parameters
    ----------
    summarise : called with a block of rows and the position of its first row in the table.
    merge : the summary of two successive groups of rows from those of each. It must be associative, since summaries
        are merged in the order of the rows, but grouped in any way.
    table : at least one row.
    width : as in ``each_block``.
    """
    if isinstance(table, Remote):
        return table.reduce(summarise, merge)
    return reduce(merge, _of_each_block(lambda rows, where: summarise(rows, where.start), table, width))


def _of_each_block(work: Callable[[InMemory, slice], R], table: Table, width: int | None) -> Iterator[R]:
    """What a function returns for each block of rows, in order."""
    end = 0
    for part in table.parts():
        n = part.shape[0]
        begin, end = end, end + n
        step = min(BLOCK_ROWS, max(1, SCAN_ENTRIES // max(width or part.n_stored // max(n, 1), 1)))

        def one(rows: slice, part: InMemory = part, begin: int = begin) -> R:
            return work(part.take(rows), slice(begin + rows.start, begin + rows.stop))

        yield from in_threads(one, [slice(at, min(at + step, n)) for at in range(0, n, step)])
