"""Tables of Dask: blocks of rows on other threads, processes or machines, to which functions are sent.

Only statistics of columns, numbers of rows of each block and selected rows ever come back. Nothing here has the length
of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels.input_errors import InputError
from fusewise.kernels.threads import one_thread

T = TypeVar("T")

#: A block as numbers.
Encode = Callable[[Any], npt.NDArray[Any]]

#: Summaries that are merged by one task.
BRANCHES = 8


class BlockError(ValueError):
    """A block of a Dask table could not be processed; the message says which, and why."""


def is_dask(X: Any) -> bool:
    """Whether X is a table of Dask."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """The blocks of rows of a ``dask.array.Array`` or ``dask.dataframe.DataFrame``.

    Attributes
    ----------
    collection : the array, with all columns in one chunk, or the frame.
    encode : what makes numbers of a block; None for blocks of numbers.
    """

    collection: Any
    encode: Encode | None = None

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

        Parameters
        ----------
        function : called with the block, its number and `given`, in one thread.
        given : sent to each worker once.
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

        Parameters
        ----------
        function, given : as in ``each``; one result for each row.
        meta : an empty result: an array, or a series or a frame of pandas if the table is a frame.
        width : number of columns of an array; None if it has one dimension.
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
