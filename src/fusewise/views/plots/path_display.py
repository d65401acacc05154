"""``FusionPathDisplay``: the number of groups and the criterion along the path, with the chosen step."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fusewise.kernels import Real
from fusewise.support.records import InputError
from fusewise.support.words import counted, readable
from fusewise.views.findings import read_findings
from fusewise.views.palette import COLOURS
from fusewise.views.plots.canvas import MUTED, axes_for
from fusewise.views.plots.plotly_canvas import figure_of, load_plotly


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
