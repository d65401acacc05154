"""Displays of a fitted model, as in scikit-learn: ``SomeDisplay.from_estimator(model)``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from fusewise.kernels import Labels, Real
from fusewise.support.errors import InputError
from fusewise.support.words import counted, readable
from fusewise.views.canvas import (
    MISSING,
    MOST_SVG,
    MUTED,
    as_text,
    axes_for,
    cluster_word,
    figure_of,
    heat_map,
    load_plotly,
    marker_of,
)
from fusewise.views.findings import Findings, read_findings
from fusewise.views.missingness import Missingness, compare_missingness
from fusewise.views.palette import COLOURS, MARKERS, OUTLIER, colour, shape
from fusewise.views.profile import profile_of
from fusewise.views.trees import MOST_FEATURES, MOST_ROWS, Branches, ClusterMap, branches_of, cluster_map_of

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


#: Maximum number of features drawn.
PROFILE_FEATURES = 40


class ProfileDisplay:
    """Heat map of each cluster against the other rows, from all values lower (-1) to all higher (1).

    A cross means too few observed values.

    Parameters
    ----------
    effects : K x P, Cliff's delta, or for a level of a category the difference in its share; NaN if too few values.
    telling : P, fraction of each feature's variance that is between the clusters.
    features : names of the features.
    sizes : number of rows in each cluster.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    image_, colorbar_ : the heat map and its colour bar.
    """

    def __init__(self, *, effects: Real, telling: Real, features: Sequence[str], sizes: Sequence[int]) -> None:
        self.effects = effects
        self.telling = telling
        self.features = features
        self.sizes = sizes

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
        display = cls(
            effects=profile.effects,
            telling=profile.telling[profile.shown],
            features=[found.features[j] for j in profile.shown],
            sizes=found.sizes.tolist(),
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        ax = axes_for(ax, 3.2 + 0.42 * len(self.sizes), 1.3 + 0.21 * len(self.features))
        table = self.effects.T
        image = ax.imshow(table, aspect="auto", cmap="PuOr_r", vmin=-1, vmax=1, interpolation="nearest")
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
        bar.set_label("lower or higher than in the other rows", fontsize=8)
        bar.outline.set_visible(False)
        self.ax_, self.figure_, self.image_, self.colorbar_ = ax, ax.figure, image, bar
        return self

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a cell shows its feature, cluster and value."""
        title, names = "lower or higher than in the other rows", [as_text(name) for name in self.features]
        told = [
            [f"{name}<br>cluster {k}: " + (f"effect size {v:+.2f}" if np.isfinite(v) else "too few observed values")
             for k, v in enumerate(values.tolist())]
            for name, values in zip(names, self.effects.T, strict=True)
        ]  # fmt: skip
        shares = [f"{name}  {share:.0%}" for name, share in zip(names, self.telling, strict=True)]
        cells = heat_map(self.effects.T, told, 1.0, title, xgap=1, ygap=1)
        figure = figure_of([cells], "cluster and number of rows", "feature and share of its variance between clusters")
        sizes = [f"{k}<br>{size:,}" for k, size in enumerate(self.sizes)]
        figure.update_xaxes(tickvals=list(range(len(sizes))), ticktext=sizes)
        return figure.update_yaxes(tickvals=list(range(len(shares))), ticktext=shares, autorange="reversed")


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


class FusionPathDisplay:
    """Criterion (left axis) and number of groups (right axis) at each step, with lam increasing to the right.

    Parameters
    ----------
    groups : number of groups at each step, including single rows.
    lams : strength of the fusion penalty at each step; NaN if unknown.
    criteria : criterion at each step; NaN if not computed.
    chosen : step of the result.
    criterion_name : name of the criterion, for the axis label.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    groups_ax_ : axes of the number of groups.
    line_, groups_line_ : the criterion, and the number of groups.
    star_ : the mark of the chosen step.
    """

    def __init__(
        self, *, groups: Real, lams: Real, criteria: Real, chosen: int, criterion_name: str = "criterion"
    ) -> None:
        self.groups = groups
        self.lams = lams
        self.criteria = criteria
        self.chosen = chosen
        self.criterion_name = criterion_name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes."""
        trail = read_findings(estimator).trail
        if trail.chosen is None:
            raise InputError("the model was fitted at a given lam: it has no path to draw")
        display = cls(
            groups=np.array([step.n_groups for step in trail.steps], dtype=float),
            lams=np.array([step.lam for step in trail.steps]),
            criteria=np.array([step.criterion for step in trail.steps]),
            chosen=trail.chosen,
            criterion_name=trail.criterion_name.split(":")[0],
        )
        return display.plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        ax = axes_for(ax, 6.0, 3.4)
        steps = np.arange(len(self.groups))
        look = {"color": COLOURS[0], "markersize": 4, "linewidth": 1.4, "zorder": 3}
        (self.line_,) = ax.plot(steps, self.criteria, "o-", **look)
        star = {"color": "#E69F00", "markersize": 13, "markeredgecolor": "black", "markeredgewidth": 0.7, "zorder": 4}
        (self.star_,) = ax.plot(self.chosen, self.criteria[self.chosen], "*", **star)
        ax.axvline(self.chosen, color=MUTED, linewidth=0.8, linestyle=":")
        ax.set_ylabel(self.criterion_name, color=COLOURS[0])
        ax.set_xlabel("fusion strength lam (star: chosen step)")
        every = 1 + len(steps) // 9
        shown = steps[self.chosen % every :: every]
        ax.set_xticks(shown, [f"{self.lams[k]:.3g}" if np.isfinite(self.lams[k]) else "–" for k in shown])
        other = ax.twinx()
        other.spines["top"].set_visible(False)
        (self.groups_line_,) = other.plot(steps, self.groups, "s--", color=MUTED, markersize=3, linewidth=1.0)
        other.set_yscale("log")
        other.yaxis.set_major_formatter("{x:,.0f}")
        other.set_ylabel("number of groups", color=MUTED)
        self.ax_, self.groups_ax_, self.figure_ = ax, other, ax.figure
        return self

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a step shows its groups, lam and criterion."""
        go = load_plotly()
        steps = np.arange(1, len(self.groups) + 1)
        told = [self._told(k) for k in range(len(steps))]
        shown = {"text": told, "hovertemplate": "%{text}<extra></extra>"}
        known = np.isfinite(self.criteria)
        sizes = [13 if k == self.chosen else 6 for k in np.flatnonzero(known)]
        symbols = ["star" if k == self.chosen else "circle" for k in np.flatnonzero(known)]
        traces = [
            go.Scatter(x=steps[known], y=self.criteria[known], mode="lines+markers", name=self.criterion_name,
                       marker={"size": sizes, "symbol": symbols}, line={"color": COLOURS[0]},
                       text=[told[k] for k in np.flatnonzero(known)],
                       hovertemplate=shown["hovertemplate"]),
            go.Scatter(x=steps, y=self.groups, mode="lines+markers", name="number of groups", yaxis="y2",
                       marker={"size": 5, "symbol": "square"}, line={"color": MUTED, "dash": "dash"}, **shown),
        ]  # fmt: skip
        second = {"overlaying": "y", "side": "right", "type": "log", "dtick": 1, "showgrid": False}
        figure = figure_of(traces, "step, with increasing fusion strength lam (star: chosen step)", self.criterion_name)
        second["title"] = "number of groups"
        return figure.update_layout(yaxis2=second, legend={"orientation": "h", "y": 1.12})

    def _told(self, k: int) -> str:
        parts = [f"step {k + 1}", counted(int(self.groups[k]), "group")]
        if np.isfinite(self.lams[k]):
            parts.append(f"lam {readable(float(self.lams[k]))}")
        if np.isfinite(self.criteria[k]):
            parts.append(f"{self.criterion_name} {readable(float(self.criteria[k]))}")
        return "<br>".join([*parts, *(["the chosen step"] if k == self.chosen else [])])


#: Ratio of the lowest join to the leaves, on the axis of lam.
LEAF_RATIO = 1.5


class DendrogramDisplay:
    """Dendrogram: which groups merge at which lam (strength of the fusion penalty), coloured by cluster.

    Parameters
    ----------
    branches : leaves and joins.
    chosen : step of the result: joins up to it are drawn solid, later ones dotted.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure of the plot.
    joins_ : for each join its three lines: the left and the right branch, and the one between them.
    leaves_ : the marker of each group.
    """

    def __init__(self, *, branches: Branches, chosen: int) -> None:
        self.branches = branches
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes."""
        found = read_findings(estimator)
        branches, chosen = branches_of(found), found.trail.chosen
        if branches is None or chosen is None:
            raise InputError("the path has no step with two or more groups: there is no tree to draw")
        return cls(branches=branches, chosen=chosen).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        ax = axes_for(ax, 6.0, 3.4)
        floor = self._floor
        self.joins_, self.leaves_ = [], []
        for join in self.branches.joins:
            look = {"linewidth": 2.2} if join.step <= self.chosen else {"linewidth": 1.1, "linestyle": ":"}
            top = max(join.lam, floor)
            lines = []
            for (x, begin), cluster in zip((join.left, join.right), join.clusters, strict=True):
                look_ = {"color": _ink(cluster), "solid_capstyle": "butt", **look}
                lines += ax.plot([x, x], [max(begin, floor), top], **look_)
            both = join.clusters[0] if join.clusters[0] == join.clusters[1] else -1
            self.joins_.append([*lines, *ax.plot([join.left[0], join.right[0]], [top, top], color=_ink(both), **look)])
        for x, cluster in enumerate(self.branches.clusters):
            marker = MARKERS[shape(max(cluster, 0))]
            fill = OUTLIER if cluster < 0 else colour(cluster)
            self.leaves_ += ax.plot(x, floor, marker, color=fill, markersize=5, clip_on=False)
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_ylabel("fusion strength lam")
        ax.set_xlabel("number of rows in each group")
        ax.set_xticks(np.arange(len(self.branches.sizes)), [f"{size:,}" for size in self.branches.sizes])
        if len(self.branches.sizes) > 12:
            ax.tick_params("x", rotation=60)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @property
    def _floor(self) -> float:
        """Height of the leaves."""
        return min((join.lam for join in self.branches.joins if join.lam > 0), default=1.0) / LEAF_RATIO

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly: pointing at a join shows its lam, at a group its rows."""
        go, floor, traces = load_plotly(), self._floor, []
        for join in self.branches.joins:
            (a, low), (b, right_low) = join.left, join.right
            top = max(join.lam, floor)
            both = join.clusters[0] if join.clusters[0] == join.clusters[1] else -1
            solid = join.step <= self.chosen
            look = {"color": _ink(both), "width": 2.5 if solid else 1.2, "dash": "solid" if solid else "dot"}
            words = f"merge at lam {readable(join.lam)}<br>step {join.step + 1}"
            traces.append(
                go.Scatter(x=[a, a, b, b], y=[max(low, floor), top, top, max(right_low, floor)], mode="lines",
                           line=look, text=[words] * 4, hovertemplate="%{text}<extra></extra>")
            )  # fmt: skip
        for x, (cluster, size) in enumerate(zip(self.branches.clusters, self.branches.sizes, strict=True)):
            words = f"{counted(size, 'row')}<br>{cluster_word(cluster)}"
            look = {"marker": marker_of(cluster, 9), "mode": "markers", "hovertemplate": f"{words}<extra></extra>"}
            traces.append(go.Scatter(x=[x], y=[floor], **look))
        sizes = [f"{size:,}" for size in self.branches.sizes]
        figure = figure_of(traces, "number of rows in each group", "fusion strength lam", showlegend=False)
        figure.update_xaxes(tickvals=list(range(len(sizes))), ticktext=sizes, showgrid=False)
        return figure.update_yaxes(type="log", dtick="D2")


def _ink(cluster: int) -> str:
    """Colour of a branch; grey if it contains several clusters."""
    return MUTED if cluster < 0 else colour(cluster)
