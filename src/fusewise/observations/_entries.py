"""What a table offers; its entries as an array with a mask, some of them between bounds, or as a sparse matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.kernels import Index, Mask, Real, Values, column_moments, in_threads
from fusewise.observations._checks import check_fits
from fusewise.support import Maybe, NumberArray, Record, Several, Sparse, Word

R = TypeVar("R")
S = TypeVar("S")

#: Entries processed at a time, on each thread: a table may be so large that a copy of it matters.
BLOCK_ENTRIES = 1_000_000
#: Largest number of rows in a block that a function is called with, and numbers of work space for it.
BLOCK_ROWS, SCAN_ENTRIES = 8192, 4_000_000
#: Entries in a block for products of matrices: small enough for a processor's cache, large enough to be fast.
CACHED_ENTRIES = 2**19


def row_blocks(
    n_rows: int, row_length: int, block_entries: int = CACHED_ENTRIES, most_rows: int | None = None
) -> list[slice]:
    """Slices that divide `n_rows` rows of `row_length` entries into blocks of about `block_entries`."""
    step = max(1, block_entries // max(row_length, 1))
    step = step if most_rows is None else min(step, most_rows)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


class Table:
    """N rows and P columns with missing values, wherever they are."""

    if TYPE_CHECKING:  # as properties that exist they would stand in the way of fields of dataclasses

        @property
        def shape(self) -> tuple[int, int]: ...
        @property
        def dtype(self) -> np.dtype[Any]: ...
        @property
        def feature_names(self) -> tuple[str, ...] | None: ...
        @property
        def row_counts(self) -> Index: ...  # of observed entries
        @property
        def column_counts(self) -> Index: ...
        @property
        def inexact(self) -> Mask: ...  # the columns with entries that are not known exactly
        @property
        def column_means(self) -> Values: ...  # of the observed entries of each column, 0 where there is none
        @property
        def column_variances(self) -> Real: ...  # mean square of the deviations from these
        @property
        def is_constant(self) -> Mask: ...  # whether each column has the same value wherever it was observed

        def take(self, rows: Index) -> InMemory: ...
        def parts(self) -> Iterator[InMemory]: ...  # blocks of rows that fit in memory
        def dense(self) -> Entries: ...  # raises MemoryError if it does not fit

    @property
    def n_stored(self) -> int:
        """Numbers that all rows take in memory."""
        return self.shape[0] * self.shape[1]

    @property
    def is_complete(self) -> bool:
        """Whether no entry is missing."""
        return bool((self.column_counts == self.shape[0]).all())

    @property
    def observed_fraction(self) -> float:
        """p0: observed entries over all entries."""
        return int(self.column_counts.sum()) / (self.shape[0] * self.shape[1])

    @cached_property
    def _seen_rows(self) -> Index:
        return np.flatnonzero(self.row_counts > 0)

    @property
    def n_seen(self) -> int:
        """Number of rows with observed entries."""
        return len(self._seen_rows)

    def take_seen(self, rows: Index) -> InMemory:
        """Select rows, numbered among those with observed entries."""
        return self.take(self._seen_rows[rows])

    def of_each_block(self, work: Callable[[InMemory, slice], R], width: int | None = None) -> Iterator[R]:
        """What a function returns for each block of rows and its place in the table, in order; on all cores.

        `width`: numbers of work space for each row; by default as many as are stored of it.
        """
        begin = 0
        for part in self.parts():
            n = part.shape[0]

            def one(rows: slice, part: InMemory = part, begin: int = begin) -> R:
                return work(part.take(rows), slice(begin + rows.start, begin + rows.stop))

            yield from in_threads(one, row_blocks(n, width or part.n_stored // max(n, 1), SCAN_ENTRIES, BLOCK_ROWS))
            begin += n

    def reduce(self, summarise: Callable[[InMemory, int], S], merge: Callable[[S, S], S]) -> S:
        """Summarise the table in one pass over blocks of rows: on all cores, or where its blocks are.

        Only summaries are kept, and those of a table on a cluster travel; so they should be small and of bounded size.
        `summarise` is called with a block of rows and the position of the first. `merge` must be associative: summaries
        are merged in the order of the rows, but grouped in any way.
        """
        return reduce(merge, self.of_each_block(lambda rows, where: summarise(rows, where.start)))


@dataclass(frozen=True, eq=False)
class Entries(Table, Record):
    """x_i observed on the index set I_i: A_i = S_i selects the observed entries of a row (the paper's model)."""

    values: Values  # N x P array, real or complex, zero where missing
    mask: Mask  # N x P booleans, True where observed
    feature_names: tuple[str, ...] | None = field(default=None)  # names of the columns, if the table had any
    weights: Real | None = field(default=None)  # how often each column counts; None: once
    variances: Real | None = None  # N x P, the v_ij of entries observed with an error N(0, v_ij); None: all are exact

    _arrays: ClassVar[tuple[str, ...]] = ("values", "mask", "variances")  # those of one number for each entry
    _bounds: ClassVar[tuple[Real, ...]] = ()  # lower and upper ones of entries, if there are any
    _rules: ClassVar = {
        "values": NumberArray("N", "P", kinds="fc"),
        "mask": NumberArray("N", "P", kinds="b"),
        "feature_names": Maybe(Several(Word(), "P")),
        "weights": Maybe(NumberArray("P", low=0)),
        "variances": Maybe(NumberArray("N", "P", low=0)),
    }

    def _verify(self) -> None:
        for name, held in (("values", self.values), ("variances", self.variances)):
            if held is not None and np.any(held, where=~self.mask):
                raise ValueError(f"Entries.{name} is not zero where the mask is False")

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def target(self) -> Values:
        """A_i' b_i: the observed values, zero where missing."""
        return self.values

    @cached_property
    def seen(self) -> Real:
        """The mask as numbers, in the precision of the values."""
        return self.mask.astype(self.values.real.dtype)

    @property
    def known(self) -> Mask:
        """Of which entries anything is known."""
        return self.mask

    @property
    def inexact(self) -> Mask:
        return np.zeros(self.shape[1], bool) if self.variances is None else np.asarray(self.variances.any(axis=0))

    def relative_precisions(self, noise: Real | float) -> Real:
        """k_ij = s_j² / (s_j² + v_ij), how much an entry counts beside an exact one, given s²; 0 where missing."""
        if self.variances is None:
            return self.seen
        return np.asarray(self.mask * (noise / (noise + self.variances)))

    @cached_property
    def row_counts(self) -> npt.NDArray[np.intp]:
        return np.concatenate(self._in_blocks(lambda rows: self.known[rows].sum(axis=1)))

    @cached_property
    def column_counts(self) -> npt.NDArray[np.intp]:
        return np.asarray(sum(self._in_blocks(lambda rows: self.known[rows].sum(axis=0))))

    @property
    def is_complete(self) -> bool:
        return not self.inexact.any() and super().is_complete

    def moments(self, counts: Index | None = None) -> tuple[Real, Real]:
        """The likeliest mean and variance of each column, were the entries exact; row i counts `counts[i]` times."""
        often = np.ones(self.shape[0]) if counts is None else counts.astype(float)
        variances = np.zeros(self.shape) if self.variances is None else self.variances
        return column_moments(self.values, self.known, variances, often, *self._bounds)

    @cached_property
    def _moments(self) -> tuple[Real, Real]:
        return self.moments()

    def _in_blocks(self, work: Callable[[slice], R]) -> list[R]:
        """What a function returns for each block of rows, in order."""
        return list(in_threads(work, row_blocks(*self.shape, BLOCK_ENTRIES) or [slice(0, 0)]))

    @cached_property
    def column_means(self) -> Values:
        if self.inexact.any():
            return self._moments[0].astype(self.dtype)
        sums = sum(self._in_blocks(lambda rows: self.values[rows].sum(axis=0, dtype=wide(self.dtype))))
        return np.asarray(sums / np.maximum(self.column_counts, 1), dtype=self.dtype)

    @cached_property
    def column_variances(self) -> Real:
        if self.inexact.any():
            return self._moments[1]
        means = self.column_means

        def squares(rows: slice) -> Real:
            deviations = np.where(self.mask[rows], self.values[rows] - means, 0)
            return np.asarray(np.square(np.abs(deviations), dtype=float).sum(axis=0))

        return np.asarray(sum(self._in_blocks(squares)) / np.maximum(self.column_counts, 1))

    @cached_property
    def centred(self) -> Values:
        """S_i (x_i - mean): deviations from the column means, zero where missing."""
        return np.where(self.mask, self.values - self.column_means, 0)

    @property
    def squares(self) -> Real:
        """|x|², zero where missing."""
        return np.square(np.abs(self.values))

    def columns(self) -> Iterator[Values]:
        """Iterate over the columns: the observed entries of each."""
        return (self.values[self.mask[:, j], j] for j in range(self.shape[1]))

    def fill(self, values: npt.ArrayLike) -> Values:
        """S_i x_i + (I - S_i) m: the table with its missing values taken from `values` (a row, or a whole table)."""
        return np.where(self.mask, self.values, np.asarray(values, dtype=self.values.dtype))

    def take(self, rows: npt.NDArray[Any] | slice) -> Self:
        held = {name: getattr(self, name) for name in self._arrays}
        some: dict[str, Any] = {name: each if each is None else each[rows] for name, each in held.items()}
        return replace(self, **some)

    def only(self, kept: Mask) -> Self:
        """The table without what is known of entries (or of columns) where a mask is False."""
        mask = self.mask & kept
        variances = None if self.variances is None else np.where(mask, self.variances, 0)
        return replace(self, values=np.where(mask, self.values, 0), mask=mask, variances=variances)

    def parts(self) -> Iterator[Entries]:
        yield self

    def dense(self) -> Entries:
        return self

    def in_double(self) -> Entries:
        """The same in double precision; itself, if it is."""
        double = wide(self.dtype)
        return self if self.dtype == double else replace(self, values=self.values.astype(double))

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> Entries:
        """(x - middle) / scale in some columns, in double precision, which likelihoods need."""
        mask = self.mask[:, columns]
        values = (self.values[:, columns].astype(wide(self.dtype)) - middle[columns]) / scale[columns]
        variances = None if self.variances is None else self.variances[:, columns] / np.square(scale[columns])
        weights = None if self.weights is None else self.weights[columns]
        return Entries(np.where(mask, values, 0), mask, None, weights, variances)

    def real(self) -> Entries:
        """Split complex columns: all real parts, then all imaginary parts. A real table is returned unchanged."""
        if not np.iscomplexobj(self.values):
            return self
        weights = None if self.weights is None else np.tile(self.weights, 2)
        return Entries(np.hstack([self.values.real, self.values.imag]), np.tile(self.mask, 2), None, weights)

    def residual(self, centers: Values) -> Values:
        """S_i (u_i - x_i), zero where missing."""
        return np.where(self.mask, centers - self.values, 0)

    @cached_property
    def _range(self) -> tuple[Values, Values]:
        """Smallest and largest observed entry of each column (real and imaginary parts apart), 0 if there is none."""
        parts, dtype = 2 if np.iscomplexobj(self.values) else 1, self.values.real.dtype

        def ends(rows: slice) -> tuple[Real, Real]:
            view, seen = np.ascontiguousarray(self.values[rows]).view(dtype), np.repeat(self.mask[rows], parts, axis=1)
            above, below = (np.where(seen, view, dtype.type(end)) for end in (np.inf, -np.inf))
            return above.min(axis=0, initial=np.inf), below.max(axis=0, initial=-np.inf)

        lows, highs = zip(*self._in_blocks(ends), strict=True)
        low, high = np.min(lows, axis=0), np.max(highs, axis=0)
        empty = low > high
        return np.where(empty, 0, low).astype(dtype), np.where(empty, 0, high).astype(dtype)

    @property
    def is_constant(self) -> Mask:
        low, high = self._range
        return ~np.asarray((low < high).reshape(self.shape[1], -1).any(axis=1))


def wide(dtype: np.dtype[Any]) -> type[np.floating[Any]] | type[np.complexfloating[Any, Any]]:
    """Return the double-precision type, real or complex, for `dtype`."""
    return np.complex128 if dtype.kind == "c" else np.float64


@dataclass(frozen=True, eq=False)
class SparseEntries(Table, Record):
    """x_i observed on the index set I_i, with only the observed entries stored; the interface of ``Entries``.

    ``values``, ``seen`` and ``squares`` are sparse matrices where those of ``Entries`` are arrays; matrix products
    work the same way with both.
    """

    rows: Any  # N x P, in compressed sparse rows; the stored entries, including zeros, are the observed ones
    feature_names: tuple[str, ...] | None = field(default=None)  # names of the columns, if the table had any
    weights: Real | None = field(default=None)  # how often each column counts; None: once

    variances: ClassVar = None
    _rules: ClassVar = {
        "rows": Sparse(),
        "feature_names": Maybe(Several(Word(), "P")),
        "weights": Maybe(NumberArray("P", low=0)),
    }

    @property
    def shape(self) -> tuple[int, int]:
        return tuple(self.rows.shape)

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    @property
    def n_stored(self) -> int:
        return int(self.rows.nnz)

    @property
    def values(self) -> Any:
        return self.rows

    @cached_property
    def seen(self) -> Any:
        return self._alike(np.ones(self.n_stored, self.rows.real.dtype))

    @property
    def known(self) -> Any:
        return self.seen

    @property
    def inexact(self) -> Mask:
        return np.zeros(self.shape[1], bool)

    def relative_precisions(self, noise: Any) -> Any:
        return self.seen

    @property
    def squares(self) -> Any:
        return self._alike(np.square(np.abs(self.rows.data)))

    @cached_property
    def row_counts(self) -> npt.NDArray[np.intp]:
        return np.asarray(np.diff(self.rows.indptr), np.intp)

    @cached_property
    def column_counts(self) -> npt.NDArray[np.intp]:
        return np.bincount(self.rows.indices, minlength=self.shape[1])

    @cached_property
    def column_means(self) -> Values:
        return np.asarray(self._column_sums(self.rows.data) / np.maximum(self.column_counts, 1), self.rows.dtype)

    @cached_property
    def column_variances(self) -> Real:
        squares = np.square(np.abs(self.rows.data - self.column_means[self.rows.indices]), dtype=float)
        return np.asarray(self._column_sums(squares) / np.maximum(self.column_counts, 1))

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        first = np.zeros(self.shape[1], self.dtype)
        first[self.rows.indices] = self.rows.data  # some entry of each column
        other = self.rows.data != first[self.rows.indices]
        return np.asarray(np.bincount(self.rows.indices[other], minlength=self.shape[1]) == 0)

    def columns(self) -> Iterator[Values]:
        by_column = self.rows.tocsc()
        return iter(np.split(by_column.data, by_column.indptr[1:-1]))

    def take(self, rows: npt.NDArray[Any] | slice) -> SparseEntries:
        return replace(self, rows=self.rows[rows])

    def parts(self) -> Iterator[SparseEntries]:
        yield self

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> SparseEntries:
        kept = self.rows if len(columns) == self.shape[1] else self.rows[:, columns]
        data = (kept.data - middle[columns][kept.indices]) / scale[columns][kept.indices]
        made = sparse.csr_matrix((data, kept.indices, kept.indptr), kept.shape)
        return SparseEntries(made, None, None if self.weights is None else self.weights[columns])

    def only(self, kept: Mask) -> SparseEntries:
        """The table without the entries of columns where a mask is False."""
        return replace(self, rows=stored_where(kept[self.rows.indices], self.rows))

    def real(self) -> SparseEntries:
        if self.dtype.kind != "c":
            return self
        both = [self._alike(part) for part in (self.rows.data.real, self.rows.data.imag)]
        weights = None if self.weights is None else np.tile(self.weights, 2)
        return SparseEntries(sparse.hstack(both, "csr"), None, weights)

    def dense(self) -> Entries:
        check_fits("the table as a dense array", self.shape, self.dtype.itemsize + 1)
        mask = self._alike(np.ones(self.n_stored, bool)).toarray()
        return Entries(self.rows.toarray(), mask, self.feature_names, self.weights)

    def _alike(self, data: Values) -> Any:
        """A sparse matrix with the same pattern and other values."""
        return sparse.csr_matrix((data, self.rows.indices, self.rows.indptr), self.shape)

    def _column_sums(self, data: Values) -> Values:
        return np.asarray(self._alike(data).T @ np.ones(self.shape[0]))


def stored_where(kept: Mask, rows: Any) -> Any:
    """A matrix in compressed sparse rows with some of its stored entries."""
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sparse.csr_matrix((rows.data[kept], rows.indices[kept], ends), rows.shape)


#: Tables held in memory.
InMemory = Entries | SparseEntries


def each_block(work: Callable[[InMemory, slice], None], table: Table, width: int | None = None) -> None:
    """Call `work` with blocks of rows and their positions in the table (see ``Table.of_each_block``)."""
    for _ in table.of_each_block(work, width):
        pass


def varying_columns(table: Table) -> tuple[Index, Real]:
    """The columns that vary (all, if none does), and the standard deviation of each column, 1 for the others."""
    deviations = np.sqrt(table.column_variances)
    # A constant that is not an exact binary fraction varies in its last digits: that is rounding, not data.
    rounding = 100 * float(np.finfo(table.dtype).eps) * np.abs(table.column_means)
    columns = np.flatnonzero(deviations > rounding)
    scale = np.ones(len(deviations))
    scale[columns] = deviations[columns]
    return (columns if len(columns) else np.arange(len(deviations))), scale


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundedEntries(Entries):
    """Entries of which some that are not observed lie between bounds: low_ij <= x_ij <= high_ij.

    Statistics of rows and columns are those of all that is known; ``values`` and ``mask`` are of observed entries only.
    """

    low: Real  # N x P, -inf where there is no lower bound
    high: Real  # N x P, inf where there is no upper bound

    _arrays: ClassVar = (*Entries._arrays, "low", "high")
    _rules: ClassVar = Entries._rules | {
        "low": NumberArray("N", "P", finite=False),
        "high": NumberArray("N", "P", finite=False),
    }

    def _verify(self) -> None:
        super()._verify()
        if np.isnan(self.low).any() or np.isnan(self.high).any() or np.any(self.low > self.high):
            raise ValueError("BoundedEntries.low is not below BoundedEntries.high")
        if np.any(self.bounded & self.mask):
            raise ValueError("BoundedEntries has bounds of observed entries")

    @cached_property
    def bounded(self) -> Mask:
        """The entries with a bound."""
        return np.isfinite(self.low) | np.isfinite(self.high)

    @property
    def exact(self) -> Entries:
        """The observed entries alone."""
        return Entries(self.values, self.mask, self.feature_names, self.weights, self.variances)

    @property
    def known(self) -> Mask:
        return self.mask | self.bounded

    @property
    def inexact(self) -> Mask:
        return np.asarray(super().inexact | self.bounded.any(axis=0))

    @property
    def is_constant(self) -> Mask:
        return np.where(self.inexact, self.column_variances == 0, super().is_constant)

    @property
    def _bounds(self) -> tuple[Real, Real]:  # type: ignore[override]
        return self.low, self.high

    def only(self, kept: Mask) -> Self:
        return replace(
            super().only(kept), low=np.where(kept, self.low, -np.inf), high=np.where(kept, self.high, np.inf)
        )

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> BoundedEntries:
        found = super().standardised(columns, scale, middle)
        low, high = ((each[:, columns] - middle[columns]) / scale[columns] for each in (self.low, self.high))
        return BoundedEntries(found.values, found.mask, None, found.weights, found.variances, low=low, high=high)

    def within(self, values: Values) -> Values:
        """Values moved to the nearest that their bounds allow, where there are any."""
        return np.clip(values, self.low, self.high).astype(values.dtype)


def stacked(parts: Sequence[Entries]) -> Entries:
    """The rows of one or more tables with the same columns, one after another, with what is known of them."""

    def together(name: str, otherwise: float = 0.0) -> Any:
        found = [(part, getattr(part, name, None)) for part in parts]
        return np.concatenate([np.full(part.shape, otherwise) if each is None else each for part, each in found])

    variances = None if all(part.variances is None for part in parts) else together("variances")
    known: Any = together("values"), together("mask"), parts[0].feature_names, parts[0].weights, variances
    if not any(isinstance(part, BoundedEntries) for part in parts):
        return Entries(*known)
    return BoundedEntries(*known, low=together("low", -np.inf), high=together("high", np.inf))
