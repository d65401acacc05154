"""Figures 1 and 2, which define terms: the assumptions about the clusters, in two features, and the penalties."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.patches import Rectangle

from fusewise.datasets import make_clusters
from fusewise.fusion import H1, L0, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2
from fusewise.kernels import Floats
from fusewise.reproduce._drawing import INK, canvas, letter
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, StudyTable, verdict
from fusewise.theory import ClusterGeometry
from fusewise.views import COLOURS

#: Centres of the three clusters. (a): 0 and 1 agree in feature 1, 0 and 2 in feature 2. (b): all differ in both.
CENTERS: dict[str, list[list[float]]] = {
    "high coherence": [[0.0, 0.0], [0.0, 4.0], [4.0, 0.0]],
    "low coherence": [[0.0, 0.0], [3.0, 3.4], [6.4, 6.4]],
}
INKS = {"red": COLOURS[5], "blue": COLOURS[0], "green": COLOURS[2]}


def instance(name: str) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Points of three clusters, uniform in squares of side 1, and their labels."""
    X, y, _ = make_clusters(3, 30, noise=1.0, distribution="uniform", centers=np.array(CENTERS[name]), random_state=0)
    return X, y


def _confusable(X: Floats, y: npt.NDArray[np.intp], feature: int, width: float) -> str:
    """Pairs of clusters that one feature does not distinguish: two of their points are within `width` of each other."""
    values = [X[y == k, feature] for k in range(3)]
    pairs = combinations(zip(INKS, values, strict=True), 2)
    alike = [f"{a} from {b}" for (a, v), (b, w) in pairs if min(abs(p - q) for p, q in product(v, w)) <= width]
    return " and ".join(alike)


def _assumptions(outcomes: Outcomes) -> StudyResult:
    found = {name: instance(name) for name in CENTERS}
    geometry = {name: ClusterGeometry.from_data(*drawn) for name, drawn in found.items()}
    high, low = ([_confusable(X, y, j, geometry[name].epsilon) for j in (0, 1)] for name, (X, y) in found.items())
    said = [alike or "distinguishes all" for alike in (*high, *low)]
    claim = Claim(
        "In (a), red and blue cannot be distinguished by feature 1 alone, nor red and green by feature 2 alone. In "
        "(b), due to low coherence, this problem does not arise.",
        f"(a): feature 1 does not distinguish {said[0]}, feature 2 {said[1]}; mu0 = "
        f"{geometry['high coherence'].mu0:.2f} of at most 2. (b): feature 1 {said[2]}, feature 2 {said[3]}; mu0 = "
        f"{geometry['low coherence'].mu0:.2f}.",
        verdict(high == ["red from blue", "red from green"] and low == ["", ""]),
    )
    with canvas(1, 2, 8.4, 4.0) as (figure, axes):
        for key, panel, name in zip("ab", axes[0], found, strict=True):
            _draw_instance(panel, *found[name], geometry[name])
            letter(panel, key, f"{name}, $\\mu_0 = {geometry[name].mu0:.2f}$")
    caption = (
        "The assumptions, for three clusters in two features. Squares: the cluster size epsilon; line: the separation "
        "delta, between the nearest points of different clusters. (a) High coherence: two clusters agree in feature "
        "1, two in feature 2, so a point without one of its values may fit two clusters. (b) Low coherence: either "
        "feature alone distinguishes all clusters."
    )
    return StudyResult([Picture("fig1.svg", figure, caption)], [claim])


def _draw_instance(panel: Any, X: Floats, y: npt.NDArray[np.intp], geometry: ClusterGeometry) -> None:
    """Points in squares as wide as the cluster size epsilon, and the separation delta as a line."""
    side = geometry.epsilon
    for k, ink in enumerate(INKS.values()):
        points = X[y == k]
        panel.scatter(*points.T, s=12, color=ink, linewidths=0)
        square: Any = {"fill": False, "edgecolor": ink, "linewidth": 0.8, "linestyle": "--"}
        panel.add_patch(Rectangle(points.min(axis=0), side, side, **square))
    apart = np.where(y[:, None] == y, np.inf, np.linalg.norm(X[:, None] - X, axis=2))
    nearest = X[list(np.unravel_index(np.argmin(apart), apart.shape))]
    panel.plot(*nearest.T, color=INK, linewidth=1)
    panel.annotate(rf"$\delta = {geometry.delta:.1f}$", nearest.mean(axis=0), (8, -6), textcoords="offset points")
    low = X[y == 0].min(axis=0)
    panel.annotate(rf"$\epsilon = {side:.1f}$", low, (0, -11), textcoords="offset points")
    panel.set(xlabel="feature 1", ylabel="feature 2", xticks=[], yticks=[])
    panel.set_aspect("equal", adjustable="datalim")


ASSUMPTIONS = Study(
    "fig1",
    "The assumptions",
    "Three clusters of 30 points, uniform in squares of side 1 in the plane. kappa, mu0, epsilon and delta are "
    "measured on the points; a feature distinguishes two clusters if none of their points are within epsilon of each "
    "other there.",
    _assumptions,
)

FARTHEST = 2.0
PANELS: dict[str, tuple[str, dict[str, Penalty]]] = {
    "a": (r"$\ell_0$", {r"$[t \neq 0]$": L0()}),
    "b": (r"$\ell_p$", {"$p = 1$": L1(), "$p = 0.5$": Lp(0.5), "$p = 0.1$": Lp(0.1)}),
    "c": ("$H_1$", {rf"$\sigma = {sigma:g}$": H1(sigma) for sigma in (1.0, 0.5, 0.1)}),
    "d": (
        r"others, $\sigma = 0.5$",
        {"MCP": MCP(0.5), "SCAD": SCAD(0.5), "truncated": TruncatedL2(0.5), "Geman-McClure": GemanMcClure(0.5)},
    ),
}


def _penalties(outcomes: Outcomes) -> StudyResult:
    t = np.linspace(0, FARTHEST, 4001)[1:]
    misfits = {
        key: {name: float(np.abs(phi.value(t) - 1).mean()) for name, phi in panel.items()}
        for key, (_, panel) in PANELS.items()
    }
    lp, h1 = list(misfits["b"].values()), list(misfits["c"].values())
    claim = Claim(
        "The lp and H1 penalties closely approximate the l0 norm for low values of p and sigma.",
        f"Mean distance from l0 over 0 < t <= {FARTHEST:g}: lp {', '.join(f'{v:.2f}' for v in lp)} for p = 1, "
        f"0.5, 0.1; H1 {', '.join(f'{v:.2f}' for v in h1)} for sigma = 1, 0.5, 0.1.",
        verdict(all(a > b for values in (lp, h1) for a, b in pairwise(values))),
        "As sigma falls H1 tends to l0 everywhere; lp keeps rising with the distance, which is what pulls "
        "clusters together.",
    )
    rows = [
        [key, name.strip("$").replace(r"\neq", "is not").replace("\\", ""), f"{value:.3f}"]
        for key, panel in misfits.items()
        for name, value in panel.items()
    ]
    table = StudyTable("Mean distance from l0, 0 < t <= 2", ["panel", "penalty", "distance"], rows)
    return StudyResult([_draw_penalties()], [claim], [table])


def _draw_penalties() -> Picture:
    t = np.linspace(0, FARTHEST, 600)
    with canvas(1, 4, 10.5, 2.7, sharex=True, sharey=True) as (figure, axes):
        for panel, (key, (title, penalties)) in zip(axes[0], PANELS.items(), strict=True):
            letter(panel, key, title, xlabel="distance $t$", xlim=(0, FARTHEST), ylim=(-0.03, 1.45))
            if key == "a":  # a jump, not a slope
                panel.plot([0, FARTHEST], [1, 1], color=INK)
                panel.plot(0, 1, "o", color=INK, markerfacecolor="white", zorder=3, clip_on=False)
                panel.plot(0, 0, "o", color=INK, zorder=3, clip_on=False)
                continue
            for colour, (name, phi) in zip(COLOURS, penalties.items(), strict=False):
                panel.plot(t, phi.value(t), color=colour, label=name)
            panel.legend(loc="upper left" if key == "b" else "lower right")
        axes[0, 0].set_ylabel(r"penalty $\varphi(t)$")
    caption = (
        "Penalties. (a) l0. (b) lp: concave for p below 1, and never constant. (c) H1: constant beyond a few sigma, so "
        "distant pairs do not attract each other. (d) The other saturating penalties of this library."
    )
    return Picture("fig2.svg", figure, caption)


PENALTIES = Study("fig2", "Penalties", "Values of fusewise.penalties; nothing is simulated.", _penalties)
