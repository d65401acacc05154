"""What commands print (progress, JSON, summaries), and the files they write: all of them or none."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

import fusewise
from fusewise.progress import Progress, silent
from fusewise.support import CONTROLS, InputError, counted, finite_json, refuse_unwritable, visible, written_together
from fusewise.tables import Dialect, Reading
from fusewise.views import observed_words

#: Length of the longest bar, in characters.
BAR = 20

#: Maximum number of clusters, columns and notes listed one by one.
MOST_LISTED, MOST_COLUMNS, MOST_NOTES = 12, 40, 20


class Terminal(Console):
    """A console on which text of a table cannot give orders to the terminal."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False} | options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments with their control characters made visible, except those of styles and progress bars."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


@contextmanager
def working(*, shown: bool) -> Iterator[Progress]:
    """Yield a progress callback that shows stage, bar and time on stderr if that is a terminal, else nothing."""
    console = Terminal(stderr=True)
    if not (shown and console.is_terminal):
        yield silent
        return
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(BAR), TimeElapsedColumn()
    with Bars(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)

        def tell(stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
            numbers = "".join(f", {name} {value:,.5g}" for name, value in values.items())
            progress.update(task, description=stage + numbers, completed=iteration, total=total)

        yield tell


@dataclass(frozen=True, eq=False)
class Result:
    """What a command has found: the data for ``--json``, and the parts of its summary."""

    data: dict[str, Any]
    parts: Sequence[RenderableType]

    def show(self, *, json: bool = False) -> None:
        """Print the data as JSON, or the parts below each other, each but the first indented after a blank line."""
        if json:
            # Numbers that are not finite become null; JSON itself escapes control characters below 32 only.
            text = finite_json({"version": fusewise.__version__} | self.data, indent=2, ensure_ascii=False)
            print(text.translate({code: f"\\u{code:04x}" for code in CONTROLS if code > 32}))
            return
        console, (first, *others) = Terminal(), self.parts
        console.print(first)
        for part in others:
            if not isinstance(part, Grid) or part.row_count:
                console.print()
                console.print(Padding(part, (0, 0, 0, 2), expand=False))


def headed(*titles: str, left: tuple[str, ...] = ()) -> Grid:
    """An empty table with a header; columns are right-aligned except those in `left`."""
    made = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in titles:
        made.add_column(title, justify="left" if title in left or not title else "right")
    return made


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
        bar = Text("█" * max(1, round(BAR * size / max(*sizes, 1))), "cyan")
        table.add_row(str(k), f"{size:,}", bar if size else "", *cells)
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
    table = Grid.grid(padding=(0, 3, 0, 0))
    table.add_column(style="dim", overflow="fold")
    table.add_column(overflow="fold")
    for name, fact in rows.items():
        table.add_row(name, Text(fact))
    more = len(notes) - MOST_NOTES
    if more > 0:
        notes = [*notes[:MOST_NOTES], f"... and {counted(more, 'more note')} (--json lists all)"]
    for title, entries in (("limits", limits), ("written", written), (Text("note", "yellow"), notes)):
        for k, entry in enumerate(entries):
            table.add_row("" if k else title, Text(str(entry)))
    return table


#: How text begins that spreadsheets take for a formula (also in the wide characters of East Asian fonts), after
#: spaces, tabs and line breaks; and the numbers among it.
FORMULA_SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?[\d.,]+([eE][+-]?\d+)?\s?%?")


@contextmanager
def staged(targets: Sequence[Path], *, force: bool, sources: Sequence[Path] = ()) -> Iterator[dict[Path, Path]]:
    """Yield a temporary path for each target; all files move to their targets when the block ends without an error.

    Conflicts are detected at the start, before any long computation.

    Parameters
    ----------
    targets : files that will be written.
    force : overwrite existing files.
    sources : input files (a table, a model), which are never overwritten.
    """
    folders = dict.fromkeys(target.parent for target in targets)
    _refuse_conflicts(targets, force, sources)
    made = {folder for of in folders for folder in (of, *of.parents) if not folder.exists()}
    try:
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        with written_together(targets, replace=force) as places:
            yield places
    except OSError as error:
        where = ", ".join(repr(str(folder)) for folder in folders)
        # The system's message only: a library's message would name the temporary file.
        why = os.strerror(error.errno) if error.errno else error
        raise InputError(f"cannot write to {where}: {why}") from error
    finally:
        for folder in sorted(made, key=lambda folder: -len(folder.parts)):
            with suppress(OSError):  # it has the results
                folder.rmdir()


def _refuse_conflicts(targets: Sequence[Path], force: bool, sources: Sequence[Path]) -> None:
    if len({target.resolve() for target in targets}) < len(targets):
        raise InputError(f"two results would be written to the same file: {', '.join(repr(str(t)) for t in targets)}")
    for target in targets:
        try:
            refuse_unwritable(target)
        except OSError as error:
            raise InputError(str(error)) from error
    there = [target for target in targets if target.exists()]
    for target in there:
        replaced = next((source for source in sources if target.samefile(source)), None)
        if replaced is not None:
            raise InputError(f"the results would overwrite the input file {str(replaced)!r}: choose another output")
    if there and not force:
        names, exist = ", ".join(map(str, there)), "exists" if len(there) == 1 else "exist"
        raise InputError(f"{names} already {exist}: choose another output, or add --force to overwrite")


def write_csv(path: Path, columns: Mapping[str, Iterable[Any]], dialect: Dialect, *, safe: bool = False) -> None:
    """Write columns to a CSV file; missing cells are left empty.

    If `safe`, every cell is in double quotes, and text that a spreadsheet may take for a formula begins with ``'``.
    """
    # A .csv file should not be tab-separated; decimal commas need semicolons.
    separator = ";" if ";" in dialect.separator or "," in dialect.decimal else ","
    quoting: Literal[0, 1] = csv.QUOTE_ALL if safe else csv.QUOTE_MINIMAL
    known = _without_formulas if safe else list
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n", quoting=quoting)
        writer.writerow(known(columns))
        writer.writerows(map(known, zip(*columns.values(), strict=True)))


def _without_formulas(cells: Iterable[Any]) -> list[Any]:
    """Cells that a spreadsheet takes for text or numbers: formulas get a leading apostrophe, numbers stay."""
    return [
        f"'{cell}"
        if isinstance(cell, str) and cell.lstrip().startswith(FORMULA_SIGNS) and not NUMBER.fullmatch(cell)
        else cell
        for cell in cells
    ]
