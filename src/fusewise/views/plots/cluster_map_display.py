"""``ClusterMapDisplay``: the table as a heat map, with rows ordered by cluster and merge tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fusewise.support.words import readable
from fusewise.views.findings import read_findings
from fusewise.views.findings.cluster_map import MOST_FEATURES, MOST_ROWS, ClusterMap, cluster_map_of
from fusewise.views.palette import colour
from fusewise.views.plots.canvas import axes_for
from fusewise.views.plots.plotly_canvas import MISSING, as_text, cluster_word, figure_of, heat_map

#: Names are written for at most so many rows and features.
MOST_NAMED = 60
#: Limit of the colour scale, in standard deviations.
COLOUR_LIMIT = 3.0
#: Minimum height of a cluster, as a fraction of the plot, for its name to be written.
MIN_LABELLED_HEIGHT = 0.03
#: Distance of the bars of the clusters from the plot, in points.
BAR_PLACE = 6


class ClusterMapDisplay:
    """Heat map of the table in standard deviations from the mean; missing cells are hatched.

    Clusters that are close in the merge tree are adjacent, rows within a cluster are in the order of the tree, outliers
    come last, and similar columns are side by side. A category is one column per level.

    Parameters
    ----------
    cells : the table in the order in which it is drawn.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    image_ : the heat map.
    colorbar_ : its colour bar.
    cluster_bars_ : for each cluster (-1: outliers) the coloured line beside its rows.
    """

    def __init__(self, *, cells: ClusterMap) -> None:
        self.cells = cells

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        names: Sequence[Any] | None = None,
        feature_names: Sequence[Any] | None = None,
        most_rows: int = MOST_ROWS,
        most_features: int = MOST_FEATURES,
        ax: Any = None,
    ) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or new axes.

        Parameters
        ----------
        estimator : the model.
        names, feature_names : names of the rows and columns; by default row numbers and those of the table.
        most_rows : of more rows a sample is drawn, with rows of every cluster.
        most_features : of more features those that separate the clusters best are drawn.
        ax : matplotlib axes.
        """
        found = read_findings(estimator, names=names, feature_names=feature_names)
        return cls(cells=cluster_map_of(found, most_rows, most_features)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        n, p = self.cells.cells.shape
        ax = axes_for(ax, min(3.0 + 0.25 * p, 14.0), 2.2 + (0.14 * n if n <= MOST_NAMED else min(0.06 * n, 8.0)))
        cells = np.ma.masked_invalid(self.cells.cells)
        limit = self._limit
        # Missing cells are transparent: the hatched background shows through.
        ax.set_facecolor("#e4e4e4")
        ax.patch.set(hatch="/////", edgecolor="#a0a0a0", linewidth=0)
        self.image_ = ax.imshow(
            cells, aspect="auto", cmap="PuOr_r", vmin=-limit, vmax=limit, interpolation="nearest", rasterized=True
        )
        self._bars(ax)
        if p <= MOST_NAMED:
            ax.set_xticks(
                np.arange(p), self.cells.features, rotation=50, ha="right", rotation_mode="anchor", fontsize=8,
                parse_math=False,
            )  # fmt: skip
        else:
            ax.set_xticks([])
            ax.set_xlabel(f"{p} features, similar ones side by side")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, shrink=0.6, aspect=25)
        self.colorbar_.set_label("standard deviations from the mean (hatched: missing)", fontsize=8)
        self.colorbar_.outline.set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _limit(self) -> float:
        """Limit of the colour scale, in standard deviations."""
        return max(0.5, min(COLOUR_LIMIT, float(np.nanmax(np.abs(self.cells.cells), initial=0.0))))

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a cell shows its row, cluster and value."""
        shown, title = self.cells, "standard deviations from the mean"
        features = [as_text(name) for name in shown.features]
        rows = [f"<b>{as_text(name)}</b><br>{cluster_word(int(label))}<br>"
                for name, label in zip(shown.names, shown.labels, strict=True)]  # fmt: skip
        told = [
            [f"{row}{feature}: " + (f"{readable(value)} {title}" if np.isfinite(value) else "missing")
             for feature, value in zip(features, values.tolist(), strict=True)]
            for row, values in zip(rows, shown.cells, strict=True)
        ]  # fmt: skip
        figure = figure_of([heat_map(shown.cells, told, self._limit, title)], "", "", plot_bgcolor=MISSING)
        few = len(rows) <= MOST_NAMED
        figure.update_xaxes(tickvals=list(range(len(features))), ticktext=features, showgrid=False)
        places, words = self._ticks()
        ticks = [as_text(name) for name in shown.names] if few else words
        figure.update_yaxes(tickvals=list(range(len(rows))) if few else places, ticktext=ticks, showgrid=False)
        return figure.update_yaxes(autorange="reversed")

    def _ticks(self) -> tuple[list[float], list[str]]:
        """The middle of the rows of each cluster that is large enough, and its name."""
        labels, n = self.cells.labels, len(self.cells.labels)
        places = {label: np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())}
        large = {label: rows for label, rows in places.items() if len(rows) >= MIN_LABELLED_HEIGHT * n}
        words = ["outliers" if label < 0 else f"cluster {label}" for label in large]
        return [float(rows[0] + rows[-1]) / 2 for rows in large.values()], words

    def _bars(self, ax: Any) -> None:
        """Draw a bar in the colour of each cluster beside its rows, and write names of rows or clusters."""
        from matplotlib.transforms import ScaledTranslation, blended_transform_factory

        labels, n = self.cells.labels, len(self.cells.labels)
        inches = ScaledTranslation(-BAR_PLACE / 72, 0, ax.figure.dpi_scale_trans)
        beside = blended_transform_factory(ax.transAxes, ax.transData) + inches
        self.cluster_bars_ = {}
        for label in dict.fromkeys(labels.tolist()):
            rows = np.flatnonzero(labels == label)
            begin, end = rows[0] - 0.5, rows[-1] + 0.5
            (self.cluster_bars_[label],) = ax.plot(
                [0, 0], [begin, end], color=colour(label), linewidth=5, transform=beside, clip_on=False,
                solid_capstyle="butt",
            )  # fmt: skip
            if end < n - 0.5:
                ax.axhline(end, color="black", linewidth=0.6)
        places, words = self._ticks()
        if n <= MOST_NAMED:
            places, words = list(map(float, range(n))), list(self.cells.names)
        ax.set_yticks(places, words, fontsize=8, parse_math=False)
        ax.tick_params("y", pad=BAR_PLACE + 5)
