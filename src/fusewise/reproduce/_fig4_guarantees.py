"""Figure 4: the theoretical guarantees, panels a to e, with ours beside them; the theorems tested by simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fusewise import theory
from fusewise.reproduce import _fig4_counterexamples as counterexamples
from fusewise.reproduce._drawing import canvas, letter
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, verdict
from fusewise.views import COLOURS

P, MU0 = 50, 1.5
FEATURES = (10, 25, 50, 100)
KAPPAS = (0.0, 0.4, 0.6, 0.8)
SIZES = (10, 50)
DASHES: dict[int, Any] = {10: (0, (4, 2)), 50: "solid"}
P0 = np.linspace(0.005, 1, 200)


def paper_bound(kappa: float, M: int) -> Any:
    """1 - eta0 along p0, for two clusters."""
    return np.clip(1 - theory.eta0(theory.beta0(P0, P, kappa, MU0), M, 2), 0, 1)


def approximate_bound(kappa: float, M: int) -> Any:
    """1 - eta0_approx; nan outside its condition."""
    return np.clip(1 - theory.eta0_approx(theory.beta0(P0, P, kappa, MU0), M), 0, 1)


def our_bound(kappa: float, M: int) -> Any:
    """Our success probability."""
    geometry = theory.ClusterGeometry.from_parameters(n_clusters=2, size=M, n_features=P, kappa=kappa, mu0=MU0)
    return np.asarray(theory.success_probability(geometry, P0))


def report(outcomes: Outcomes) -> StudyResult:
    """Draw the bounds, check what is said of them, and test the theorems on simulated data."""
    claims = [_pair_claim(), _bound_claim(outcomes), _approximation_claim(), *counterexamples.claims(outcomes)]
    return StudyResult([_picture(), counterexamples.picture(outcomes)], claims, counterexamples.tables(outcomes))


def _pair_claim() -> Claim:
    curves = np.array([theory.beta0(P0, P, kappa, MU0) for kappa in KAPPAS])
    falls, ordered = bool(np.all(np.diff(curves, axis=1) < 0)), bool(np.all(np.diff(curves, axis=0) >= 0))
    return Claim(
        "beta0, the probability that two points of different clusters can share a centre, falls with rising p0 and "
        "with falling kappa.",
        f"On {curves.size} points: falls with p0 {'everywhere' if falls else 'not everywhere'}, with kappa "
        f"{'everywhere' if ordered else 'not everywhere'}. At p0 = 0.5: "
        + ", ".join(f"{theory.beta0(0.5, P, k, MU0):.3f} (kappa {k:g})" for k in KAPPAS)
        + ".",
        verdict(falls and ordered),
    )


def _bound_claim(outcomes: Outcomes) -> Claim:
    grid = np.array([[paper_bound(kappa, M) for M in (6, 12, 25, 50, 100)] for kappa in KAPPAS])
    rises_p0 = bool(np.all(np.diff(grid, axis=2) >= -1e-12))
    falls_kappa = bool(np.all(np.diff(grid, axis=0) <= 1e-12))
    worse = np.diff(grid, axis=1) < -1e-12
    small, *_, large = (row[2] for row in counterexamples.noiseless_rows(outcomes).values())
    return Claim(
        "The probability of success increases with p0 and M, and with falling kappa.",
        f"The bound, on {grid.size} points: increases with p0 {'always' if rises_p0 else 'not always'}, with kappa "
        f"{'always' if falls_kappa else 'not always'}, with M in {1 - worse.mean():.1%} of them. Simulated failure "
        f"(Theorem 2.4, half observed): {small:.1%} for 25 points per cluster, {large:.1%} for 800.",
        verdict(rises_p0 and falls_kappa and not worse.any() and large <= small, in_part=rises_p0 and falls_kappa),
        "This is true of the bound, nearly everywhere, not of the probability itself: the more rows, the more likely "
        "that one of them observed no separating feature (see Theorem 2.4).",
    )


def _approximation_claim() -> Claim:
    paper, approx = (
        np.array([[bound(k, M) for M in SIZES] for k in KAPPAS]) for bound in (paper_bound, approximate_bound)
    )
    valid = ~np.isnan(approx)
    below = bool(np.all(approx[valid] <= paper[valid] + 1e-12))
    return Claim(
        "eta0 is at most eta0_approx (two clusters, under a condition on beta0).",
        f"Holds at {'all' if below else 'not all'} {np.count_nonzero(valid)} of {valid.size} points where the "
        f"condition is met.",
        verdict(below),
    )


def _picture() -> Picture:
    with canvas(2, 3, 10.5, 6.2) as (figure, axes):
        for colour, features in zip(COLOURS, FEATURES, strict=False):
            axes[0, 0].plot(P0, theory.gamma0(P0, features), color=colour, label=f"$P = {features}$")
        for colour, kappa in zip(COLOURS, KAPPAS, strict=False):
            label = rf"$\kappa = {kappa:g}$"
            axes[0, 1].plot(P0, theory.delta0(P0, P, kappa, MU0), color=colour, label=label)
            axes[0, 2].plot(P0, theory.beta0(P0, P, kappa, MU0), color=colour, label=label)
            for M in SIZES:
                for panel, bound in zip(axes[1], (paper_bound, approximate_bound, our_bound), strict=True):
                    panel.plot(P0, bound(kappa, M), color=colour, linestyle=DASHES[M])
        _dress(axes[0, 0], "a", "few common entries", r"$\gamma_0$")
        _dress(axes[0, 1], "b", "sharing a centre, given enough", r"$\delta_0$")
        _dress(axes[0, 2], "c", "a pair across can share a centre", r"$\beta_0$")
        _dress(axes[1, 0], "d", "the paper's lower bound, $K = 2$", r"$1 - \eta_0$")
        _dress(axes[1, 1], "e", "its approximation", r"$1 - \eta_{0,\mathrm{approx}}$")
        _dress(axes[1, 2], "f", "our lower bound", "success probability")
        for panel in axes[0]:
            panel.legend(loc="upper right")
        keys = [Line2D([], [], color=c, label=rf"$\kappa = {k:g}$") for c, k in zip(COLOURS, KAPPAS, strict=False)]
        keys += [Line2D([], [], color="#333333", linestyle=DASHES[M], label=f"$M = {M}$") for M in SIZES]
        for panel in axes[1]:
            panel.legend(handles=keys, loc="lower right")
    caption = (
        "Theoretical guarantees; P = 50 and mu0 = 1.5 except in (a). (a) to (c): the paper's bounds for one pair of "
        "points. (d), (e): the paper's lower bound on the probability of success, which is not valid in general (see "
        "the next picture), and its approximation, drawn where its condition holds. (f): our bound, which assumes no "
        "independence."
    )
    return Picture("fig4", figure, caption)


def _dress(axes: Axes, key: str, title: str, ylabel: str) -> None:
    letter(axes, key, title)
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.03), xlabel=r"fraction observed, $p_0$", ylabel=ylabel)
    axes.grid(True)


STUDY = Study(
    "fig4",
    "Theoretical guarantees",
    "Formulas of fusewise.theory. The theorems are tested on simulated tables: a draw counts as a failure when moving "
    "one point to the other cluster gives a partition with a lower l0 objective than the true one.",
    report,
    counterexamples.plan,
)
