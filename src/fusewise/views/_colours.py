"""Colours and marker shapes of clusters, the same on the page and in plots."""

from __future__ import annotations

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
