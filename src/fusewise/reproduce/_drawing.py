"""The tables that the paper describes, and the style of all pictures."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from sklearn.metrics import adjusted_rand_score

from fusewise.kernels import Labels, Values
from fusewise.support import counted
from fusewise.views import COLOURS

#: Distances between the centres of Dataset-1: |c_0 - c_1|, |c_0 - c_2| and |c_1 - c_2|.
TRIANGLE = (3.5, 2.8, 3.3)


def triangle_centers(n_features: int, seed: int) -> Values:
    """Three centres with the distances ``TRIANGLE``: random ones of the unit cube, moved within their own plane."""
    drawn = np.random.RandomState(seed).uniform(size=(3, n_features))
    edges = drawn[1:] - drawn[0]
    a, b, c = TRIANGLE
    inner = (a**2 + b**2 - c**2) / 2
    wanted = np.linalg.cholesky(np.array([[a**2, inner], [inner, b**2]]))
    given = np.linalg.cholesky(edges @ edges.T)
    moved = wanted @ np.linalg.solve(given, edges)
    return np.vstack([drawn[0], drawn[0] + moved])


#: The power q and width epsilon that give `designed_pair` its kappa and coherence mu0, found by bisection on a sample
#: of 100 points per cluster.
DESIGNS = {
    (0.39, 2.3): (0.186634063720703125, 0.322414606759492),
    (1.15, 13.2): (4.333179473876953, 0.3396986850024626),
}


def designed_pair(kappa: float, mu0: float) -> tuple[Values, float]:
    """Two centres in 50 features and a width epsilon whose uniform clusters have the given kappa and coherence mu0.

    The centres differ by |d_p| = u_p^q, u_p uniform: q = 0 makes all features alike, a large q leaves few that matter.
    """
    rng = np.random.RandomState(0)
    u, signs = rng.uniform(0.05, 1, 50), rng.choice([-1.0, 1.0], 50)
    power, epsilon = DESIGNS[kappa, mu0]
    return np.stack([np.zeros(50), signs * u**power]), epsilon


def projected(table: Values, rows: Values) -> npt.NDArray[np.float32]:
    """Coordinates of rows in the first two principal components of a complete table."""
    mean = table.mean(axis=0)
    plane = np.linalg.svd(table - mean, full_matrices=False)[2][:2]
    return np.asarray((rows - mean) @ plane.T, dtype=np.float32)


def mapped(table: Values, truth: Labels, centers: Values, labels: Labels) -> dict[str, Any]:
    """What a map of a clustering shows: rows and centres in the plane of the complete table, and the agreement."""
    return {
        "points": projected(table, table),
        "centers": projected(table, centers),
        "truth": truth.astype(np.int8),
        "n_clusters": labels.max() + 1,
        "ari": adjusted_rand_score(truth, labels),
    }


INK = "#1a1a1a"

STYLE: Any = {
    "font.size": 9,
    "axes.labelsize": 9.5,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.8,
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


def encode(figure: Figure, kind: str) -> bytes:
    """The picture as a file: "svg" or "png"."""
    buffer = io.BytesIO()
    with mpl.rc_context(STYLE):
        figure.savefig(buffer, format=kind, **({"metadata": {"Date": None}} if kind == "svg" else {"dpi": 150}))
    return buffer.getvalue()


def letter(axes: Axes, text: str, title: str = "", **settings: Any) -> None:
    """Name a panel, as papers do; with settings of its axes it shows curves, on a grid."""
    axes.set_title(f"$\\bf{{{text}}}$   {title}", loc="left")
    if settings:
        axes.set(**settings)
        axes.grid(True)


def draw_map(axes: Axes, result: Mapping[str, npt.NDArray[Any]]) -> None:
    """Points in the plane, coloured by their true cluster, each joined by a line to its centre, in black."""
    points, centers, truth = (result[name] for name in ("points", "centers", "truth"))
    colours = np.array(COLOURS)[truth % len(COLOURS)]
    axes.add_collection(
        LineCollection(list(np.stack([points, centers], axis=1)), colors=colours, linewidths=0.35, alpha=0.4)
    )
    axes.scatter(points[:, 0], points[:, 1], s=4, c=colours, linewidths=0, alpha=0.9)
    axes.scatter(centers[:, 0], centers[:, 1], s=13, c=INK, linewidths=0.4, edgecolors="white", zorder=3)
    axes.set(xticks=[], yticks=[])
    axes.set_aspect("equal", adjustable="box")
    axes.spines[:].set(visible=True, color="#cccccc")


def draw_maps(maps: Sequence[Sequence[Mapping[str, npt.NDArray[Any]]]], rows: Sequence[str], columns: Sequence[str],
              width: float, height: float) -> Figure:  # fmt: skip
    """Maps in rows and columns with these names, the number of groups and the agreement above each; in inches."""
    shape: Any = {"tight": True, "sharex": True, "sharey": True}
    with canvas(len(rows), len(columns), width, height, **shape) as (figure, axes):
        for (i, k), panel in np.ndenumerate(axes):
            draw_map(panel, maps[i][k])
            groups, ari = counted(int(maps[i][k]["n_clusters"]), "group"), max(0.0, float(maps[i][k]["ari"]))
            panel.set_title(f"{groups}, ARI {ari:.2f}", fontsize=7, pad=2)
        for row, name in zip(axes, rows, strict=True):
            row[0].set_ylabel(name, fontsize=8)
        for panel, name in zip(axes[-1], columns, strict=True):
            panel.set_xlabel(name)
    return figure


def draw_cells(axes: Axes, values: Values, columns: Sequence[str], rows: Sequence[str]) -> Any:
    """Probabilities as a grid of shaded cells with their numbers."""
    image = axes.imshow(values, cmap="cividis", vmin=0, vmax=1, aspect="auto", origin="lower")
    for (i, j), value in np.ndenumerate(values):
        shown = "1" if value == 1 else "0" if value == 0 else f"{min(value, 0.99):.2f}".lstrip("0")
        axes.text(j, i, shown, ha="center", va="center", size=7.5, color="white" if value < 0.55 else INK)
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    return image
