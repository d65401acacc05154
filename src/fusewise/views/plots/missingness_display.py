"""``MissingnessDisplay``: the missing values, with rows sorted by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fusewise.views.findings import Missingness, compare_missingness, read_findings
from fusewise.views.palette import colour
from fusewise.views.plots.canvas import axes_for

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
        ax.pcolormesh(missing.columns, missing.rows, missing.bands, cmap=shades, vmin=0, vmax=1, rasterized=True)
        ax.invert_yaxis()
        beside = blended_transform_factory(ax.transAxes, ax.transData)
        ticks = []
        for label in dict.fromkeys(missing.cluster.tolist()):
            bands = np.flatnonzero(missing.cluster == label)
            begin, end = int(missing.rows[bands[0]]), int(missing.rows[bands[-1] + 1])
            ax.plot([-0.012, -0.012], [begin, end], color=colour(label), linewidth=5, transform=beside, clip_on=False,
                    solid_capstyle="butt")  # fmt: skip
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
