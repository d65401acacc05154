"""Colours that nearly everybody can tell apart, and shapes for when colours run out."""

from __future__ import annotations

#: Okabe and Ito's colours without black and yellow (which vanish on dark and on white paper), and two of Paul Tol's.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255", "#999933")

#: Matplotlib's letters of the shapes, and Plotly's words; clusters 0..7 are dots, 8..15 squares, and so on.
MARKERS = ("o", "s", "D", "^", "v", "P", "X")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")

#: Outliers: a cross of thin lines, in a grey that reads on white and on black.
OUTLIER = "#808080"


def colour(cluster: int) -> str:
    """The colour of a cluster; grey for outliers (-1)."""
    return OUTLIER if cluster < 0 else COLOURS[cluster % len(COLOURS)]


def shape(cluster: int) -> int:
    """Which of the shapes a cluster has: another one each time the colours begin again."""
    return cluster // len(COLOURS) % len(MARKERS)
