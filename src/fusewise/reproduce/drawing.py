"""The one style of all pictures, and the drawings several of them share."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from fusewise.views.palette import COLOURS

INK = "#1a1a1a"

STYLE: Any = {
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "font.size": 9,
    "axes.labelsize": 9.5,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
    "svg.fonttype": "path",
    "svg.hashsalt": "fusewise",  # the same picture gives the same file
}


@contextmanager
def canvas(
    rows: int, columns: int, width: float, height: float, *, tight: bool = False, **axes: Any
) -> Iterator[tuple[Figure, Any]]:
    """A figure of rows x columns axes (always a 2-D array), in inches, in our style; `tight`: little between them."""
    gaps: Any = (
        {"w_pad": 0.02, "h_pad": 0.03, "wspace": 0.01, "hspace": 0.01} if tight else {"w_pad": 0.06, "h_pad": 0.06}
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(**gaps))
        yield figure, figure.subplots(rows, columns, squeeze=False, **axes)


def encode(figure: Figure, vector: bool) -> bytes:
    """SVG or PNG."""
    buffer = io.BytesIO()
    with mpl.rc_context(STYLE):
        if vector:
            figure.savefig(buffer, format="svg", metadata={"Date": None})
        else:
            figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()


def letter(axes: Axes, text: str, title: str = "") -> None:
    """Name a panel, as papers do."""
    axes.set_title(f"$\\bf{{{text}}}$   {title}", loc="left")


def draw_map(axes: Axes, points: npt.NDArray[Any], centers: npt.NDArray[Any], truth: npt.NDArray[Any]) -> None:
    """Points in the plane, coloured by their true cluster, each joined by a line to its centre, in black."""
    colours = np.array(COLOURS)[truth % len(COLOURS)]
    axes.add_collection(
        LineCollection(list(np.stack([points, centers], axis=1)), colors=colours, linewidths=0.35, alpha=0.4)
    )
    axes.scatter(points[:, 0], points[:, 1], s=4, c=colours, linewidths=0, alpha=0.9)
    axes.scatter(centers[:, 0], centers[:, 1], s=13, c=INK, linewidths=0.4, edgecolors="white", zorder=3)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="box")
    for side in ("left", "bottom", "top", "right"):
        axes.spines[side].set(visible=True, color="#cccccc")


def draw_cells(
    axes: Axes,
    values: npt.NDArray[np.float64],
    columns: Sequence[str],
    rows: Sequence[str],
    crossed: npt.NDArray[np.bool_] | None = None,
) -> Any:
    """Probabilities as a grid of shaded cells with their numbers; `crossed` ones are marked."""
    image = axes.imshow(values, cmap="cividis", vmin=0, vmax=1, aspect="auto", origin="lower")
    for (i, j), value in np.ndenumerate(values):
        shown = "1" if value == 1 else "0" if value == 0 else f"{min(value, 0.99):.2f}".lstrip("0")
        mark = "✗" if crossed is not None and crossed[i, j] else ""
        axes.text(j, i, shown + mark, ha="center", va="center", size=7.5, color="white" if value < 0.55 else INK)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    return image
