"""A table of Dask as the default method uses it: statistics of its columns, and where its blocks begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Array, Maybe, Several, Word
from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations.checks import check_fits, check_size
from fusewise.observations.conversion import as_entries
from fusewise.observations.dask_blocks import DaskBlocks, Encode, compute, merged
from fusewise.observations.entries import Entries
from fusewise.observations.kinds import InMemory, reduce_blocks
from fusewise.observations.moments import ColumnMoments

S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class DaskTable(Checked):
    """Statistics of a table whose rows are blocks of Dask; nothing of it has the length of the table.

    Attributes
    ----------
    source : the blocks; None in a copy or a saved model.
    moments : statistics of the columns.
    lengths, seen : for each block its number of rows, and of rows with observed entries.
    feature_names : names of the columns, if the table had any.
    """

    source: DaskBlocks | None
    moments: ColumnMoments
    lengths: Index
    seen: Index
    feature_names: tuple[str, ...] | None = field(default=None)

    _rules: ClassVar = {
        "moments": Record(ColumnMoments, P="P"),
        "lengths": Array("blocks", kinds="iu", low=0),
        "seen": Array("blocks", kinds="iu", low=0),
        "feature_names": Maybe(Several(Word(), "P")),
    }

    @classmethod
    def of(cls, source: DaskBlocks, encode: Encode | None = None, *, min_rows: int = 2) -> DaskTable:
        """Compute the statistics, in one pass over the blocks."""
        moments, lengths, seen = merged(source.each(_statistics, encode), _together)
        check_size((moments.n_rows, len(moments.counts)), min_rows)
        names = tuple(map(str, source.header.columns)) if source.is_frame and encode is None else None
        return cls(replace(source, encode=encode), moments, np.array(lengths), np.array(seen), names)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        return self.moments.n_rows, len(self.moments.counts)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Data type of the values."""
        return np.dtype(self.moments.dtype)

    @property
    def row_counts(self) -> Index:
        """Raise TypeError: there would be a number for each row."""
        return _refuse("the number of observed entries of each row")

    @property
    def n_seen(self) -> int:
        """Number of rows with observed entries."""
        return self.moments.n_seen

    @property
    def column_counts(self) -> Index:
        """Observed entries in each column."""
        return self.moments.counts

    @property
    def column_means(self) -> Values:
        """Mean of the observed entries of each column (0 where there is none)."""
        return self.moments.table_means

    @property
    def column_variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        return self.moments.variances

    @property
    def n_stored(self) -> int:
        """Number of values that all rows would take in memory."""
        return self.shape[0] * self.shape[1]

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        return self.moments.is_constant

    @property
    def is_complete(self) -> bool:
        """Whether no entry is missing."""
        return int(self.column_counts.sum()) == self.n_stored

    def take(self, rows: Index) -> Entries:
        """Select rows, given in increasing order; each block sends its own."""
        return self._selected(rows, self.lengths, among_seen=False)

    def take_seen(self, rows: Index) -> Entries:
        """Select rows, numbered in increasing order among those with observed entries; each block sends its own."""
        return self._selected(rows, self.seen, among_seen=True)

    def reduce(self, summarise: Callable[[InMemory, int], S], merge: Callable[[S, S], S]) -> S:
        """Summarise the blocks where they are, and merge the summaries in a tree (see ``reduce_blocks``)."""
        begins = np.cumsum(self.lengths) - self.lengths
        return merged(self._there.each(_summary, self._there.encode, summarise, merge, begins), merge)

    def parts(self) -> Iterator[InMemory]:
        """Raise TypeError: blocks stay where they are."""
        return _refuse("the rows")

    def dense(self) -> Entries:
        """Raise TypeError: the rows stay where they are."""
        return _refuse("the rows")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "source": None}

    @property
    def _there(self) -> DaskBlocks:
        if self.source is None:
            raise InputError("saved and copied models do not include their Dask table: pass the table again")
        return self.source

    def _selected(self, rows: Index, lengths: Index, among_seen: bool) -> Entries:
        check_fits("the selection of rows", (len(rows), self.shape[1]), self.dtype.itemsize + 1)
        ends = np.cumsum(lengths)
        cuts = np.searchsorted(rows, np.concatenate([[0], ends]))
        wanted = {
            k: rows[cuts[k] : cuts[k + 1]] - (ends[k] - lengths[k]) for k in np.flatnonzero(np.diff(cuts)).tolist()
        }
        tasks = self._there.each(partial(_some_rows, among_seen=among_seen), self._there.encode, wanted)
        pieces = compute([tasks[k] for k in wanted])
        none = Entries(np.zeros((0, self.shape[1]), self.dtype), np.zeros((0, self.shape[1]), bool))
        values, mask = (np.concatenate([getattr(one, name) for one in (none, *pieces)]) for name in ("values", "mask"))
        return Entries(values, mask, self.feature_names)


def as_rows(block: Any, encode: Encode | None) -> Entries:
    """A block, which may be empty, as entries."""
    return as_entries(block if encode is None else encode(block), min_rows=0)


def _statistics(block: Any, number: int, encode: Encode | None) -> tuple[ColumnMoments, list[int], list[int]]:
    moments = ColumnMoments.of(as_rows(block, encode))
    return moments, [moments.n_rows], [moments.n_seen]


def _together(one: Any, other: Any) -> Any:
    return one[0].merged(other[0]), one[1] + other[1], one[2] + other[2]


def _some_rows(block: Any, number: int, encode: Encode | None, wanted: dict[int, Index], *, among_seen: bool) -> Any:
    rows = as_rows(block, encode)
    return (rows.take_seen if among_seen else rows.take)(wanted[number])


def _summary(block: Any, number: int, encode: Encode | None, summarise: Any, merge: Any, begins: Index) -> Any:
    rows, begin = as_rows(block, encode), int(begins[number])
    if not rows.shape[0]:
        return None
    return reduce_blocks(lambda part, at: summarise(part, begin + at), merge, rows)


def _refuse(what: str) -> NoReturn:
    raise TypeError(f"{what} of a Dask table cannot be held here: compute the table first, if it fits in memory")
