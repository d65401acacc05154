"""One drawing, two libraries: marks and axes are described once, and drawn by matplotlib or as a figure of plotly."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.kernels import Real

#: Colour of lines and text that are not data, of missing cells, and of what is observed.
MUTED, MISSING, OBSERVED = "#57606a", "#b8b8b8", "#5b7083"
#: Colours of differences, from lower to higher, in both libraries.
DIVERGING = "PuOr_r"
#: More markers than this are drawn by WebGL in a browser, and as pixels on paper.
MOST_SVG, MOST_VECTOR = 2_000, 5_000
#: No legend is drawn for more clusters than this.
MOST_IN_LEGEND = 12
#: What plotly shows where one points.
POINTED = "%{text}<extra></extra>"
#: Distance of the bars of the clusters from the cells, in points.
BAR_PLACE = 6
#: Okabe and Ito's colours without black and yellow (invisible on dark and on white pages), and two of Paul Tol's.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255", "#999933")

#: Marker shapes in Matplotlib's notation and as the report names them; clusters 0..7 are circles, 8..15 squares, ...
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")

#: Colour of outliers: a grey that is visible on white and on black.
OUTLIER = "#808080"


def colour(cluster: int) -> str:
    """The colour of a cluster; grey for outliers (-1)."""
    return OUTLIER if cluster < 0 else COLOURS[cluster % len(COLOURS)]


def shape(cluster: int) -> int:
    """Index of the marker shape of a cluster; it changes each time the colours repeat."""
    return cluster // len(COLOURS) % len(MARKERS)


@dataclass(frozen=True, eq=False)
class Markers:
    """Rows or groups of a cluster at n x 2 `places`; `texts` are shown where one points, `name` in the legend."""

    places: Real
    cluster: int
    size: float
    texts: Sequence[str] = ()
    name: str | None = None
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Paths:
    """Lines through the places of each path, m x 2; a text for each path."""

    paths: Sequence[Real]
    colour: str
    width: float
    opacity: float = 1.0
    dotted: bool = False
    texts: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with markers, on the first or second axis; the place `star` is marked by a star."""

    places: Real
    colour: str
    texts: Sequence[str]
    name: str
    second: bool = False
    star: int | None = None


@dataclass(frozen=True, eq=False)
class Cells:
    """A heat map of values between edges; NaN is hatched, or grey. `bars` are (cluster, begin, end) of its rows."""

    values: Real
    edges: tuple[Any, Any]
    limits: tuple[float, float]
    title: str
    texts: Sequence[Sequence[str]]
    bars: Sequence[tuple[int, float, float]] = ()


@dataclass(frozen=True, eq=False)
class Badge:
    """The number of a cluster at its centre."""

    place: Real
    cluster: int


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis: its title, and where its ticks are and what they say, if this is not left to the library."""

    title: str = ""
    ticks: tuple[Sequence[float], Sequence[str]] | None = None
    log: bool = False
    reversed: bool = False
    turned: bool = False


@dataclass(frozen=True, eq=False)
class Drawing:
    """Marks by name on axes; `size` in inches."""

    marks: dict[str, list[Any]]
    x: Axis
    y: Axis
    size: tuple[float, float] = (6.0, 3.4)
    second: Axis | None = None
    equal: bool = False


def on_axes(drawing: Drawing, ax: Any) -> tuple[Any, dict[str, list[Any]]]:
    """Draw with matplotlib on `ax` or new axes; return the axes, and the artists by name of their marks."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "fusewise[plot]"') from error
    if ax is None:
        _, ax = plt.subplots(figsize=drawing.size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    other = ax.twinx() if drawing.second else None
    draw: dict[type, Any] = {Markers: _markers, Paths: _paths, Curve: _curve, Cells: _cells, Badge: _badge}
    artists: dict[str, list[Any]] = {}
    for name, marks in drawing.marks.items():
        artists[name] = [draw[type(mark)](other if getattr(mark, "second", False) else ax, mark) for mark in marks]
    _axis(ax, "x", drawing.x)
    _axis(ax, "y", drawing.y)
    if other is not None and drawing.second is not None:
        other.spines["top"].set_visible(False)
        _axis(other, "y", drawing.second)
    if drawing.equal:
        ax.set_aspect("equal", adjustable="datalim")
    named = [mark for marks in drawing.marks.values() for mark in marks if isinstance(mark, Markers) and mark.name]
    if 0 < len(named) <= MOST_IN_LEGEND + 1:
        ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax, artists


def _axis(ax: Any, which: str, axis: Axis) -> None:
    if axis.log:
        getattr(ax, f"set_{which}scale")("log")
        getattr(ax, f"{which}axis").set_major_formatter("{x:g}")
    if axis.reversed:
        getattr(ax, f"invert_{which}axis")()
    getattr(ax, f"set_{which}label")(axis.title)
    if axis.ticks is not None:
        turned = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"} if axis.turned else {}
        getattr(ax, f"set_{which}ticks")(*axis.ticks, fontsize=8, parse_math=False, **turned)
        ax.tick_params(which, length=0)


def _markers(ax: Any, mark: Markers) -> Any:
    loose = mark.cluster < 0
    look = {"marker": "x", "linewidths": 1.1} if loose else {"marker": MARKERS[shape(mark.cluster)], "linewidths": 0}
    return ax.scatter(
        *mark.places.T, s=mark.size**2, color=colour(mark.cluster), alpha=mark.opacity, label=mark.name, zorder=3,
        rasterized=len(mark.places) > MOST_VECTOR, **look,
    )  # fmt: skip


def _paths(ax: Any, mark: Paths) -> Any:
    from matplotlib.collections import LineCollection

    lines = LineCollection(
        list(mark.paths), colors=mark.colour, linewidths=mark.width, alpha=mark.opacity,
        linestyles=":" if mark.dotted else "-", rasterized=len(mark.paths) > MOST_VECTOR,
    )  # fmt: skip
    drawn = ax.add_collection(lines)
    ax.autoscale_view()
    return drawn


def _curve(ax: Any, mark: Curve) -> Any:
    style = "s--" if mark.second else "o-"
    (line,) = ax.plot(*mark.places.T, style, color=mark.colour, markersize=4, linewidth=1.3, label=mark.name)
    if mark.star is not None:
        star = {"color": "#E69F00", "markersize": 13, "markeredgecolor": "black", "markeredgewidth": 0.7, "zorder": 4}
        ax.plot(*mark.places[[mark.star]].T, "*", **star)
        ax.axvline(mark.places[mark.star, 0], color=MUTED, linewidth=0.8, linestyle=":")
    return line


def _cells(ax: Any, mark: Cells) -> Any:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    low, high = mark.limits
    shades = DIVERGING if low < 0 else LinearSegmentedColormap.from_list("observed", ["white", OBSERVED])
    # Missing cells are transparent: the hatched background shows through.
    ax.set_facecolor("#e4e4e4")
    ax.patch.set(hatch="/////", edgecolor="#a0a0a0", linewidth=0)
    look = {"cmap": shades, "vmin": low, "vmax": high, "rasterized": True}
    mesh = ax.pcolormesh(*mark.edges, np.ma.masked_invalid(mark.values), **look)
    inches = ScaledTranslation(-BAR_PLACE / 72, 0, ax.figure.dpi_scale_trans)
    beside = blended_transform_factory(ax.transAxes, ax.transData) + inches
    for label, begin, end in mark.bars:
        line = {"color": colour(label), "linewidth": 5, "solid_capstyle": "butt"}
        ax.plot([0, 0], [begin, end], transform=beside, clip_on=False, **line)
        ax.axhline(end, color="black", linewidth=0.6)
    ax.tick_params("y", pad=BAR_PLACE + 5 if mark.bars else 3)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.6, aspect=25)
    bar.set_label(mark.title, fontsize=8)
    bar.outline.set_visible(False)
    return mesh


def _badge(ax: Any, mark: Badge) -> Any:
    ring = {"markersize": 12, "color": "white", "markeredgecolor": colour(mark.cluster), "markeredgewidth": 1.8}
    ax.plot(*mark.place, "o", zorder=4, **ring)
    return ax.annotate(str(mark.cluster), mark.place, ha="center", va="center", fontsize=7.5, zorder=5)


def as_figure(drawing: Drawing) -> Any:
    """The drawing as an interactive figure of plotly."""
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise ImportError('interactive plots need plotly: pip install "fusewise[plotly]"') from error
    figure = go.Figure()
    traces: dict[type, Any] = {Markers: _marker_traces, Paths: _path_traces, Curve: _curve_traces, Cells: _cell_traces}
    for mark in (mark for marks in drawing.marks.values() for mark in marks):
        if isinstance(mark, Badge):
            look = {"bgcolor": "white", "bordercolor": colour(mark.cluster), "showarrow": False}
            figure.add_annotation(x=mark.place[0], y=mark.place[1], text=str(mark.cluster), **look)
        else:
            figure.add_traces(traces[type(mark)](go, mark))
    figure.update_layout(template="plotly_white", margin={"l": 10, "r": 10, "t": 30, "b": 10}, hovermode="closest")
    figure.update_xaxes(**_figure_axis(drawing.x))
    figure.update_yaxes(**_figure_axis(drawing.y))
    if any(isinstance(mark, Cells) for marks in drawing.marks.values() for mark in marks):
        figure.update_layout(plot_bgcolor=MISSING)
    if drawing.second is not None:
        second = _figure_axis(drawing.second) | {"overlaying": "y", "side": "right", "showgrid": False}
        figure.update_layout(yaxis2=second, legend={"orientation": "h", "y": 1.12})
    return figure.update_yaxes(scaleanchor="x") if drawing.equal else figure


def _figure_axis(axis: Axis) -> dict[str, Any]:
    look: dict[str, Any] = {"title": axis.title, "automargin": True}
    if axis.log:
        look |= {"type": "log", "dtick": "D2"}
    if axis.reversed:
        look["autorange"] = "reversed"
    if axis.ticks is not None:
        look |= {"tickvals": list(axis.ticks[0]), "ticktext": [as_text(word) for word in axis.ticks[1]]}
    return look


def _cell_traces(go: Any, mark: Cells) -> list[Any]:
    shades = DIVERGING if mark.limits[0] < 0 else [[0.0, "white"], [1.0, OBSERVED]]
    cells = [[None if np.isnan(value) else value for value in row] for row in mark.values.tolist()]
    x, y = (list(map(float, edges)) for edges in mark.edges)
    look = {"zmin": mark.limits[0], "zmax": mark.limits[1], "colorscale": shades, "hoverongaps": True}
    bar = {"title": {"text": mark.title, "side": "right"}}
    return [go.Heatmap(z=cells, x=x, y=y, text=mark.texts, hovertemplate=POINTED, colorbar=bar, **look)]


def _path_traces(go: Any, mark: Paths) -> list[Any]:
    line = {"color": mark.colour, "width": mark.width, "dash": "dot" if mark.dotted else "solid"}
    look = {"mode": "lines", "line": line, "showlegend": False}
    if not mark.texts:  # one line with gaps
        gap = np.full((1, 2), np.nan)
        x, y = np.concatenate([np.zeros((0, 2)), *(part for path in mark.paths for part in (path, gap))]).T
        return [go.Scatter(x=x, y=y, opacity=mark.opacity, hoverinfo="skip", **look)]
    return [
        go.Scatter(x=path[:, 0], y=path[:, 1], text=[text] * len(path), hovertemplate=POINTED, **look)
        for path, text in zip(mark.paths, mark.texts, strict=True)
    ]


def _curve_traces(go: Any, mark: Curve) -> list[Any]:
    known = np.flatnonzero(np.isfinite(mark.places[:, 1])).tolist()
    x, y = mark.places[known].T
    plain = "square" if mark.second else "circle"
    marker = {
        "size": [13 if k == mark.star else 6 for k in known],
        "symbol": ["star" if k == mark.star else plain for k in known],
    }
    line = {"color": mark.colour, "dash": "dash" if mark.second else "solid"}
    look = {"mode": "lines+markers", "marker": marker, "line": line, "yaxis": "y2" if mark.second else "y"}
    texts = [mark.texts[k] for k in known]
    return [go.Scatter(x=x, y=y, name=mark.name, text=texts, hovertemplate=POINTED, **look)]


def _marker_traces(go: Any, mark: Markers) -> list[Any]:
    kind = go.Scattergl if len(mark.places) > MOST_SVG else go.Scatter
    symbol = "x-thin-open" if mark.cluster < 0 else SYMBOLS[shape(mark.cluster)]
    marker = {"color": colour(mark.cluster), "symbol": symbol, "size": mark.size + 2}
    look = {"mode": "markers", "marker": marker, "name": mark.name, "showlegend": mark.name is not None}
    x, y = mark.places.T
    return [kind(x=x, y=y, text=list(mark.texts), hovertemplate=POINTED, **look)]


def as_text(name: object) -> str:
    """A name of the user's table as text: plotly takes some tags for HTML, and $ for mathematics."""
    return html.escape(str(name), quote=False).replace("$", "&#36;")


def cluster_word(label: int) -> str:
    """The cluster of a row in a tooltip."""
    return "outlier" if label < 0 else f"cluster {label}"
