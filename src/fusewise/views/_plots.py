"""Displays of a fitted model, as in scikit-learn: ``SomeDisplay.from_estimator(model)``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from fusewise.automatic import Choice
from fusewise.kernels import Index, Labels, Real
from fusewise.support import InputError
from fusewise.views._colours import COLOURS, MARKERS, colour, shape
from fusewise.views._findings import read_findings
from fusewise.views._profile import Missingness, compare_missingness, profile_of
from fusewise.views._trees import standardised, tree_order

#: Colour of lines and text that are not data, and of what is observed.
MUTED, OBSERVED = "#57606a", "#5b7083"
#: More markers than this are drawn as pixels in vector formats.
MOST_VECTOR = 5_000
#: No legend is drawn for more clusters than this.
MOST_IN_LEGEND = 12
#: Distance of the bars of the clusters from the cells, in points.
BAR_PLACE = 6
#: Lines are drawn for so many rows at most.
MOST_LINES = 1_000
#: Maximum number of rows and of features on the map of the table.
MOST_ROWS, MOST_FEATURES = 1_000, 60
#: Names are written for at most so many rows and features.
MOST_NAMED = 60
#: Limit of the colour scale, in standard deviations.
COLOUR_LIMIT = 3.0
#: Minimum height of a cluster, as a fraction of the plot, for its name to be written.
MIN_LABELLED_HEIGHT = 0.03
#: Maximum number of features of a profile.
PROFILE_FEATURES = 40


class _Display(ABC):
    """A picture: after ``plot``, ``ax_`` and ``figure_`` are matplotlib's, ``artists_`` the artists by their names."""

    @property
    def _size(self) -> tuple[float, float]:
        """Width and height of a figure of its own, in inches."""
        return 6.0, 3.4

    @abstractmethod
    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        """Draw on axes; return the artists."""

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('plots need matplotlib: pip install "fusewise[plot]"') from error
        if ax is None:
            _, ax = plt.subplots(figsize=self._size, layout="constrained")
        ax.spines[["top", "right"]].set_visible(False)
        self.ax_, self.artists_ = ax, self._draw(ax)
        self.figure_ = ax.figure
        return self


def _cells(
    ax: Any,
    values: Real,
    edges: tuple[Any, Any],
    limits: tuple[float, float],
    title: str,
    bars: Sequence[tuple[int, float, float]] = (),
) -> Any:
    """A heat map of values between edges, NaN hatched. `bars` are (cluster, begin, end) of its rows."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    low, high = limits
    shades = "PuOr_r" if low < 0 else LinearSegmentedColormap.from_list("observed", ["white", OBSERVED])
    # Missing cells are transparent: the hatched background shows through.
    ax.set_facecolor("#e4e4e4")
    ax.patch.set(hatch="/////", edgecolor="#a0a0a0", linewidth=0)
    mesh = ax.pcolormesh(*edges, np.ma.masked_invalid(values), cmap=shades, vmin=low, vmax=high, rasterized=True)
    inches = ScaledTranslation(-BAR_PLACE / 72, 0, ax.figure.dpi_scale_trans)
    beside = blended_transform_factory(ax.transAxes, ax.transData) + inches
    for label, begin, end in bars:
        line = {"color": colour(label), "linewidth": 5, "solid_capstyle": "butt"}
        ax.plot([0, 0], [begin, end], transform=beside, clip_on=False, **line)
        ax.axhline(end, color="black", linewidth=0.6)
    ax.tick_params("y", pad=BAR_PLACE + 5 if bars else 3)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(mesh, ax=ax, shrink=0.6, aspect=25)
    bar.set_label(title, fontsize=8)
    bar.outline.set_visible(False)
    return mesh


def _ticks(ax: Any, which: str, places: Sequence[float], words: Sequence[str], *, turned: bool = False) -> None:
    """Words at places of the axis "x" or "y"."""
    look = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    getattr(ax, f"set_{which}ticks")(places, words, fontsize=8, parse_math=False, **look)
    ax.tick_params(which, length=0)


@dataclass(kw_only=True, eq=False, repr=False)
class FusionMapDisplay(_Display):
    """Rows in two principal components of the completed table, each connected to its centre u_i.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "rows" and "lines" to their centres,
    for each cluster (outliers last), and "centers".

    Parameters
    ----------
    points : N x 2, coordinates of the rows.
    ends : N x 2, coordinates of their centres.
    centers : K x 2, coordinates of the cluster centres.
    labels : cluster of each row; -1 for outliers.
    shares : fraction of the variance along each axis.

    Examples
    --------
    >>> from fusewise.plots import FusionMapDisplay
    >>> FusionMapDisplay.from_estimator(model)  # doctest: +SKIP
    """

    points: Real
    ends: Real
    centers: Real
    labels: Labels
    shares: Real

    _size: ClassVar = 6.0, 4.6

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes."""
        found = read_findings(estimator)
        return cls(
            points=found.points,
            ends=found.plane.project(found.fused),
            centers=found.plane.project(found.centers),
            labels=found.labels[found.drawn],
            shares=found.plane.shares,
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        from matplotlib.collections import LineCollection

        crowd = min(1.0, np.sqrt(400 / max(len(self.points), 1)))  # many rows are drawn smaller and fainter
        artists: dict[str, list[Any]] = {"lines": [], "rows": [], "centers": []}
        every = 1 + len(self.points) // MOST_LINES
        for k in [*range(len(self.centers)), *([-1] if (self.labels < 0).any() else [])]:
            mine, name = self.labels == k, "outliers" if k < 0 else f"cluster {k}"
            if k >= 0:
                lines = np.stack([self.points[mine], self.ends[mine]], axis=1)[::every]
                look = {"colors": colour(k), "linewidths": 0.5, "alpha": 0.12 + 0.33 * crowd}
                artists["lines"].append(ax.add_collection(LineCollection(list(lines), **look)))
            kind = {"marker": "x", "linewidths": 1.1} if k < 0 else {"marker": MARKERS[shape(k)], "linewidths": 0}
            look = {"color": colour(k), "alpha": 0.5 + 0.4 * crowd, "rasterized": int(mine.sum()) > MOST_VECTOR} | kind
            size = (2 + 2.6 * crowd) ** 2
            artists["rows"].append(ax.scatter(*self.points[mine].T, s=size, zorder=3, label=name, **look))
        for k, place in enumerate(self.centers):
            ring = {"markersize": 12, "color": "white", "markeredgecolor": colour(k), "markeredgewidth": 1.8}
            ax.plot(*place, "o", zorder=4, **ring)
            text = ax.annotate(str(k), place, ha="center", va="center", fontsize=7.5, zorder=5)
            artists["centers"].append(text)
        for which, axis, share in zip(("first", "second"), (ax.set_xlabel, ax.set_ylabel), self.shares, strict=True):
            axis(f"{which} principal component ({share:.0%} of the variance)")
        ax.set_aspect("equal", adjustable="datalim")
        if 0 < len(artists["rows"]) <= MOST_IN_LEGEND + 1:
            ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return artists


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterMapDisplay(_Display):
    """Heat map of the table in standard deviations from the mean; missing cells are hatched.

    Clusters that are close in the merge tree are adjacent, rows within a cluster are in the order of the tree, outliers
    come last, and similar columns are side by side. A category is one column per level.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "cells", the heat map.

    Parameters
    ----------
    cells : the table as it is drawn, in standard deviations from the mean of each feature; NaN if missing.
    rows, names, labels : positions of its rows in the table, their names and clusters.
    features : names of its columns.
    """

    cells: Real
    rows: Index
    names: Sequence[str]
    labels: Labels
    features: Sequence[str]

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
        found = read_findings(estimator, names=names, feature_names=feature_names, most_drawn=most_rows)
        rows, profile = found.drawn[tree_order(found)], profile_of(found, most_features)
        return cls(
            cells=standardised(profile.values)[rows],
            rows=rows,
            names=[found.names[row] for row in rows],
            labels=found.labels[rows],
            features=profile.names,
        ).plot(ax=ax)

    @property
    def _size(self) -> tuple[float, float]:
        n, p = self.cells.shape
        return min(3.0 + 0.25 * p, 14.0), 2.2 + (0.14 * n if n <= MOST_NAMED else min(0.06 * n, 8.0))

    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        n, p = self.cells.shape
        limit = max(0.5, min(COLOUR_LIMIT, float(np.nanmax(np.abs(self.cells), initial=0.0))))
        runs, edges = _runs(self.labels, np.arange(n + 1) - 0.5), (np.arange(p + 1) - 0.5, np.arange(n + 1) - 0.5)
        title = "standard deviations from the mean (hatched: missing)"
        cells = _cells(ax, self.cells, edges, (-limit, limit), title, runs)
        _named(ax, self.features)
        _ticks(ax, "y", *((np.arange(n).tolist(), self.names) if n <= MOST_NAMED else _cluster_ticks(runs)))
        ax.invert_yaxis()
        return {"cells": [cells]}


def _named(ax: Any, names: Sequence[str], shift: float = 0.0) -> None:
    """Names of features below a heat map, if there are not too many."""
    if len(names) > MOST_NAMED:
        ax.set_xlabel(f"{len(names)} features, similar ones side by side")
        _ticks(ax, "x", [], [])
    else:
        _ticks(ax, "x", (np.arange(len(names)) + shift).tolist(), names, turned=True)


def _runs(labels: Any, edges: Any) -> list[tuple[int, float, float]]:
    """First and last edge of each cluster, whose rows are side by side."""
    runs = []
    for label in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        runs.append((label, float(edges[rows[0]]), float(edges[rows[-1] + 1])))
    return runs


def _cluster_ticks(runs: Sequence[tuple[int, float, float]]) -> tuple[list[float], list[str]]:
    """The middle of each cluster that is large enough, and its name."""
    height = runs[-1][2] - runs[0][1] if runs else 0.0
    large = [run for run in runs if run[2] - run[1] >= MIN_LABELLED_HEIGHT * height]
    words = ["outliers" if label < 0 else f"cluster {label}" for label, _, _ in large]
    return [(begin + end) / 2 for _, begin, end in large], words


@dataclass(kw_only=True, eq=False, repr=False)
class ProfileDisplay(_Display):
    """Heat map of each cluster against the other rows, from all values lower (-1) to all higher (1).

    Hatched cells have too few observed values.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "cells", the heat map.

    Parameters
    ----------
    effects : K x P, Cliff's delta, or for a level of a category the difference in its share; NaN if too few values.
    telling : P, fraction of each feature's variance that is between the clusters.
    features : names of the features.
    sizes : number of rows in each cluster.
    """

    effects: Real
    telling: Real
    features: Sequence[str]
    sizes: Sequence[int]

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, feature_names: Sequence[Any] | None = None, most: int = PROFILE_FEATURES, ax: Any = None
    ) -> Self:
        """Plot the `most` features of `estimator`, a fitted ``FusionClustering``, that separate the clusters best.

        On `ax` or on new axes; `feature_names` replace those it was fitted with.
        """
        found = read_findings(estimator, feature_names=feature_names)
        if not found.n_clusters:
            raise InputError("every row is an outlier: there is no cluster to draw")
        profile = profile_of(found, most)
        return cls(
            effects=profile.effects,
            telling=profile.telling,
            features=profile.names,
            sizes=found.sizes.tolist(),
        ).plot(ax=ax)

    @property
    def _size(self) -> tuple[float, float]:
        k, p = self.effects.shape
        return 3.2 + 0.42 * k, 1.6 + 0.21 * p

    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        k, p = self.effects.shape
        edges = (np.arange(k + 1) - 0.5, np.arange(p + 1) - 0.5)
        cells = _cells(ax, self.effects.T, edges, (-1.0, 1.0), "lower or higher than in the other rows")
        sizes = [f"{cluster}: {size:,}" for cluster, size in enumerate(self.sizes)]
        names = [f"{name}  {share:.0%}" for name, share in zip(self.features, self.telling, strict=True)]
        ax.set(xlabel="cluster and number of rows", ylabel="feature and share of its variance between clusters")
        _ticks(ax, "x", list(range(k)), sizes, turned=True)
        _ticks(ax, "y", list(range(p)), names)
        ax.invert_yaxis()
        return {"cells": [cells]}


@dataclass(kw_only=True, eq=False, repr=False)
class MissingnessDisplay(_Display):
    """Map of observed (shaded) and missing (white) values; * marks columns whose missingness depends on the cluster.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "cells", the map.

    Parameters
    ----------
    missing : the map and the tests.
    """

    missing: Missingness

    _size: ClassVar = 6.0, 4.2

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Sequence[Any] | None = None, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or new axes; `feature_names` replace its own."""
        return cls(missing=compare_missingness(read_findings(estimator, feature_names=feature_names))).plot(ax=ax)

    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        missing, starred = self.missing, set(self.missing.differing.tolist())
        runs = _runs(missing.cluster, missing.rows)
        cells = _cells(ax, missing.bands, (missing.columns, missing.rows), (0.0, 1.0), "observed", runs)
        if len(missing.columns) - 1 == len(missing.names):
            _named(ax, [f"{name} *" if j in starred else name for j, name in enumerate(missing.names)], 0.5)
        else:
            ax.set_xlabel("columns in the order of the table")
            _ticks(ax, "x", [], [])
        _ticks(ax, "y", *_cluster_ticks(runs))
        ax.invert_yaxis()
        return {"cells": [cells]}


@dataclass(kw_only=True, eq=False, repr=False)
class FusionPathDisplay(_Display):
    """Criterion (left axis) and number of groups (right axis) at each step, with lam increasing to the right.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "criterion" and "groups", a line
    each.

    Parameters
    ----------
    groups : number of groups at each step, including single rows.
    lams : strength of the fusion penalty at each step; NaN if unknown.
    criteria : criterion at each step; NaN if not computed.
    chosen : step of the result.
    criterion_name : name of the criterion, for the axis label.
    """

    groups: Real
    lams: Real
    criteria: Real
    chosen: int
    criterion_name: str = "criterion"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes."""
        trail = read_findings(estimator).trail
        if trail.chosen is None:
            raise InputError("the model was fitted at a given lam: it has no path to draw")
        return cls(
            groups=np.array([step.n_groups for step in trail.steps], dtype=float),
            lams=np.array([step.lam for step in trail.steps]),
            criteria=np.array([step.criterion for step in trail.steps]),
            chosen=trail.chosen,
            criterion_name=trail.criterion_name.split(":")[0],
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        steps, look = np.arange(len(self.groups)), {"markersize": 4, "linewidth": 1.3}
        star = {"color": "#E69F00", "markersize": 13, "markeredgecolor": "black", "markeredgewidth": 0.7, "zorder": 4}
        criterion = ax.plot(steps, self.criteria, "o-", color=COLOURS[0], label=self.criterion_name, **look)
        ax.plot([self.chosen], [self.criteria[self.chosen]], "*", **star)
        ax.axvline(self.chosen, color=MUTED, linewidth=0.8, linestyle=":")
        other = ax.twinx()
        groups = other.plot(steps, self.groups, "s--", color=MUTED, label="number of groups", **look)
        other.set_yscale("log")
        other.yaxis.set_major_formatter("{x:g}")
        other.spines["top"].set_visible(False)
        other.set_ylabel("number of groups")
        every = 1 + len(steps) // 9
        shown = steps[self.chosen % every :: every].tolist()
        _ticks(ax, "x", shown, [f"{self.lams[k]:.3g}" if np.isfinite(self.lams[k]) else "–" for k in shown])
        ax.set(xlabel="fusion strength lam (star: chosen step)", ylabel=self.criterion_name)
        return {"criterion": criterion, "groups": groups}


@dataclass(kw_only=True, eq=False, repr=False)
class DendrogramDisplay(_Display):
    """Merge tree: which groups of rows fuse at which lam (strength of the fusion penalty), coloured by cluster.

    Branches with rows of several clusters are grey. After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and
    ``artists_`` has "joins", the lines of the joins.

    Parameters
    ----------
    linkage : the tree, as of ``scipy.cluster.hierarchy``.
    names, labels : the name of each row of the tree, and its cluster; -1 for outliers.
    most_leaves : at most so many branches are drawn to the bottom; below them is the name or the number of their rows.
    """

    linkage: Real
    names: Sequence[str]
    labels: Labels
    most_leaves: int

    @classmethod
    def from_estimator(cls, estimator: Any, *, most_leaves: int = 30, ax: Any = None) -> Self:
        """Plot the merge tree of a model.

        Parameters
        ----------
        estimator : a fitted ``FusionClustering``.
        most_leaves : at most so many branches are drawn to the bottom.
        ax : matplotlib axes.
        """
        found = read_findings(estimator)
        if not isinstance(found.path, Choice) or found.path.tree.n_points < 2:
            raise InputError("there is no tree to draw: FusionClustering makes one, of two rows or more")
        names, labels = [found.names[k] for k in found.looked_at], found.labels[found.looked_at]
        return cls(linkage=found.path.tree.linkage, names=names, labels=labels, most_leaves=most_leaves).plot(ax=ax)

    def _draw(self, ax: Any) -> dict[str, list[Any]]:
        from scipy.cluster.hierarchy import dendrogram

        n, clusters = len(self.labels), self.labels.tolist()  # of each node; None: of several
        for a, b in self.linkage[:, :2].astype(int).tolist():
            clusters.append(clusters[a] if clusters[a] == clusters[b] else None)
        drawn = dendrogram(
            self.linkage,
            self.most_leaves,
            "lastp",
            link_color_func=lambda node: MUTED if clusters[node] is None else colour(clusters[node]),
            leaf_label_func=lambda node: self.names[node] if node < n else f"{self.linkage[node - n, 3]:,.0f} rows",
            leaf_rotation=90,
            ax=ax,
        )
        lowest = min((height for join in drawn["dcoord"] for height in join if height > 0), default=1.0)
        ax.set_yscale("symlog", linthresh=lowest)
        ax.set_ylabel("fusion strength lam")
        return {"joins": list(ax.collections)}
