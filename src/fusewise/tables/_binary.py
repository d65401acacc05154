"""Reading tables whose cells have types: Parquet, Feather/Arrow, Excel, Stata, SPSS, SAS, SQLite and JSON lines."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fusewise.support import InputError, counted, some_of
from fusewise.tables._grid import Cells, Grid, as_cells, by_column, refuse_duplicates, titles_above
from fusewise.tables._sources import Source, open_source
from fusewise.tables._text import JSON_SUFFIXES, decode

#: Cells of a sheet, empty ones included, up to which it is read; more only if one in a hundred is filled. Bytes of the
#: parts of a workbook.
VAST, MOST_BYTES = 20_000_000, 2e9

Reader = Callable[[Source, str | int | None], Grid]


def reader_of(source: Source) -> tuple[str, Reader] | None:
    """The name and reader of a format, by the suffix of the file or its first bytes; None for text."""
    if source.suffix in OLD_SUFFIXES:
        raise InputError(f"{source.name!r}: {source.suffix} files cannot be read; save the sheet as .xlsx or .csv")
    by_suffix = SUFFIXES.get(source.suffix)
    if by_suffix is not None:
        return by_suffix
    by_content = next((reader for start, reader in FIRST_BYTES.items() if source.data.startswith(start)), None)
    if by_content is None and source.name == "standard input" and source.data.lstrip()[:1] == b"{":
        return JSON_LINES
    return by_content


def read_binary(source: Source, kind: str, read: Reader, sheet: str | int | None, skip_rows: int = 0) -> Grid:
    """Read a table with a reader of ``reader_of``; errors of its library are reported as ``InputError``."""
    if source.part is not None and kind not in ("Excel", "SQLite"):
        raise InputError(f"{source.name!r}: a {kind} file has no parts that can be named after '::'")
    if sheet is not None and kind != "Excel":
        raise InputError(f"sheet (--sheet) {sheet!r}: {source.name!r} is a {kind} file, which has no sheets")
    if skip_rows and kind != "Excel":
        raise InputError(f"skip_rows (--skip-rows): {source.name!r} is a {kind} file, which has no lines to skip")
    given = partial(_excel, skip_rows=skip_rows) if kind == "Excel" else read
    grid: Grid = _read_reporting(source, kind, given, sheet)
    if not grid.written:
        raise InputError(f"{source.name!r} has no columns")
    return grid


def _read_reporting(source: Source, kind: str, read: Callable[..., Any], sheet: str | int | None) -> Any:
    """Call a reader; errors of its library are reported as ``InputError``."""
    try:
        return read(source, sheet)
    except InputError:
        raise
    except ImportError as error:
        needed = next((name for name in ("openpyxl", "pyarrow", "pyreadstat") if name in str(error)), "pandas")
        extra = "stats" if needed == "pyreadstat" else "cli"
        raise InputError(f'reading {kind} files needs {needed}: pip install "fusewise[{extra}]"') from error
    except Exception as error:  # each library raises its own errors for a damaged file
        raise InputError(f"{source.name!r} is not a readable {kind} file (truncated or damaged?): {error}") from error


def _parquet(source: Source, sheet: str | int | None) -> Grid:
    return grid_of_frame(source.name, _parquet_frame(source))


def _parquet_frame(source: Source) -> Any:
    import pandas as pd
    import pyarrow.parquet as pq

    refuse_duplicates(source.name, pq.read_schema(io.BytesIO(source.data)).names)
    return pd.read_parquet(io.BytesIO(source.data))


def _feather(source: Source, sheet: str | int | None) -> Grid:
    import pandas as pd

    return grid_of_frame(source.name, pd.read_feather(io.BytesIO(source.data)))


def frame_of_parquet(path: Path) -> Any:
    """The data frame of a Parquet file, its columns named as in ``grid_of_frame``."""

    def read(source: Source, sheet: str | int | None) -> Any:
        return _with_index_as_column(source.name, _parquet_frame(source))

    return _read_reporting(open_source(path), "Parquet", read, None)


def _with_index_as_column(name: str, frame: Any) -> Any:
    """An index other than a plain range becomes a column of row names."""
    import pandas as pd

    frame = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
    frame.columns = [str(column).strip() for column in frame.columns]
    refuse_duplicates(name, list(frame.columns))
    return frame


def grid_of_frame(source: str, frame: Any) -> Grid:
    """The cells of a data frame; an index other than a plain range becomes a column of row names."""
    import pandas as pd

    frame = _with_index_as_column(source, frame)
    names = list(frame.columns)
    types = [frame.iloc[:, k].dtype for k in range(len(names))]
    ordered = {
        name: type_.categories.tolist()
        for name, type_ in zip(names, types, strict=True)
        if isinstance(type_, pd.CategoricalDtype) and type_.ordered
    }
    return Grid({name: _cells(frame.iloc[:, k]) for k, name in enumerate(names)}, levels=ordered)


def _cells(series: Any) -> Cells:
    cells = series.astype(object)
    return as_cells(cells.where(cells.notna(), None).tolist())


def _excel(source: Source, sheet: str | int | None, skip_rows: int = 0) -> Grid:
    import pandas as pd

    _refuse_vast(source)
    # With a header, pandas would rename duplicate names.
    sheets = pd.read_excel(io.BytesIO(source.data), sheet_name=None, header=None, dtype=object)
    name = _sheet(
        source,
        {name: frame for name, frame in sheets.items() if not frame.empty},
        list(sheets),
        sheet if source.part is None else source.part,
    )
    frame = sheets[name].iloc[skip_rows:].dropna(axis="columns", how="all").dropna(axis="index", how="all")
    if frame.empty:
        raise InputError(f"{source.name!r}: the sheet {name!r} is empty")
    rows = [[None if pd.isna(cell) else cell for cell in row] for row in frame.to_numpy(dtype=object)]
    above = 0 if skip_rows else titles_above(rows)
    titles = [" ".join(str(cell) for cell in row if cell is not None) for row in rows[:above]]
    notes = [f"the rows above the header were left out: {some_of(list(map(repr, titles)), 3)}"] * (above > 0)
    written, renamed = by_column(*_without_blanks(rows[above], rows[above + 1 :]))
    return Grid(written, notes=notes + renamed)


def _without_blanks(header: list[Any], rows: list[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
    """Header and rows without the columns that only a title reached into."""
    kept = [k for k, name in enumerate(header) if name is not None or any(row[k] is not None for row in rows)]
    return [header[k] for k in kept], [[row[k] for k in kept] for row in rows]


def _refuse_vast(source: Source) -> None:
    """Raise ``InputError`` if a few cells of a sheet lie so far apart that reading all between them takes gigabytes."""
    place = re.compile(rb'<(?:\w+:)?(c|row)\b[^>]*?\sr="([A-Z]{0,3})(\d{1,7})"')
    with zipfile.ZipFile(io.BytesIO(source.data)) as book:
        sheets = [part for part in book.infolist() if part.filename.startswith("xl/worksheets/")]
        if sum(part.file_size for part in book.infolist()) > MOST_BYTES:
            raise InputError(f"{source.name!r} holds more than {MOST_BYTES / 1e9:g} GB: save the sheet as .csv")
        for part in sheets:
            cells, rows, columns, rest = 0, 0, 0, b""
            with book.open(part) as sheet:
                while chunk := sheet.read(1 << 20):
                    text = rest + chunk
                    end = text.rfind(b">") + 1
                    rest = text[end:]
                    for kind, letters, number in place.findall(text, 0, end):
                        cells += kind == b"c"
                        rows, columns = max(rows, int(number)), max(columns, _number_of(letters))
            if rows * columns > max(VAST, 100 * cells):
                far = f"{counted(cells, 'cell')} spread over {rows:,} rows and {counted(columns, 'column')}"
                raise InputError(f"{source.name!r} has {far}, too large an area to read: delete stray cells")


def _number_of(letters: bytes) -> int:
    """The number of a column from its letters: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _sheet(source: Source, filled: dict[str, Any], names: list[str], asked: str | int | None) -> str:
    """The requested sheet, by its name or its number from 1, or the only one that is not empty."""
    listed = some_of([repr(name) for name in names])
    if asked is None:
        if len(filled) > 1:
            raise InputError(f"{source.name!r} has {len(filled)} sheets ({listed}): choose one with sheet= (--sheet)")
        return next(iter(filled), names[0])
    if asked in names:
        return str(asked)
    number = int(asked) if str(asked).isdecimal() else 0
    if not 1 <= number <= len(names):
        raise InputError(f"sheet (--sheet) {asked!r}: {source.name!r} has no such sheet; its sheets are {listed}")
    return names[number - 1]


def _sqlite(source: Source, sheet: str | int | None) -> Grid:
    connection = sqlite3.connect(":memory:")
    try:
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
    finally:
        connection.close()


def _json_lines(source: Source, sheet: str | int | None) -> Grid:
    text, notes = decode(Source(source.name, JSON_SUFFIXES[0], source.data))
    records = _records(source, text)
    names = list(dict.fromkeys(name for record in records for name in record))
    written = {name: as_cells([record.get(name) for record in records]) for name in names}
    return Grid({str(name).strip(): cells for name, cells in written.items()}, notes=notes)


def _records(source: Source, text: str) -> list[dict[str, Any]]:
    """One object per line, or a list of objects."""
    if text.lstrip().startswith("["):
        try:
            numbered = list(enumerate(json.loads(text), 1))
        except json.JSONDecodeError as error:
            raise InputError(f"{source.name!r}, line {error.lineno}: not JSON ({error.msg})") from error
    else:
        numbered = []
        for line, content in enumerate(text.splitlines(), 1):
            try:
                numbered += [(line, json.loads(content))] if content.strip() else []
            except json.JSONDecodeError as error:
                raise InputError(f"{source.name!r}, line {line}: not a JSON object ({error.msg})") from error
    for line, record in numbered:
        if not isinstance(record, dict):
            raise InputError(f"{source.name!r}, line {line}: {record!r} is not a JSON object")
    return [record for _, record in numbered]


def _statistical(source: Source, sheet: str | int | None) -> Grid:
    """A file of Stata, SPSS or SAS; values are replaced by their labels in columns all of whose values have one."""
    import pyreadstat

    read = getattr(pyreadstat, STATISTICAL[source.suffix][1])
    frame, meta = read(io.BytesIO(source.data))
    grid = grid_of_frame(source.name, frame)
    written, levels = dict(grid.written), dict(grid.levels)
    for name, labels in meta.variable_value_labels.items():
        cells = grid.written[name.strip()]
        if labels and all(cell is None or cell in labels for cell in cells):
            written[name] = as_cells([None if cell is None else labels[cell] for cell in cells])
            if meta.variable_measure.get(name) == "ordinal" and len(set(labels.values())) == len(labels):
                levels[name] = [labels[code] for code in sorted(labels)]
    return replace(grid, written=written, levels=levels)


#: Suffixes of files of statistical packages, the name of the format, and the function that reads it.
STATISTICAL = {
    ".dta": ("Stata", "read_dta"),
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".por": ("SPSS", "read_por"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
    ".xpt": ("SAS", "read_xport"),
}

JSON_LINES: tuple[str, Reader] = ("JSON lines", _json_lines)
PARQUET: tuple[str, Reader] = ("Parquet", _parquet)
ARROW: tuple[str, Reader] = ("Arrow", _feather)
EXCEL: tuple[str, Reader] = ("Excel", _excel)
SQLITE: tuple[str, Reader] = ("SQLite", _sqlite)

SUFFIXES: dict[str, tuple[str, Reader]] = {
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    ".feather": ("Feather", _feather),
    **dict.fromkeys((".arrow", ".ipc"), ARROW),
    **dict.fromkeys((".xlsx", ".xlsm"), EXCEL),
    **dict.fromkeys(JSON_SUFFIXES, JSON_LINES),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), SQLITE),
    **{suffix: (kind, _statistical) for suffix, (kind, _) in STATISTICAL.items()},
}
FIRST_BYTES: dict[bytes, tuple[str, Reader]] = {
    b"PAR1": PARQUET,
    b"ARROW1": ARROW,
    b"SQLite format 3\x00": SQLITE,
}
OLD_SUFFIXES = (".xls", ".xlsb", ".ods")
