"""Tables of Dask: blocks of rows on other threads, processes or machines, to which functions are sent.

Only statistics of columns, numbers of rows of each block and selected rows ever come back. Nothing here has the length
of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np

from fusewise.kernels import Index, small_products
from fusewise.observations._checks import check_size, is_dask
from fusewise.observations._entries import Entries, InMemory
from fusewise.observations._streamed import ColumnMoments, SummarisedTable
from fusewise.support import InputError, NumberArray

T = TypeVar("T")

#: Summaries that are merged by one task.
BRANCHES = 8


class BlockError(ValueError):
    """A block of a Dask table could not be processed; the message says which, and why."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a table of Dask, where they are."""

    rows: Any  # an array or a frame
    half: dict[str, Any]  # the error, lower and upper of its entries, those that were given
    read: Callable[[Any, dict[str, Any]], Entries]

    @property
    def entries(self) -> Entries:
        """The block, which may be empty, as entries."""
        return self.read(self.rows, self.half)


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """The blocks of rows of a ``dask.array.Array`` or ``dask.dataframe.DataFrame``."""

    collection: Any  # the array, with all columns in one chunk, or the frame
    # the error, lower and upper of entries: a number for each column, or a collection with the same blocks
    half: dict[str, Any] = field(default_factory=dict)
    read: Any = None  # what makes entries of a block and what is known of them (``Block``); None: nothing needs them

    @classmethod
    def of(cls, X: Any, half: Mapping[str, Any] | None = None) -> DaskBlocks:
        """Check a collection of Dask, and what is known of its entries."""
        if hasattr(X, "npartitions") and hasattr(X, "_meta") and not hasattr(X, "chunks"):
            if not hasattr(X, "columns") or len(X._meta.shape) != 2:
                raise InputError("a table must have rows and columns: pass a dask.dataframe.DataFrame")
        elif not hasattr(X, "chunks"):
            raise InputError(f"X is {type(X).__name__}: pass a dask.array.Array or a dask.dataframe.DataFrame")
        elif X.ndim != 2:
            raise InputError(f"Expected 2D array, got {X.ndim}D array instead: one row per point")
        elif X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        found = cls(X)
        given = {name: each for name, each in (half or {}).items() if each is not None}
        return replace(found, half={name: found._alike(name, each) for name, each in given.items()})

    def _alike(self, name: str, given: Any) -> Any:
        """What is known of entries: an array with a number for each column, or a collection with the same blocks."""
        if is_dask(given):
            other = DaskBlocks.of(given)
            if (other.is_frame, other._ends) != (self.is_frame, self._ends):
                raise InputError(f"{name} must be a table of Dask with the rows of X in the same blocks, as X is")
            return other.collection
        if np.ndim(given) != 1:
            raise InputError(f"{name} has shape {np.shape(given)}: give one number for each column, or a table of Dask")
        return np.asarray(given)

    @property
    def _ends(self) -> tuple[Any, ...]:
        return tuple(self.collection.divisions if self.is_frame else self.collection.chunks[0])

    @property
    def is_frame(self) -> bool:
        return hasattr(self.collection, "columns")

    @property
    def n_blocks(self) -> int:
        return int(self.collection.npartitions if self.is_frame else self.collection.numblocks[0])

    @property
    def header(self) -> Any:
        return self.collection._meta if self.is_frame else np.empty((0, self.collection.shape[1]))

    def each(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        """What a function returns for each block, not yet computed, as a list of Dask's delayed values.

        The function is called with the ``Block``, its number and `given`, which each worker is sent once, in one
        thread.
        """
        # Dask wants to know what comes back, which is any object: it is neither checked nor put together.
        meta = self.header.iloc[:, 0] if self.is_frame else np.empty(0, object)
        return list(self.rows(function, *given, meta=meta).to_delayed())

    def rows(self, function: Callable[..., Any], *given: Any, meta: Any, width: int | None = None) -> Any:
        """What a function returns for the rows of each block, as a collection of Dask with the same blocks.

        `meta` is an empty result: an array, or a series or a frame of pandas if the table is a frame; `width` the
        number of columns of an array, None if it has one dimension.
        """
        told = {"given": given, "read": self.read, "names": tuple(self.half), "n_blocks": self.n_blocks}
        task, half = _sent(partial(_on_block, function=function, **told)), self.half.values()
        if self.is_frame:
            loosely = {"meta": meta, "enforce_metadata": False, "align_dataframes": False}
            return self.collection.map_partitions(_of_partition, task, *half, **loosely)
        kept = {"drop_axis": 1} if width is None else {"chunks": (self.collection.chunks[0], (width,))}
        return self.collection.map_blocks(_of_chunk, *half, task=task, dtype=meta.dtype, meta=meta, **kept)


def compute(tasks: Sequence[Any]) -> Any:
    """Compute tasks on the scheduler that is set up (a ``distributed.Client``, or ``dask.config``), or on threads."""
    return dask_library().compute(*tasks)


def merged(tasks: Sequence[Any], merge: Callable[[T, T], T]) -> T:
    """Merge summaries that are not yet computed, in a tree, in their order; None is the summary of nothing."""
    join = _sent(partial(_joined, merge=merge))
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


def _on_block(
    rows: Any,
    known: Sequence[Any],
    number: int,
    *,
    function: Callable[..., Any],
    n_blocks: int,
    given: tuple[Any, ...],
    read: Any,
    names: tuple[str, ...],
) -> Any:
    """A function of a block and of what is `known` of its entries, under these `names`; errors name the block."""
    half = dict(zip(names, known, strict=True))
    try:
        with small_products(1):
            return function(Block(rows, half, read), number, *given)
    except Exception as error:
        raise BlockError(f"block {number} of {n_blocks}, from 0: {error}") from error


def _joined(summaries: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    some = [one for one in summaries if one is not None]
    return reduce(merge, some) if some else None


def _of_chunk(rows: Any, *half: Any, task: Any = None, block_id: tuple[int, ...] | None = None) -> Any:
    return task(rows, half, 0 if block_id is None else block_id[0])


def _of_partition(rows: Any, task: Any, *half: Any, partition_info: dict[str, Any] | None = None) -> Any:
    return task(rows, half, 0 if partition_info is None else partition_info["number"])


@dataclass(frozen=True, eq=False)
class DaskTable(SummarisedTable):
    """Statistics of a table whose rows are blocks of Dask (``DaskBlocks``); none has the length of the table."""

    # lengths, seen: for each block its number of rows, and of rows with observed entries
    lengths: Index
    seen: Index

    _rules: ClassVar = SummarisedTable._rules | {
        "lengths": NumberArray("blocks", kinds="iu", low=0),
        "seen": NumberArray("blocks", kinds="iu", low=0),
    }

    @classmethod
    def of(cls, source: DaskBlocks, names: tuple[str, ...] | None = None) -> DaskTable:
        """Compute the statistics, in one pass over the blocks."""
        moments, lengths, seen = merged(source.each(_statistics), _together)
        check_size((moments.n_rows, len(moments.counts)), 2)
        return cls._with_moments(source, moments, names, lengths=np.array(lengths), seen=np.array(seen))

    @property
    def row_counts(self) -> Index:
        return _refuse("the number of observed entries of each row")

    def take(self, rows: Index) -> Entries:
        return self._selected(rows, partial(self._sent, lengths=self.lengths, among_seen=False))

    def take_seen(self, rows: Index) -> Entries:
        return self._selected(rows, partial(self._sent, lengths=self.seen, among_seen=True))

    def reduce(self, summarise: Callable[[InMemory, int], T], merge: Callable[[T, T], T]) -> T:
        begins = np.cumsum(self.lengths) - self.lengths
        return merged(self._there.each(_summary, summarise, merge, begins), merge)

    def parts(self) -> Iterator[InMemory]:
        return _refuse("the rows")

    def dense(self) -> Entries:
        return _refuse("the rows")

    def _sent(self, rows: Index, lengths: Index, among_seen: bool) -> Sequence[Entries]:
        """Rows in increasing order, from each block its own."""
        ends = np.cumsum(lengths)
        cuts = np.searchsorted(rows, np.concatenate([[0], ends]))
        wanted = {
            k: rows[cuts[k] : cuts[k + 1]] - (ends[k] - lengths[k]) for k in np.flatnonzero(np.diff(cuts)).tolist()
        }
        tasks = self._there.each(partial(_some_rows, among_seen=among_seen), wanted)
        found: Sequence[Entries] = compute([tasks[k] for k in wanted])
        return found


def _statistics(block: Block, number: int) -> tuple[ColumnMoments, list[int], list[int]]:
    moments = ColumnMoments.of(block.entries)
    return moments, [moments.n_rows], [moments.n_seen]


def _together(one: Any, other: Any) -> Any:
    return one[0].merged(other[0]), one[1] + other[1], one[2] + other[2]


def _some_rows(block: Block, number: int, wanted: dict[int, Index], *, among_seen: bool) -> Entries:
    rows = block.entries
    return (rows.take_seen if among_seen else rows.take)(wanted[number]).dense()


def _summary(block: Block, number: int, summarise: Any, merge: Any, begins: Index) -> Any:
    rows, begin = block.entries, int(begins[number])
    if not rows.shape[0]:
        return None
    return rows.reduce(lambda part, at: summarise(part, begin + at), merge)


def _refuse(what: str) -> NoReturn:
    raise TypeError(f"{what} of a Dask table cannot be held here: compute the table first, if it fits in memory")
