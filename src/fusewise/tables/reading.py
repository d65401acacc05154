"""``read_table``: reads a file as a table with typed columns, for Python and the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fusewise.support.words import counted, some_of
from fusewise.tables.binary import read_binary, reader_of
from fusewise.tables.codes import with_codes
from fusewise.tables.column_kinds import Kind
from fusewise.tables.deciding import ColumnSpec, Decision, decide, left_out, level_key, refuse_too_large
from fusewise.tables.decimals import decide_decimal
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Cells, Dialect, Grid
from fusewise.tables.markers import Unmarked, own_levels, unmark
from fusewise.tables.parts import joined, parts_of
from fusewise.tables.read_options import ReadOptions, as_spec, left_out_of, specs_of
from fusewise.tables.read_result import Reading
from fusewise.tables.roles import labels_column, names_column
from fusewise.tables.sources import STANDARD_INPUT, open_source
from fusewise.tables.text import read_text


def read_table(
    path: str | Path,
    *,
    sheet: str | int | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    missing: Iterable[Any] = (),
    kinds: Mapping[str, str | Sequence[Any]] | None = None,
    ignore: Iterable[str] = (),
) -> Reading:
    r"""Read a table and decide the kind of each column.

    Parameters
    ----------
    path : CSV, TSV or text separated by semicolons or pipes, Parquet, Feather/Arrow, Excel, JSON lines or SQLite
        (``file.db::table``), also compressed (gz, xz, bz2, zip, zst); ``-`` is standard input. A pattern
        (``part-*.csv``) or a folder of CSV or Parquet files with the same columns is one table.
    sheet : sheet of an Excel file: its name, or its number from 1. Required if several sheets are not empty.
    sep : field separator of a text file. Detected by default.
    decimal : decimal separator, "." or ",". Detected by default from all columns of the file together; if ``1.234`` may
        mean 1.234 or 1234 and nothing decides which, an error asks for it.
    missing : additional markers of missing values, such as ``-99`` or ``"unknown"``.
    kinds : name of a column -> its kind ("number", "category", "flag", ...; see ``Kind``), or the list of levels of an
        ordered column, lowest first.
    ignore : columns that are not used.

    Returns
    -------
    Reading
        ``frame`` has the columns that are used; ``columns`` describes every column of the file: its ``name``, its
        ``kind``, whether it is ``used``, and ``why``; ``notes`` lists assumptions and suspicious values.

    Raises
    ------
    InputError
        If the file cannot be read; the message says what is wrong, where (row, column), and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "cars.csv")
    >>> _ = path.write_text("price;seats\n9.693,45;5\n44.598;5\n12.000;7\n?;7\n")
    >>> reading = read_table(path)
    >>> reading.frame["price"].tolist()
    [9693.45, 44598.0, 12000.0, nan]
    >>> reading.columns[0].why
    "9693.45 to 44598; 1 missing ('?')"
    """
    told = {name: as_spec(name, kind) for name, kind in (kinds or {}).items()}
    return read(path, ReadOptions(sheet, sep, decimal, tuple(map(str, missing)), told, tuple(ignore)))


def read_grid(path: str | Path, sheet: str | int | None = None, sep: str | None = None) -> Grid:
    """Read the cells of a file of any supported format, or of parts; raise ``InputError`` if there are no rows."""
    parts = parts_of(path)
    grid = read_parts(parts, sheet, sep) if parts else read_file(path, sheet, sep)
    if grid.n_rows == 0:
        header = some_of([repr(name) for name in grid.written])
        raise InputError(f"{_shown(path)!r} has a header ({header}) but no rows")
    return grid


def read_parts(files: Sequence[Path], sheet: str | int | None = None, sep: str | None = None) -> Grid:
    """Read the cells of all parts of a table; all have the separator of the first."""
    grids = [read_file(files[0], sheet, sep)]
    grids += [read_file(file, sheet, sep or grids[0].separator) for file in files[1:]]
    return joined(zip(map(str, files), grids, strict=True))


def read_file(path: str | Path, sheet: str | int | None = None, sep: str | None = None) -> Grid:
    """Read the cells of one file, which may have no rows."""
    source = open_source(path)
    reader = reader_of(source)
    if reader is not None:
        return read_binary(source, *reader, sheet)
    if sheet is not None or source.part is not None:
        what = f"sheet (--sheet) {sheet!r}" if sheet is not None else f"'::{source.part}'"
        raise InputError(f"{what}: {source.name!r} is a text file, which has neither sheets nor tables")
    return read_text(source, sep)


def _shown(path: str | Path) -> str:
    return "standard input" if str(path) == STANDARD_INPUT else str(path)


def read(path: str | Path, asked: ReadOptions, grid: Grid | None = None, *, codes: bool = True) -> Reading:
    """Read a table with the given options; see ``read_table``.

    Parameters
    ----------
    path : the file.
    asked : the user's options.
    grid : its cells, if they were read before.
    codes : whether a few whole numbers may be levels (``with_codes``).
    """
    if asked.decimal not in (None, ".", ","):
        raise InputError(f"decimal (--decimal) must be '.' or ',', got {asked.decimal!r}")
    grid = read_grid(path, asked.sheet, asked.sep) if grid is None else grid
    told, left = specs_of(grid, asked.kinds), left_out_of(grid, asked)
    drafts = {name: _unmarked(cells, asked.missing, told.get(name)) for name, cells in grid.written.items()}
    voting = {name: draft.cells for name, draft in drafts.items() if name not in left and _votes(told.get(name))}
    decimal = asked.decimal or decide_decimal(voting, grid.separator)
    decided = {
        name: decide(name, draft, decimal, None if name in left else told.get(name)) for name, draft in drafts.items()
    }
    _put_levels_back(grid, drafts, decided, decimal, asked.missing, told, left)
    cells = {name: draft.cells for name, draft in drafts.items()}
    free = [name for name in cells if name not in left and name not in told]
    names = names_column(cells, free, asked.names)
    classes = next((name for name, kind in told.items() if kind.kind == Kind.LABEL), asked.labels)
    labels = labels_column(cells, [name for name in free if name != names], classes)
    for name in left:
        decided[name] = left_out(decided[name][0], left[name]), []
    if names is not None:
        kind = Kind.DATE if decided[names][0].kind == Kind.DATE else Kind.IDENTIFIER
        decided[names] = left_out(decided[names][0], "row names", kind), []
    if labels is not None:
        how = "" if classes else ", recognised by the name of the column"
        why = f"known classes{how}: used only to score the result"
        decided[labels] = left_out(decided[labels][0], why, Kind.LABEL), []
    columns = tuple(column for column, _ in decided.values())
    for column in columns:
        if column.used:
            refuse_too_large(column)
    columns = with_codes(columns, told) if codes else columns
    notes = grid.notes + [note for _, of in decided.values() for note in of]
    return Reading(
        Path(path), columns, cells, grid.written, Dialect(grid.separator or ",", decimal), notes, names, labels
    )


def _unmarked(written: Cells, missing: Sequence[str], told: ColumnSpec | None) -> Unmarked:
    if told is None:
        return unmark(written, missing)
    return unmark(written, (*missing, *told.missing), {level_key(level) for level in told.levels})


def _votes(told: ColumnSpec | None) -> bool:
    """Whether a column is used to detect the decimal separator of the file."""
    return told is None or told.kind == Kind.NUMBER


def _put_levels_back(
    grid: Grid, drafts: dict[str, Unmarked], decided: dict[str, Decision], decimal: str, missing: Sequence[str],
    told: Mapping[str, ColumnSpec], left: dict[str, str],
) -> None:  # fmt: skip
    """Decide again on text columns in which a marker is a category; `drafts` and `decided` are modified."""
    everywhere = {word for draft in drafts.values() for word in draft.markers}
    valued = {name for name, (column, _) in decided.items() if column.kind in (Kind.NUMBER, Kind.FLAG, Kind.DATE)}
    in_values = {word for name in valued for word in drafts[name].markers}
    settled = {name for name, kind in told.items() if kind.levels or kind.fixed or kind.kind == Kind.NUMBER}
    others = valued | settled | left.keys()
    for name in [name for name in decided if name not in others]:
        levels = own_levels(drafts[name], everywhere, in_values)
        again = unmark(grid.written[name], missing, levels)
        column, notes = decide(name, again, decimal, told.get(name)) if levels else decided[name]
        if levels and column.used:
            words = some_of([f"{word!r} ({counted(drafts[name].markers[word], 'cell')})" for word in levels])
            advice = "if it means a missing value, list it in missing (--missing)"
            notes.append(f"column {name!r}: {words} was kept as a category; {advice}")
            drafts[name], decided[name] = again, (column, notes)
