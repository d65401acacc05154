"""Figure 6: Datasets 1 and 2, more and more entries missing; both formulations, both starts, and our default.

The paper writes "noise of variance 0.1". Read so, clusters are wider than they are far apart; read as a standard
deviation of 0.1 they are compact. Both readings are run. The paper names neither sigma nor lam for this figure: for its
method both are chosen by the true labels, table by table, as one would at best choose by eye. Our default chooses its
own settings. The figure shows maps of every case, the agreement along p0, and the paper's claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise.datasets import hide_entries, make_clusters
from fusewise.estimators import FusionClustering
from fusewise.fusion import Solution, fuse, fusion_path
from fusewise.fusion.fidelity import Box
from fusewise.fusion.penalties import H1
from fusewise.reproduce._drawing import TRIANGLE, canvas, draw_map, letter, mapped, triangle_centers
from fusewise.reproduce._study import Claim, Outcomes, Picture, Study, StudyResult, StudyTable, Trial, verdict
from fusewise.views import COLOURS

BEST = "unconstrained, partial distances"
SHORT = {
    "unconstrained, partial distances": "unconstrained,\npartial dist.",
    "unconstrained, zero-filled": "unconstrained,\nzero-filled",
    "constrained, partial distances": "constrained,\npartial dist.",
    "constrained, zero-filled": "constrained,\nzero-filled",
    "Fusewise, default settings": "Fusewise,\ndefault settings",
}
DASHES: dict[str, Any] = {name: "--" if "zero" in name else "-" for name in SHORT}
INKS = {
    "unconstrained, partial distances": COLOURS[0],
    "unconstrained, zero-filled": COLOURS[0],
    "constrained, partial distances": COLOURS[1],
    "constrained, zero-filled": COLOURS[1],
    "Fusewise, default settings": COLOURS[2],
}


def report(outcomes: Outcomes) -> StudyResult:
    """Draw and judge."""
    readings, datasets = outcomes.values("reading"), outcomes.values("dataset")
    pictures = [_curves(outcomes)]
    pictures += [_maps(outcomes, reading, dataset) for reading in readings for dataset in datasets]
    return StudyResult(pictures, judge(outcomes), [_table(outcomes)])


def judge(outcomes: Outcomes) -> list[Claim]:
    """Set the paper's claims beside the outcomes."""
    return [_degrades(outcomes), _starts(outcomes), _superior(outcomes), _harder(outcomes), _as_printed(outcomes)]


def scores(outcomes: Outcomes, reading: str, dataset: str, scheme: str) -> Any:
    """Mean adjusted Rand index, one for each p0."""
    chosen = {"reading": reading, "dataset": dataset, "scheme": scheme}
    return np.array([outcomes.mean("ari", p0=p0, **chosen) for p0 in outcomes.values("p0")])


def _named(reading: str) -> str:
    return f"standard {reading}" if reading.startswith("deviation") else reading


def _list(outcomes: Outcomes, values: Any) -> str:
    fractions = ", ".join(f"{p0:g}" for p0 in outcomes.values("p0"))
    return f"{', '.join(f'{v:.2f}' for v in values)} (p0 = {fractions})"


def _degrades(outcomes: Outcomes) -> Claim:
    found = scores(outcomes, "deviation 0.1", "Dataset-1", BEST)
    drop = float(np.max(-np.diff(found), initial=0.0))
    return Claim(
        "The clustering degrades gradually with the fraction of missing entries (unconstrained form, partial "
        "distances).",
        f"Dataset-1 at standard deviation 0.1: {_list(outcomes, found)}.",
        verdict(bool(found[0] > 0.99) and drop < 0.3, in_part=bool(found[0] > 0.99)),
        "" if drop < 0.3 else f"Between two neighbouring fractions it falls by {drop:.2f}.",
    )


def _starts(outcomes: Outcomes) -> Claim:
    gains, texts = [], []
    for reading in outcomes.values("reading"):
        for dataset in outcomes.values("dataset"):
            for form in ("unconstrained", "constrained"):
                partial, zero = (
                    scores(outcomes, reading, dataset, f"{form}, {start}")
                    for start in ("partial distances", "zero-filled")
                )
                gains.append(float((partial - zero).mean()))
                texts.append(f"{form}, {dataset}, {reading}: {gains[-1]:+.2f}")
    return Claim(
        "The partial-distance start outperforms the zero-filled one.",
        f"Mean gain in ARI over p0: {'; '.join(texts)}.",
        verdict(min(gains) > -0.01 and max(gains) > 0.05, in_part=float(np.mean(gains)) > 0),
        "With sigma and lam chosen by the labels, and lam approached from below, the start matters less than at one "
        "fixed setting."
        if float(np.mean(gains)) < 0.1
        else "",
    )


def _superior(outcomes: Outcomes) -> Claim:
    names = [name for name in outcomes.values("scheme") if name != "Fusewise, default settings"]
    readings, datasets = outcomes.values("reading"), outcomes.values("dataset")
    means = {n: float(np.mean([scores(outcomes, r, d, n) for r in readings for d in datasets])) for n in names}
    winner = max(means, key=lambda name: means[name])
    return Claim(
        "The unconstrained form with the partial-distance start is superior to the alternatives.",
        "Mean ARI over all tables: " + "; ".join(f"{name} {value:.2f}" for name, value in means.items()) + ".",
        verdict(winner == BEST, in_part=means[BEST] > means[winner] - 0.02),
    )


def _harder(outcomes: Outcomes) -> Claim:
    one, two = (scores(outcomes, "deviation 0.1", d, BEST) for d in ("Dataset-1", "Dataset-2"))
    return Claim(
        "Dataset-1 does better than Dataset-2, whose centres are half as far apart, at high fractions of missing "
        "entries.",
        f"Standard deviation 0.1: Dataset-1 {_list(outcomes, one)}; Dataset-2 {_list(outcomes, two)}.",
        verdict(
            bool(np.all(one >= two - 0.01)) and bool(np.any(one > two + 0.01)), in_part=bool(np.all(one >= two - 0.01))
        ),
    )


def _as_printed(outcomes: Outcomes) -> Claim:
    plain = scores(outcomes, "variance 0.1", "Dataset-1", BEST)
    ours = scores(outcomes, "variance 0.1", "Dataset-1", "Fusewise, default settings")
    bayes = [outcomes.mean("bayes", reading="variance 0.1", dataset="Dataset-1", p0=p0) for p0 in outcomes.values("p0")]
    printed, compact = (
        outcomes.mean("share", reading=reading, dataset="Dataset-1", scheme=BEST)
        for reading in ("variance 0.1", "deviation 0.1")
    )
    between = sum(side**2 for side in TRIANGLE) / 9  # mean squared distance of three centres from their mean
    return Claim(
        "The noise of Datasets 1 and 2 has variance 0.1.",
        f"At variance 0.1 the paper's unconstrained form, tuned by the labels, scores {_list(outcomes, plain)} on "
        f"Dataset-1; {printed:.0%} of the settings tried score above 0.9 (at standard deviation 0.1: {compact:.0%}). "
        f"Our default: {', '.join(f'{v:.2f}' for v in ours)}; the Bayes classifier that knows the "
        f"centres: {', '.join(f'{v:.2f}' for v in bayes)}.",
        verdict(bool(np.all(plain > 0.9)), in_part=bool(np.any(plain > 0.9))),
        "With all pairs alike and K equal clusters, the true partition beats both trivial ones (all apart, all merged) "
        "only if the energy between clusters is at least K - 1 times that within. Per point it is "
        f"{between:.2f} between, and within 5.0 at variance 0.1 but 0.5 at standard deviation 0.1. So at variance 0.1 "
        "the truth is at best a local optimum, which depends on the grid of settings and which only the labels can "
        "point out. Fusing in a subspace, as our default does, lowers the energy within.",
    )


def _table(outcomes: Outcomes) -> StudyTable:
    rows = []
    for reading in outcomes.values("reading"):
        for dataset in outcomes.values("dataset"):
            rows += [
                [reading, dataset, name, *(f"{v:.2f}" for v in scores(outcomes, reading, dataset, name))]
                for name in outcomes.values("scheme")
            ]
            oracle = [outcomes.mean("bayes", reading=reading, dataset=dataset, p0=p0) for p0 in outcomes.values("p0")]
            rows.append([reading, dataset, "Bayes, knowing the centres", *(f"{v:.2f}" for v in oracle)])
    headings = ["noise", "data", "method", *(f"p0 = {p0:g}" for p0 in outcomes.values("p0"))]
    return StudyTable("Adjusted Rand index", headings, rows)


def _curves(outcomes: Outcomes) -> Picture:
    fractions, readings, datasets = (outcomes.values(name) for name in ("p0", "reading", "dataset"))
    with canvas(len(readings), len(datasets), 8.6, 5.6, sharex=True, sharey=True) as (figure, axes):
        cases = [(reading, dataset) for reading in readings for dataset in datasets]
        for key, panel, (reading, dataset) in zip("abcd", axes.ravel(), cases, strict=False):
            letter(panel, key, f"{dataset}, noise of {_named(reading)}")
            oracle = [outcomes.mean("bayes", reading=reading, dataset=dataset, p0=p0) for p0 in fractions]
            panel.plot(
                fractions, oracle, color="#888888", linestyle=":", linewidth=1.4, label="Bayes, knowing the centres"
            )
            for name in outcomes.values("scheme"):
                values = scores(outcomes, reading, dataset, name)
                panel.plot(
                    fractions, values, color=INKS[name], linestyle=DASHES[name], marker="o", markersize=3.5, label=name
                )
            panel.grid(True)
            panel.set(xlim=(1.02, 0.18), ylim=(-0.05, 1.05))
        for panel in axes[-1]:
            panel.set_xlabel(r"fraction observed, $p_0$")
        for panel in axes[:, 0]:
            panel.set_ylabel("adjusted Rand index")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, handlelength=3.5)
    caption = (
        "Agreement with the true clusters as more entries are missing. The paper's method (blue, orange) is tuned by "
        "the true labels; ours (green) has its default settings. Dotted: the Bayes classifier, which knows the centres."
    )
    return Picture("fig6-agreement", figure, caption)


def _maps(outcomes: Outcomes, reading: str, dataset: str) -> Picture:
    fractions, schemes = outcomes.values("p0"), outcomes.values("scheme")
    width, height = 1.45 * len(fractions) + 0.9, 1.45 * len(schemes) + 0.4
    with canvas(len(schemes), len(fractions), width, height, tight=True, sharex=True, sharey=True) as (figure, axes):
        for i, name in enumerate(schemes):
            for j, p0 in enumerate(fractions):
                result = outcomes.one(reading=reading, dataset=dataset, scheme=name, p0=p0)
                panel = axes[i, j]
                draw_map(panel, result["points"], result["centers"], result["truth"])
                count, ari = int(result["n_clusters"]), max(0.0, float(result["ari"]))
                panel.set_title(f"{count} group{'s' if count > 1 else ''}, ARI {ari:.2f}", fontsize=7, pad=2)
                if i == len(schemes) - 1:
                    panel.set_xlabel(f"$p_0 = {p0:g}$")
            axes[i, 0].set_ylabel(SHORT[name], fontsize=8)
    caption = (
        f"{dataset}, noise of {_named(reading)}: two principal components. Points (coloured by true cluster) are "
        "joined to their centres (black). Rows: methods; columns: fraction of the entries observed."
    )
    slug = f"fig6-{dataset.lower()}-{reading.replace(' ', '-').replace('.', '')}"
    return Picture(slug, figure, caption, vector=False)


#: Standard deviation of the noise under each reading of the paper.
READINGS = {"deviation 0.1": 0.1, "variance 0.1": 0.1**0.5}
SCHEMES = (
    "unconstrained, partial distances",
    "unconstrained, zero-filled",
    "constrained, partial distances",
    "constrained, zero-filled",
)
DEFAULT = "Fusewise, default settings"
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
    return mapped(X, y, found, labels) | {
        "share": np.mean(np.array(scores) > 0.9),
        "bayes": adjusted_rand_score(y, _nearest(table, moved)),
    }


def _tried(scheme: str, X: Any, table: Any, y: Any, centers: Any) -> Iterator[Solution]:
    """Solutions over all scales and strengths tried."""
    form, start = scheme.split(", ")
    init = {"partial distances": "partial", "zero-filled": "zero"}[start]
    distance = np.mean([np.linalg.norm(centers[a] - centers[b]) for a, b in ((0, 1), (0, 2), (1, 2))])
    for sigma in np.array(SIGMAS) * distance:
        if form == "constrained":
            # The paper's epsilon: the largest width of a cluster in a feature, known here because X is.
            width = max(np.ptp(X[y == k], axis=0).max() for k in range(3))
            yield fuse(table, penalty=H1(sigma), fidelity=Box(width), init=init, tol=1e-4, max_iter=200)
        else:
            lams = LAMS * sigma**2 / np.bincount(y)[0]
            yield from fusion_path(table, lams=lams, penalty=H1(sigma), init=init, tol=1e-4, max_iter=60)


def _nearest(table: Any, centers: Any) -> Any:
    """The Bayes classifier: nearest true centre on the observed entries."""
    gaps = np.square(np.nan_to_num(table[:, None] - centers[None], nan=0.0)).sum(axis=2)
    return gaps.argmin(axis=1)


def plan(quick: bool) -> list[Trial]:
    """Three tables of 3 x 200 rows and nine fractions; quick: one table of 3 x 100 rows and five fractions."""
    fractions = (1.0, 0.8, 0.6, 0.4, 0.2) if quick else (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
    return [
        Trial(
            trial,
            {
                "reading": reading,
                "dataset": dataset,
                "p0": p0,
                "scheme": scheme,
                "size": 100 if quick else 200,
                "seed": seed,
            },
        )
        for reading in READINGS
        for dataset in SHRINK
        for scheme in (*SCHEMES, DEFAULT)
        for p0 in fractions
        for seed in range(1 if quick else 3)
    ]


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
