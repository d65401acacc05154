"""Building blocks of the terminal output: a progress line, JSON, and small tables."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from fusewise.progress import Progress, silent
from fusewise.support.files import finite_json
from fusewise.support.words import CONTROLS, visible

#: Length of the longest bar, in characters.
BAR = 20


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


def print_json(data: dict[str, Any]) -> None:
    """Print a JSON object to stdout; numbers that are not finite become null."""
    # JSON itself escapes control characters below 32 only.
    escapes = {code: f"\\u{code:04x}" for code in CONTROLS if code > 32}
    print(finite_json(data, indent=2, ensure_ascii=False).translate(escapes))


def open_page(path: Path) -> None:
    """Open a page in the user's browser; say where it is if there is none."""
    if not webbrowser.open(path.resolve().as_uri()):
        Terminal(stderr=True).print(f"no browser was found: open {path} yourself", markup=False)


def print_below(console: Console, *parts: Any) -> None:
    """Print parts below each other, indented, with a blank line before each; empty tables are left out."""
    for part in parts:
        if not isinstance(part, Grid) or part.row_count:
            console.print()
            console.print(Padding(part, (0, 0, 0, 2), expand=False))


def grid(*styles: str) -> Grid:
    """An empty table without a header, with one column per style."""
    made = Grid.grid(padding=(0, 3, 0, 0))
    for style in styles:
        made.add_column(style=style, overflow="fold")
    return made


def headed(*titles: str, left: tuple[str, ...] = ()) -> Grid:
    """An empty table with a header; columns are right-aligned except those in `left`."""
    made = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in titles:
        made.add_column(title, justify="left" if title in left or not title else "right")
    return made


def bar(share: float, style: str = "cyan") -> Text:
    """A bar of at least one and at most BAR characters."""
    return Text("█" * max(1, round(BAR * share)), style)


def listed(table: Grid, name: str | Text, entries: list[Any]) -> None:
    """Add one row per entry, with the name in front of the first."""
    for k, entry in enumerate(entries):
        table.add_row("" if k else name, entry if isinstance(entry, Text) else Text(str(entry)))
