"""A scatter plot in the terminal: dots in colour, or where there is no colour a digit for each cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from fusewise.kernels.types import Index
from fusewise.views.findings import Findings
from fusewise.views.palette import colour

#: Cells of the picture: at most so many columns, and rows.
WIDTH, HEIGHT = 72, 18

#: What stands for a cluster where there is no colour; "." is an outlier, "+" any cluster beyond these.
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"

#: A cell of Braille has 2 x 4 dots; bit of the dot in row y, column x.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
BRAILLE = 0x2800


@dataclass(frozen=True, eq=False)
class Raster:
    """Points on a raster of cells.

    Attributes
    ----------
    dots : height x width, the bits of the dots that have a point.
    clusters : height x width, the cluster with most points in a cell; -1 outliers, -2 nothing.
    """

    dots: Index
    clusters: Index


def picture(found: Findings, console: Console) -> list[Text]:
    """Rows in two principal components, with a line that says so."""
    width = max(10, min(WIDTH, console.width - 4))
    raster = rasterize(found.points, found.labels[found.drawn], width, HEIGHT)
    coloured = in_colour(console)
    inside = np.flatnonzero(raster.dots.any(axis=1))
    lines = [
        _line(raster.dots[row], raster.clusters[row], coloured=coloured) for row in range(inside[0], inside[-1] + 1)
    ]
    shares = " and ".join(f"{share:.0%}" for share in found.plane.shares)
    return [*lines, _legend(found, coloured), Text(f"two principal components ({shares} of the variance)", "dim")]


def in_colour(console: Console) -> bool:
    """Whether dots in colour can be shown: NO_COLOR, a pipe or a terminal without Unicode say no."""
    try:
        chr(BRAILLE).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return console.color_system is not None and not console.no_color


def rasterize(points: npt.NDArray[Any], labels: Index, width: int, height: int) -> Raster:
    """Points on height x width cells; the plane is stretched to fill them."""
    dots, clusters = np.zeros((height, width), np.intp), np.full((height, width), -2, np.intp)
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    place = (points - low) / np.where(size > 0, size, 1)
    place[:, size == 0] = 0.5
    x = np.minimum((place[:, 0] * 2 * width).astype(int), 2 * width - 1)
    y = np.minimum(((1 - place[:, 1]) * 4 * height).astype(int), 4 * height - 1)
    np.bitwise_or.at(dots, (y // 4, x // 2), DOTS[y % 4, x % 2])
    kinds = int(labels.max()) + 2
    found, counts = np.unique((y // 4 * width + x // 2) * kinds + labels + 1, return_counts=True)
    rarest_first = found[np.argsort(counts, kind="stable")]  # what is written last stays
    clusters.flat[rarest_first // kinds] = rarest_first % kinds - 1
    return Raster(dots, clusters)


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
    """The character of a cluster."""
    return "." if cluster < 0 else SIGNS[cluster] if cluster < len(SIGNS) else "+"


def _legend(found: Findings, coloured: bool) -> Text:
    outliers = int(np.count_nonzero(found.labels < 0)) - len(found.blank)
    line = Text()
    for cluster, size in [*enumerate(found.sizes), *([(-1, outliers)] if outliers else [])]:
        name = "outliers" if cluster < 0 else f"cluster {cluster}"
        line.append("● " if coloured else f"{sign(cluster)} ", colour(cluster) if coloured else "")
        line.append(f"{name}: {size:,}   ")
    line.rstrip()
    return line
