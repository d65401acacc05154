"""Tables of Dask: blocks of rows on other threads, processes or machines, to which functions are sent.

Only statistics of columns, numbers of rows of each block and selected rows ever come back. Nothing here has the length
of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Real, Values, one_thread
from fusewise.observations._checks import check_fits, check_size
from fusewise.observations._conversion import as_entries
from fusewise.observations._entries import Entries, InMemory, Table, reduce_blocks
from fusewise.observations._streamed import ColumnMoments
from fusewise.support import InputError, Instance, Maybe, NumberArray, Record, Several, Word

T = TypeVar("T")

#: A block as numbers.
Encode = Callable[[Any], npt.NDArray[Any]]

#: Summaries that are merged by one task.
BRANCHES = 8


class BlockError(ValueError):
    """A block of a Dask table could not be processed; the message says which, and why."""


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """The blocks of rows of a ``dask.array.Array`` or ``dask.dataframe.DataFrame``."""

    collection: Any  # the array, with all columns in one chunk, or the frame
    encode: Encode | None = None  # what makes numbers of a block; None for blocks of numbers

    @classmethod
    def of(cls, X: Any) -> DaskBlocks:
        """Check a collection of Dask."""
        if hasattr(X, "npartitions") and hasattr(X, "_meta") and not hasattr(X, "chunks"):
            if not hasattr(X, "columns") or len(X._meta.shape) != 2:
                raise InputError("a table must have rows and columns: pass a dask.dataframe.DataFrame")
            return cls(X)
        if not hasattr(X, "chunks"):
            raise InputError(f"X is {type(X).__name__}: pass a dask.array.Array or a dask.dataframe.DataFrame")
        if X.ndim != 2:
            raise InputError(f"Expected 2D array, got {X.ndim}D array instead: one row per point")
        return cls(X if X.numblocks[1] <= 1 else X.rechunk({1: -1}))

    @property
    def is_frame(self) -> bool:
        """Whether the blocks are frames."""
        return hasattr(self.collection, "columns")

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.collection.npartitions if self.is_frame else self.collection.numblocks[0])

    @property
    def header(self) -> Any:
        """The columns without their rows."""
        return self.collection._meta if self.is_frame else np.empty((0, self.collection.shape[1]))

    def each(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        """What a function returns for each block, not yet computed, as a list of Dask's delayed values.

        The function is called with the block, its number and `given`, which each worker is sent once, in one thread.
        """
        task = _sent(_Task(function, self.n_blocks, given))
        if self.is_frame:
            some = self.header.iloc[:, 0]  # Dask wants to know what comes back; it is not checked
            found = self.collection.map_partitions(_of_partition, task, meta=some, enforce_metadata=False)
            return list(found.to_delayed())
        # Any object may come back: the array is never put together.
        found = self.collection.map_blocks(_of_chunk, task=task, dtype=object, meta=np.empty((0, 0), object))
        return list(found.to_delayed().ravel())

    def rows(self, function: Callable[..., Any], *given: Any, meta: Any, width: int | None = None) -> Any:
        """What a function returns for the rows of each block, as a collection of Dask with the same blocks.

        `meta` is an empty result: an array, or a series or a frame of pandas if the table is a frame; `width` the
        number of columns of an array, None if it has one dimension.
        """
        task = _sent(_Task(function, self.n_blocks, given))
        if self.is_frame:
            return self.collection.map_partitions(_of_partition, task, meta=meta)
        if width is None:
            return self.collection.map_blocks(_of_chunk, task=task, dtype=meta.dtype, drop_axis=1, meta=meta)
        chunks = (self.collection.chunks[0], (width,))
        return self.collection.map_blocks(_of_chunk, task=task, dtype=meta.dtype, chunks=chunks, meta=meta)


def compute(tasks: Sequence[Any]) -> tuple[Any, ...]:
    """Compute tasks on the scheduler that is set up (a ``distributed.Client``, or ``dask.config``), or on threads."""
    found: tuple[Any, ...] = dask_library().compute(*tasks)
    return found


def merged(tasks: Sequence[Any], merge: Callable[[T, T], T]) -> T:
    """Merge summaries that are not yet computed, in a tree, in their order; None is the summary of nothing."""
    join = dask_library().delayed(_Joining(merge), pure=False, traverse=False)
    level = list(tasks)
    while len(level) > 1:
        level = [join(level[k : k + BRANCHES]) for k in range(0, len(level), BRANCHES)]
    found: T = compute(level)[0]
    return found


def _sent(value: Any) -> Any:
    """A value that is part of the graph once, and from there sent to each worker that needs it, again if it is lost."""
    return dask_library().delayed(value, pure=False, traverse=False)


def dask_library() -> Any:
    """The module ``dask``; without it, an ImportError that says how to install it."""
    try:
        import dask
    except ImportError as error:
        raise ImportError('tables of Dask require it: pip install "fusewise[dask]"') from error
    return dask


@dataclass(frozen=True, eq=False)
class _Task:
    """A function of a block; errors name the block."""

    function: Callable[..., Any]
    n_blocks: int
    given: tuple[Any, ...]

    def __call__(self, block: Any, number: int) -> Any:
        try:
            with one_thread():
                return self.function(block, number, *self.given)
        except Exception as error:
            raise BlockError(f"block {number} of {self.n_blocks}, from 0: {error}") from error


@dataclass(frozen=True, eq=False)
class _Joining:
    merge: Callable[[Any, Any], Any]

    def __call__(self, summaries: Sequence[Any]) -> Any:
        found = None
        for one in summaries:
            found = one if found is None else found if one is None else self.merge(found, one)
        return found


def _of_chunk(block: Any, task: _Task | None = None, block_id: tuple[int, ...] | None = None) -> Any:
    assert task is not None
    return task(block, 0 if block_id is None else block_id[0])


def _of_partition(block: Any, task: _Task, partition_info: dict[str, Any] | None = None) -> Any:
    return task(block, 0 if partition_info is None else partition_info["number"])


S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class DaskTable(Table, Record):
    """Statistics of a table whose rows are blocks of Dask; nothing of it has the length of the table."""

    source: DaskBlocks | None  # the blocks; None in a copy or a saved model
    moments: ColumnMoments  # statistics of the columns
    # lengths, seen: for each block its number of rows, and of rows with observed entries
    lengths: Index
    seen: Index
    feature_names: tuple[str, ...] | None = field(default=None)  # names of the columns, if the table had any

    _rules: ClassVar = {
        "moments": Instance(ColumnMoments, P="P"),
        "lengths": NumberArray("blocks", kinds="iu", low=0),
        "seen": NumberArray("blocks", kinds="iu", low=0),
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
        return self.moments.n_rows, len(self.moments.counts)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.moments.dtype)

    @property
    def row_counts(self) -> Index:
        """Raise TypeError: there would be a number for each row."""
        return _refuse("the number of observed entries of each row")

    @property
    def n_seen(self) -> int:
        return self.moments.n_seen

    @property
    def column_counts(self) -> Index:
        return self.moments.counts

    @property
    def column_means(self) -> Values:
        return self.moments.table_means

    @property
    def column_variances(self) -> Real:
        return self.moments.variances

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        return self.moments.is_constant

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
