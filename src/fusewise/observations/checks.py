"""Checks of a table: it has enough rows and columns, fits in memory and is finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.input_errors import InputError
from fusewise.kernels.memory import available_memory
from fusewise.kernels.words import in_words


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


def refuse(value: Any, row: int, column: int, n_more: int, names: Sequence[Any] | None) -> None:
    """Raise ValueError for an entry that is infinite or too large, naming its row and column."""
    name = f" ({names[column]!r})" if names is not None else ""
    more = f", and {n_more} more" if n_more else ""
    what = "infinity" if np.isinf(value) else f"a number beyond {LARGEST:g} ({value:g})"
    raise InputError(
        f"Input X contains {what}: at row {row}, column {column}{name}{more}. "
        "Set unknown entries to NaN, or exclude them with mask."
    )


def refuse_tiny(table: Any) -> None:
    """Raise ValueError if a column of a table varies so little that its variance would be rounded to zero."""
    tiny = ~table.is_constant & (table.column_variances < LEAST_RANGE**2) & (np.abs(table.column_means) < LEAST_RANGE)
    if tiny.any():
        column = int(np.flatnonzero(tiny)[0])
        name = "" if table.feature_names is None else f" ({table.feature_names[column]!r})"
        raise InputError(f"column {column}{name} varies by less than {LEAST_RANGE:g}: multiply it by a large constant")
