"""Figure 4: the theoretical guarantees, panels a to e, with ours beside them and the gap in the paper's proof."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from fusewise import theory
from fusewise.reproduce.drawing import canvas, letter
from fusewise.reproduce.study import Claim, Findings, Picture, Study, Table, verdict
from fusewise.reproduce.trials import Outcomes, Trial
from fusewise.views.palette import COLOURS

P, MU0 = 50, 1.5
FEATURES = (10, 25, 50, 100)
KAPPAS = (0.0, 0.4, 0.6, 0.8)
SIZES = (10, 50)
DASHES: dict[int, Any] = {10: (0, (4, 2)), 50: "solid"}
P0 = np.linspace(0.005, 1, 200)

#: The counterexample of the theory page: K = 2 noiseless clusters of M points that differ in all P features.
GAP = {"n_features": 10, "p0": 0.5}
GAP_SIZES = (25, 50, 100, 200, 400, 800)


def trial(n_features: int, p0: float, size: int, draws: int, seed: int) -> dict[str, Any]:
    """How often some row of two clusters is not observed at all.

    Such a row may join the other cluster, and then (M+1)² + (M-1)² > 2 M²: the truth is not the optimum of the l0
    problem.
    """
    rng = np.random.RandomState(seed)
    blind = [bool((rng.uniform(size=(2 * size, n_features)) >= p0).all(axis=1).any()) for _ in range(draws)]
    return {"failed": np.mean(blind)}


def plan(quick: bool) -> list[Trial]:
    """The counterexample, simulated for a few cluster sizes."""
    draws = 500 if quick else 5000
    return [Trial(trial, {**GAP, "size": size, "draws": draws, "seed": 0}) for size in GAP_SIZES]


def paper_promise(kappa: float, M: int) -> Any:
    """1 - eta0 along p0, for two clusters."""
    return np.clip(1 - theory.eta0(theory.beta0(P0, P, kappa, MU0), M, 2), 0, 1)


def approximate_promise(kappa: float, M: int) -> Any:
    """1 - eta0_approx; nan outside its condition."""
    return np.clip(1 - theory.eta0_approx(theory.beta0(P0, P, kappa, MU0), M), 0, 1)


def our_promise(kappa: float, M: int) -> Any:
    """Our success probability."""
    geometry = theory.ClusterGeometry.from_parameters(n_clusters=2, size=M, n_features=P, kappa=kappa, mu0=MU0)
    return np.asarray(theory.success_probability(geometry, P0))


def report(outcomes: Outcomes) -> Findings:
    """Draw the bounds, check what is said of them, and hold the theorem against its counterexample."""
    gap = _gap_rows(outcomes)
    claims = [_pair_claim(), _promise_claim(), _approximation_claim(), _theorem_claim(gap)]
    headings = ["M", "paper: failure at most", "failure, at least", "the same, simulated", "ours: failure at most"]
    rows = [[str(m), *(f"{v:.2g}" for v in values)] for m, values in gap.items()]
    caption = "Counterexample: P = 10, p0 = 0.5, kappa = 0, mu0 = 1"
    return Findings([_bounds_picture(), _gap_picture(gap)], claims, [Table(caption, headings, rows)])


def _gap_rows(outcomes: Outcomes) -> dict[int, tuple[float, float, float, float]]:
    """By cluster size: the paper's bound for the failure, the least failure there is, simulated, and our bound."""
    features, p0 = GAP["n_features"], GAP["p0"]
    rows = {}
    for size in outcomes.values("size"):
        beta = theory.beta0(p0, features, 0.0, 1.0)
        paper = min(1.0, float(theory.eta0(beta, size, 2)))
        certain = float(theory.blind_failure(p0, features, 2 * size))
        ours = float(theory.sharp_failure(p0, int(features), [size, size]))
        rows[size] = (paper, certain, outcomes.mean("failed", size=size), ours)
    return rows


def _pair_claim() -> Claim:
    curves = np.array([theory.beta0(P0, P, kappa, MU0) for kappa in KAPPAS])
    falls, ordered = bool(np.all(np.diff(curves, axis=1) < 0)), bool(np.all(np.diff(curves, axis=0) >= 0))
    return Claim(
        "beta0, the probability that two points of different clusters can share a centre, falls with rising p0 and "
        "with "
        "falling kappa.",
        f"On {curves.size} points: falls with p0 {'everywhere' if falls else 'not everywhere'}, with kappa "
        f"{'everywhere' if ordered else 'not everywhere'}. At p0 = 0.5: "
        + ", ".join(f"{theory.beta0(0.5, P, k, MU0):.3f} (kappa {k:g})" for k in KAPPAS)
        + ".",
        verdict(falls and ordered),
    )


def _promise_claim() -> Claim:
    grid = np.array([[paper_promise(kappa, M) for M in (6, 12, 25, 50, 100)] for kappa in KAPPAS])
    rises_p0 = bool(np.all(np.diff(grid, axis=2) >= -1e-12))
    falls_kappa = bool(np.all(np.diff(grid, axis=0) <= 1e-12))
    worse = np.diff(grid, axis=1) < -1e-12
    return Claim(
        "The probability of success increases with p0 and M, and with falling kappa.",
        f"On {grid.size} points: with p0 {'always' if rises_p0 else 'not always'}, with kappa "
        f"{'always' if falls_kappa else 'not always'}, with M in {1 - worse.mean():.1%} of them.",
        verdict(rises_p0 and falls_kappa and not worse.any(), in_part=rises_p0 and falls_kappa),
        "Of the bound, in most places. Of the problem itself not: the more rows, the likelier that one of them shows "
        "nothing (see the counterexample).",
    )


def _approximation_claim() -> Claim:
    paper, approx = (
        np.array([[promise(k, M) for M in SIZES] for k in KAPPAS]) for promise in (paper_promise, approximate_promise)
    )
    valid = ~np.isnan(approx)
    below = bool(np.all(approx[valid] <= paper[valid] + 1e-12))
    return Claim(
        "eta0 is at most eta0_approx (two clusters, under a condition on beta0).",
        f"Holds at {'all' if below else 'not all'} {np.count_nonzero(valid)} of {valid.size} points where the "
        f"condition is met.",
        verdict(below),
    )


def _theorem_claim(gap: dict[int, tuple[float, float, float, float]]) -> Claim:
    size, (paper, certain, simulated, ours) = max(gap.items())
    broken = [m for m, row in gap.items() if row[0] < row[1]]
    return Claim(
        "Theorem 2.5: if kappa < 1, the l0 problem returns the true clusters with probability exceeding 1 - eta0.",
        f"K = 2, P = 10, p0 = 0.5, clusters of identical points that differ in all features (kappa = 0, mu0 = 1): at "
        f"M = "
        f"{size} the theorem allows failure with probability {paper:.0e}; it fails with at least {certain:.2f} "
        f"(simulated: {simulated:.2f}). Broken for M = {', '.join(map(str, broken))}.",
        verdict(not broken),
        "The proof multiplies the probabilities of pairs as if they were independent. Pairs that share a point are "
        "positively "
        f"correlated: a row without entries may join anybody. Our bound assumes no independence (here: at most "
        f"{ours:.2g}).",
    )


def _bounds_picture() -> Picture:
    with canvas(2, 3, 10.5, 6.2) as (figure, axes):
        for colour, features in zip(COLOURS, FEATURES, strict=False):
            axes[0, 0].plot(P0, theory.gamma0(P0, features), color=colour, label=f"$P = {features}$")
        for colour, kappa in zip(COLOURS, KAPPAS, strict=False):
            label = rf"$\kappa = {kappa:g}$"
            axes[0, 1].plot(P0, theory.delta0(P0, P, kappa, MU0), color=colour, label=label)
            axes[0, 2].plot(P0, theory.beta0(P0, P, kappa, MU0), color=colour, label=label)
            for M in SIZES:
                for panel, promise in zip(axes[1], (paper_promise, approximate_promise, our_promise), strict=True):
                    panel.plot(P0, promise(kappa, M), color=colour, linestyle=DASHES[M])
        _dress(axes[0, 0], "a", "too few common entries", r"$\gamma_0$")
        _dress(axes[0, 1], "b", "sharing despite enough of them", r"$\delta_0$")
        _dress(axes[0, 2], "c", "two clusters' points can share", r"$\beta_0$")
        _dress(axes[1, 0], "d", "the paper's promise, $K = 2$", r"$1 - \eta_0$")
        _dress(axes[1, 1], "e", "its approximation", r"$1 - \eta_{0,\mathrm{approx}}$")
        _dress(axes[1, 2], "f", "ours: no independence assumed", "success probability")
        for panel in axes[0]:
            panel.legend(loc="upper right")
        keys = [Line2D([], [], color=c, label=rf"$\kappa = {k:g}$") for c, k in zip(COLOURS, KAPPAS, strict=False)]
        keys += [Line2D([], [], color="#333333", linestyle=DASHES[M], label=f"$M = {M}$") for M in SIZES]
        for panel in axes[1]:
            panel.legend(handles=keys, loc="lower right")
    caption = (
        "Theoretical guarantees; P = 50 and mu0 = 1.5 but in (a). (a) to (c): bounds for one pair of points. (d), "
        "(e): the "
        "paper's lower bound for the probability of success, and its approximation, drawn where its condition holds. "
        "(f): "
        "ours, which is a true bound."
    )
    return Picture("fig4", figure, caption)


def _gap_picture(gap: dict[int, tuple[float, float, float, float]]) -> Picture:
    sizes, rows = list(gap), np.array(list(gap.values()))
    with canvas(1, 1, 5.2, 3.2) as (figure, axes):
        panel = axes[0, 0]
        panel.plot(sizes, rows[:, 3], "s--", color=COLOURS[2], label="ours: at most", markersize=5)
        panel.plot(sizes, rows[:, 1], color=COLOURS[0], label="at least: some row unseen")
        panel.plot(sizes, rows[:, 2], "o", color=COLOURS[0], label="the same, simulated", markersize=5)
        panel.plot(sizes, rows[:, 0], "^-", color=COLOURS[5], label="paper: at most", markersize=5)
        panel.set(xscale="log", xlabel="points per cluster, $M$", ylabel="probability of failure", ylim=(-0.03, 1.05))
        panel.set_xticks(sizes, [str(m) for m in sizes])
        panel.minorticks_off()
        panel.grid(True)
        panel.legend(loc="center left", bbox_to_anchor=(0.0, 0.7))
    caption = (
        "Where the theorem fails: noiseless clusters, P = 10, half of the entries observed. The true probability of "
        "failure "
        "rises with the number of points; the paper's upper bound for it falls to nothing."
    )
    return Picture("fig4-gap", figure, caption)


def _dress(axes: Axes, key: str, title: str, ylabel: str) -> None:
    letter(axes, key, title)
    axes.set(xlim=(0, 1), ylim=(-0.02, 1.03), xlabel=r"fraction observed, $p_0$", ylabel=ylabel)
    axes.grid(True)


STUDY = Study(
    "fig4",
    "Theoretical guarantees",
    "Formulas of fusewise.theory. The counterexample to the theorem is simulated besides.",
    report,
    plan,
)
