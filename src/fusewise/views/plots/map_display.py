"""``FusionMapDisplay``: rows connected to their centres, as in the paper's figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from fusewise.kernels import Labels, Real
from fusewise.support.words import readable
from fusewise.views.findings import Findings, read_findings
from fusewise.views.palette import MARKERS, OUTLIER, colour, shape
from fusewise.views.plots.canvas import axes_for
from fusewise.views.plots.plotly_canvas import MOST_SVG, as_text, cluster_word, figure_of, load_plotly, marker_of

#: No legend is drawn for more clusters than this.
MOST_IN_LEGEND = 12
#: In interactive figures lines are drawn for so many rows at most, and a tooltip names so many columns.
MOST_LINES, TOLD_COLUMNS = 1_000, 6


class FusionMapDisplay:
    """Rows in two principal components of the completed table, each connected to its centre u_i.

    Parameters
    ----------
    points : N x 2, coordinates of the rows.
    ends : N x 2, coordinates of their centres.
    centers : K x 2, coordinates of the cluster centres.
    labels : cluster of each row; -1 for outliers.
    shares : fraction of the variance along each axis.
    tooltip : text that an interactive figure shows for a row of `points`, by its index; by default its number.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    rows_ : for each cluster (-1: outliers) the markers of its rows.
    lines_ : for each cluster the lines from its rows to their centres.

    Examples
    --------
    >>> from fusewise.views.plots import FusionMapDisplay
    >>> FusionMapDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        points: Real,
        ends: Real,
        centers: Real,
        labels: Labels,
        shares: Real,
        tooltip: Callable[[int], str] = str,
    ) -> None:
        self.points = points
        self.ends = ends
        self.centers = centers
        self.labels = labels
        self.shares = shares
        self.tooltip = tooltip

    @classmethod
    def from_estimator(cls, estimator: Any, *, names: Sequence[Any] | None = None, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes; `names` are those of its rows."""
        found = read_findings(estimator, names=names)
        display = cls(
            points=found.points,
            ends=found.plane.project(found.fused),
            centers=found.plane.project(found.centers),
            labels=found.labels[found.drawn],
            shares=found.plane.shares,
            tooltip=_tooltips(found),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        ax = axes_for(ax, 6.0, 4.6)
        self.rows_, self.lines_ = {}, {}
        crowd = min(1.0, np.sqrt(400 / max(len(self.points), 1)))  # many rows are drawn smaller and fainter
        for k in range(len(self.centers)):
            rows = self.labels == k
            self.lines_[k] = self._join(ax, rows, colour(k), 0.12 + 0.33 * crowd)
            self.rows_[k] = ax.scatter(
                *self.points[rows].T, s=4 + 18 * crowd, color=colour(k), marker=MARKERS[shape(k)], linewidths=0,
                alpha=0.5 + 0.4 * crowd, label=f"cluster {k}", rasterized=len(self.points) > 5000,
            )  # fmt: skip
        loose = self.labels < 0
        if loose.any():
            crosses = {"s": 26, "color": OUTLIER, "marker": "x", "linewidths": 1.1, "label": "outliers"}
            self.rows_[-1] = ax.scatter(*self.points[loose].T, **crosses)
        for k, place in enumerate(self.centers):
            ax.plot(*place, "o", markersize=12, color="white", markeredgecolor=colour(k), markeredgewidth=1.8)
            ax.annotate(str(k), place, ha="center", va="center", fontsize=7.5)
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel(self._titles[0])
        ax.set_ylabel(self._titles[1])
        if len(self.centers) <= MOST_IN_LEGEND and (len(self.centers) or loose.any()):
            ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a row shows its name, cluster and values."""
        go = load_plotly()
        kind = go.Scattergl if len(self.points) > MOST_SVG else go.Scatter
        crowd = min(1.0, np.sqrt(400 / max(len(self.points), 1)))
        traces = []
        for k in [*range(len(self.centers)), -1]:
            rows = np.flatnonzero(self.labels == k)
            if not len(rows):
                continue
            name, shown = "outliers" if k < 0 else f"cluster {k}", {"hovertemplate": "%{text}<extra></extra>"}
            if k >= 0:
                x, y = self._segments(rows[:: 1 + len(self.points) // MOST_LINES])
                thin = {"color": colour(k), "width": 0.7}
                traces.append(go.Scatter(x=x, y=y, mode="lines", line=thin, opacity=0.3, hoverinfo="skip",
                                         legendgroup=name, showlegend=False))  # fmt: skip
            traces.append(kind(x=self.points[rows, 0], y=self.points[rows, 1], mode="markers", name=name,
                               marker=marker_of(k, 4 + 4 * crowd), legendgroup=name,
                               text=[self.tooltip(int(row)) for row in rows], **shown))  # fmt: skip
        x_title, y_title = self._titles
        figure = figure_of(traces, x_title, y_title, hovermode="closest")
        for k, (x, y) in enumerate(self.centers):
            figure.add_annotation(x=x, y=y, text=str(k), showarrow=False, bgcolor="white", bordercolor=colour(k))
        return figure.update_yaxes(scaleanchor="x")

    @property
    def _titles(self) -> tuple[str, str]:
        first, second = (f"{share:.0%} of the variance" for share in self.shares)
        return f"first principal component ({first})", f"second principal component ({second})"

    def _segments(self, rows: Any) -> tuple[list[float | None], list[float | None]]:
        """Lines from rows to their centres, as one line with gaps."""
        gaps = np.full((len(rows), 2), np.nan)
        path = np.stack([self.points[rows], self.ends[rows], gaps], axis=1).reshape(-1, 2)
        x, y = ([None if np.isnan(value) else float(value) for value in part] for part in path.T)
        return x, y

    def _join(self, ax: Any, rows: Any, ink: str, alpha: float) -> Any:
        """Draw a line from each row to its centre."""
        from matplotlib.collections import LineCollection

        lines = np.stack([self.points[rows], self.ends[rows]], axis=1)
        raster = len(self.points) > 5000
        joined = LineCollection(list(lines), colors=ink, linewidths=0.5, alpha=alpha, rasterized=raster)
        return ax.add_collection(joined)


def _tooltips(found: Findings) -> Callable[[int], str]:
    """The name, cluster and confidence of a row, and its values in the columns that separate the clusters best."""

    def tooltip(i: int) -> str:
        row = found.drawn[i]
        sure = "" if found.confidence is None else f", confidence {found.confidence[row]:.3f}"
        lines = [f"<b>{as_text(found.names[row])}</b>", cluster_word(int(found.labels[row])) + sure]
        for about in found.contrasts.columns[:TOLD_COLUMNS]:
            column, value = found.columns[about.position], found.columns[about.position].values[row]
            word = "missing" if np.isnan(value) else column.levels[int(value)] if column.levels else readable(value)
            lines.append(f"{as_text(column.name)}: {as_text(word)}")
        return "<br>".join(lines)

    return tooltip
