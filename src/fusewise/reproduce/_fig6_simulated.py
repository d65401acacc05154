"""Figure 6: Datasets 1 and 2, more and more entries missing; both formulations, both starts, and our default.

The paper writes "noise of variance 0.1". Read so, clusters are wider than they are far apart; read as a standard
deviation of 0.1 they are compact. Both readings are run. The paper names neither sigma nor lam for this figure: for its
method both are chosen by the true labels, table by table, as one would at best choose by eye. Our default chooses its
own settings.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise.datasets import hide_entries, make_clusters
from fusewise.estimators import FusionClustering
from fusewise.fusion import H1, Box, Solution, fuse, fusion_path
from fusewise.reproduce._drawing import TRIANGLE, canvas, draw_maps, letter, mapped, triangle_centers
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, StudyTable, Trial, verdict
from fusewise.views import COLOURS

#: Standard deviation of the noise under each reading of the paper.
READINGS = {"deviation 0.1": 0.1, "variance 0.1": 0.1**0.5}
BEST, DEFAULT = "unconstrained, partial distances", "Fusewise, default settings"
SCHEMES = (BEST, "unconstrained, zero-filled", "constrained, partial distances", "constrained, zero-filled", DEFAULT)
SHRINK = {"Dataset-1": 1.0, "Dataset-2": 0.5}

#: Scales tried, in units of the mean distance between centres; strengths, in units of sigma² / M.
SIGMAS = (0.1, 0.15, 0.175, 0.2, 0.225)
LAMS = np.geomspace(1, 1e5, 16)


def trial(reading: str, dataset: str, p0: float, scheme: str, size: int, seed: int) -> dict[str, Any]:
    """Hide entries of one table, cluster it by one scheme, and measure the result."""
    centers = triangle_centers(50, seed)
    noise, shrink = READINGS[reading], SHRINK[dataset]
    X, y, moved = make_clusters(3, size, noise=noise, centers=centers, shrink=shrink, random_state=seed)
    table = hide_entries(X, 1 - p0, random_state=seed + 1000)
    if scheme == DEFAULT:
        model = FusionClustering(random_state=seed).fit(table)
        found, labels = model.fused_, model.labels_
        scores = [adjusted_rand_score(y, labels)]
    else:
        tried = list(_tried(scheme, X, table, y, moved))
        scores = [round(float(adjusted_rand_score(y, solution.labels)), 4) for solution in tried]
        best = max(zip(scores, tried, strict=True), key=lambda pair: (pair[0], -pair[1].n_clusters))[1]
        found, labels = best.centers, best.labels
    gaps = np.square(np.nan_to_num(table[:, None] - moved[None], nan=0.0)).sum(axis=2)
    return mapped(X, y, found, labels) | {
        "share": np.mean(np.array(scores) > 0.9),
        # The Bayes classifier: the nearest true centre on the observed entries.
        "bayes": adjusted_rand_score(y, gaps.argmin(axis=1)),
    }


def _tried(scheme: str, X: Any, table: Any, y: Any, centers: Any) -> Iterator[Solution]:
    form, start = scheme.split(", ")
    init = {"partial distances": "partial", "zero-filled": "zero"}[start]
    distance = np.mean([np.linalg.norm(a - b) for a, b in combinations(centers, 2)])
    for sigma in np.array(SIGMAS) * distance:
        if form == "constrained":
            # The paper's epsilon: the largest width of a cluster in a feature, known here because X is.
            width = max(np.ptp(X[y == k], axis=0).max() for k in range(3))
            yield fuse(table, penalty=H1(sigma), fidelity=Box(width), init=init, tol=1e-4, max_iter=200)
        else:
            lams = LAMS * sigma**2 / np.bincount(y)[0]
            yield from fusion_path(table, lams=lams, penalty=H1(sigma), init=init, tol=1e-4, max_iter=60)


def plan(quick: bool) -> list[Trial]:
    """Three tables of 3 x 200 rows and nine fractions; quick: one table of 3 x 100 rows and five fractions."""
    fractions = (1.0, 0.8, 0.6, 0.4, 0.2) if quick else (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
    size, n_seeds = (100, 1) if quick else (200, 3)
    return [
        Trial(trial, {"reading": reading, "dataset": dataset, "p0": p0, "scheme": scheme, "size": size, "seed": seed})
        for reading, dataset, scheme, p0, seed in product(READINGS, SHRINK, SCHEMES, fractions, range(n_seeds))
    ]


#: Reading of the noise, and dataset.
Case = tuple[str, str]
CASES: list[Case] = list(product(READINGS, SHRINK))
COMPACT, PRINTED = ("deviation 0.1", "Dataset-1"), ("variance 0.1", "Dataset-1")
BAYES = "Bayes, knowing the centres"


def report(outcomes: Outcomes) -> StudyResult:
    """Draw and judge."""
    rows = [
        [*case, name, *(f"{v:.2f}" for v in scores(outcomes, case, name))]
        for case in CASES
        for name in (*SCHEMES, BAYES)
    ]
    headings = ["noise", "data", "method", *(f"p0 = {p0:g}" for p0 in outcomes.values("p0"))]
    pictures = [_curves(outcomes), *(_maps(outcomes, case) for case in CASES)]
    return StudyResult(pictures, judge(outcomes), [StudyTable("Adjusted Rand index", headings, rows)])


def judge(outcomes: Outcomes) -> list[Claim]:
    """Set the paper's claims beside the outcomes."""
    return [_degrades(outcomes), _starts(outcomes), _superior(outcomes), _harder(outcomes), _as_printed(outcomes)]


def scores(outcomes: Outcomes, case: Case, scheme: str) -> Any:
    """Mean adjusted Rand index, one for each p0."""
    name, of = ("bayes", BEST) if scheme == BAYES else ("ari", scheme)
    chosen = {"reading": case[0], "dataset": case[1], "scheme": of}
    return np.array([outcomes.mean(name, p0=p0, **chosen) for p0 in outcomes.values("p0")])


def _plain(values: Any) -> str:
    return ", ".join(f"{v:.2f}" for v in values)


def _list(outcomes: Outcomes, values: Any) -> str:
    return f"{_plain(values)} (p0 = {', '.join(f'{p0:g}' for p0 in outcomes.values('p0'))})"


def _degrades(outcomes: Outcomes) -> Claim:
    found = scores(outcomes, COMPACT, BEST)
    drop = float(np.max(-np.diff(found), initial=0.0))
    return Claim(
        "The clustering degrades gradually with the fraction of missing entries (unconstrained form, partial "
        "distances).",
        f"Dataset-1 at standard deviation 0.1: {_list(outcomes, found)}.",
        verdict(bool(found[0] > 0.99) and drop < 0.3, in_part=bool(found[0] > 0.99)),
        "" if drop < 0.3 else f"Between two neighbouring fractions it falls by {drop:.2f}.",
    )


def _starts(outcomes: Outcomes) -> Claim:
    gains = {}
    for case, form in product(CASES, ("unconstrained", "constrained")):
        partial, zero = (scores(outcomes, case, f"{form}, {start}") for start in ("partial distances", "zero-filled"))
        gains[f"{form}, {case[1]}, {case[0]}"] = float((partial - zero).mean())
    mean = float(np.mean(list(gains.values())))
    return Claim(
        "The partial-distance start outperforms the zero-filled one.",
        f"Mean gain in ARI over p0: {'; '.join(f'{name}: {gain:+.2f}' for name, gain in gains.items())}.",
        verdict(min(gains.values()) > -0.01 and max(gains.values()) > 0.05, in_part=mean > 0),
        "With sigma and lam chosen by the labels, and lam approached from below, the start matters less than at one "
        "fixed setting.",
    )


def _superior(outcomes: Outcomes) -> Claim:
    means = {n: float(np.mean([scores(outcomes, case, n) for case in CASES])) for n in SCHEMES if n != DEFAULT}
    best = max(means.values())
    return Claim(
        "The unconstrained form with the partial-distance start is superior to the alternatives.",
        "Mean ARI over all tables: " + "; ".join(f"{name} {value:.2f}" for name, value in means.items()) + ".",
        verdict(means[BEST] == best, in_part=means[BEST] > best - 0.02),
    )


def _harder(outcomes: Outcomes) -> Claim:
    one, two = (scores(outcomes, ("deviation 0.1", dataset), BEST) for dataset in SHRINK)
    never_worse = bool(np.all(one >= two - 0.01))
    return Claim(
        "Dataset-1 does better than Dataset-2, whose centres are half as far apart, at high fractions of missing "
        "entries.",
        f"Standard deviation 0.1: Dataset-1 {_list(outcomes, one)}; Dataset-2 {_list(outcomes, two)}.",
        verdict(never_worse and bool(np.any(one > two + 0.01)), in_part=never_worse),
    )


def _as_printed(outcomes: Outcomes) -> Claim:
    plain, ours, bayes = (scores(outcomes, PRINTED, name) for name in (BEST, DEFAULT, BAYES))
    printed, compact = (
        outcomes.mean("share", reading=reading, dataset=dataset, scheme=BEST) for reading, dataset in (PRINTED, COMPACT)
    )
    between = sum(side**2 for side in TRIANGLE) / 9  # mean squared distance of three centres from their mean
    return Claim(
        "The noise of Datasets 1 and 2 has variance 0.1.",
        f"At variance 0.1 the paper's unconstrained form, tuned by the labels, scores {_list(outcomes, plain)} on "
        f"Dataset-1; {printed:.0%} of the settings tried score above 0.9 (at standard deviation 0.1: {compact:.0%}). "
        f"Our default: {_plain(ours)}; the Bayes classifier that knows the centres: {_plain(bayes)}.",
        verdict(bool(np.all(plain > 0.9)), in_part=bool(np.any(plain > 0.9))),
        "With all pairs alike and K equal clusters, the true partition beats both trivial ones (all apart, all merged) "
        "only if the energy between clusters is at least K - 1 times that within. Per point it is "
        f"{between:.2f} between, and within 5.0 at variance 0.1 but 0.5 at standard deviation 0.1. So at variance 0.1 "
        "the truth is at best a local optimum, which depends on the grid of settings and which only the labels can "
        "point out. Fusing in a subspace, as our default does, lowers the energy within.",
    )


def _named(case: Case) -> str:
    return f"{case[1]}, noise of {case[0].replace('deviation', 'standard deviation')}"


def _curves(outcomes: Outcomes) -> Picture:
    styles: dict[str, Any] = {BAYES: {"color": "#888888", "linestyle": ":", "linewidth": 1.4}}
    for name, colour in zip(SCHEMES, np.array(COLOURS)[[0, 0, 1, 1, 2]], strict=True):
        styles[name] = {"color": colour, "linestyle": "--" if "zero" in name else "-", "marker": "o", "markersize": 3.5}
    with canvas(2, 2, 8.6, 5.6, sharex=True, sharey=True) as (figure, axes):
        for key, panel, case in zip("abcd", axes.ravel(), CASES, strict=True):
            letter(panel, key, _named(case), xlim=(1.02, 0.18), ylim=(-0.05, 1.05))
            for name, style in styles.items():
                panel.plot(outcomes.values("p0"), scores(outcomes, case, name), label=name, **style)
        for panel in axes[-1]:
            panel.set_xlabel(r"fraction observed, $p_0$")
        for panel in axes[:, 0]:
            panel.set_ylabel("adjusted Rand index")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=3.5)
    caption = (
        "Agreement with the true clusters as more entries are missing. The paper's method (blue, orange) is tuned by "
        "the true labels; ours (green) has its default settings. Dotted: the Bayes classifier, which knows the centres."
    )
    return Picture("fig6-agreement.svg", figure, caption)


def _maps(outcomes: Outcomes, case: Case) -> Picture:
    (reading, dataset), fractions = case, outcomes.values("p0")
    settings = {"reading": reading, "dataset": dataset}
    maps = [[outcomes.where(scheme=name, p0=p0, **settings)[0] for p0 in fractions] for name in SCHEMES]
    rows = [name.replace(", ", ",\n").replace("distances", "dist.") for name in SCHEMES]
    columns = [f"$p_0 = {p0:g}$" for p0 in fractions]
    figure = draw_maps(maps, rows, columns, 1.45 * len(columns) + 0.9, 1.45 * len(rows) + 0.4)
    caption = (
        f"{_named(case)}: two principal components. Points (coloured by true cluster) are "
        "joined to their centres (black). Rows: methods; columns: fraction of the entries observed."
    )
    return Picture(f"fig6-{dataset.lower()}-{reading.replace(' ', '-').replace('.', '')}.png", figure, caption)


STUDY = Study(
    "fig6",
    "Datasets 1 and 2",
    "Three clusters in 50 features, centres 3.5, 2.8 and 3.3 apart (Dataset-2: half of that), white Gaussian noise, "
    f"all pairs, H1. The paper does not give sigma and lam here: for its method we take the best of {len(SIGMAS)} "
    f"scales and {len(LAMS)} strengths by the true labels; epsilon of the constrained form is the true one. Our "
    "default chooses for itself. The noise is read in two ways: standard deviation 0.1, and variance 0.1 as printed.",
    report,
    plan,
)
