"""A scatter plot in the terminal: coloured dots, or without colour one character per cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.text import Text

from fusewise.kernels import Index
from fusewise.views.findings import Findings
from fusewise.views.palette import colour

#: Maximum width and height of the picture, in characters.
WIDTH, HEIGHT = 72, 18

#: Characters of the clusters without colour; "." is an outlier, "+" any further cluster.
SIGNS = "0123456789abcdefghijklmnopqrstuvwxyz"

#: Bit of the dot in row y, column x of a Braille character, which has 4 x 2 dots.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
BRAILLE = 0x2800


@dataclass(frozen=True, eq=False)
class Raster:
    """Points on a grid of character cells.

    Attributes
    ----------
    dots : height x width, the bits of the dots that contain a point.
    clusters : height x width, the most frequent cluster in each cell; -1 for outliers, -2 for an empty cell.
    """

    dots: Index
    clusters: Index


def picture(found: Findings, console: Console) -> list[Text]:
    """Draw the rows in two principal components, with a legend and a caption."""
    width = max(10, min(WIDTH, console.width - 4))
    raster = rasterize(found.points, found.labels[found.drawn], width, HEIGHT)
    coloured = in_colour(console)
    inside = np.flatnonzero(raster.dots.any(axis=1))
    lines = [
        _line(raster.dots[row], raster.clusters[row], coloured=coloured) for row in range(inside[0], inside[-1] + 1)
    ]
    shares = " and ".join(f"{share:.0%}" for share in found.plane.shares)
    caption = f"first two principal components{found.plane.of_what} ({shares} of the variance)"
    return [*lines, _legend(found, coloured), Text(caption, "dim")]


def in_colour(console: Console) -> bool:
    """Whether coloured dots can be shown: not with NO_COLOR, in a pipe, or on a terminal without Unicode."""
    try:
        chr(BRAILLE).encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return console.color_system is not None and not console.no_color


def rasterize(points: npt.NDArray[Any], labels: Index, width: int, height: int) -> Raster:
    """Place points on height x width cells; the plane is stretched to fill them."""
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
    """The character that stands for a cluster."""
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
