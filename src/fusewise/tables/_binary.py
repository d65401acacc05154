"""Reading tables whose cells have types: Parquet, Feather/Arrow, Excel, Stata, SPSS, SAS, SQLite and JSON lines."""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fusewise.support import InputError, some_of
from fusewise.tables._grid import Cells, Grid, as_cells, by_column, refuse_duplicates, without_remarks
from fusewise.tables._sources import Source, open_source
from fusewise.tables._text import JSON_SUFFIXES, decode

#: Cells of a sheet up to which it is read, empty ones before the last of each row included; more only if one in a
#: hundred is filled. Bytes of the parts of a workbook.
VAST, MOST_BYTES = 20_000_000, 2e9

#: Values of a column of which only the ends may have labels.
LONGEST_SCALE = 12

Reader = Callable[[Source], Grid]


def reader_of(source: Source) -> tuple[str, Reader] | None:
    """The name and reader of a format, by the suffix of the file or its first bytes; None for text."""
    if source.data.startswith(OLD_START) and source.suffix not in OLD_SUFFIXES:
        what = "a workbook with a password, or of an old Excel"
        raise InputError(f"{source.name!r} is {what}: save it as .xlsx without a password, or as .csv")
    if source.suffix in OLD_SUFFIXES:
        raise InputError(f"{source.name!r}: {source.suffix} files cannot be read; save the sheet as .xlsx or .csv")
    json = source.name == "standard input" and source.data.lstrip()[:1] == b"{"
    suffix = JSON_SUFFIXES[0] if json else source.suffix
    by_suffix = [(kind, read) for kind, read, suffixes, _ in FORMATS if suffix in suffixes]
    by_start = [(kind, read) for kind, read, _, start in FORMATS if start and source.data.startswith(start)]
    return next(iter(by_suffix + by_start), None)


def read_binary(source: Source, kind: str, read: Reader, sheet: str | int | None, skip_rows: int = 0) -> Grid:
    """Read a table with a reader of ``reader_of``; errors of its library are reported as ``InputError``."""
    with _reporting(source, kind):
        grid = _excel(source, sheet, skip_rows) if kind == "Excel" else read(source)
    if not grid.written:
        raise InputError(f"{source.name!r} has no columns")
    return grid


@contextmanager
def _reporting(source: Source, kind: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except ImportError as error:
        needed = next((name for name in ("openpyxl", "pyarrow", "pyreadstat") if name in str(error)), "pandas")
        extra = "stats" if needed == "pyreadstat" else "cli"
        raise InputError(f'reading {kind} files needs {needed}: pip install "fusewise[{extra}]"') from error
    except Exception as error:  # each library raises its own errors for a damaged file
        raise InputError(f"{source.name!r} is not a readable {kind} file (truncated or damaged?): {error}") from error


def frame_of_parquet(path: Path) -> Any:
    """The data frame of a Parquet file, its columns named as in ``grid_of_frame``."""
    source = open_source(path)
    with _reporting(source, "Parquet"):
        return _with_index_as_column(source.name, _parquet_frame(source))


def _parquet_frame(source: Source) -> Any:
    import pandas as pd
    import pyarrow.parquet as pq

    refuse_duplicates(source.name, pq.read_schema(io.BytesIO(source.data)).names)
    return pd.read_parquet(io.BytesIO(source.data))


def _parquet(source: Source) -> Grid:
    return grid_of_frame(source.name, _parquet_frame(source))


def _feather(source: Source) -> Grid:
    import pandas as pd

    return grid_of_frame(source.name, pd.read_feather(io.BytesIO(source.data)))


def _with_index_as_column(name: str, frame: Any) -> Any:
    """An index other than a plain range becomes a column of row names."""
    import pandas as pd

    frame = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
    frame = frame.set_axis([str(column).strip() for column in frame.columns], axis=1)
    refuse_duplicates(name, list(frame.columns))
    return frame


def grid_of_frame(source: str, frame: Any) -> Grid:
    """The cells of a pandas or polars frame, and what it says of its categories."""
    if hasattr(frame, "get_columns"):
        enums = [column for column in frame.get_columns() if hasattr(column.dtype, "categories")]
        levels = {column.name: column.dtype.categories.to_list() for column in enums if str(column.dtype)[:4] == "Enum"}
        return Grid({column.name: as_cells(column.to_list()) for column in frame.get_columns()}, levels=levels)
    import pandas as pd

    written, levels, numbered = {}, {}, []
    for name, column in _with_index_as_column(source, frame).items():
        cells = column.astype(object)
        written[name] = as_cells(cells.where(cells.notna(), None).tolist())
        if isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.ordered:
            levels[name] = column.dtype.categories.tolist()
        elif isinstance(column.dtype, pd.CategoricalDtype) and column.dtype.categories.dtype.kind in "iuf":
            numbered.append(name)
    return Grid(written, levels=levels, categories=tuple(numbered))


def _excel(source: Source, sheet: str | int | None = None, skip_rows: int = 0) -> Grid:
    import openpyxl  # type: ignore[import-untyped]

    with zipfile.ZipFile(io.BytesIO(source.data)) as parts:
        if sum(part.file_size for part in parts.infolist()) > MOST_BYTES:
            raise InputError(f"{source.name!r} holds more than {MOST_BYTES / 1e9:g} GB: save the sheet as .csv")
    book = openpyxl.load_workbook(io.BytesIO(source.data), read_only=True, data_only=True)
    names = [page.title for page in book.worksheets]
    asked = sheet if source.part is None else source.part
    if asked is None:
        filled = {name: rows for name in names if any(rows := _rows_of(source, book[name]))}
        if len(filled) > 1:
            listed = some_of([repr(name) for name in names])
            raise InputError(f"{source.name!r} has {len(filled)} sheets ({listed}): choose one with sheet= (--sheet)")
        name, rows = next(iter(filled.items()), (names[0], []))
    else:
        name = _sheet(source, names, asked)
        rows = _rows_of(source, book[name])
    numbered = [(line, row) for line, row in enumerate(rows) if line >= skip_rows and row]
    if not numbered:
        raise InputError(f"{source.name!r}: the sheet {name!r} is empty")
    numbered, notes = without_remarks(numbered, skip_rows, "rows")
    width = max(len(row) for _, row in numbered)
    full = [row + [None] * (width - len(row)) for _, row in numbered]
    # Columns without any cell, and those that only a title reached into, are no columns.
    kept = [k for k in range(width) if any(row[k] is not None for row in full)]
    header, *body = [[row[k] for k in kept] for row in full]
    written, renamed = by_column(header, body)
    return Grid(written, notes=notes + renamed)


def _rows_of(source: Source, sheet: Any) -> list[list[Any]]:
    """The cells of a sheet, each row up to its last one; stray cells far apart would take gigabytes."""
    sheet.reset_dimensions()  # those in the file may be wrong
    rows, area, n_filled = [], 0, 0
    for cells in sheet.iter_rows(values_only=True):
        filled = [k for k, cell in enumerate(cells) if cell is not None and cell != ""]
        rows.append(list(cells[: filled[-1] + 1]) if filled else [])
        area, n_filled = area + len(rows[-1]), n_filled + len(filled)
        if area > max(VAST, 100 * n_filled):
            raise InputError(f"{source.name!r} has cells spread over too large an area to read: delete stray cells")
    return rows


def _sheet(source: Source, names: list[str], asked: str | int) -> str:
    """The requested sheet, by its name or its number from 1."""
    if asked in names:
        return str(asked)
    number = int(asked) if str(asked).isdecimal() else 0
    if not 1 <= number <= len(names):
        listed = some_of([repr(name) for name in names])
        raise InputError(f"sheet (--sheet) {asked!r}: {source.name!r} has no such sheet; its sheets are {listed}")
    return names[number - 1]


def _sqlite(source: Source) -> Grid:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(source.data)
        found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        tables = [name for (name,) in found if not name.startswith("sqlite_")]
        table = source.part if source.part is not None else tables[0] if len(tables) == 1 else None
        if table not in tables:
            listed = some_of([repr(name) for name in tables]) or "none"
            which = f"has no table {table!r}" if table is not None else f"has {len(tables)} tables"
            raise InputError(f"{source.name!r} {which} ({listed}): name one as FILE::TABLE")
        quoted = str(table).replace('"', '""')
        cursor = connection.execute(f'SELECT * FROM "{quoted}"')
        written, notes = by_column([column[0] for column in cursor.description], cursor.fetchall())
        return Grid(written, notes=notes)


def _json_lines(source: Source) -> Grid:
    """One object per line, or a list of objects."""
    text, notes = decode(Source(source.name, JSON_SUFFIXES[0], source.data))
    listed = text.lstrip().startswith("[")
    pieces = [(1, text)] if listed else [(k, line) for k, line in enumerate(text.splitlines(), 1) if line.strip()]
    records: list[dict[str, Any]] = []
    for line, piece in pieces:
        try:
            found = json.loads(piece)
        except json.JSONDecodeError as error:
            where = f"{source.name!r}, line {error.lineno + line - 1}"
            raise InputError(f"{where}: not {'JSON' if listed else 'a JSON object'} ({error.msg})") from error
        for k, record in enumerate(found if listed else [found], line):
            if not isinstance(record, dict):
                raise InputError(f"{source.name!r}, line {k}: {record!r} is not a JSON object")
            records.append(record)
    names = list(dict.fromkeys(name for record in records for name in record))
    return Grid({name.strip(): as_cells([record.get(name) for record in records]) for name in names}, notes=notes)


def _statistical(reader: str, source: Source) -> Grid:
    """A file of Stata, SPSS or SAS; values are replaced by their labels in columns all of whose values have one.

    Of a column in which only some have labels, these may mean missing values (99: refused): they are reported.
    """
    import pyreadstat

    frame, meta = getattr(pyreadstat, reader)(io.BytesIO(source.data))
    grid = grid_of_frame(source.name, frame)
    written, levels, notes = dict(grid.written), dict(grid.levels), list(grid.notes)
    for name, labels in meta.variable_value_labels.items():
        cells = grid.written[name.strip()]
        if labels and all(cell is None or cell in labels for cell in cells):
            written[name] = as_cells([None if cell is None else labels[cell] for cell in cells])
            if meta.variable_measure.get(name) == "ordinal" and len(set(labels.values())) == len(labels):
                levels[name] = [labels[code] for code in sorted(labels)]
        else:
            notes += _labelled(name, cells, {v: label for v, label in labels.items() if not isinstance(v, str)})
    return replace(grid, written=written, levels=levels, notes=notes)


def _labelled(name: str, cells: Cells, labels: dict[float, str]) -> list[str]:
    """A note on labels of some values of a column; not on those of the ends of a scale, next to its other values."""
    seen = set(cells) - {None}
    other = seen - labels.keys() if len(seen) <= LONGEST_SCALE else set()
    found = [value for value in labels if value in seen and not {value - 1, value + 1} & other]
    if not found:
        return []
    shown = some_of([f"{value:g} is labelled {labels[value]!r}" for value in found], 4)
    missing = f"--missing {','.join(f'{name}={value:g}' for value in found)}"
    return [f"column {name!r}: {shown}; if that means a missing value, say so with missing= ({missing})"]


#: The name of a format, its reader, the suffixes of its files, and how they begin, if that tells.
FORMATS: tuple[tuple[str, Reader, tuple[str, ...], bytes | None], ...] = (
    ("Parquet", _parquet, (".parquet", ".pq"), b"PAR1"),
    ("Arrow", _feather, (".arrow", ".ipc"), b"ARROW1"),
    ("Feather", _feather, (".feather",), None),
    ("Excel", _excel, (".xlsx", ".xlsm"), None),
    ("JSON lines", _json_lines, JSON_SUFFIXES, None),
    ("SQLite", _sqlite, (".db", ".sqlite", ".sqlite3"), b"SQLite format 3\x00"),
    ("Stata", partial(_statistical, "read_dta"), (".dta",), None),
    ("SPSS", partial(_statistical, "read_sav"), (".sav", ".zsav"), None),
    ("SPSS", partial(_statistical, "read_por"), (".por",), None),
    ("SAS", partial(_statistical, "read_sas7bdat"), (".sas7bdat",), None),
    ("SAS", partial(_statistical, "read_xport"), (".xpt",), None),
)
OLD_SUFFIXES = (".xls", ".xlsb", ".ods")
OLD_START = b"\xd0\xcf\x11\xe0"
