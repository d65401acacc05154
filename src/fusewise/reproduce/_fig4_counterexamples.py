"""Theorems 2.4, 2.5 and 2.7 of the paper, simulated: how often a partition better than the true one exists.

The l0 problem minimises the number of ordered pairs of points in different groups, so it maximises sum_Q |Q|² over
partitions into groups Q that can share a centre. Points can share one exactly when any two of them differ by at most
epsilon in every feature observed in both. If, of two true clusters of M points each, one point can join the other
cluster, (M + 1)² + (M - 1)² = 2 M² + 2 > 2 M²: the true partition is not optimal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise import theory
from fusewise.kernels import Floats
from fusewise.reproduce._drawing import canvas, letter
from fusewise.reproduce._study import Claim, Outcomes, Picture, StudyTable, Trial, verdict
from fusewise.views import COLOURS

#: Identical points per cluster that differ in 10 of 20 features: kappa = 0, mu0 = 2.
NOISELESS: dict[str, Any] = {"case": "noiseless", "p0": 0.5}
NOISELESS_P, NOISELESS_N = 20, 10
NOISELESS_SIZES = (25, 50, 100, 200, 400, 800)

#: The kappa and mu0 of Figure 5, 21 of 50 features separating the clusters.
FIG5: dict[str, Any] = {"case": "fig5", "size": 100}
FIG5_P, FIG5_N, FIG5_KAPPA, FIG5_MU0 = 50, 21, 0.39, 2.3
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
        table = np.zeros((2 * size, FIG5_P))
        far = (FIG5_P / FIG5_KAPPA**2 - (FIG5_P - FIG5_N - 1)) / FIG5_N
        table[size:] = np.where(np.arange(FIG5_P) < FIG5_N, np.sqrt(far), 1.0)
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


def noiseless_rows(outcomes: Outcomes) -> dict[int, tuple[float, float, float, float]]:
    """By cluster size: the paper's bound on the failure probability, a lower bound on it, simulated, our bound."""
    rows = {}
    for size in NOISELESS_SIZES:
        paper = theory.eta0(theory.beta0(NOISELESS["p0"], NOISELESS_P, 0.0, NOISELESS_P / NOISELESS_N), size, 2)
        certain = theory.blind_failure(NOISELESS["p0"], NOISELESS_N, 2 * size)
        ours = theory.sharp_failure(NOISELESS["p0"], NOISELESS_N, [size, size])
        simulated = outcomes.mean("failed", size=size, **NOISELESS)
        rows[size] = (min(1.0, float(paper)), float(certain), simulated, float(ours))
    return rows


def uniform_rows(outcomes: Outcomes) -> dict[int, tuple[float, float]]:
    """By cluster size: eta1, and the failure simulated."""
    beta1 = theory.beta1(1, 1.0)
    return {
        size: (min(1.0, float(theory.eta0(beta1, size, 2))), outcomes.mean("failed", size=size, **UNIFORM))
        for size in UNIFORM_SIZES
    }


def _fig5_failure(outcomes: Outcomes) -> tuple[float, float, float]:
    """At the kappa and mu0 of Figure 5: eta0, the failure simulated, and our bound."""
    size = FIG5["size"]
    paper = theory.eta0(theory.beta0(FIG5_P0, FIG5_P, FIG5_KAPPA, FIG5_MU0), size, 2)
    ours = theory.sharp_failure(FIG5_P0, FIG5_N, [size, size])
    return float(paper), outcomes.mean("failed", p0=FIG5_P0, **FIG5), float(ours)


def claims(outcomes: Outcomes) -> list[Claim]:
    """The three theorems against the simulations."""
    return [_missing_claim(outcomes), _complete_claim(outcomes), _uniform_claim(outcomes)]


def _missing_claim(outcomes: Outcomes) -> Claim:
    rows = noiseless_rows(outcomes)
    paper, _, simulated, ours = rows[200]
    eta, failed, bound = _fig5_failure(outcomes)
    broken = [size for size, row in rows.items() if row[0] < row[2]] + ([FIG5["size"]] if eta < failed else [])
    return Claim(
        "Theorem 2.4: if kappa < 1, the l0 problem returns the true clusters with probability exceeding 1 - eta0.",
        "A partition better than the true one exists far more often than eta0 allows. Two clusters of 200 identical "
        "points that differ in 10 of 20 features, half of the entries observed: "
        f"eta0 = {paper:.0e}, in {simulated:.1%} of the draws. Two clusters of 100 points with the kappa = 0.39 and "
        "mu0 = 2.3 of Figure 5, 21 of 50 features separating them, 30% observed: "
        f"eta0 = {eta:.1e}, in {failed:.1%} of the draws.",
        verdict(not broken),
        "The proof multiplies the probabilities of pairs as if they were independent. Pairs that share a point are "
        "positively correlated: a row that observed none of the n separating features can join either cluster, which "
        "happens to some of N rows with probability about N (1 - p0)^n. Where that is small, the conclusion holds: "
        f"our bound, which assumes no independence, is about (K - 1) N (1 - p0)^n (here {ours:.2g} and {bound:.2g}).",
    )


def _complete_claim(outcomes: Outcomes) -> Claim:
    failed = outcomes.mean("failed", p0=1.0, **FIG5)
    return Claim(
        "Theorem 2.5: if kappa < 1 and nothing is missing, the l0 problem returns the true clusters.",
        f"The second table of Theorem 2.4, complete: the true partition was beaten in {failed:.0%} of the draws.",
        verdict(failed == 0),
        "The theorem is true: two points of different clusters, more than epsilon sqrt(P) apart, differ by more than "
        "epsilon in some feature, so no group of points of several clusters can share a centre.",
    )


def _uniform_claim(outcomes: Outcomes) -> Claim:
    size, (eta, failed) = max(uniform_rows(outcomes).items())
    return Claim(
        "Theorem 2.7: for uniform clusters, nothing missing and kappa' < sqrt(6/5), the l0 problem returns the true "
        "clusters with probability exceeding 1 - eta1.",
        f"One feature, two clusters as far apart as they are wide (kappa' = 1), {size} points each: eta1 = {eta:.1e}; "
        f"the true partition is beaten in {failed:.1%} of the draws.",
        verdict(failed <= eta),
        "The same step of the proof fails. Here a point can join the other cluster when the largest value of the one "
        "is at most epsilon below the largest of the other (probability 1/2 for many points), or likewise for the "
        "smallest values: 3/4 in all.",
    )


def tables(outcomes: Outcomes) -> list[StudyTable]:
    """The numbers behind the picture."""
    noiseless = [[str(m), *(f"{v:.2g}" for v in values)] for m, values in noiseless_rows(outcomes).items()]
    uniform = [[str(m), *(f"{v:.2g}" for v in values)] for m, values in uniform_rows(outcomes).items()]
    return [
        StudyTable(
            "Theorem 2.4: 10 of 20 features differ, p0 = 0.5, kappa = 0, mu0 = 2. Probability of failure",
            ["M", "paper: at most", "formula: at least", "simulated: at least", "our bound: at most"],
            noiseless,
        ),
        StudyTable(
            "Theorem 2.7: P = 1, kappa' = 1. Probability of failure", ["M", "paper: at most", "simulated"], uniform
        ),
    ]


def picture(outcomes: Outcomes) -> Picture:
    """Bounds and simulated failure by cluster size."""
    noiseless, uniform = (
        (list(rows), np.array(list(rows.values()))) for rows in (noiseless_rows(outcomes), uniform_rows(outcomes))
    )
    with canvas(1, 2, 9.6, 3.4, sharey=True) as (figure, axes):
        left, right = axes[0]
        left.plot(noiseless[0], noiseless[1][:, 3], "s--", color=COLOURS[2], label="our bound: at most", markersize=5)
        left.plot(noiseless[0], noiseless[1][:, 1], color=COLOURS[0], label="formula: at least")
        left.plot(noiseless[0], noiseless[1][:, 2], "o", color=COLOURS[0], label="simulated", markersize=5)
        left.plot(noiseless[0], noiseless[1][:, 0], "^-", color=COLOURS[5], label=r"paper, $\eta_0$: at most")
        right.axhline(0.75, color=COLOURS[0], label="limit, 3/4")
        right.plot(uniform[0], uniform[1][:, 1], "o", color=COLOURS[0], label="simulated", markersize=5)
        right.plot(uniform[0], uniform[1][:, 0], "^-", color=COLOURS[5], label=r"paper, $\eta_1$: at most")
        titles = ("Theorem 2.4: 10 of 20 features, $p_0 = 0.5$", r"Theorem 2.7: one feature, $\kappa' = 1$")
        for key, panel, title, sizes in zip("ab", axes[0], titles, (noiseless[0], uniform[0]), strict=True):
            letter(panel, key, title)
            panel.set(xscale="log", xlabel="points per cluster, $M$", ylim=(-0.03, 1.05))
            panel.set_xticks(sizes, [str(m) for m in sizes])
            panel.minorticks_off()
            panel.grid(True)
            panel.legend(loc="center left", bbox_to_anchor=(0.0, 0.6))
        left.set_ylabel("probability of failure")
    caption = (
        "Counterexamples to Theorems 2.4 and 2.7: with more points per cluster the paper's upper bound on the "
        "probability of failure tends to 0, the probability itself does not. (a) Clusters of identical points that "
        "differ in 10 of 20 features, half of the entries observed. (b) Uniform clusters in one feature, nothing "
        "missing."
    )
    return Picture("fig4-counterexamples", figure, caption)
