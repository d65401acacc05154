"""``MissingnessDisplay``: the missing values, with rows sorted by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fusewise.views.findings import Missingness, compare_missingness, read_findings
from fusewise.views.palette import colour
from fusewise.views.plots.canvas import axes_for
from fusewise.views.plots.plotly_canvas import as_text, cluster_word, figure_of, load_plotly

#: Column names are written for at most this many columns.
MOST_NAMED = 60
#: Minimum height of a cluster, as a fraction of the plot, for its name to be written.
MIN_LABELLED_HEIGHT = 0.03


class MissingnessDisplay:
    """Map of observed (shaded) and missing (white) values; * marks columns whose missingness depends on the cluster.

    Parameters
    ----------
    missing : the map and the tests.
    features : names of the columns.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    mesh_ : the map.
    cluster_bars_ : for each cluster (-1: outliers) the coloured line beside its rows.
    """

    def __init__(self, *, missing: Missingness, features: Sequence[str]) -> None:
        self.missing = missing
        self.features = features

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Sequence[Any] | None = None, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or new axes; `feature_names` replace its own."""
        found = read_findings(estimator, feature_names=feature_names)
        missing = compare_missingness(found)
        return cls(missing=missing, features=missing.names).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        missing = self.missing
        ax = axes_for(ax, 6.0, 4.2)
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.transforms import blended_transform_factory

        shades = LinearSegmentedColormap.from_list("observed", ["white", "#5b7083"])
        look = {"cmap": shades, "vmin": 0, "vmax": 1, "rasterized": True}
        self.mesh_ = ax.pcolormesh(missing.columns, missing.rows, missing.bands, **look)
        ax.invert_yaxis()
        beside = blended_transform_factory(ax.transAxes, ax.transData)
        ticks, self.cluster_bars_ = [], {}
        for label in dict.fromkeys(missing.cluster.tolist()):
            bands = np.flatnonzero(missing.cluster == label)
            begin, end = int(missing.rows[bands[0]]), int(missing.rows[bands[-1] + 1])
            look = {"linewidth": 5, "transform": beside, "clip_on": False, "solid_capstyle": "butt"}
            (self.cluster_bars_[label],) = ax.plot([-0.012, -0.012], [begin, end], color=colour(label), **look)
            ax.axhline(end, color="black", linewidth=0.6)
            if end - begin >= MIN_LABELLED_HEIGHT * missing.rows[-1]:
                ticks.append(((begin + end) / 2, "outliers" if label < 0 else f"cluster {label}"))
        ax.set_yticks([place for place, _ in ticks], [name for _, name in ticks], fontsize=8)
        ax.tick_params("y", length=0, pad=8)
        ax.spines[:].set_visible(False)
        if len(self.features) <= MOST_NAMED and len(missing.columns) == len(self.features) + 1:
            starred = set(missing.differing.tolist())
            names = [f"{name} *" if j in starred else name for j, name in enumerate(self.features)]
            ax.set_xticks(
                np.arange(len(names)) + 0.5, names, rotation=50, ha="right", rotation_mode="anchor", fontsize=8,
                parse_math=False,
            )  # fmt: skip
            ax.tick_params("x", length=0)
        else:
            ax.set_xlabel("columns in the order of the table")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a cell shows its column, cluster and share."""
        missing, n_rows = self.missing, len(self.missing.bands)
        starred = set(missing.differing.tolist())
        names = [as_text(f"{name} *" if j in starred else name) for j, name in enumerate(self.features)]
        spans = list(zip(missing.columns[:-1], missing.columns[1:], strict=True))
        titles = [names[a] if b == a + 1 else f"{names[a]} to {names[b - 1]}" for a, b in spans]
        told = [
            [f"{title}<br>{cluster_word(int(missing.cluster[i]))}: {share:.0%} observed"
             for title, share in zip(titles, missing.bands[i], strict=True)]
            for i in range(n_rows)
        ]  # fmt: skip
        shades = [[0.0, "white"], [1.0, "#5b7083"]]
        cells = load_plotly().Heatmap(
            z=missing.bands, x=missing.columns, y=missing.rows, zmin=0, zmax=1, colorscale=shades, text=told,
            hovertemplate="%{text}<extra></extra>", colorbar={"title": {"text": "observed", "side": "right"},
            "tickformat": ".0%"},
        )  # fmt: skip
        figure = figure_of([cells], "", "rows, sorted by cluster")
        if len(names) <= MOST_NAMED and len(titles) == len(names):
            figure.update_xaxes(tickvals=(np.arange(len(names)) + 0.5).tolist(), ticktext=names)
        return figure.update_yaxes(autorange="reversed")
