"""Unusual arrays (masked, sparse in pandas, of objects) as arrays of numbers with NaN where missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _get_feature_names

from fusewise.kernels.input_errors import InputError


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
        X = _filled(X)
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
            name = f" ({names[column]!r})" if names is not None else ""
            return f"could not convert {str(entry)[:40]!r} to a number, at row {row}, column {column}{name}"
    return None


def as_objects(X: Any) -> npt.NDArray[Any]:
    """X as an array of objects, None where it is masked."""
    array = np.array(X, dtype=object)
    if isinstance(X, np.ma.MaskedArray):
        array[np.ma.getmaskarray(X)] = None
    return array


def _filled(X: Any) -> Any:
    """A masked array with NaN, or None among objects, where it is masked."""
    if X.dtype.kind in "mMV":
        return X.data  # refused by its type
    if X.dtype.kind in "biu":
        X = X.astype(float)
    return as_objects(X) if X.dtype.kind in "OSU" else X.filled(np.nan)


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
