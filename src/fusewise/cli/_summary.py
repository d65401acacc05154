"""What the summaries of several commands show: a headline, the columns of the file, the clusters, files and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table as Grid
from rich.text import Text

from fusewise.cli._terminal import bar, grid, headed, listed
from fusewise.support import counted
from fusewise.tables import Reading
from fusewise.views import observed_words

#: Maximum number of clusters, columns and notes listed one by one.
MOST_LISTED, MOST_COLUMNS, MOST_NOTES = 12, 40, 20


def headline(path: Path, rows: int, columns: int, observed: float, *, parts: int = 0) -> Text:
    """The name of the table and its size."""
    size = f"{counted(rows, 'row')} × {counted(columns, 'column')}, {observed_words(observed)}"
    return Text.assemble((path.name, "bold"), "  ", f"{counted(parts, 'part')}, " if parts else "", size)


def columns_data(table: Reading) -> dict[str, Any]:
    """The columns of a file and how they were read, as a JSON-serialisable dictionary."""
    roles = (table.names_column, table.labels_column)
    return {
        "all": [{"name": c.name, "kind": c.kind, "used": c.used, "why": c.why} for c in table.columns],
        "numbers": [c.name for c in table.used if not c.categories],
        "encoded": [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in table.used if c.categories
        ],
        "unused": [{"name": c.name, "reason": c.why} for c in table.columns if not c.used and c.name not in roles],
        "names": table.names_column,
        "labels": table.labels_column,
    }


def column_list(read: Reading) -> Grid:
    """Each column of the file: its kind, and how it was read or why it is not used."""
    columns, table = read.columns, headed("column", "read as", "", left=("column", "read as"))
    roles = (read.names_column, read.labels_column)
    for column in columns[:MOST_COLUMNS]:
        why = Text(("" if column.used or column.name in roles else "not used: ") + column.why)
        name = Text(column.name or "(no name)", "cyan")
        table.add_row(name, Text(column.kind, "" if column.used else "dim"), why)
    if len(columns) > MOST_COLUMNS:
        table.add_row("...", "", f"and {counted(len(columns) - MOST_COLUMNS, 'more column')} (--json lists all)")
    return table


def cluster_list(
    sizes: Sequence[int], outside: int, blank: int, more: Mapping[str, Sequence[str | Text]] | None = None
) -> Grid:
    """The sizes of the clusters, with a bar for each and `more` columns; the smallest together.

    Rows in no cluster come last, `blank` of them because nothing was observed.
    """
    columns = dict(more or {"": [""] * len(sizes)})
    table = headed("cluster", "rows", "", *columns, left=(list(columns)[-1],))
    for k, size in enumerate(sizes[:MOST_LISTED]):
        cells = [column[k] for column in columns.values()]
        table.add_row(str(k), f"{size:,}", bar(size / max(sizes)) if size else "", *cells)
    spaces = [""] * len(columns)
    if len(sizes) > MOST_LISTED:
        rest = f"in {counted(len(sizes) - MOST_LISTED, 'smaller cluster')}"
        table.add_row("...", f"{sum(sizes[MOST_LISTED:]):,}", *spaces, rest)
    if outside:
        outliers, empty = counted(outside - blank, "outlier"), counted(blank, "row") + " without observed values"
        why = outliers if not blank else empty if blank == outside else f"{outliers}, {empty}"
        table.add_row("-1", f"{outside:,}", *spaces, Text(f"no cluster: {why}", "dim"))
    return table


def facts(
    rows: Mapping[str, str], *, limits: Sequence[str] = (), written: Sequence[Any] = (), notes: Sequence[str] = ()
) -> Grid:
    """Facts by name, then limits, files and notes, one per line."""
    table = grid("dim", "")
    for name, fact in rows.items():
        table.add_row(name, Text(fact))
    more = len(notes) - MOST_NOTES
    if more > 0:
        notes = [*notes[:MOST_NOTES], f"... and {counted(more, 'more note')} (--json lists all)"]
    listed(table, "limits", limits)
    listed(table, "written", written)
    listed(table, Text("note", "yellow"), notes)
    return table
