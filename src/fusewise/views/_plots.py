"""Displays of a fitted model, as in scikit-learn: ``SomeDisplay.from_estimator(model)``.

Each describes what it draws once (``canvas.Drawing``); ``plot`` draws it with matplotlib and ``to_plotly`` as an
interactive figure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fusewise.kernels import Labels, Real
from fusewise.support import InputError, counted, readable
from fusewise.views._canvas import (
    COLOURS,
    MUTED,
    Axis,
    Badge,
    Cells,
    Curve,
    Drawing,
    Markers,
    Paths,
    as_figure,
    as_text,
    cluster_word,
    colour,
    on_axes,
)
from fusewise.views._findings import Findings, read_findings
from fusewise.views._profile import Missingness, compare_missingness, profile_of
from fusewise.views._trees import MOST_FEATURES, MOST_ROWS, Branches, ClusterMap, branches_of, cluster_map_of

#: Lines are drawn for so many rows at most, and a tooltip names so many columns.
MOST_LINES, TOLD_COLUMNS = 1_000, 6
#: Names are written for at most so many rows and features.
MOST_NAMED = 60
#: Limit of the colour scale, in standard deviations.
COLOUR_LIMIT = 3.0
#: Minimum height of a cluster, as a fraction of the plot, for its name to be written.
MIN_LABELLED_HEIGHT = 0.03
#: Maximum number of features of a profile.
PROFILE_FEATURES = 40
#: Ratio of the lowest join to the leaves, on the axis of lam.
LEAF_RATIO = 1.5


class _Display(ABC):
    """A picture: after ``plot``, ``ax_`` and ``figure_`` are matplotlib's, ``artists_`` the artists by their names."""

    @abstractmethod
    def _drawing(self) -> Drawing: ...

    def plot(self, ax: Any = None) -> Self:
        """Plot on `ax`, or on new axes."""
        self.ax_, self.artists_ = on_axes(self._drawing(), ax)
        self.figure_ = self.ax_.figure
        return self

    def to_plotly(self) -> Any:
        """The same as an interactive figure of plotly, which tells what one points at."""
        return as_figure(self._drawing())


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
    tooltip : text that an interactive figure shows for a row of `points`, by its index; by default its number.

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
    tooltip: Callable[[int], str] = str

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

    def _drawing(self) -> Drawing:
        crowd = min(1.0, np.sqrt(400 / max(len(self.points), 1)))  # many rows are drawn smaller and fainter
        marks: dict[str, list[Any]] = {"lines": [], "rows": [], "centers": []}
        every = 1 + len(self.points) // MOST_LINES
        for k in [*range(len(self.centers)), *([-1] if (self.labels < 0).any() else [])]:
            rows = np.flatnonzero(self.labels == k)
            texts, name = [self.tooltip(int(row)) for row in rows], "outliers" if k < 0 else f"cluster {k}"
            marks["rows"].append(Markers(self.points[rows], k, 2 + 2.6 * crowd, texts, name, 0.5 + 0.4 * crowd))
            if k >= 0:
                lines = np.stack([self.points[rows], self.ends[rows]], axis=1)[::every]
                marks["lines"].append(Paths(list(lines), colour(k), 0.5, 0.12 + 0.33 * crowd))
                marks["centers"].append(Badge(self.centers[k], k))
        x, y = (
            Axis(f"{which} principal component ({share:.0%} of the variance)")
            for which, share in zip(("first", "second"), self.shares, strict=True)
        )
        return Drawing(marks, x, y, (6.0, 4.6), equal=True)


def _tooltips(found: Findings) -> Callable[[int], str]:
    """The name, cluster and confidence of a row, and its values in the columns that separate the clusters best."""

    def tooltip(i: int) -> str:
        row = found.drawn[i]
        sure = "" if found.confidence is None else f", confidence {found.confidence[row]:.3f}"
        lines = [f"<b>{as_text(found.names[row])}</b>", cluster_word(int(found.labels[row])) + sure]
        for about in found.contrasts.columns[:TOLD_COLUMNS]:
            column = found.columns[about.position]
            lines.append(f"{as_text(column.name)}: {as_text(column.word(row))}")
        return "<br>".join(lines)

    return tooltip


@dataclass(kw_only=True, eq=False, repr=False)
class ClusterMapDisplay(_Display):
    """Heat map of the table in standard deviations from the mean; missing cells are hatched.

    Clusters that are close in the merge tree are adjacent, rows within a cluster are in the order of the tree, outliers
    come last, and similar columns are side by side. A category is one column per level.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "cells", the heat map.

    Parameters
    ----------
    cells : the table in the order in which it is drawn.
    """

    cells: ClusterMap

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

    def _drawing(self) -> Drawing:
        shown, title = self.cells, "standard deviations from the mean"
        n, p = shown.cells.shape
        rows = [f"<b>{as_text(name)}</b><br>{cluster_word(int(label))}<br>"
                for name, label in zip(shown.names, shown.labels, strict=True)]  # fmt: skip
        told = [
            [f"{row}{as_text(feature)}: " + (f"{readable(value)} {title}" if np.isfinite(value) else "missing")
             for feature, value in zip(shown.features, values.tolist(), strict=True)]
            for row, values in zip(rows, shown.cells, strict=True)
        ]  # fmt: skip
        limit = max(0.5, min(COLOUR_LIMIT, float(np.nanmax(np.abs(shown.cells), initial=0.0))))
        runs = _runs(shown.labels, np.arange(n + 1) - 0.5)
        ticks = (np.arange(n).tolist(), shown.names) if n <= MOST_NAMED else _cluster_ticks(runs)
        edges = (np.arange(p + 1) - 0.5, np.arange(n + 1) - 0.5)
        cells = Cells(shown.cells, edges, (-limit, limit), f"{title} (hatched: missing)", told, runs)
        height = 2.2 + (0.14 * n if n <= MOST_NAMED else min(0.06 * n, 8.0))
        size = (min(3.0 + 0.25 * p, 14.0), height)
        return Drawing({"cells": [cells]}, _named(shown.features), Axis(ticks=ticks, reversed=True), size)


def _named(names: Sequence[str], shift: float = 0.0) -> Axis:
    """An axis with the names of features, if there are not too many."""
    if len(names) > MOST_NAMED:
        return Axis(f"{len(names)} features, similar ones side by side", ([], []))
    return Axis(ticks=((np.arange(len(names)) + shift).tolist(), names), turned=True)


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
        display = cls(
            effects=profile.effects,
            telling=profile.telling[profile.shown],
            features=[found.features[j] for j in profile.shown],
            sizes=found.sizes.tolist(),
        )
        return display.plot(ax=ax)

    def _drawing(self) -> Drawing:
        told = [
            [f"{as_text(name)}<br>cluster {k}: "
             + (f"effect size {value:+.2f}" if np.isfinite(value) else "too few observed values")
             for k, value in enumerate(values.tolist())]
            for name, values in zip(self.features, self.effects.T, strict=True)
        ]  # fmt: skip
        k, p = self.effects.shape
        edges = (np.arange(k + 1) - 0.5, np.arange(p + 1) - 0.5)
        cells = Cells(self.effects.T, edges, (-1.0, 1.0), "lower or higher than in the other rows", told)
        sizes = [f"{cluster}: {size:,}" for cluster, size in enumerate(self.sizes)]
        names = [f"{name}  {share:.0%}" for name, share in zip(self.features, self.telling, strict=True)]
        x = Axis("cluster and number of rows", (list(range(k)), sizes), turned=True)
        y = Axis("feature and share of its variance between clusters", (list(range(p)), names), reversed=True)
        return Drawing({"cells": [cells]}, x, y, (3.2 + 0.42 * k, 1.6 + 0.21 * p))


@dataclass(kw_only=True, eq=False, repr=False)
class MissingnessDisplay(_Display):
    """Map of observed (shaded) and missing (white) values; * marks columns whose missingness depends on the cluster.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "cells", the map.

    Parameters
    ----------
    missing : the map and the tests.
    """

    missing: Missingness

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Sequence[Any] | None = None, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or new axes; `feature_names` replace its own."""
        return cls(missing=compare_missingness(read_findings(estimator, feature_names=feature_names))).plot(ax=ax)

    def _drawing(self) -> Drawing:
        missing, starred = self.missing, set(self.missing.differing.tolist())
        names = [f"{name} *" if j in starred else name for j, name in enumerate(missing.names)]
        spans = list(zip(missing.columns[:-1], missing.columns[1:], strict=True))
        titles = [names[a] if b == a + 1 else f"{names[a]} to {names[b - 1]}" for a, b in spans]
        told = [
            [f"{as_text(title)}<br>{cluster_word(int(missing.cluster[i]))}: {share:.0%} observed"
             for title, share in zip(titles, shares, strict=True)]
            for i, shares in enumerate(missing.bands)
        ]  # fmt: skip
        runs = _runs(missing.cluster, missing.rows)
        cells = Cells(missing.bands, (missing.columns, missing.rows), (0.0, 1.0), "observed", told, runs)
        x = _named(names, 0.5) if len(titles) == len(names) else Axis("columns in the order of the table", ([], []))
        return Drawing({"cells": [cells]}, x, Axis(ticks=_cluster_ticks(runs), reversed=True), (6.0, 4.2))


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
        display = cls(
            groups=np.array([step.n_groups for step in trail.steps], dtype=float),
            lams=np.array([step.lam for step in trail.steps]),
            criteria=np.array([step.criterion for step in trail.steps]),
            chosen=trail.chosen,
            criterion_name=trail.criterion_name.split(":")[0],
        )
        return display.plot(ax=ax)

    def _drawing(self) -> Drawing:
        steps = np.arange(len(self.groups))
        told = [self._told(k) for k in range(len(steps))]
        first, second = (np.column_stack([steps, values]) for values in (self.criteria, self.groups))
        marks: dict[str, list[Any]] = {
            "criterion": [Curve(first, COLOURS[0], told, self.criterion_name, star=self.chosen)],
            "groups": [Curve(second, MUTED, told, "number of groups", second=True)],
        }
        every = 1 + len(steps) // 9
        shown = steps[self.chosen % every :: every]
        words = [f"{self.lams[k]:.3g}" if np.isfinite(self.lams[k]) else "–" for k in shown]
        x = Axis("fusion strength lam (star: chosen step)", (shown.tolist(), words))
        return Drawing(marks, x, Axis(self.criterion_name), second=Axis("number of groups", log=True))

    def _told(self, k: int) -> str:
        parts = [f"step {k + 1}", counted(int(self.groups[k]), "group")]
        if np.isfinite(self.lams[k]):
            parts.append(f"lam {readable(float(self.lams[k]))}")
        if np.isfinite(self.criteria[k]):
            parts.append(f"{self.criterion_name} {readable(float(self.criteria[k]))}")
        return "<br>".join([*parts, *(["the chosen step"] if k == self.chosen else [])])


@dataclass(kw_only=True, eq=False, repr=False)
class DendrogramDisplay(_Display):
    """Dendrogram: which groups merge at which lam (strength of the fusion penalty), coloured by cluster.

    After ``plot``, ``ax_`` and ``figure_`` are matplotlib's, and ``artists_`` has "joins", the lines of each join, and
    "leaves", the marker of each group.

    Parameters
    ----------
    branches : leaves and joins.
    chosen : step of the result: joins up to it are drawn solid, later ones dotted.
    """

    branches: Branches
    chosen: int

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Plot `estimator`, a fitted ``FusionClustering``, on `ax` or on new axes."""
        found = read_findings(estimator)
        branches, chosen = branches_of(found), found.trail.chosen
        if branches is None or chosen is None:
            raise InputError("the path has no step with two or more groups: there is no tree to draw")
        return cls(branches=branches, chosen=chosen).plot(ax=ax)

    def _drawing(self) -> Drawing:
        floor = min((join.lam for join in self.branches.joins if join.lam > 0), default=1.0) / LEAF_RATIO
        marks: dict[str, list[Any]] = {"joins": [], "leaves": []}
        for join in self.branches.joins:
            (a, low), (b, other), top = join.left, join.right, max(join.lam, floor)
            path = np.array([[a, max(low, floor)], [a, top], [b, top], [b, max(other, floor)]])
            both = join.clusters[0] if join.clusters[0] == join.clusters[1] else -1
            ink, dotted = MUTED if both < 0 else colour(both), join.step > self.chosen
            told = [f"merge at lam {readable(join.lam)}<br>step {join.step + 1}"]
            marks["joins"].append(Paths([path], ink, 1.1 if dotted else 2.2, dotted=dotted, texts=told))
        for x, (cluster, size) in enumerate(zip(self.branches.clusters, self.branches.sizes, strict=True)):
            words = [f"{counted(size, 'row')}<br>{cluster_word(cluster)}"]
            marks["leaves"].append(Markers(np.array([[x, floor]]), cluster, 5.0, words))
        sizes = [f"{size:,}" for size in self.branches.sizes]
        x_axis = Axis("number of rows in each group", (list(range(len(sizes))), sizes), turned=len(sizes) > 12)
        return Drawing(marks, x_axis, Axis("fusion strength lam", log=True))
