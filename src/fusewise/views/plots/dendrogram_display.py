"""``DendrogramDisplay``: the merge tree of the groups."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fusewise.support.records import InputError
from fusewise.support.words import counted, readable
from fusewise.views.findings import Branches, branches_of, read_findings
from fusewise.views.palette import MARKERS, OUTLIER, colour, shape
from fusewise.views.plots.canvas import MUTED, axes_for
from fusewise.views.plots.plotly_canvas import cluster_word, figure_of, load_plotly, marker_of

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
