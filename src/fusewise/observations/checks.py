"""Checks of a table: it has enough rows and columns, fits in memory and is finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.memory import available_memory, in_words


def check_size(shape: tuple[int, ...], min_rows: int) -> None:
    """Raise if there are too few rows or columns, with scikit-learn's messages."""
    if shape[0] < min_rows:
        raise ValueError(
            f"Found array with {shape[0]} sample(s) (shape={shape}) while a minimum of {min_rows} is required."
        )
    if shape[1] < 1:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def check_fits(what: str, shape: tuple[int, ...], bytes_each: int) -> None:
    """Raise MemoryError if an array of this shape does not fit in memory, before it is allocated."""
    needed, free = float(np.prod(shape, dtype=float)) * bytes_each, available_memory()
    if needed > free:
        size = " x ".join(f"{length:,}" for length in shape)
        raise MemoryError(f"{what} needs {in_words(needed)} of memory ({size} numbers), but {in_words(free)} are free")


def refuse_infinite(
    values: npt.NDArray[Any], observed: npt.NDArray[np.bool_], names: Sequence[Any] | None, first_row: int = 0
) -> None:
    """Raise if an observed entry is infinite; `first_row` is the position of the first of these rows in the table."""
    infinite = np.argwhere(np.isinf(values) & observed)
    if len(infinite):
        row, column = infinite[0]
        refuse(first_row + row, column, len(infinite) - 1, names)


def refuse(row: int, column: int, n_more: int, names: Sequence[Any] | None) -> None:
    """Raise ValueError for an infinite entry, naming its row and column."""
    name = f" ({names[column]!r})" if names is not None else ""
    more = f", and {n_more} more" if n_more else ""
    raise ValueError(
        f"Input X contains infinity: at row {row}, column {column}{name}{more}. "
        "Set unknown entries to NaN, or exclude them with mask."
    )
