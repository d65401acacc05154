"""What the default needs to know of a table, wherever it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fusewise.kernels.threads import in_threads
from fusewise.observations.entries import BLOCK_ENTRIES, Entries, Real, Values
from fusewise.observations.sparse import SparseEntries

Index = npt.NDArray[np.intp]

#: Tables whose rows are at hand.
InMemory = Entries | SparseEntries

#: Rows taken at a time, at most.
BLOCK_ROWS = 8192


class Table(Protocol):
    """N rows and P columns with holes: ``Entries``, ``SparseEntries`` or ``StreamedEntries``."""

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, where the table had them."""
        ...

    @property
    def row_counts(self) -> Index:
        """Observed entries in each row."""
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
        """Numbers that all rows hold in memory."""
        ...

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether nothing is hidden."""
        ...

    def take(self, rows: Index) -> InMemory:
        """Some of the rows, in rising order."""
        ...

    def parts(self) -> Iterator[InMemory]:
        """The table piece by piece, as it fits in memory."""
        ...

    def dense(self) -> Entries:
        """All of it as an array with a mask, where that fits in memory."""
        ...


def each_block(work: Callable[[InMemory, slice], None], table: Table, width: int | None = None) -> None:
    """Go through a table in blocks of rows, on all cores (the heavy parts let go of the interpreter).

    Parameters
    ----------
    work : is given some rows, and where they stand in the table.
    table : all rows.
    width : numbers of work space for each row; by default those that are stored of it.
    """
    end = 0
    for part in table.parts():
        n = part.shape[0]
        begin, end = end, end + n
        step = min(BLOCK_ROWS, max(1, BLOCK_ENTRIES // max(width or part.n_stored // max(n, 1), 1)))

        def one(rows: slice, part: InMemory = part, begin: int = begin) -> None:
            work(part.take(rows), slice(begin + rows.start, begin + rows.stop))

        for _ in in_threads(one, [slice(at, min(at + step, n)) for at in range(0, n, step)]):
            pass
