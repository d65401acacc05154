"""The columns with row names and with known classes."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from fusewise.tables.grids import Cells, find_column
from fusewise.tables.numbers import decimal_sign
from fusewise.tables.recognising import LABELS, is_called_id

FRACTION = re.compile(r"[-+]?\d*[.,]\d*[1-9]\d*")


def column_or_none(cells: dict[str, Cells], asked: str, option: str) -> str | None:
    """Check that a column exists; None for the word "none", unless a column has that name."""
    return None if asked.lower() == "none" and asked not in cells else find_column(cells, asked, option)


def names_column(cells: dict[str, Cells], left: list[str], asked: str | Literal[False] | None) -> str | None:
    """The column with the row names: the requested one, or the first with a typical name and no repeats.

    A first column of text that differs in every row names the rows, whatever its name.

    Parameters
    ----------
    left : columns to choose from.
    """
    if asked is not None:
        return column_or_none(cells, asked, "--names") if asked else None
    for name in filter(is_called_id, left):
        of = cells[name]
        # A column with fractions holds measurements, whatever its name.
        named = not any(cell is None or FRACTION.fullmatch(str(cell)) for cell in of)
        if named and len(set(map(str, of))) == len(of):
            return name
    return left[0] if left and _is_text_id(cells[left[0]]) else None


def _is_text_id(cells: Cells) -> bool:
    if not all(isinstance(cell, str) for cell in cells) or len(set(cells)) < len(cells):
        return False
    return all(decimal_sign(cell) is None for cell in cells)


def labels_column(cells: dict[str, Cells], left: list[str], asked: str | Literal[False] | None) -> str | None:
    """The column of known classes: the requested one, or the first with a typical name whose values repeat."""
    if asked is not None:
        return column_or_none(cells, asked, "--labels") if asked else None
    for name in filter(lambda name: LABELS.fullmatch(name.lower()), left):
        distinct = len({*map(str, cells[name]), "None"}) - 1
        if 2 <= distinct <= len(cells[name]) / 2:
            return name
    return None


def row_names(cells: dict[str, Cells], column: str | None, n_rows: int) -> Cells:
    """Names of the rows from a column, or their numbers from 1 (without a column, or if the name is missing)."""
    numbers = np.arange(1, n_rows + 1).astype(object)
    of = None if column is None else cells[column]
    return numbers if of is None else np.where([cell is None for cell in of], numbers, of)
