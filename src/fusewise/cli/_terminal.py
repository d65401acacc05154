"""Building blocks of the terminal output: a progress line, JSON, small tables, and a scatter plot in characters."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from fusewise.kernels import Index
from fusewise.progress import Progress, silent
from fusewise.support import CONTROLS, counted, finite_json, visible
from fusewise.views import Findings, colour

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


def listed(table: Grid, name: str | Text, entries: Sequence[Any]) -> None:
    """Add one row per entry, with the name in front of the first."""
    for k, entry in enumerate(entries):
        table.add_row("" if k else name, entry if isinstance(entry, Text) else Text(str(entry)))


#: Maximum width and height of the picture, in characters.
WIDTH, HEIGHT = 72, 18

#: Maximum number of clusters in the legend.
MOST_NAMED = 12

#: Characters of the clusters without colour; "." is an outlier, "+" any further cluster.
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"

#: Bit of the dot in row y, column x of a Braille character, which has 4 x 2 dots.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
BRAILLE = 0x2800


def picture(found: Findings, console: Console) -> list[Text]:
    """Draw the rows in two principal components, with a legend and a caption."""
    width = max(10, min(WIDTH, console.width - 4))
    dots, clusters = rasterize(found.points, found.labels[found.drawn], width, HEIGHT)
    coloured = in_colour(console)
    inside = np.flatnonzero(dots.any(axis=1))
    lines = [_line(dots[row], clusters[row], coloured=coloured) for row in range(inside[0], inside[-1] + 1)]
    shares = " and ".join(f"{share:.0%}" for share in found.plane.shares)
    of_what = " of columns made symmetric" if found.plane.note else ""
    caption = f"first two principal components{of_what} ({shares} of the variance)"
    return [*lines, *_legend(found, width, coloured=coloured), Text(caption, "dim")]


def in_colour(console: Console) -> bool:
    """Whether coloured dots can be shown: not with NO_COLOR, in a pipe, or on a terminal without Unicode."""
    try:
        chr(BRAILLE).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return console.color_system is not None and not console.no_color


def rasterize(points: npt.NDArray[Any], labels: Index, width: int, height: int) -> tuple[Index, Index]:
    """Place points on height x width cells; the plane is stretched to fill them.

    Returns the bits of the dots that contain a point, and the most frequent cluster in each cell (-1: outliers, -2: an
    empty cell).
    """
    dots, clusters = np.zeros((height, width), np.intp), np.full((height, width), -2, np.intp)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    place = (points - low) / np.where(size > 0, size, 1)
    place[:, size == 0] = 0.5
    x = np.minimum((place[:, 0] * 2 * width).astype(int), 2 * width - 1)
    y = np.minimum(((1 - place[:, 1]) * 4 * height).astype(int), 4 * height - 1)
    np.bitwise_or.at(dots, (y // 4, x // 2), DOTS[y % 4, x % 2])
    kinds = int(labels.max()) + 2
    found, counts = np.unique((y // 4 * width + x // 2) * kinds + labels + 1, return_counts=True)
    rarest_first = found[np.argsort(counts, kind="stable")]  # the most frequent cluster is written last
    clusters.flat[rarest_first // kinds] = rarest_first % kinds - 1
    return dots, clusters


def _line(dots: Index, clusters: Index, *, coloured: bool) -> Text:
    line = Text()
    for bits, cluster in zip(dots, clusters, strict=True):
        if coloured:
            line.append(chr(BRAILLE + bits), "" if cluster == -2 else colour(int(cluster)))
        else:
            line.append(" " if cluster == -2 else sign(int(cluster)))
    line.rstrip()
    return line


def sign(cluster: int) -> str:
    """The character that stands for a cluster."""
    return "." if cluster < 0 else SIGNS[cluster] if cluster < len(SIGNS) else "+"


def _legend(found: Findings, width: int, *, coloured: bool) -> list[Text]:
    """The sign, name and size of each cluster, in lines of at most `width` characters."""
    entries = []
    for cluster, size in [
        *enumerate(found.sizes[:MOST_NAMED]),
        *([(-1, found.n_outliers)] if found.n_outliers else []),
    ]:
        mark = ("● " if coloured else f"{sign(cluster)} ", colour(cluster) if coloured else "")
        entries.append(Text.assemble(mark, f"{'outliers' if cluster < 0 else f'cluster {cluster}'}: {size:,}   "))
    if found.n_clusters > MOST_NAMED:
        entries.append(Text(f"... and {counted(found.n_clusters - MOST_NAMED, 'smaller cluster')}"))
    lines = [Text()]
    for entry in entries:
        if lines[-1] and len(lines[-1]) + len(entry.plain.rstrip()) > width:
            lines.append(Text())
        lines[-1].append_text(entry)
    for line in lines:
        line.rstrip()
    return lines
