"""Conversion of arrays, frames and sparse matrices to tables, and what is known of entries with errors or bounds.

Messages name the rows and columns at fault.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _get_feature_names

from fusewise.kernels import Index, Mask, Real, Values, in_threads
from fusewise.observations._checks import (
    LARGEST,
    as_plain,
    check_size,
    first_non_number,
    numbered,
    refuse,
    refuse_infinite,
    too_large,
)
from fusewise.observations._dask import DaskTable
from fusewise.observations._entries import (
    BLOCK_ENTRIES,
    BoundedEntries,
    Entries,
    SparseEntries,
    Table,
    row_blocks,
    stored_where,
)
from fusewise.observations._streamed import COMPLEX, FLOATS, ArrayBlocks, RowBlocks, StreamedEntries
from fusewise.support import InputError, counted, some_of


class DataWarning(UserWarning):
    """Warning about rows or columns of a table that carry no information."""


#: What becomes of a row without an observed entry.
NO_CLUSTER = "labelled -1, as no cluster can be assigned"


def warn_of_blanks(
    table: Table,
    *,
    columns: bool = True,
    placed: Index | None = None,
    fate: str = NO_CLUSTER,
    unused: Mask | None = None,
) -> None:
    """Warn about rows without an observed entry, and about columns that are empty or constant.

    `placed`: rows that have a cluster without observed entries, by hints; `fate`: what becomes of the others; `unused`:
    columns that are empty because they do not count.
    """
    no_cluster = f"no observed entry: {fate}"
    if isinstance(table, DaskTable):  # which rows they are is known where the rows are
        empty = table.shape[0] - table.n_seen
        if empty:
            warnings.warn(f"{counted(empty, 'row has', 'rows have')} {no_cluster}", DataWarning, stacklevel=3)
    else:
        alone, hinted = table.row_counts == 0, np.zeros(table.shape[0], bool)
        if placed is not None:
            hinted[placed] = alone[placed]
        _warn("row", hinted, None, "no observed entry: placed by hints alone")
        _warn("row", alone & ~hinted, None, no_cluster)
    if columns:
        n_columns, names = table.column_counts, table.feature_names
        empty = n_columns == 0 if unused is None else (n_columns == 0) & ~unused
        _warn("column", empty, names, "no observed entry: ignored, with cluster centres set to 0")
        constant = (n_columns > 0) & table.is_constant
        _warn("column", constant, names, "the same value in every observed entry: no help in separating clusters")


def _warn(kind: str, concerned: npt.NDArray[np.bool_], names: tuple[str, ...] | None, what: str) -> None:
    """Warn, if any row or column is concerned: "row 3 has ..." or "columns 1 ('a'), 5 ('b') and 7 more have ..."."""
    found = [numbered(i, names) for i in np.flatnonzero(concerned).tolist()]
    if found:
        subject, has = (kind, "has") if len(found) == 1 else (f"{kind}s", "have")
        warnings.warn(f"{subject} {some_of(found, 5)} {has} {what}", DataWarning, stacklevel=4)


#: Largest table (entries, including missing ones) that is held as an array with a mask: 0.6 GB in double precision.
DENSE_ENTRIES = 64_000_000


def as_table(X: Any, *, min_rows: int = 2) -> Table:
    """Read a table with missing values, of any size; a small one as ``as_entries`` does.

    With more than `DENSE_ENTRIES` entries, a sparse matrix stays sparse (``SparseEntries``), and a ``numpy.memmap`` or
    ``RowBlocks`` stays on disk (``StreamedEntries``).
    """
    if isinstance(X, SparseEntries | StreamedEntries):
        return X
    if isinstance(X, np.memmap) and X.ndim == 2 and X.size > DENSE_ENTRIES:
        X = ArrayBlocks(X)
    if isinstance(X, RowBlocks) and callable(X.blocks):  # a frame may have a column of that name
        check_size(X.shape, min_rows)
        table: Table = StreamedEntries.of(X)
    elif sparse.issparse(X):
        table = as_sparse_entries(X, min_rows=min_rows)
    else:
        table = as_entries(X, min_rows=min_rows)
    return table.dense() if table.shape[0] * table.shape[1] <= DENSE_ENTRIES else table


def as_entries(X: Any, mask: npt.ArrayLike | None = None, *, min_rows: int = 2) -> Entries:
    """Read a table with missing values.

    Parameters
    ----------
    X : array, nested list, pandas or polars frame: NaN (null, None, masked) is a missing value. scipy.sparse: the
        stored entries, including explicit zeros, are observed, all others are missing. float32, float64, complex64 and
        complex128 are kept; other numbers become float64. An ``Entries`` is returned unchanged.
    mask : booleans of the same shape, True where observed; entries where it is False, and NaN, are missing.
    """
    if isinstance(X, Entries) and mask is None:
        return X
    X = as_plain(X)
    names = _get_feature_names(X)
    if sparse.issparse(X):
        if mask is not None:
            raise InputError("a sparse table takes no mask: its stored entries are the observed ones")
        return as_sparse_entries(X, min_rows=min_rows).dense()
    given = _as_numbers(X, min_rows)
    known = None if mask is None else _as_mask(mask, given.shape)
    values, observed = np.empty(given.shape, given.dtype), np.empty(given.shape, bool)

    def read(rows: slice) -> bool:
        seen = ~np.isnan(given[rows])
        if known is not None:
            seen &= known[rows]
        values[rows], observed[rows] = np.where(seen, given[rows], 0), seen
        return bool(too_large(values[rows]).any())

    if any(list(in_threads(read, row_blocks(len(given), given.shape[1], BLOCK_ENTRIES)))):
        refuse_infinite(given, observed, names)  # names the first of all
    return Entries(values, observed, None if names is None else tuple(map(str, names)))


def as_sparse_entries(X: Any, *, min_rows: int = 2) -> SparseEntries:
    """Read a sparse table without making it dense: the stored entries are observed, except NaN."""
    check_size(X.shape, min_rows)
    rows = sparse.csr_matrix(X, copy=True)
    rows.sum_duplicates()
    if rows.dtype not in FLOATS + COMPLEX:
        rows = rows.astype(np.float64)
    rows = stored_where(~np.isnan(rows.data), rows)
    beyond = np.flatnonzero(too_large(rows.data))
    if len(beyond):
        row = int(np.searchsorted(rows.indptr, beyond[0], side="right")) - 1
        refuse(rows.data[beyond[0]], row, int(rows.indices[beyond[0]]), len(beyond) - 1, None)
    return SparseEntries(rows)


def _as_numbers(X: Any, min_rows: int) -> Values:
    """Convert to a 2-D array of real or complex floats."""
    if is_complex(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise InputError(
                f"Expected 2D array, got {X.ndim}D array instead: one row per point, one column per feature"
            )
        check_size(X.shape, min_rows)
        kept: Values = X if X.dtype in COMPLEX else X.astype(np.complex128)
        return kept
    try:
        array = check_array(X, dtype=FLOATS, ensure_all_finite=False, ensure_min_samples=min_rows)
    except (ValueError, TypeError, OverflowError) as error:
        where = first_non_number(X)
        if where is None:
            raise (error if isinstance(error, TypeError) else InputError(str(error))) from error
        raise InputError(f"{where}: the table must be numeric; encode or drop that column") from error
    return np.asarray(array)


def is_complex(X: Any) -> bool:
    """Whether an array, or an object that converts to one, is complex (frames are assumed to be real)."""
    if hasattr(X, "columns"):
        return False
    dtype = getattr(X, "dtype", None)
    return (np.asarray(X).dtype if dtype is None else np.dtype(dtype)).kind == "c"


def _as_mask(mask: npt.ArrayLike, shape: tuple[int, ...]) -> Mask:
    mask = np.asarray(mask)
    if mask.shape != shape:
        raise InputError(f"mask has shape {mask.shape}, but the table has shape {shape}: one True or False per entry")
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise InputError("mask must contain only True (observed) and False (missing)")
    return mask.astype(bool)


def half_known(
    table: Table, error: Any = None, lower: Any = None, upper: Any = None, names: Sequence[str] | None = None
) -> Table:
    """A table whose entries have errors, or bounds where they are not observed.

    Parameters
    ----------
    table : real entries, in memory.
    error : the standard error of each entry; infinite: the entry is missing. Not read where it is missing already.
    lower, upper : bounds of entries that are missing in the table; NaN, or infinite: there is none.
    names : of the columns, for messages; by default those of the table.

    Each is an array of the shape of the table, or one number per column; bounds per column hold for the missing
    entries.
    """
    if error is None and lower is None and upper is None:
        return table
    if not isinstance(table, Entries) or table.dtype.kind == "c":
        what = "complex" if table.dtype.kind == "c" else "too large to be held as an array: pass a table of Dask"
        raise InputError(f"error, lower and upper are for tables of real numbers, and this one is {what}")
    names = table.feature_names if names is None else names
    if error is not None:
        error, mask = _numbers_like(error, "error", table), table.mask
        _refuse(mask & np.isnan(error), names, "the error of the observed entry at {where} is NaN: give a number")
        _refuse(mask & (error < 0), names, "the error at {where} is negative: give the standard error, at least 0")
        table = table.only(error < LARGEST)
        variances = np.where(table.mask, np.square(np.where(table.mask, error, 0)), 0)
        table = replace(table, variances=variances) if variances.any() else table
    return table if lower is None and upper is None else _with_bounds(table, lower, upper, names)


def _with_bounds(table: Entries, lower: Any, upper: Any, names: Sequence[str] | None) -> Entries:
    ends = []
    for given, name, none in ((lower, "lower", -np.inf), (upper, "upper", np.inf)):
        if given is None:
            ends.append(np.full(table.shape, none))
            continue
        end = _numbers_like(given, name, table)
        of_observed = table.mask & (np.ndim(given) == 1)  # those of a column are not of its observed entries
        end = np.where(np.isnan(end) | of_observed, none, end)
        _refuse(end == -none, names, f"{name} is {-none} at {{where}}: no value is beyond it")
        ends.append(np.where(np.abs(end) > LARGEST, none, end))
    low, high = ends
    _refuse(low > high, names, "lower is above upper at {where}: exchange them")
    outside = table.mask & ((table.values < low) | (table.values > high))
    _refuse(outside, names, "the observed entry at {where} is outside of its bounds: correct it, or set it to NaN")
    both = table.mask & (np.isfinite(low) | np.isfinite(high))
    _refuse(both, names, "the entry at {where} is observed and has bounds: set it to NaN, or its bounds to infinity")
    equal = low == high
    values, mask = np.where(equal, low, table.values).astype(table.dtype), table.mask | equal
    low, high = np.where(equal, -np.inf, low), np.where(equal, np.inf, high)
    found = replace(table, values=values, mask=mask)
    if not (np.isfinite(low) | np.isfinite(high)).any():
        return found
    return BoundedEntries(values, mask, table.feature_names, table.weights, table.variances, low=low, high=high)


def _numbers_like(given: Any, name: str, table: Entries) -> Real:
    """What is given of each entry or column, N x P."""
    try:
        numbers = check_array(given, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from error
    n, p = table.shape
    if numbers.shape not in ((n, p), (p,)):
        raise InputError(f"{name} has shape {numbers.shape}, but the table has {(n, p)}: one for each entry or column")
    return np.broadcast_to(numbers, (n, p))


def _refuse(bad: Mask, names: Sequence[str] | None, what: str) -> None:
    """Raise ``InputError`` for the first entry that is bad, naming its row and column."""
    found = np.argwhere(bad)
    if len(found):
        row, column = found[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise InputError(what.format(where=f"row {row}, column {numbered(column, names)}") + more)
