"""The result of reading a file: its cells, its columns with their kinds, and the typed frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Floats
from fusewise.support.words import some_of
from fusewise.tables.column_kinds import Column, Kind
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Cells, Dialect
from fusewise.tables.roles import row_names


@dataclass(frozen=True, eq=False)
class Reading:
    """A table as read from a file.

    Attributes
    ----------
    path : the file, as given.
    columns : the columns of the file and how they were read.
    cells : column names -> cells, None if missing.
    written : the same cells exactly as in the file, to be written back unchanged.
    dialect : separators of the file; results are written the same way.
    notes : assumptions made while reading it, and suspicious values.
    names_column, labels_column : columns with the row names and the known classes; None if there is none.
    """

    path: Path
    columns: tuple[Column, ...]
    cells: dict[str, Cells]
    written: dict[str, Cells]
    dialect: Dialect
    notes: list[str]
    names_column: str | None = None
    labels_column: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows below the header."""
        return len(next(iter(self.written.values())))

    @property
    def used(self) -> list[Column]:
        """The columns used for clustering; raise ``InputError`` with the reason for each column if there is none."""
        used = [column for column in self.columns if column.used]
        if used:
            return used
        if all(cell is None for cells in self.cells.values() for cell in cells):
            raise InputError(f"all values of {str(self.path)!r} are missing")
        reasons = some_of([f"{column.name!r} ({column.why})" for column in self.columns], 6)
        raise InputError(f"no column of {str(self.path)!r} can be used for clustering: {reasons}")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows, and of columns used for clustering."""
        return self.n_rows, len(self.used)

    @property
    def observed_fraction(self) -> float:
        """Fraction of observed values in the columns used."""
        return float(np.mean([~np.isnan(column.values) for column in self.used]))

    @property
    def blank_rows(self) -> npt.NDArray[np.intp]:
        """Rows with no observed value in the columns used."""
        return np.flatnonzero(np.all([np.isnan(column.values) for column in self.used], axis=0))

    @property
    def numbers(self) -> Floats:
        """The columns used as floats: numbers, or positions of levels; NaN if missing."""
        return np.column_stack([column.values for column in self.used])

    @property
    def names(self) -> Cells:
        """Name of each row, or its number from 1."""
        return row_names(self.cells, self.names_column, self.n_rows)

    @cached_property
    def frame(self) -> Any:
        """The columns that are used, as a pandas DataFrame.

        Numbers are float64, categories ``category``, ordered ones an ordered ``category``, flags ``boolean``; missing
        values are NaN or NA.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError('a data frame needs pandas: pip install "fusewise[frames]"') from error
        columns = {column.name: _typed(column) for column in self.columns if column.used}
        return pd.DataFrame(columns, index=pd.RangeIndex(self.n_rows))


def _typed(column: Column) -> Any:
    import pandas as pd

    if column.kind == Kind.NUMBER:
        return column.values
    if column.is_boolean:
        return pd.array(column.entries, dtype="boolean")
    codes = np.where(np.isnan(column.values), -1, column.values).astype(int)
    return pd.Categorical.from_codes(codes, pd.Index(column.categories), ordered=column.kind == Kind.ORDERED)
