"""Matplotlib and plotly: their import, and the common style of the pictures."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fusewise.views.palette import SYMBOLS, colour, shape

#: Colour of lines and text that are not data.
MUTED = "#57606a"


def load() -> Any:
    """Return matplotlib.pyplot, or raise an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "fusewise[plot]"') from error
    return plt


def axes_for(ax: Any, width: float, height: float) -> Any:
    """Return `ax`, or new axes of the given size in inches, without the top and right spines."""
    if ax is None:
        _, ax = load().subplots(figsize=(width, height), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


#: Colours of a heat map of deviations, as in the matplotlib displays.
DIVERGING = "PuOr_r"
#: Colour of missing cells.
MISSING = "#b8b8b8"
#: More markers than this are drawn by WebGL.
MOST_SVG = 2_000


def load_plotly() -> Any:
    """Return plotly.graph_objects, or raise an ImportError that says how to install it."""
    try:
        import plotly.graph_objects as go
    except ImportError as error:
        raise ImportError('interactive plots need plotly: pip install "fusewise[plotly]"') from error
    return go


def figure_of(traces: Sequence[Any], x_title: str, y_title: str, **layout: Any) -> Any:
    """A figure of traces with titles of its axes, on white."""
    figure = load_plotly().Figure(traces)
    figure.update_layout(template="plotly_white", margin={"l": 10, "r": 10, "t": 30, "b": 10}, **layout)
    figure.update_xaxes(title=x_title, automargin=True)
    figure.update_yaxes(title=y_title, automargin=True)
    return figure


def as_text(name: object) -> str:
    """A name of the user's table as text: plotly takes some tags for HTML, and $ for mathematics."""
    return html.escape(str(name), quote=False).replace("$", "&#36;")


def marker_of(cluster: int, size: float) -> dict[str, Any]:
    """Colour and shape of the rows of a cluster; crosses for outliers."""
    return {"color": colour(cluster), "symbol": "x-thin-open" if cluster < 0 else SYMBOLS[shape(cluster)], "size": size}


def heat_map(cells: ArrayLike, texts: Sequence[Sequence[str]], limit: float, title: str, **places: Any) -> Any:
    """A heat map on a symmetric scale that shows `texts` where one points; missing cells are grey."""
    gaps = [[None if np.isnan(value) else value for value in row] for row in np.asarray(cells, dtype=float).tolist()]
    look = {
        "zmin": -limit,
        "zmax": limit,
        "colorscale": DIVERGING,
        "colorbar": {"title": {"text": title, "side": "right"}},
    }
    shown = {"text": texts, "hovertemplate": "%{text}<extra></extra>", "hoverongaps": True}
    return load_plotly().Heatmap(z=gaps, **look, **shown, **places)


def cluster_word(label: int) -> str:
    """The cluster of a row in a tooltip."""
    return "outlier" if label < 0 else f"cluster {label}"
