"""``ProfileDisplay``: the cluster centres by feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fusewise.kernels import Real
from fusewise.support.records import InputError
from fusewise.support.words import readable
from fusewise.views.findings import profile_of, read_findings
from fusewise.views.plots.canvas import MUTED, axes_for
from fusewise.views.plots.plotly_canvas import as_text, figure_of, heat_map

#: Maximum number of features drawn.
MOST_FEATURES = 40
#: Limit of the colour scale, in standard deviations.
COLOUR_LIMIT = 3.0


class ProfileDisplay:
    """Heat map of the centres, in standard deviations from the mean of all rows; a cross means no observed value.

    Parameters
    ----------
    deviations : K x P; NaN if the feature was not observed in the cluster.
    telling : P, fraction of each feature's variance that is between the clusters.
    features : names of the features.
    sizes : number of rows in each cluster.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    image_, colorbar_ : the heat map and its colour bar.
    """

    def __init__(self, *, deviations: Real, telling: Real, features: Sequence[str], sizes: Sequence[int]) -> None:
        self.deviations = deviations
        self.telling = telling
        self.features = features
        self.sizes = sizes

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[Any] | None = None, most: int = MOST_FEATURES, ax: Any = None
    ) -> Self:
        """Plot the `most` features of `estimator`, a fitted ``FusionClustering``, that separate the clusters best.

        On `ax` or on new axes; `feature_names` replace those it was fitted with.
        """
        found = read_findings(estimator, feature_names=feature_names)
        if not found.n_clusters:
            raise InputError("every row is an outlier: there is no cluster to draw")
        profile = profile_of(found, most)
        display = cls(
            deviations=profile.deviations[:, profile.shown],
            telling=profile.telling[profile.shown],
            features=[found.features[j] for j in profile.shown],
            sizes=found.sizes.tolist(),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        ax = axes_for(ax, 3.2 + 0.42 * len(self.sizes), 1.3 + 0.21 * len(self.features))
        table = self.deviations.T
        limit = self._limit
        image = ax.imshow(table, aspect="auto", cmap="PuOr_r", vmin=-limit, vmax=limit, interpolation="nearest")
        empty = np.argwhere(np.isnan(table))
        ax.plot(empty[:, 1], empty[:, 0], "x", color=MUTED, markersize=5, markeredgewidth=0.8)
        ax.set_xticks(np.arange(len(self.sizes)), [f"{k}\n{size:,}" for k, size in enumerate(self.sizes)], fontsize=8)
        names = [f"{name}  {share:.0%}" for name, share in zip(self.features, self.telling, strict=True)]
        ax.set_yticks(np.arange(len(names)), names, fontsize=8, parse_math=False)
        ax.set_xlabel("cluster and number of rows")
        ax.set_ylabel("feature and share of its variance between clusters")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(len(self.sizes) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, aspect=25)
        bar.set_label("standard deviations from the mean", fontsize=8)
        bar.outline.set_visible(False)
        self.ax_, self.figure_, self.image_, self.colorbar_ = ax, ax.figure, image, bar
        return self

    @property
    def _limit(self) -> float:
        """Limit of the colour scale, in standard deviations."""
        return max(0.5, min(COLOUR_LIMIT, float(np.nanmax(np.abs(self.deviations), initial=0.0))))

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a cell shows its feature, cluster and value."""
        title, names = "standard deviations from the mean", [as_text(name) for name in self.features]
        told = [
            [f"{name}<br>cluster {k}: " + (f"{readable(v)} {title}" if np.isfinite(v) else "no observed value")
             for k, v in enumerate(values.tolist())]
            for name, values in zip(names, self.deviations.T, strict=True)
        ]  # fmt: skip
        shares = [f"{name}  {share:.0%}" for name, share in zip(names, self.telling, strict=True)]
        cells = heat_map(self.deviations.T, told, self._limit, title, xgap=1, ygap=1)
        figure = figure_of([cells], "cluster and number of rows", "feature and share of its variance between clusters")
        sizes = [f"{k}<br>{size:,}" for k, size in enumerate(self.sizes)]
        figure.update_xaxes(tickvals=list(range(len(sizes))), ticktext=sizes)
        return figure.update_yaxes(tickvals=list(range(len(shares))), ticktext=shares, autorange="reversed")
