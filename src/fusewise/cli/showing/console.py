"""What every command's output is made of: a line of progress, JSON, and small grids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table as Grid
from rich.text import Text

from fusewise.kernels.output import finite_json
from fusewise.progress import Progress, silent

#: Characters of the longest bar.
BAR = 20


@contextmanager
def working(*, shown: bool) -> Iterator[Progress]:
    """A function to be told of each stage, and a line on stderr (where that is a terminal) with stage, bar and time."""
    console = Console(stderr=True)
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


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on stdout; what is not a finite number becomes null."""
    print(finite_json(data, indent=2, ensure_ascii=False))


def print_below(console: Console, *parts: Any) -> None:
    """Parts one below the other, indented, with a blank line before each; grids without rows are left out."""
    for part in parts:
        if not isinstance(part, Grid) or part.row_count:
            console.print()
            console.print(Padding(part, (0, 0, 0, 2), expand=False))


def grid(*styles: str) -> Grid:
    """Columns without a header."""
    made = Grid.grid(padding=(0, 3, 0, 0))
    for style in styles:
        made.add_column(style=style, overflow="fold")
    return made


def headed(*titles: str, left: tuple[str, ...] = ()) -> Grid:
    """Columns with a header, to the right but those named in `left`."""
    made = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in titles:
        made.add_column(title, justify="left" if title in left or not title else "right")
    return made


def bar(share: float, style: str = "cyan") -> Text:
    """A bar of at most BAR characters, and at least one."""
    return Text("█" * max(1, round(BAR * share)), style)


def listed(table: Grid, name: str | Text, entries: list[Any]) -> None:
    """Rows with the name before the first."""
    for k, entry in enumerate(entries):
        table.add_row("" if k else name, entry if isinstance(entry, Text) else Text(str(entry)))
