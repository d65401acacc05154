"""``ProfileDisplay``: what clusters are like, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fusewise.kernels.types import Real
from fusewise.views.findings import profile_of, read_findings
from fusewise.views.plots.canvas import QUIET, axes_for

#: Features drawn.
MOST_FEATURES = 40
#: A deviation beyond this has the colour of this.
FURTHEST = 3.0


class ProfileDisplay:
    """Heat map of the centres, in standard deviations from the mean of all rows; a cross is a hole.

    Parameters
    ----------
    deviations : K x P, NaN where no row of the cluster has the feature observed.
    telling : P, the part of each feature's variance that lies between the clusters.
    features : names of the features.
    sizes : rows in each cluster.

    Attributes
    ----------
    ax_, figure_ : where it was drawn.
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
        """Draw the `most` telling features of a fitted ``FusionClustering``, on `ax` or on new axes."""
        found = read_findings(estimator, feature_names=feature_names)
        if not found.n_clusters:
            raise ValueError("every row is an outlier: there is no cluster to draw")
        profile = profile_of(found, most)
        display = cls(
            deviations=profile.deviations[:, profile.shown],
            telling=profile.telling[profile.shown],
            features=[found.features[j] for j in profile.shown],
            sizes=found.sizes.tolist(),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, on `ax` or on new axes."""
        ax = axes_for(ax, 3.2 + 0.42 * len(self.sizes), 1.3 + 0.21 * len(self.features))
        table = self.deviations.T
        limit = max(0.5, min(FURTHEST, float(np.nanmax(np.abs(table), initial=0.0))))
        image = ax.imshow(table, aspect="auto", cmap="PuOr_r", vmin=-limit, vmax=limit, interpolation="nearest")
        holes = np.argwhere(np.isnan(table))
        ax.plot(holes[:, 1], holes[:, 0], "x", color=QUIET, markersize=5, markeredgewidth=0.8)
        ax.set_xticks(np.arange(len(self.sizes)), [f"{k}\n{size:,}" for k, size in enumerate(self.sizes)], fontsize=8)
        names = [f"{name}  {share:.0%}" for name, share in zip(self.features, self.telling, strict=True)]
        ax.set_yticks(np.arange(len(names)), names, fontsize=8, parse_math=False)
        ax.set_xlabel("cluster, and its rows")
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(len(self.sizes) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(names) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, aspect=25)
        bar.set_label("standard deviations from the mean", fontsize=8)
        bar.outline.set_visible(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
