"""Figures 2 and 3: penalties, and three of them on well-separated clusters of 200 points, nothing missing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise.datasets import make_clusters
from fusewise.fusion import H1, L0, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2, fusion_path
from fusewise.reproduce._drawing import INK, canvas, draw_map, letter, projected
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, StudyTable, Trial, verdict
from fusewise.views import COLOURS

#: Distances up to which the penalties of Figure 2 are drawn.
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


SHAPES = Study("fig2", "Penalties", "Values of fusewise.penalties; nothing is simulated.", _penalties)


#: lams of each path, and which of them is drawn: for l1 the last before the interval in which it recovers the clusters.
PATHS: dict[str, tuple[list[float], int]] = {
    "l1": ([1e-3, 3e-3, 4e-3, 4.4e-3, 4.7e-3, 4.8e-3, 5.5e-3], 2),
    "l0.1": ([3e-3, 1e-2, 1.8e-2, 3e-2], 2),
    "h1": ([0.1, 0.3, 1.0], 1),
}
TITLES = {"l1": r"$\ell_1$", "l0.1": r"$\ell_{0.1}$", "h1": r"$H_1$, $\sigma = 0.5$"}
PENALTIES: dict[str, Penalty] = {"l1": L1(), "l0.1": Lp(0.1), "h1": H1(0.5)}


def trial(penalty: str, seed: int) -> dict[str, Any]:
    """Follow the path of one penalty; measure labels and centres at every lam."""
    X, y, _ = make_clusters(3, 200, 50, noise=0.1, random_state=seed)
    means = np.array([X[y == k].mean(axis=0) for k in range(3)])
    lams, shown = PATHS[penalty]
    path = fusion_path(X, lams=lams, penalty=PENALTIES[penalty], tol=1e-4)
    found = [np.array([solution.centers[y == k].mean(axis=0) for k in range(3)]) for solution in path]
    return {
        "points": projected(X, X),
        "centers": projected(X, path.centers(shown)),
        "truth": y,
        "lams": lams,
        "n_clusters": path.n_clusters,
        "ari": [adjusted_rand_score(y, labels) for labels in path.labels],
        "gap": [_gap(group) / _gap(means) for group in found],
    }


def _gap(centers: Any) -> float:
    """Least distance between two of three centres."""
    return min(float(np.linalg.norm(centers[a] - centers[b])) for a, b in ((0, 1), (0, 2), (1, 2)))


def plan(quick: bool) -> list[Trial]:
    """One path for each penalty."""
    return [Trial(trial, {"penalty": name, "seed": 0}) for name in PATHS]


def report(outcomes: Outcomes) -> StudyResult:
    """Draw the fused centres and judge them."""
    found = {name: outcomes.where(penalty=name)[0] for name in PATHS}
    right = {name: result["ari"] == 1.0 for name, result in found.items()}
    gaps = {name: result["gap"][right[name]] for name, result in found.items()}

    def measured(name: str) -> str:
        some = f"{gaps[name].min():.1%} to {gaps[name].max():.1%}" if len(gaps[name]) else "nowhere measured"
        return (
            f"Right at {right[name].sum()} of {len(right[name])} lams; there the least distance between centres is "
            f"{some} of the true one."
        )

    claims = [
        Claim(
            "The l1 penalty is unable to cluster the points even though the clusters are well separated.",
            measured("l1"),
            verdict(not right["l1"].any(), in_part=gaps["l1"].max(initial=0.0) < 0.05),
            "On a fine enough grid there is a short interval of lam, just before everything merges, in which l1 has "
            "fused each cluster but not all points. Its centres are far from the true ones.",
        ),
        Claim(
            "The l0.1 penalty clusters the points correctly; the cluster centres are not correctly estimated.",
            measured("l0.1"),
            verdict(bool(right["l0.1"].any()) and gaps["l0.1"].max() < 0.95),
        ),
        Claim(
            "The H1 penalty clusters the points correctly and gives a good estimate of the centres.",
            measured("h1"),
            verdict(bool(right["h1"].all()) and bool(np.all(np.abs(gaps["h1"] - 1) < 0.01))),
        ),
    ]
    rows = [
        [name, f"{lam:.3g}", str(n), f"{ari:.3f}", f"{gap:.3f}"]
        for name, r in found.items()
        for lam, n, ari, gap in zip(r["lams"], r["n_clusters"], r["ari"], r["gap"], strict=True)
    ]
    headings = ["penalty", "lam", "groups", "ARI", "distance between centres, of the true one"]
    return StudyResult([_picture(found)], claims, [StudyTable("Along each path", headings, rows)])


def _picture(found: dict[str, Any]) -> Picture:
    with canvas(1, 3, 9, 3.0, sharex=True, sharey=True) as (figure, axes):
        for key, panel, (name, result) in zip("abc", axes[0], found.items(), strict=True):
            shown = PATHS[name][1]
            draw_map(panel, result)
            letter(panel, key, TITLES[name])
            fused = f"{result['n_clusters'][shown]} groups, centres at {result['gap'][shown]:.0%} of their distance"
            panel.set_xlabel(fused, fontsize=8)
    caption = (
        "Comparison of penalties, two principal components. Points coloured by their true cluster, joined to their "
        "centres (black). (a) l1 fuses nothing but draws all centres inwards. (b) l0.1 fuses the clusters, their "
        "centres pulled together. (c) H1 fuses them where they are."
    )
    return Picture("fig3.png", figure, caption)


COMPARISON = Study(
    "fig3",
    "Comparison of penalties",
    "Three clusters of 200 points in 50 features, centres uniform in the unit cube, noise of standard deviation 0.1, "
    "nothing missing; unconstrained form, all pairs, lam followed upwards.",
    report,
    plan,
)
