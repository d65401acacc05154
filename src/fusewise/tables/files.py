"""Reading tables from CSV, TSV, Parquet, Feather/Arrow and Excel files.

The cells of a text file are kept as written, so that observed values can be written back unchanged.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.words import some_of
from fusewise.tables.errors import InputError
from fusewise.tables.text import READABLE, Dialect, empty, read_text

Cells = npt.NDArray[np.object_]

#: Markers of a missing value; case and surrounding spaces are ignored.
MISSING = frozenset({"", "na", "nan", "null", "none", "?", "-", "n/a"})

LONGEST_MARKER = max(map(len, MISSING))


@dataclass(frozen=True, eq=False)
class Table:
    """A table as read from a file.

    Attributes
    ----------
    path : the file.
    columns : column names -> cells, None if missing.
    written : the same cells exactly as in the file, to be written back unchanged.
    dialect : separators of the file; results are written the same way.
    notes : assumptions made while reading it.
    """

    path: Path
    columns: dict[str, Cells]
    written: dict[str, Cells]
    dialect: Dialect
    notes: list[str]

    @property
    def n_rows(self) -> int:
        """Number of rows below the header."""
        return len(next(iter(self.columns.values())))


def read_table(path: Path) -> Table:
    """Read a table of any supported format; raise ``InputError`` if the file is not a table."""
    if not path.exists():
        raise InputError(f"file {str(path)!r} does not exist")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: expected {READABLE}")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error
    if not data.strip():
        raise empty(path)
    reader = BINARY.get(path.suffix.lower())
    table = _from_text(path, data) if reader is None else _from_binary(path, data, *reader)
    if table.n_rows == 0:
        raise InputError(f"{str(path)!r} has a header ({_some(list(table.columns))}) but no rows")
    return table


def _from_text(path: Path, data: bytes) -> Table:
    """Read a CSV, TSV or semicolon-separated table."""
    text = read_text(path, data)
    _refuse_duplicates(path, text.header)
    written = _by_column(text.header, text.rows)
    columns = {name: _none_where_missing(cells) for name, cells in written.items()}
    return Table(path, columns, written, text.dialect, text.notes)


def _by_column(header: list[str], rows: list[list[str]]) -> dict[str, Cells]:
    if not rows:
        return {name: np.empty(0, dtype=object) for name in header}
    return {name: _objects(cells) for name, cells in zip(header, zip(*rows, strict=True), strict=True)}


def _objects(cells: Any) -> Cells:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _none_where_missing(cells: Cells) -> Cells:
    return _objects([_cleaned(cell) if isinstance(cell, str) else cell for cell in cells])


def _cleaned(cell: str) -> str | None:
    cell = cell.strip()
    # The length is checked first, which is faster for most cells.
    return None if len(cell) <= LONGEST_MARKER and cell.lower() in MISSING else cell


def _from_binary(path: Path, data: bytes, kind: str, read: Callable[[io.BytesIO], Any]) -> Table:
    """Read a Parquet, Feather or Excel table with pandas."""
    try:
        frame = read(io.BytesIO(data))
    except ImportError as error:
        needed = "openpyxl" if "openpyxl" in str(error) else "pandas"
        raise InputError(f'reading {kind} files needs {needed}: pip install "fusewise[cli]"') from error
    except Exception as error:  # each library raises its own errors for a damaged file
        raise InputError(f"{str(path)!r} is not a readable {kind} file (truncated or damaged?): {error}") from error
    if frame.shape[1] == 0:
        raise InputError(f"{str(path)!r} has no columns")
    names = [str(name).strip() for name in frame.columns]
    _refuse_duplicates(path, names)
    columns = {}
    for k, name in enumerate(names):
        cells = frame.iloc[:, k].astype(object)
        columns[name] = _none_where_missing(_objects(cells.where(cells.notna(), None).tolist()))
    return Table(path, columns, dict(columns), Dialect(), [])


def _parquet(data: io.BytesIO) -> Any:
    import pandas as pd

    return _with_index(pd.read_parquet(data))


def _feather(data: io.BytesIO) -> Any:
    import pandas as pd

    return _with_index(pd.read_feather(data))


def _excel(data: io.BytesIO) -> Any:
    import pandas as pd

    sheet = pd.read_excel(data, header=None, dtype=object)  # with a header, pandas would rename duplicate names
    if sheet.empty:
        return sheet
    return sheet.iloc[1:].set_axis(["" if pd.isna(name) else name for name in sheet.iloc[0]], axis=1)


def _with_index(frame: Any) -> Any:
    """Turn an index other than a plain range into a column of row names."""
    import pandas as pd

    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


BINARY: dict[str, tuple[str, Callable[[io.BytesIO], Any]]] = {
    ".parquet": ("Parquet", _parquet),
    ".pq": ("Parquet", _parquet),
    ".feather": ("Feather", _feather),
    ".arrow": ("Arrow", _feather),
    ".ipc": ("Arrow", _feather),
    ".xlsx": ("Excel", _excel),
    ".xlsm": ("Excel", _excel),
}


def _refuse_duplicates(path: Path, names: list[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        where = ", ".join(str(k + 1) for k, name in enumerate(names) if name == twice[0])
        advice = "add a header line" if all(name.isdecimal() for name in names) else "rename them"
        raise InputError(
            f"{str(path)!r} has duplicate column names: {_some(twice)} ({twice[0]!r}: columns {where}); {advice}"
        )


def _some(names: list[str], most: int = 8) -> str:
    return some_of([repr(name) for name in names], most)
