"""Recovery guarantees: the paper's figure (panels a to e), and our own bound (panel f).

    python examples/plot_guarantees.py --out guarantees.png

Panels a to c bound probabilities for a pair of points; d to f bound the probability of exact recovery from below:

a  gamma0: two points share too few entries.         d  1 - eta0: the paper's guarantee for two clusters.
b  delta0: they share enough, and still can fuse.    e  1 - eta0_approx, where its condition holds.
c  beta0: two points of different clusters can fuse. f  our guarantee, and an upper limit on any valid one.

p0 is the fraction observed, P the number of features, kappa the width of a cluster relative to the distance between
clusters, mu0 the coherence of their differences (1.5 here), M the rows per cluster and K the number of clusters.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fusewise import theory

P, MU0 = 50, 1.5
FEATURES = (10, 25, 50, 100)
KAPPAS = (0.0, 0.4, 0.6, 0.8)
SIZES = (10, 50)
DASHES = {10: (0, (4, 2)), 50: "solid"}
COLOURS = ("#0072B2", "#009E73", "#E69F00", "#CC79A7")  # Okabe and Ito's palette for colour-blind readers
STYLE = {
    "font.family": "DejaVu Sans",
    "mathtext.fontset": "dejavusans",
    "font.size": 9,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "fusewise",
}
P0 = np.linspace(0.005, 1, 400)


def dress(ax: Axes, letter: str, title: str, ylabel: str) -> None:
    ax.set_title(title, loc="left", pad=8)
    ax.text(-0.17, 1.055, letter, transform=ax.transAxes, fontsize=13, fontweight="bold", va="bottom")
    ax.set(xlim=(0, 1), ylim=(-0.02, 1.03), xlabel=r"fraction observed, $p_0$", ylabel=ylabel)
    ax.set_xticks(np.linspace(0, 1, 6))


def draw_pairs(axes: np.ndarray) -> None:
    """Panels a, b, c: the paper's bounds for one pair of points."""
    for colour, features in zip(COLOURS, FEATURES, strict=True):
        axes[0].plot(P0, theory.gamma0(P0, features), color=colour, label=f"$P = {features}$")
    for colour, kappa in zip(COLOURS, KAPPAS, strict=True):
        axes[1].plot(P0, theory.delta0(P0, P, kappa, MU0), color=colour, label=rf"$\kappa = {kappa:g}$")
        axes[2].plot(P0, theory.beta0(P0, P, kappa, MU0), color=colour, label=rf"$\kappa = {kappa:g}$")
    dress(axes[0], "a", "Too few common entries", r"$\gamma_0$")
    dress(axes[1], "b", "Enough in common, yet can fuse", r"$\delta_0$")
    dress(axes[2], "c", "Points of two clusters can fuse", r"$\beta_0$")
    for ax in axes:
        ax.legend(loc="upper right")


def guarantee_curves(kappa: float, M: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1 - eta0, 1 - eta0_approx (NaN outside its condition) and our success probability, for two clusters."""
    geometry = theory.ClusterGeometry.from_parameters(n_clusters=2, size=M, n_features=P, kappa=kappa, mu0=MU0)
    beta = theory.beta0(P0, P, kappa, MU0)
    paper = np.clip(1 - theory.eta0(beta, M, 2), 0, 1)
    approx = np.clip(1 - theory.eta0_approx(beta, M), 0, 1)
    return paper, approx, np.asarray(theory.success_probability(geometry, P0))


def draw_guarantees(axes: np.ndarray) -> None:
    """Panels d, e, f: lower bounds on the probability that two clusters are recovered exactly."""
    for colour, kappa in zip(COLOURS, KAPPAS, strict=True):
        for M in SIZES:
            for ax, curve in zip(axes, guarantee_curves(kappa, M), strict=True):
                ax.plot(P0, curve, color=colour, linestyle=DASHES[M])
    n = theory.separating_features(P, KAPPAS[-1], MU0)
    limit = 1 - theory.blind_failure(P0, n, 2 * SIZES[-1])
    axes[2].plot(P0, limit, color="#555555", linewidth=1.1, linestyle=(0, (1, 1.2)))
    dress(axes[0], "d", "Paper's guarantee, $K = 2$", r"$1 - \eta_0$")
    dress(axes[1], "e", "Its approximation", r"$1 - \eta_{0,\mathrm{approx}}$")
    dress(axes[2], "f", "Ours: no independence assumed", "success probability")
    for ax in axes:
        ax.legend(handles=guarantee_keys(ax is axes[2]), loc="lower right")


def guarantee_keys(with_limit: bool) -> list[Line2D]:
    keys = [Line2D([], [], color=c, label=rf"$\kappa = {k:g}$") for c, k in zip(COLOURS, KAPPAS, strict=True)]
    keys += [Line2D([], [], color="#333333", linestyle=DASHES[M], label=f"$M = {M}$") for M in SIZES]
    if with_limit:
        grey = Line2D([], [], color="#555555", linewidth=1.1, linestyle=(0, (1, 1.2)))
        grey.set_label(rf"upper limit, $\kappa = {KAPPAS[-1]:g}$, $M = {SIZES[-1]}$")
        keys.append(grey)
    return keys


def draw() -> plt.Figure:
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.4), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.1)
        draw_pairs(axes[0])
        draw_guarantees(axes[1])
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("guarantees.png"), help="PNG, SVG or PDF to write")
    out = parser.parse_args(arguments).out
    with plt.rc_context(STYLE):
        draw().savefig(out, dpi=200)
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
