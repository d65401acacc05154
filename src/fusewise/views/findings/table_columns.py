"""The columns of the user's table: what is counted, compared and written about, whatever features encode them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fusewise.kernels.types import Mask, Real
from fusewise.tables import OTHER, FrameEncoder, Reading


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column that was used for clustering.

    Attributes
    ----------
    name, kind : its name, and "number", "category", "ordered" or "flag".
    values : numbers in the user's units, or positions in `levels`; NaN if missing.
    levels : levels of a category as they are written in the table; empty for numbers.
    features : (start, stop) of the features of the model that encode it.
    markers : numbers that stand for a missing value in the user's table, such as -99.
    """

    name: str
    kind: str
    values: Real
    levels: tuple[Any, ...] = ()
    features: tuple[int, int] = (0, 1)
    markers: tuple[float, ...] = ()

    @cached_property
    def seen(self) -> Mask:
        """Whether each entry was observed."""
        return ~np.isnan(self.values)

    @property
    def scaled(self) -> bool:
        """Whether values can be compared as larger and smaller: numbers and ordered levels."""
        return self.kind in ("number", "ordered")

    @cached_property
    def whole(self) -> bool:
        """Whether it holds whole numbers only."""
        seen = self.values[self.seen]
        return self.kind == "number" and bool((seen == np.rint(seen)).all())

    @property
    def pooled(self) -> bool:
        """Whether the last level stands for all rare ones."""
        return self.levels[-1:] == (OTHER,)

    def taken(self, rows: Any) -> TableColumn:
        """The same column with some of the rows."""
        return TableColumn(self.name, self.kind, self.values[rows], self.levels, self.features, self.markers)


def columns_of_model(encoder: FrameEncoder | None, values: Real, names: Sequence[str]) -> tuple[TableColumn, ...]:
    """The columns behind the features of a model.

    Parameters
    ----------
    encoder : how the columns were encoded; None if each is a number.
    values : N x P features in the user's units; NaN if missing.
    names : names of the features, which are those of the columns without an encoder.
    """
    if encoder is None:
        return tuple(TableColumn(name, "number", values[:, j], features=(j, j + 1)) for j, name in enumerate(names))
    columns, start = [], 0
    for code, block in encoder.by_column(values.astype(float)):
        stop = start + len(code.features)
        if code.kind == "number":
            columns.append(TableColumn(code.name, code.kind, block[:, 0], features=(start, stop)))
        else:
            nearest = np.abs(block - np.array(code.places)).argmin(axis=1) if code.places else block.argmax(axis=1)
            positions = np.where(np.isnan(block[:, 0]), np.nan, nearest)
            columns.append(TableColumn(code.name, code.kind, positions, code.spelling, (start, stop)))
        start = stop
    return tuple(columns)


def columns_of_file(
    table: Reading, encoder: FrameEncoder, markers: dict[str, tuple[str, ...]]
) -> tuple[TableColumn, ...]:
    """The columns of a table that was read from a file, with its own numbers and levels.

    Parameters
    ----------
    table, encoder : the table, and how its columns are encoded.
    markers : words that were counted as missing in each column.
    """
    columns, start = [], 0
    for column, code in zip(table.used, encoder.columns, strict=True):
        stop = start + len(code.features)
        numbers = () if column.categories else _numbers(markers.get(column.name, ()))
        where = start, stop
        columns.append(TableColumn(column.name, str(column.kind), column.values, column.categories, where, numbers))
        start = stop
    return tuple(columns)


def _numbers(words: Sequence[str]) -> tuple[float, ...]:
    """The words that are finite numbers."""
    found = []
    for word in words:
        try:
            value = float(word)
        except ValueError:
            continue
        if np.isfinite(value):
            found.append(value)
    return tuple(found)
