"""Figure 1: the assumptions about the clusters, in two features: size, separation and coherence."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.datasets import make_clusters
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
SIZE, EPSILON = 30, 1.0


def instance(name: str) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Points of three uniform clusters, and their labels."""
    X, y, _ = make_clusters(
        3, SIZE, noise=EPSILON, distribution="uniform", centers=np.array(CENTERS[name]), random_state=0
    )
    return X, y


def confusable(X: Floats, y: npt.NDArray[np.intp], feature: int) -> list[tuple[int, int]]:
    """Pairs of clusters that one feature does not distinguish: two of their points are within epsilon of each other."""
    width = ClusterGeometry.from_data(X, y).epsilon
    values = [X[y == k, feature] for k in range(3)]
    return [
        (a, b)
        for a, b in ((0, 1), (0, 2), (1, 2))
        if min(abs(p - q) for p, q in product(values[a], values[b])) <= width
    ]


def report(outcomes: Outcomes) -> StudyResult:
    """Measure both instances, and draw them."""
    found = {name: instance(name) for name in CENTERS}
    pairs = {name: [confusable(X, y, feature) for feature in (0, 1)] for name, (X, y) in found.items()}
    geometry = {name: ClusterGeometry.from_data(X, y) for name, (X, y) in found.items()}
    high, low = pairs.values()
    claim = Claim(
        "In (a), red and blue cannot be distinguished by feature 1 alone, nor red and green by feature 2 alone. In "
        "(b), due to low coherence, this problem does not arise.",
        f"(a): feature 1 does not distinguish {_named(high[0])}, feature 2 {_named(high[1])}; mu0 = "
        f"{geometry['high coherence'].mu0:.2f} of at most 2. (b): feature 1 {_named(low[0])}, feature 2 "
        f"{_named(low[1])}; mu0 = {geometry['low coherence'].mu0:.2f}.",
        verdict(high == [[(0, 1)], [(0, 2)]] and low == [[], []]),
    )
    rows = [
        [name, f"{g.epsilon:.2f}", f"{g.delta:.2f}", f"{g.kappa:.2f}", f"{g.mu0:.2f}"] for name, g in geometry.items()
    ]
    table = StudyTable("Measured on the points drawn", ["", "epsilon", "delta", "kappa", "mu0"], rows)
    return StudyResult([_picture(found, geometry)], [claim], [table])


def _named(pairs: list[tuple[int, int]]) -> str:
    colours = ("red", "blue", "green")
    return " and ".join(f"{colours[a]} from {colours[b]}" for a, b in pairs) or "distinguishes all"


def _picture(found: dict[str, Any], geometry: dict[str, ClusterGeometry]) -> Picture:
    inks = (COLOURS[5], COLOURS[0], COLOURS[2])
    with canvas(1, 2, 8.4, 4.0) as (figure, axes):
        for key, panel, (name, (X, y)) in zip("ab", axes[0], found.items(), strict=True):
            for k, ink in enumerate(inks):
                points = X[y == k]
                panel.scatter(*points.T, s=12, color=ink, linewidths=0)
                low = points.min(axis=0)
                panel.add_patch(_square(low, geometry[name].epsilon, ink))
            _draw_widths(panel, X, y, geometry[name])
            panel.set(xlabel="feature 1", ylabel="feature 2", xticks=[], yticks=[])
            panel.set_aspect("equal", adjustable="datalim")
            letter(panel, key, f"{name}, $\\mu_0 = {geometry[name].mu0:.2f}$")
    caption = (
        "The assumptions, for three clusters in two features. Squares: the cluster size epsilon; line: the separation "
        "delta, between the nearest points of different clusters. (a) High coherence: two clusters agree in feature "
        "1, two in feature 2, so a point without one of its values may fit two clusters. (b) Low coherence: either "
        "feature alone distinguishes all clusters."
    )
    return Picture("fig1", figure, caption)


def _square(corner: Floats, side: float, ink: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((corner[0], corner[1]), side, side, fill=False, edgecolor=ink, linewidth=0.8, linestyle="--")


def _draw_widths(panel: Any, X: Floats, y: npt.NDArray[np.intp], geometry: ClusterGeometry) -> None:
    """The separation delta as a line, and the cluster size epsilon below a square."""
    apart = np.where(y[:, None] == y, np.inf, np.linalg.norm(X[:, None] - X, axis=2))
    i, j = np.unravel_index(np.argmin(apart), apart.shape)
    panel.plot(*X[[i, j]].T, color=INK, linewidth=1)
    panel.annotate(rf"$\delta = {geometry.delta:.1f}$", X[[i, j]].mean(axis=0), (8, -6), textcoords="offset points")
    low = X[y == 0].min(axis=0)
    panel.annotate(rf"$\epsilon = {geometry.epsilon:.1f}$", low, (0, -11), textcoords="offset points")


STUDY = Study(
    "fig1",
    "The assumptions",
    "Three clusters of 30 points, uniform in squares of side 1 in the plane. kappa, mu0, epsilon and delta are "
    "measured on the points; a feature distinguishes two clusters if none of their points are within epsilon of each "
    "other there.",
    report,
)
