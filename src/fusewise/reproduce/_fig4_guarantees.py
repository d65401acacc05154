"""Figure 4: the theoretical guarantees, with ours beside them, and Theorems 2.4, 2.5 and 2.7 simulated.

The l0 problem minimises the number of ordered pairs of points in different groups, so it maximises sum_Q |Q|² over
partitions into groups Q that can share a centre. Points can share one exactly when any two of them differ by at most
epsilon in every feature observed in both. If, of two true clusters of M points each, one point can join the other
cluster, (M + 1)² + (M - 1)² = 2 M² + 2 > 2 M²: the true partition is not optimal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from fusewise import theory
from fusewise.kernels import Floats
from fusewise.reproduce._drawing import canvas, letter
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, StudyTable, Trial, verdict
from fusewise.views import COLOURS

P, MU0 = 50, 1.5
KAPPAS = (0.0, 0.4, 0.6, 0.8)
DASHES: dict[int, Any] = {10: (0, (4, 2)), 50: "solid"}
P0 = np.linspace(0.005, 1, 200)

#: Identical points per cluster that differ in 10 of 20 features: kappa = 0, mu0 = 2.
NOISELESS: dict[str, Any] = {"case": "noiseless", "p0": 0.5}
NOISELESS_P, NOISELESS_N = 20, 10
NOISELESS_SIZES = (25, 50, 100, 200, 400, 800)

#: The kappa and mu0 of Figure 5, 21 of 50 features separating the clusters.
FIG5: dict[str, Any] = {"case": "fig5", "size": 100}
FIG5_N, FIG5_KAPPA, FIG5_MU0 = 21, 0.39, 2.3
FIG5_P0 = 0.3

#: One feature, nothing missing, uniform clusters as far apart as they are wide: kappa' = 1.
UNIFORM: dict[str, Any] = {"case": "uniform", "p0": 1.0}
UNIFORM_SIZES = (10, 100, 1000, 10000)


def draw(case: str, size: int, rng: np.random.RandomState) -> Floats:
    """A complete table of 2 `size` rows, the first cluster above the second; epsilon is 1."""
    if case == "noiseless":  # epsilon is arbitrary: any width below the difference of 3
        table = np.zeros((2 * size, NOISELESS_P))
        table[size:, :NOISELESS_N] = 3
    elif case == "fig5":
        # delta² = P / kappa², of which 28 features carry epsilon² each and 21 the rest; in the last one both clusters
        # fill the same interval, so that they are epsilon wide.
        table = np.zeros((2 * size, P))
        far = (P / FIG5_KAPPA**2 - (P - FIG5_N - 1)) / FIG5_N
        table[size:] = np.where(np.arange(P) < FIG5_N, np.sqrt(far), 1.0)
        table[:, -1] = np.tile(np.linspace(0, 1, size), 2)
    else:
        table = np.repeat([[0.0], [1.0]], size, axis=0) + rng.uniform(size=(2 * size, 1))
    return table


def truth_is_beaten(table: Floats, size: int, epsilon: float = 1.0) -> bool:
    """Whether a row of one cluster (the first `size` rows, or the others) can join the other cluster; NaN: missing."""
    halves = table[:size], table[size:]
    for points, others in (halves, halves[::-1]):
        # Comparisons with infinity hold: a feature that no row of the other cluster has separates nobody from it.
        highest = np.where(np.isnan(others), -np.inf, others).max(axis=0)
        lowest = np.where(np.isnan(others), np.inf, others).min(axis=0)
        fits = np.isnan(points) | ((points >= highest - epsilon) & (points <= lowest + epsilon))
        if fits.all(axis=1).any():
            return True
    return False


def trial(case: str, size: int, p0: float, draws: int, seed: int) -> dict[str, Any]:
    """How often, over draws of the table and of the missing entries, a partition better than the truth exists."""
    rng = np.random.RandomState(seed)
    failed = []
    for _ in range(draws):
        table = draw(case, size, rng)
        table[rng.uniform(size=table.shape) >= p0] = np.nan
        failed.append(truth_is_beaten(table, size))
    return {"failed": np.mean(failed)}


def plan(quick: bool) -> list[Trial]:
    """Simulations of the three theorems."""
    draws = {"draws": 400 if quick else 2000, "seed": 0}
    cases: list[dict[str, Any]] = [{**NOISELESS, "size": size} for size in NOISELESS_SIZES]
    cases += [{**FIG5, "p0": p0} for p0 in (FIG5_P0, 1.0)]
    cases += [{**UNIFORM, "size": size} for size in UNIFORM_SIZES]
    return [Trial(trial, {**case, **draws}) for case in cases]


def paper_bound(kappa: float, M: int) -> Any:
    """1 - eta0 along p0, for two clusters."""
    return np.clip(1 - theory.eta0(theory.beta0(P0, P, kappa, MU0), M, 2), 0, 1)


def report(outcomes: Outcomes) -> StudyResult:
    """Draw the bounds, check what is said of them, and test the theorems on simulated data."""
    noiseless, uniform = {}, {}
    for size in NOISELESS_SIZES:
        paper = theory.eta0(theory.beta0(NOISELESS["p0"], NOISELESS_P, 0.0, NOISELESS_P / NOISELESS_N), size, 2)
        certain = theory.blind_failure(NOISELESS["p0"], NOISELESS_N, 2 * size)
        ours = theory.sharp_failure(NOISELESS["p0"], NOISELESS_N, [size, size])
        simulated = outcomes.mean("failed", size=size, **NOISELESS)
        noiseless[size] = (min(1.0, float(paper)), float(certain), simulated, float(ours))
    for size in UNIFORM_SIZES:
        eta1 = theory.eta0(theory.beta1(1, 1.0), size, 2)
        uniform[size] = (min(1.0, float(eta1)), outcomes.mean("failed", size=size, **UNIFORM))
    complete = outcomes.mean("failed", p0=1.0, **FIG5)
    claims = [
        _bound_claim(noiseless[NOISELESS_SIZES[0]][2], noiseless[NOISELESS_SIZES[-1]][2]),
        _missing_claim(noiseless, outcomes),
        Claim(
            "Theorem 2.5: if kappa < 1 and nothing is missing, the l0 problem returns the true clusters.",
            f"The second table of Theorem 2.4, complete: the true partition was beaten in {complete:.0%} of the draws.",
            verdict(complete == 0),
            "The theorem is true: two points of different clusters, more than epsilon sqrt(P) apart, differ by more "
            "than epsilon in some feature, so no group of points of several clusters can share a centre.",
        ),
        _uniform_claim(*uniform[UNIFORM_SIZES[-1]]),
    ]
    tables = [
        StudyTable(
            "Theorem 2.4: 10 of 20 features differ, p0 = 0.5, kappa = 0, mu0 = 2. Probability of failure",
            ["M", "paper: at most", "formula: at least", "simulated: at least", "our bound: at most"],
            [[str(m), *(f"{v:.2g}" for v in values)] for m, values in noiseless.items()],
        ),
        StudyTable(
            "Theorem 2.7: P = 1, kappa' = 1. Probability of failure",
            ["M", "paper: at most", "simulated"],
            [[str(m), *(f"{v:.2g}" for v in values)] for m, values in uniform.items()],
        ),
    ]
    return StudyResult([_draw_bounds()], claims, tables)


def _bound_claim(small: float, large: float) -> Claim:
    grid = np.array([[paper_bound(kappa, M) for M in (6, 12, 25, 50, 100)] for kappa in KAPPAS])
    rises_p0 = bool(np.all(np.diff(grid, axis=2) >= -1e-12))
    falls_kappa = bool(np.all(np.diff(grid, axis=0) <= 1e-12))
    worse = np.diff(grid, axis=1) < -1e-12
    return Claim(
        "The probability of success increases with p0 and M, and with falling kappa.",
        f"The bound, on {grid.size} points: increases with p0 {'always' if rises_p0 else 'not always'}, with kappa "
        f"{'always' if falls_kappa else 'not always'}, with M in {1 - worse.mean():.1%} of them. Simulated failure "
        f"(Theorem 2.4, half observed): {small:.1%} for 25 points per cluster, {large:.1%} for 800.",
        verdict(rises_p0 and falls_kappa and not worse.any() and large <= small, in_part=rises_p0 and falls_kappa),
        "This is true of the bound, nearly everywhere, not of the probability itself: the more rows, the more likely "
        "that one of them observed no separating feature (see Theorem 2.4).",
    )


def _missing_claim(noiseless: dict[int, Any], outcomes: Outcomes) -> Claim:
    paper, _, simulated, ours = noiseless[200]
    size = FIG5["size"]
    eta = float(theory.eta0(theory.beta0(FIG5_P0, P, FIG5_KAPPA, FIG5_MU0), size, 2))
    failed = outcomes.mean("failed", p0=FIG5_P0, **FIG5)
    bound = float(theory.sharp_failure(FIG5_P0, FIG5_N, [size, size]))
    return Claim(
        "Theorem 2.4: if kappa < 1, the l0 problem returns the true clusters with probability exceeding 1 - eta0.",
        "A partition better than the true one exists far more often than eta0 allows. Two clusters of 200 identical "
        "points that differ in 10 of 20 features, half of the entries observed: "
        f"eta0 = {paper:.0e}, in {simulated:.1%} of the draws. Two clusters of 100 points with the kappa = 0.39 and "
        "mu0 = 2.3 of Figure 5, 21 of 50 features separating them, 30% observed: "
        f"eta0 = {eta:.1e}, in {failed:.1%} of the draws.",
        verdict(failed <= eta and all(row[2] <= row[0] for row in noiseless.values())),
        "The proof multiplies the probabilities of pairs as if they were independent. Pairs that share a point are "
        "positively correlated: a row that observed none of the n separating features can join either cluster, which "
        "happens to some of N rows with probability about N (1 - p0)^n. Where that is small, the conclusion holds: "
        f"our bound, which assumes no independence, is about (K - 1) N (1 - p0)^n (here {ours:.2g} and {bound:.2g}).",
    )


def _uniform_claim(eta: float, failed: float) -> Claim:
    return Claim(
        "Theorem 2.7: for uniform clusters, nothing missing and kappa' < sqrt(6/5), the l0 problem returns the true "
        "clusters with probability exceeding 1 - eta1.",
        f"One feature, two clusters as far apart as they are wide (kappa' = 1), {UNIFORM_SIZES[-1]} points each: eta1 "
        f"= {eta:.1e}; the true partition is beaten in {failed:.1%} of the draws.",
        verdict(failed <= eta),
        "The same step of the proof fails. Here a point can join the other cluster when the largest value of the one "
        "is at most epsilon below the largest of the other (probability 1/2 for many points), or likewise for the "
        "smallest values: 3/4 in all.",
    )


def _draw_bounds() -> Picture:
    with canvas(2, 3, 10.5, 6.2) as (figure, axes):
        for colour, features in zip(COLOURS, (10, 25, 50, 100), strict=False):
            axes[0, 0].plot(P0, theory.gamma0(P0, features), color=colour, label=f"$P = {features}$")
        for colour, kappa in zip(COLOURS, KAPPAS, strict=False):
            label = rf"$\kappa = {kappa:g}$"
            pair = theory.beta0(P0, P, kappa, MU0)
            axes[0, 1].plot(P0, theory.delta0(P0, P, kappa, MU0), color=colour, label=label)
            axes[0, 2].plot(P0, pair, color=colour, label=label)
            for M, dashes in DASHES.items():
                study = theory.ClusterGeometry.from_parameters(n_clusters=2, size=M, n_features=P, kappa=kappa, mu0=MU0)
                approximate = np.clip(1 - theory.eta0_approx(pair, M), 0, 1)
                bounds = paper_bound(kappa, M), approximate, theory.success_probability(study, P0)
                for panel, bound in zip(axes[1], bounds, strict=True):
                    panel.plot(P0, bound, color=colour, linestyle=dashes)
        titles = {
            "few common entries": r"$\gamma_0$",
            "sharing a centre, given enough": r"$\delta_0$",
            "a pair across can share a centre": r"$\beta_0$",
            "the paper's lower bound, $K = 2$": r"$1 - \eta_0$",
            "its approximation": r"$1 - \eta_{0,\mathrm{approx}}$",
            "our lower bound": "success probability",
        }
        for key, panel, (title, name) in zip("abcdef", axes.ravel(), titles.items(), strict=True):
            letter(panel, key, title, xlim=(0, 1), ylim=(-0.02, 1.03), xlabel=r"fraction observed, $p_0$", ylabel=name)
        keys = [Line2D([], [], color=c, label=rf"$\kappa = {k:g}$") for c, k in zip(COLOURS, KAPPAS, strict=False)]
        keys += [Line2D([], [], color="#333333", linestyle=line, label=f"$M = {M}$") for M, line in DASHES.items()]
        for above, below in axes.T:
            above.legend(loc="upper right")
            below.legend(handles=keys, loc="lower right")
    caption = (
        "Theoretical guarantees; P = 50 and mu0 = 1.5 except in (a). (a) to (c): the paper's bounds for one pair of "
        "points. (d), (e): the paper's lower bound on the probability of success, which is not valid in general (see "
        "the tables), and its approximation, drawn where its condition holds. (f): our bound, which assumes no "
        "independence."
    )
    return Picture("fig4.svg", figure, caption)


STUDY = Study(
    "fig4",
    "Theoretical guarantees",
    "Formulas of fusewise.theory. The theorems are tested on simulated tables: a draw counts as a failure when moving "
    "one point to the other cluster gives a partition with a lower l0 objective than the true one.",
    report,
    plan,
)
