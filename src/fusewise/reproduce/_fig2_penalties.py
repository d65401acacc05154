"""Figure 2: the penalties, and how near each comes to l0."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fusewise.fusion.penalties import H1, L0, L1, MCP, SCAD, GemanMcClure, Lp, Penalty, TruncatedL2
from fusewise.reproduce._drawing import INK, canvas, letter
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, StudyTable, verdict
from fusewise.views import COLOURS

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


def misfit(penalty: Penalty) -> float:
    """Mean of |phi(t) - 1| over 0 < t <= 2: how far phi is from l0, on average."""
    t = np.linspace(0, FARTHEST, 4001)[1:]
    return float(np.abs(penalty.value(t) - 1).mean())


def report(outcomes: Outcomes) -> StudyResult:
    """Draw the penalties and compare them with l0."""
    misfits = {key: {name: misfit(phi) for name, phi in panel.items()} for key, (_, panel) in PANELS.items()}
    lp, h1 = list(misfits["b"].values()), list(misfits["c"].values())
    falling = all(a > b for values in (lp, h1) for a, b in pairwise(values))
    claim = Claim(
        paper="The lp and H1 penalties closely approximate the l0 norm for low values of p and sigma.",
        measured=(
            f"Mean distance from l0 over 0 < t <= {FARTHEST:g}: lp {', '.join(f'{v:.2f}' for v in lp)} for p = 1, "
            f"0.5, 0.1; H1 {', '.join(f'{v:.2f}' for v in h1)} for sigma = 1, 0.5, 0.1."
        ),
        verdict=verdict(falling),
        why="As sigma falls H1 tends to l0 everywhere; lp keeps rising with the distance, which is what pulls "
        "clusters together.",
    )
    rows = [[key, _plain(name), f"{value:.3f}"] for key, panel in misfits.items() for name, value in panel.items()]
    table = StudyTable("Mean distance from l0, 0 < t <= 2", ["panel", "penalty", "distance"], rows)
    return StudyResult([_picture()], [claim], [table])


def _plain(name: str) -> str:
    return name.strip("$").replace(r"\sigma", "sigma").replace(r"\neq", "is not")


def _picture() -> Picture:
    t = np.linspace(0, FARTHEST, 600)
    with canvas(1, 4, 10.5, 2.7, sharex=True, sharey=True) as (figure, axes):
        for panel, (key, (title, penalties)) in zip(axes[0], PANELS.items(), strict=True):
            letter(panel, key, title)
            for colour, (name, phi) in zip(COLOURS if key != "a" else (INK,), penalties.items(), strict=False):
                if key == "a":  # a jump, not a slope
                    panel.plot([0, FARTHEST], [1, 1], color=colour)
                    panel.plot(0, 1, "o", color=colour, markerfacecolor="white", zorder=3, clip_on=False)
                    panel.plot(0, 0, "o", color=colour, zorder=3, clip_on=False)
                else:
                    panel.plot(t, phi.value(t), color=colour, label=name)
            if key != "a":
                panel.legend(loc="lower right" if key != "b" else "upper left")
            panel.grid(True)
            panel.set(xlabel="distance $t$", xlim=(0, FARTHEST), ylim=(-0.03, 1.45))
        axes[0, 0].set_ylabel(r"penalty $\varphi(t)$")
    caption = (
        "Penalties. (a) l0. (b) lp: concave for p below 1, and never constant. (c) H1: constant beyond a few sigma, so "
        "distant pairs do not attract each other. (d) The other saturating penalties of this library."
    )
    return Picture("fig2", figure, caption)


STUDY = Study(
    "fig2",
    "Penalties",
    "Values of fusewise.penalties; nothing is simulated.",
    report,
)
