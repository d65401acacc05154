"""``FusionMapDisplay``: rows connected to their centres, as in the paper's figures."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fusewise.kernels.types import Labels, Real
from fusewise.views.findings import read_findings
from fusewise.views.palette import MARKERS, OUTLIER, colour, shape
from fusewise.views.plots.canvas import axes_for

#: No legend is drawn for more clusters than this.
MOST_IN_LEGEND = 12


class FusionMapDisplay:
    """Rows in two principal components of the completed table, each connected to its centre u_i.

    Parameters
    ----------
    points : N x 2, coordinates of the rows.
    ends : N x 2, coordinates of their centres.
    centers : K x 2, coordinates of the cluster centres.
    labels : cluster of each row; -1 for outliers.
    shares : fraction of the variance along each axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.

    Examples
    --------
    >>> from fusewise.views.plots import FusionMapDisplay
    >>> FusionMapDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(self, *, points: Real, ends: Real, centers: Real, labels: Labels, shares: Real) -> None:
        self.points = points
        self.ends = ends
        self.centers = centers
        self.labels = labels
        self.shares = shares

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes."""
        found = read_findings(estimator)
        display = cls(
            points=found.points,
            ends=found.plane.project(found.fused),
            centers=found.plane.project(found.centers),
            labels=found.labels[found.drawn],
            shares=found.plane.shares,
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        ax = axes_for(ax, 6.0, 4.6)
        crowd = min(1.0, np.sqrt(400 / max(len(self.points), 1)))  # many rows are drawn smaller and fainter
        for k in range(len(self.centers)):
            rows = self.labels == k
            self._join(ax, rows, colour(k), 0.12 + 0.33 * crowd)
            ax.scatter(
                *self.points[rows].T, s=4 + 18 * crowd, color=colour(k), marker=MARKERS[shape(k)], linewidths=0,
                alpha=0.5 + 0.4 * crowd, label=f"cluster {k}", rasterized=len(self.points) > 5000,
            )  # fmt: skip
        loose = self.labels < 0
        if loose.any():
            ax.scatter(*self.points[loose].T, s=26, color=OUTLIER, marker="x", linewidths=1.1, label="outliers")
        for k, place in enumerate(self.centers):
            ax.plot(*place, "o", markersize=12, color="white", markeredgecolor=colour(k), markeredgewidth=1.8)
            ax.annotate(str(k), place, ha="center", va="center", fontsize=7.5)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel(f"first principal component ({self.shares[0]:.0%} of the variance)")
        ax.set_ylabel(f"second principal component ({self.shares[1]:.0%})")
        if len(self.centers) <= MOST_IN_LEGEND and (len(self.centers) or loose.any()):
            ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _join(self, ax: Any, rows: Any, ink: str, alpha: float) -> None:
        """Draw a line from each row to its centre."""
        from matplotlib.collections import LineCollection

        lines = np.stack([self.points[rows], self.ends[rows]], axis=1)
        raster = len(self.points) > 5000
        ax.add_collection(LineCollection(list(lines), colors=ink, linewidths=0.5, alpha=alpha, rasterized=raster))
