"""Checks of a user's array: it is a table of numbers, large enough, finite, and fits in memory; weights of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _get_feature_names

from fusewise.kernels import Index, available_memory
from fusewise.support import InputError, counted, in_words


def check_size(shape: tuple[int, ...], min_rows: int) -> None:
    """Raise if there are too few rows or columns, with scikit-learn's messages."""
    if shape[0] < min_rows:
        raise InputError(
            f"Found array with {shape[0]} sample(s) (shape={shape}) while a minimum of {min_rows} is required."
        )
    if shape[1] < 1:
        raise InputError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def check_fits(what: str, shape: tuple[int, ...], bytes_each: int) -> None:
    """Raise MemoryError if an array of this shape does not fit in memory, before it is allocated."""
    needed, free = float(np.prod(shape, dtype=float)) * bytes_each, available_memory()
    if needed > free:
        size = " x ".join(f"{length:,}" for length in shape)
        raise MemoryError(f"{what} needs {in_words(needed)} of memory ({size} numbers), but {in_words(free)} are free")


#: Largest number of a table, and least range of a column that varies: their squares, and sums of these, are finite.
LARGEST, LEAST_RANGE = 1e100, 1e-100


def refuse_infinite(
    values: npt.NDArray[Any], observed: npt.NDArray[np.bool_], names: Sequence[Any] | None, first_row: int = 0
) -> None:
    """Raise if an observed entry is infinite or too large; `first_row` is the number of the first of these rows."""
    beyond = np.argwhere(too_large(values) & observed)
    if len(beyond):
        row, column = beyond[0]
        refuse(values[row, column], first_row + row, column, len(beyond) - 1, names)


def too_large(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether numbers, or their real or imaginary parts, are beyond ``LARGEST``; NaN is not."""
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(values)
        return np.asarray(sizes > min(LARGEST, float(np.finfo(sizes.dtype).max)))


def numbered(column: int, names: Sequence[Any] | None) -> str:
    """The number of a column, and its name if it has one."""
    return str(column) if names is None else f"{column} ({names[column]!r})"


def refuse(value: Any, row: int, column: int, n_more: int, names: Sequence[Any] | None) -> None:
    """Raise ValueError for an entry that is infinite or too large, naming its row and column."""
    more = f", and {n_more} more" if n_more else ""
    what = "infinity" if np.isinf(value) else f"a number beyond {LARGEST:g} ({value:g})"
    raise InputError(
        f"Input X contains {what}: at row {row}, column {numbered(column, names)}{more}. "
        "Set unknown entries to NaN, or exclude them with mask."
    )


def refuse_tiny(table: Any) -> None:
    """Raise ValueError if a column of a table varies so little that its variance would be rounded to zero."""
    tiny = ~table.is_constant & (table.column_variances < LEAST_RANGE**2) & (np.abs(table.column_means) < LEAST_RANGE)
    if tiny.any():
        column = numbered(int(np.flatnonzero(tiny)[0]), table.feature_names)
        raise InputError(f"column {column} varies by less than {LEAST_RANGE:g}: multiply it by a large constant")


def is_dask(X: Any) -> bool:
    """Whether X is a table of Dask."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def refuse_other_than_tables(X: Any) -> None:
    """Raise ``InputError`` for a column by itself (a pandas or polars Series), and for a polars LazyFrame."""
    kind = type(X).__name__
    if kind == "LazyFrame":
        raise InputError("X is a polars LazyFrame, whose rows have not been read: pass X.collect()")
    if hasattr(X, "to_frame") and np.ndim(X) == 1:
        raise InputError(f"X is a {kind}, a single column: pass a table, such as X.to_frame() or X.to_numpy()[:, None]")


def as_plain(X: Any) -> Any:
    """Return X as scikit-learn's checks read it right: masked entries, None and pandas' NA are NaN.

    An array of objects becomes one of real or complex numbers; a frame whose columns are all sparse becomes dense, its
    fill values being observed. Dates and records are refused, as their numbers would be arbitrary, and so are complex
    columns of a frame: beside columns with missing values pandas would drop their imaginary parts.
    """
    refuse_other_than_tables(X)
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.stack([np.ma.asarray(row) for row in X])
    if isinstance(X, np.ma.MaskedArray):
        if X.dtype.kind in "mMV":
            X = X.data  # refused below
        elif X.dtype.kind in "OSU":
            X = as_objects(X)
        else:
            X = np.ma.filled(X.astype(float) if X.dtype.kind in "biu" else X, np.nan)
    for name, dtype in zip(getattr(X, "columns", ()), getattr(X, "dtypes", ()), strict=False):
        if getattr(dtype, "kind", None) == "c":
            raise InputError(f"column {name!r} holds complex numbers: give a complex table as an array, not as a frame")
    if hasattr(X, "sparse") and all(type(dtype).__name__ == "SparseDtype" for dtype in X.dtypes):
        return X.sparse.to_dense()
    if isinstance(X, np.ndarray) and X.dtype.kind in "mMV":
        what = "records" if X.dtype.kind == "V" else "dates or times"
        raise InputError(f"the table holds {what} (dtype {X.dtype}): convert them to numbers first")
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        return _from_objects(X)
    return X


def is_missing(cell: Any) -> bool:
    """Whether it is None, NaN, NaT, pandas' NA (which compares to nothing) or NumPy's masked constant."""
    if cell is None or cell is np.ma.masked or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float | np.floating) and bool(cell != cell)


def first_non_number(X: Any) -> str | None:
    """Describe the first entry that is neither a number nor missing, and its position; None if there is none."""
    names = _get_feature_names(X)
    table = np.asarray(X, dtype=object)
    if table.ndim != 2:
        return None
    for (row, column), entry in np.ndenumerate(table):
        try:
            complex(np.nan if is_missing(entry) else entry)
        except (TypeError, ValueError, OverflowError):
            where = f"row {row}, column {numbered(column, names)}"
            return f"could not convert {str(entry)[:40]!r} to a number, at {where}"
    return None


def as_objects(X: Any) -> npt.NDArray[Any]:
    """X as an array of objects, None where it is masked."""
    array = np.array(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):
        array[np.ma.getmaskarray(X)] = None
    return array


def _from_objects(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    cells = [np.nan if is_missing(cell) else cell for cell in X.ravel()]
    kind = complex if any(isinstance(cell, complex | np.complexfloating) for cell in cells) else float
    try:
        return np.array(cells, dtype=object).astype(kind).reshape(X.shape)
    except (TypeError, ValueError, OverflowError) as error:
        kind_of_error = TypeError if isinstance(error, TypeError) else InputError
        raise kind_of_error(
            f"{first_non_number(X)}: the table must be numeric; encode or drop that column ({error})"
        ) from error


#: Largest sum of weights.
MOST_COPIES = 100_000_000


def as_counts(sample_weight: Any, X: Any) -> Index | None:
    """Number of copies of each row of X by its weight; None if every row counts once.

    Of weights that are not whole, every running sum is rounded: a row of weight 2.5 counts twice or three times.
    """
    if sample_weight is None:
        return None
    refuse_other_than_tables(X)
    n_rows = (X if hasattr(X, "shape") else np.asarray(X)).shape[0]
    try:
        weights = np.array(np.broadcast_to(np.asarray(sample_weight, dtype=float), (n_rows,)))
    except (TypeError, ValueError) as error:
        shape = np.shape(sample_weight)
        message = f"sample_weight has shape {shape}, but there are {counted(n_rows, 'row')}: pass one number per row"
        raise InputError(message) from error
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise InputError(
            f"sample_weight of row {bad[0]} is {weights[bad[0]]}: Negative values, NaN and inf are not allowed"
        )
    counts = np.diff(np.floor(np.cumsum(weights) + 0.5), prepend=0.0)
    if not weights.any():
        raise InputError("every sample_weight is zero: no row is left to fit to")
    if not 2 <= counts.sum() <= MOST_COPIES:
        raise InputError(
            f"sample_weight adds up to {weights.sum():g}, but a weight is a number of rows: "
            "scale the weights so that they add up to the number of rows"
        )
    return None if (counts == 1).all() else counts.astype(np.intp)


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))
