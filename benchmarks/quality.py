"""Clustering quality with default settings, compared with an oracle or another method in the same run.

    python benchmarks/quality.py                 # everything (about 20 minutes on 2 cores)
    python benchmarks/quality.py dataset1 wine   # some of it
    python benchmarks/quality.py --runs 3        # fewer repetitions
    python benchmarks/quality.py nothing --runs 20 --jobs 16   # runs of `nothing` side by side

Only ``random_state`` is set. Scores are adjusted Rand indices (ARI). The oracle of the simulated sets is the Bayes
classifier, which knows the true centres and the noise; other methods marked (K) are given the number of clusters.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import joblib
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import HDBSCAN, KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading

from fusewise import FusionClustering, FusionImputer
from fusewise.datasets import hide_entries, load_wine_subset, make_clusters

Row = tuple[str, str, str, str]
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def fit(X: np.ndarray, seed: int) -> FusionClustering:
    """Fit with default settings."""
    return FusionClustering(random_state=seed).fit(X)


def bayes(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Nearest true centre on the observed entries: the best classifier for spherical clusters of equal size."""
    gaps = np.square(np.nan_to_num(X[:, None] - centers[None], nan=0.0)).sum(axis=2)
    return gaps.argmin(axis=1)


def knn_kmeans(X: np.ndarray, k: int) -> np.ndarray:
    """The usual approach, given the number of clusters."""
    filled = KNNImputer(keep_empty_features=True).fit_transform(X)
    return KMeans(k, n_init=10, random_state=0).fit_predict(filled)


def dataset(runs: int, shrink: float) -> Iterator[Row]:
    """The paper's Dataset-1 (shrink 1) and Dataset-2 (distances halved); p0 is the fraction observed."""
    for p0 in (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2):
        ours, oracle, found = [], [], []
        for seed in range(runs):
            X, y, centers = make_clusters(3, 200, 50, noise=0.1**0.5, shrink=shrink, random_state=seed)
            X = hide_entries(X, 1 - p0, random_state=seed)
            model = fit(X, seed)
            ours.append(adjusted_rand_score(y, model.labels_))
            oracle.append(adjusted_rand_score(y, bayes(X, centers)))
            found.append(model.n_clusters_)
        exact = np.mean(np.array(found) == 3)
        note = f"3 clusters in {exact:.0%} of runs, at most {max(found)}"
        yield f"p0 = {p0}", f"{np.mean(ours):.3f}", f"{np.mean(oracle):.3f}", note


def wine(runs: int) -> Iterator[Row]:
    """The paper's Wine subset."""
    X, y = load_wine_subset()
    for fraction in (0.1, 0.3, 0.5, 0.6):
        ours, peer = [], []
        for seed in range(runs):
            holes = hide_entries(X, fraction, random_state=seed)
            ours.append(adjusted_rand_score(y, fit(holes, seed).labels_))
            peer.append(adjusted_rand_score(y, knn_kmeans(holes, 3)))
        yield f"{fraction:.0%} hidden", f"{np.mean(ours):.3f}", f"{np.mean(peer):.3f}", f"worst {min(ours):.3f}"


def nothing(runs: int) -> Iterator[Row]:
    """Gaussian, uniform, heavy-tailed and skewed tables without clusters: one cluster is the right answer."""
    for name, (draw, sizes, widths) in WITHOUT_CLUSTERS.items():
        for n, p, fraction in ((n, p, fraction) for n in sizes for p in widths for fraction in (0.0, 0.4)):
            if p == 1 and fraction:
                continue
            found = joblib.Parallel()(joblib.delayed(_number)(draw, n, p, fraction, seed) for seed in range(10 * runs))
            one = np.mean(np.array(found) == 1)
            yield f"{name}, P = {p}, {fraction:.0%} hidden", f"{one:.2f}", "1.00", f"{10 * runs} runs of {n} rows"


def _number(draw: Draw, n: int, p: int, fraction: float, seed: int) -> int:
    """The number of clusters found in a table without clusters."""
    warnings.simplefilter("ignore")
    X = draw(np.random.default_rng(seed), n, p)
    return fit(hide_entries(X, fraction, random_state=seed), seed).n_clusters_


def _ball(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    X = rng.normal(size=(n, p))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / p)


def _student(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    return rng.normal(size=(n, p)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def _bent(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    x = rng.normal(size=(n, p))
    return np.column_stack([x[:, 0], x[:, 0] ** 2 + 0.3 * x[:, 1]])


def _related(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    common = 0.7 * rng.standard_normal((n, 1)) @ rng.standard_normal((1, p))
    return np.exp(common + 0.5 * rng.standard_normal((n, p)))


def _two_factors(rng: np.random.Generator, n: int, p: int, *, uniform: bool = False) -> np.ndarray:
    factors = rng.uniform(-(3**0.5), 3**0.5, (n, 2)) if uniform else rng.standard_normal((n, 2))
    return factors @ rng.standard_normal((2, p)) + 2.0 * rng.standard_normal((n, p))


#: How to draw n x p numbers without clusters; and numbers of rows and columns.
WITHOUT_CLUSTERS: dict[str, tuple[Draw, tuple[int, ...], tuple[int, ...]]] = {
    "Gaussian": (lambda rng, n, p: rng.standard_normal((n, p)), (300,), (2, 10, 50)),
    "uniform": (lambda rng, n, p: rng.random((n, p)), (300,), (2, 10, 50)),
    "uniform, more rows": (lambda rng, n, p: rng.random((n, p)), (1000,), (1, 2, 3)),
    "uniform in a ball": (_ball, (300, 1000), (2, 3)),
    "Student t, 3 degrees of freedom": (_student, (300, 1000), (2, 5)),
    "exponential": (lambda rng, n, p: rng.exponential(size=(n, p)), (300, 1000), (2, 5, 10)),
    "lognormal": (lambda rng, n, p: rng.lognormal(size=(n, p)), (300, 1000), (1, 5, 10)),
    "lognormal, related by a factor": (_related, (300, 1000), (6, 10)),
    "a parabola": (_bent, (300, 1000), (2,)),
    "two Gaussian factors and noise": (_two_factors, (300,), (30,)),
    "two uniform factors and noise": (partial(_two_factors, uniform=True), (300,), (30,)),
}


def outliers(runs: int) -> Iterator[Row]:
    """5% uniform noise, clusters of 1000 and 20 rows, duplicated rows."""
    for name, make in (("5% noise", _noisy), ("1000 : 20", _unequal), ("duplicates", _duplicated)):
        ours, peer, flagged = [], [], []
        for seed in range(runs):
            X, y = make(seed)
            labels = fit(X, seed).labels_
            ours.append(adjusted_rand_score(y[y >= 0], labels[y >= 0]))
            peer.append(adjusted_rand_score(y[y >= 0], knn_kmeans(X, y.max() + 1)[y >= 0]))
            flagged.append(np.mean(labels[y < 0] < 0) if (y < 0).any() else np.nan)
        note = f"noise found: {np.nanmean(flagged):.0%}" if not np.isnan(flagged).all() else ""
        yield name, f"{np.mean(ours):.3f}", f"{np.mean(peer):.3f}", note


def _noisy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_clusters(4, 125, 8, noise=0.1, random_state=seed)
    noise = np.random.default_rng(seed).uniform(-1, 2, (25, 8))
    return hide_entries(np.vstack([X, noise]), 0.2, random_state=seed), np.append(y, np.full(25, -1))


def _unequal(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_clusters(2, [1000, 20], 8, noise=0.12, random_state=seed)
    return hide_entries(X, 0.2, random_state=seed), y


def _duplicated(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_clusters(3, 60, 8, noise=0.12, random_state=seed)
    X = hide_entries(X, 0.2, random_state=seed)
    return np.vstack([X, X[:90], X[:90]]), np.concatenate([y, y[:90], y[:90]])


def surveys(runs: int) -> Iterator[Row]:
    """Answers in steps, 20% hidden: yes or no, one to five, numbers and categories; in three groups, and in one."""
    for name, make in (("yes or no", _votes), ("one to five", _ratings), ("numbers and categories", _mixed)):
        for groups in (3, 1):
            ours, peer, found = [], [], []
            for seed in range(runs):
                X, y = make(seed, groups)
                model = fit(X, seed)
                ours.append(adjusted_rand_score(y, model.labels_))
                peer.append(adjusted_rand_score(y, knn_kmeans(X, groups)))
                found.append(model.n_clusters_)
            note = f"{groups} found in {np.mean(np.array(found) == groups):.0%} of runs, at most {max(found)}"
            case = f"{name}, {groups} {'group' if groups == 1 else 'groups'}"
            yield case, f"{np.mean(ours):.3f}", f"{np.mean(peer):.3f}", note


def _votes(seed: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=400)
    return _answered(rng, rng.random((400, 12)) < rng.choice([0.15, 0.85], (groups, 12))[y]), y


def _ratings(seed: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=400)
    return _answered(rng, np.clip(np.round(rng.uniform(1, 5, (groups, 12))[y] + rng.normal(size=(400, 12))), 1, 5)), y


def _mixed(seed: int, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Six numbers, a category of four values (one column each) and a yes-or-no answer."""
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=400)
    numbers = 1.5 * rng.normal(size=(groups, 6))[y] + rng.normal(size=(400, 6))
    chances = rng.dirichlet(np.ones(4), size=groups)[y].cumsum(axis=1)
    category = (rng.random((400, 1)) > chances[:, :3]).sum(axis=1)
    flag = rng.random((400, 1)) < rng.random((groups, 1))[y]
    answers = _answered(rng, np.column_stack([numbers, category, flag]))
    kinds = np.where(np.isnan(answers[:, 6:7]), np.nan, answers[:, 6:7] == np.arange(4))
    return np.column_stack([answers[:, :6], kinds, answers[:, 7]]), y


def _answered(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    return np.where(rng.random(table.shape) < 0.2, np.nan, table.astype(float))


def mechanisms(runs: int) -> Iterator[Row]:
    """30% of the entries hidden by five mechanisms."""
    for mechanism in ("mcar", "mar", "mnar", "block", "columns"):
        ours, peer = [], []
        for seed in range(runs):
            X, y, _ = make_clusters(4, 100, 12, noise=0.25, random_state=seed)
            X = hide_entries(X, 0.3, mechanism=mechanism, random_state=seed)
            ours.append(adjusted_rand_score(y, fit(X, seed).labels_))
            peer.append(adjusted_rand_score(y, knn_kmeans(X, 4)))
        yield mechanism, f"{np.mean(ours):.3f}", f"{np.mean(peer):.3f}", ""


def imputation(runs: int) -> Iterator[Row]:
    """Root-mean-square error of imputed values in units of the noise (1 is optimal), compared with KNNImputer."""
    for fraction in (0.1, 0.3, 0.5):
        ours, peer = [], []
        for seed in range(runs):
            truth, _, _ = make_clusters(4, 100, 12, noise=0.15, random_state=seed)
            X = hide_entries(truth, fraction, random_state=seed)
            holes = np.isnan(X)
            for errors, imputer in ((ours, FusionImputer(random_state=seed)), (peer, KNNImputer())):
                filled = imputer.fit_transform(X)
                errors.append(np.sqrt(np.mean((filled - truth)[holes] ** 2)) / 0.15)
        yield f"{fraction:.0%} hidden", f"{np.mean(ours):.3f}", f"{np.mean(peer):.3f}", "error / noise"


def coverage(runs: int) -> Iterator[Row]:
    """Share of hidden entries in the interval from the 5th to the 95th of 99 draws of ``FusionImputer.sample``: 0.9."""
    settings = {
        "300 x 5, correlated columns": lambda rng: _correlated(rng, 300, 5, 3),
        "150 x 8, correlated columns": lambda rng: _correlated(rng, 150, 8, 2),
        "300 x 10, independent columns": lambda rng: _shifted(rng, 300, 10, 3, 0),
        "300 x 60, independent columns": lambda rng: _shifted(rng, 300, 60, 4, 0),
        "300 x 40, three factors": lambda rng: _shifted(rng, 300, 40, 3, 3),
        "200 x 6, one cluster": lambda rng: _correlated(rng, 200, 6, 1),
    }
    for name, make in settings.items():
        for fraction in (0.1, 0.3, 0.5):
            inside: dict[bool, list[float]] = {False: [], True: []}
            for seed in range(runs):
                truth, k = make(np.random.default_rng(seed))
                X = hide_entries(truth, fraction, random_state=seed)
                for told, found in inside.items():
                    imputer = FusionImputer(n_clusters=k if told else None, random_state=seed).fit(X)
                    draws = np.sort(imputer.sample(X, n_draws=99, random_state=seed), axis=0)
                    found.append(float(np.mean(((draws[4] <= truth) & (truth <= draws[94]))[np.isnan(X)])))
            free, told_k = (f"{np.mean(found):.3f}" for found in inside.values())
            least, most = (f(inside[False]) for f in (min, max))
            yield f"{name}, {fraction:.0%} hidden", free, told_k, f"{least:.3f} to {most:.3f}"


def _correlated(rng: np.random.Generator, n: int, p: int, k: int) -> tuple[np.ndarray, int]:
    """Clusters with a covariance of their own, in columns of different scales."""
    parts = []
    for _ in range(k):
        root = rng.normal(size=(p, p)) / np.sqrt(p) + 0.5 * np.eye(p)
        parts.append(9 / np.sqrt(p) * rng.normal(size=p) + rng.normal(size=(n // k, p)) @ root.T)
    return np.concatenate(parts) * np.exp(rng.normal(size=p)), k


def _shifted(rng: np.random.Generator, n: int, p: int, k: int, factors: int) -> tuple[np.ndarray, int]:
    """Clusters with different centres, the same factors, and noise that differs between columns."""
    centers, loadings = 1.5 * rng.normal(size=(k, p)), 0.8 * rng.normal(size=(factors, p))
    common = rng.normal(size=(n, factors)) @ loadings
    return centers[np.arange(n) % k] + common + rng.uniform(0.3, 1.2, p) * rng.normal(size=(n, p)), k


def digits(runs: int) -> Iterator[Row]:
    """Handwritten digits along principal components of unit variance: no small set of directions stands out."""
    images, y = load_digits(return_X_y=True)
    for n_components in (10, 20, 30):
        X = PCA(n_components, whiten=True, random_state=0).fit_transform(images)
        for hidden in (0.0, 0.3):
            ours, peer, found = [], [], []
            for seed in range(min(runs, 3) if hidden else 1):
                Z = hide_entries(X, hidden, random_state=seed) if hidden else X
                model = fit(Z, seed)
                ours.append(adjusted_rand_score(y, model.labels_))
                peer.append(adjusted_rand_score(y, knn_kmeans(Z, 10)))
                found.append(str(model.n_clusters_))
            note = f"{', '.join(found)} {'cluster' if found == ['1'] else 'clusters'}"
            yield (
                f"{n_components} components, {hidden:.0%} hidden",
                f"{np.mean(ours):.3f}",
                f"{np.mean(peer):.3f}",
                note,
            )


def hints(runs: int) -> Iterator[Row]:
    """Labels of a tenth of the rows, ARI on the others; peers are given the same labels."""
    for name, draw in HINTED.items():
        scores = []
        for seed in range(runs):
            X, y = draw(seed)
            known = np.where(np.random.default_rng(seed).permutation(len(y)) < len(y) / 10, y, -1)
            filled = StandardScaler().fit_transform(KNNImputer(keep_empty_features=True).fit_transform(X))
            seeds = np.array([filled[known == k].mean(axis=0) for k in np.unique(known[known >= 0])])
            labels = (
                FusionClustering(random_state=seed, semi_supervised=True).fit_predict(X, known),
                LogisticRegression(max_iter=1000).fit(filled[known >= 0], known[known >= 0]).predict(filled),
                LabelSpreading(kernel="knn", n_neighbors=15).fit(filled, known).transduction_,
                KMeans(len(seeds), init=seeds, n_init=1).fit_predict(filled),
                fit(X, seed).labels_,
            )
            rest = known < 0
            scores.append([adjusted_rand_score(y[rest], found[rest]) for found in labels])
        ours, logistic, spread, seeded, without = np.mean(scores, axis=0)
        lower = sum(row[0] < row[-1] - 1e-9 for row in scores)
        note = f"LabelSpreading {spread:.3f}, seeded k-means {seeded:.3f}; "
        note += f"Fusewise without labels {without:.3f}, better in {lower} of {runs} runs"
        yield name, f"{ours:.3f}", f"{logistic:.3f}", note


def _paper(shrink: float, p0: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_clusters(3, 200, 50, noise=0.1**0.5, shrink=shrink, random_state=seed)
    return hide_entries(X, 1 - p0, random_state=seed), y


def _no_valley(seed: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """One Gaussian, cut into three classes along a direction: no cluster shows them."""
    rng = np.random.default_rng(seed)
    X, direction = rng.standard_normal((600, n_columns)), rng.standard_normal(n_columns)
    y = np.digitize(X @ direction / np.linalg.norm(direction), (-0.5, 0.5))
    return hide_entries(X, 0.1, random_state=seed), y


def _two_humps(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Six groups, every two of them one class."""
    X, group, _ = make_clusters(6, 60, 10, noise=0.3, random_state=seed)
    return hide_entries(X, 0.2, random_state=seed), group // 2


def _skewed(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes with long tails to one side."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 120)
    tails = rng.exponential(1.0, (360, 4)) * np.array([1, 1, 1, 3])
    return hide_entries(tails + 2.2 * np.eye(3, 4)[y], 0.1, random_state=seed), y


def _by_factors(seed: int, n: int = 500, p: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Three classes of lognormal values that differ by factors."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return rng.lognormal(size=(n, p)) * np.exp(1.5 * rng.standard_normal((3, p)))[y], y


def _rounded(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes in one column and two, as whole numbers: many rows are equal."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 300)
    return np.round(4.0 * rng.standard_normal((900, 1 + seed % 2)) + 20.0 * y[:, None]), y


def _many(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Twelve classes of unequal sizes."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(12), np.linspace(15, 80, 12).astype(int))
    centres = rng.normal(0, 2, (12, 6))
    return hide_entries(centres[y] + rng.standard_normal((len(y), 6)), 0.1, random_state=seed), y


HINTED: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    "Dataset-1, p0 = 0.3": lambda seed: _paper(1.0, 0.3, seed),
    "Dataset-1, p0 = 0.2": lambda seed: _paper(1.0, 0.2, seed),
    "Dataset-2, p0 = 0.6": lambda seed: _paper(0.5, 0.6, seed),
    "Dataset-2, p0 = 0.4": lambda seed: _paper(0.5, 0.4, seed),
    "classes of two groups, 20% hidden": _two_humps,
    "skewed classes, 10% hidden": _skewed,
    "12 classes of 15 to 80 rows, 10% hidden": _many,
    "yes or no, 3 groups": lambda seed: _votes(seed, 3),
    "3 classes without valleys, 5 columns, 10% hidden": lambda seed: _no_valley(seed, 5),
    "3 classes without valleys, 30 columns, 10% hidden": lambda seed: _no_valley(seed, 30),
}


def stability(runs: int) -> Iterator[Row]:
    """Mean Jaccard similarity of clusters over ten draws: three separate clusters, and one Gaussian cut in three."""
    for noise in (0.1, 0.15):
        for hidden in (0.0, 0.3):
            tables = (make_clusters(3, 60, 10, noise=noise, random_state=seed)[0] for seed in range(runs))
            name = f"three clusters, noise {noise}, {hidden:.0%} hidden"
            yield _stable(name, "above 0.85", tables, hidden, None)
    for p in (2, 5, 10):
        for hidden in (0.0, 0.3):
            tables = (np.random.default_rng(seed).normal(size=(300, p)) for seed in range(runs))
            yield _stable(
                f"a Gaussian in {p} columns, cut in three, {hidden:.0%} hidden", "below 0.6", tables, hidden, 3
            )


def _stable(name: str, wanted: str, tables: Iterator[np.ndarray], hidden: float, n_clusters: int | None) -> Row:
    all_, small = [], []
    for seed, X in enumerate(tables):
        model = FusionClustering(n_clusters=n_clusters, random_state=seed).fit(
            hide_entries(X, hidden, random_state=seed)
        )
        found = model.stability(n_draws=10).clusters
        all_.append(found.mean())
        small += found[1:].tolist()
    note = f"clusters but the largest: {np.min(small):.2f} to {np.max(small):.2f}, mean {np.mean(small):.2f}"
    return name, f"{np.mean(all_):.2f}", wanted, note


#: Bounds of the probabilities that are told apart.
BINS = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


def calibration(runs: int) -> Iterator[Row]:
    """Rows by the probability claimed for their cluster, by the model alone or averaged over the draws of ``stability``
    (three overlapping Gaussian or Student-t clusters, K given; 0 or 40% hidden); then outliers by their confidence.

    Runs in which fewer than 60% of the rows are right have found other clusters, and are left out.
    """
    for n in (100, 400):
        claimed: dict[str, list[np.ndarray]] = {"probabilities_": [], "stability().confidence": []}
        right, found = [], 0
        designs = [
            (p, gap, hidden, shape) for p, gap in ((2, 2.5), (8, 1.0)) for hidden in (0.0, 0.4) for shape in (0, 5)
        ]
        for seed, (p, gap, hidden, shape) in enumerate(designs * runs):
            rng = np.random.default_rng(seed)
            y = rng.integers(3, size=n)
            noise = (
                rng.normal(size=(n, p)) if not shape else rng.standard_t(shape, size=(n, p)) * np.sqrt(1 - 2 / shape)
            )
            X = hide_entries(gap * rng.normal(size=(3, p))[y] + noise, hidden, random_state=seed)
            model = FusionClustering(n_clusters=3, random_state=seed).fit(X)
            matched = _matched(y, model.labels_)
            if np.mean(matched) < 0.6:
                continue
            found += 1
            kept = model.labels_ >= 0
            right.append(matched[kept])
            claimed["probabilities_"].append(model.confidence_[kept])
            claimed["stability().confidence"].append(model.stability(n_draws=10).confidence[kept])
        for name, values in claimed.items():
            yield from _reliability(f"{n} rows, {name}", np.concatenate(values), np.concatenate(right))
        yield f"{n} rows", "", "", f"clusters found in {found} of {len(designs) * runs} runs"
    yield from _reliability("outliers, confidence_", *_contaminated(2 * runs))


def _matched(y: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether the cluster of each row is the one matched to its class (one to one, most rows right)."""
    counts = np.array([[np.sum((y == a) & (labels == b)) for b in range(3)] for a in range(3)])
    classes, clusters = linear_sum_assignment(-counts)
    return np.append(classes[np.argsort(clusters)], -1)[labels] == y


def _contaminated(runs: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of Student-t clusters with 5 degrees of freedom, and strays near them: confidence, and whether a stray."""
    sure, stray = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        tails = np.sqrt(rng.chisquare(5, size=(400, 1)) / 5)
        inside = 12 * rng.normal(size=(2, 4))[rng.integers(2, size=400)] + rng.normal(size=(400, 4)) / tails
        X = np.vstack([inside, rng.uniform(inside.min(axis=0) - 5, inside.max(axis=0) + 5, size=(20, 4))])
        model = fit(X, seed)
        out = model.labels_ < 0
        sure.append(model.confidence_[out])
        stray.append(np.flatnonzero(out) >= 400)
    return np.concatenate(sure), np.concatenate(stray)


def _reliability(name: str, claimed: np.ndarray, right: np.ndarray) -> Iterator[Row]:
    for low, high in pairwise(BINS):
        some = (claimed >= low) & ((claimed < high) | (high == 1))
        if some.sum() >= 20:
            case = f"{name}, {low} to {high}"
            yield case, f"{claimed[some].mean():.2f}", f"{right[some].mean():.2f}", f"{some.sum()} rows"
    yield f"{name}, all", f"{claimed.mean():.3f}", f"{right.mean():.3f}", f"{len(claimed)} rows"


def toys(runs: int) -> Iterator[Row]:
    """The shapes of scikit-learn's comparison of clustering methods, 500 rows; rows without an entry are left out.

    The best classifier knows the density of each group, from 20,000 rows.
    """
    for name, draw in SHAPES.items():
        for hidden in (0.0, 0.2):
            scores, numbers = [], []
            for seed in range(runs):
                X, y = _shape(name, hidden, seed)
                model = fit(X, seed)
                filled = StandardScaler().fit_transform(KNNImputer().fit_transform(X))
                peer = HDBSCAN(min_cluster_size=15).fit_predict(filled)
                best = _classified(X, *draw(seed, 20_000))
                scores.append([adjusted_rand_score(y, labels) for labels in (model.labels_, peer, best)])
                numbers.append(model.n_clusters_)
            ours, peer_score, bound = np.mean(scores, axis=0)
            note = f"best classifier {bound:.3f}; {' '.join(map(str, numbers))} clusters"
            yield f"{name}, {hidden:.0%} hidden", f"{ours:.3f}", f"{peer_score:.3f}", note


def _shape(name: str, hidden: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = SHAPES[name](seed, 500)
    X = np.where(np.random.default_rng(seed).random(X.shape) < hidden, np.nan, X)
    seen = ~np.isnan(X).all(axis=1)
    return X[seen], y[seen]


def _classified(X: np.ndarray, drawn: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The most frequent group among the 101 nearest of many rows, by the observed entries."""
    labels = np.empty(len(X), int)
    patterns, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    for k, seen in enumerate(patterns):
        rows = which.ravel() == k
        labels[rows] = KNeighborsClassifier(101).fit(drawn[:, seen], y).predict(X[rows][:, seen])
    return labels


def _stretched(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(n, random_state=170 + seed)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


SHAPES: dict[str, Callable[[int, int], tuple[np.ndarray, np.ndarray]]] = {
    "crescents": lambda seed, n: make_moons(n, noise=0.05, random_state=30 + seed),
    "rings": lambda seed, n: make_circles(n, factor=0.5, noise=0.05, random_state=30 + seed),
    "unequal spreads": lambda seed, n: make_blobs(n, cluster_std=[1, 2.5, 0.5], random_state=170 + seed),
    "long groups": _stretched,
    "round groups": lambda seed, n: make_blobs(n, random_state=30 + seed),
}


def many(runs: int) -> Iterator[Row]:
    """Groups of 100 rows in ten columns."""
    for k in (40, 100, 300):
        for hidden in (0.0, 0.2):
            scores, numbers = [], []
            for seed in range(runs):
                X, y = _groups(k, hidden, seed)
                model = fit(X, seed)
                peer = MiniBatchKMeans(k, n_init=3, random_state=seed).fit_predict(SimpleImputer().fit_transform(X))
                scores.append([adjusted_rand_score(y, labels) for labels in (model.labels_, peer)])
                numbers.append(model.n_clusters_)
            ours, peer_score = np.mean(scores, axis=0)
            yield f"{k} groups, {hidden:.0%} hidden", f"{ours:.3f}", f"{peer_score:.3f}", f"{numbers} clusters"


def _groups(k: int, hidden: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(100 * k, centers=k, n_features=10, random_state=seed)
    return np.where(np.random.default_rng(seed).random(X.shape) < hidden, np.nan, X), y


def columns(runs: int) -> Iterator[Row]:
    """Four groups that differ in six columns, among noisy ones, 500 rows; and noise alone, where one group is right."""
    for n_columns in (50, 200):
        for width, hidden in ((6.0, 0.0), (5.0, 0.0), (6.0, 0.2), (0.0, 0.0)):
            scores, numbers = [], []
            for seed in range(runs):
                X, y = _among_noise(n_columns, width, hidden, seed)
                model = fit(X, seed)
                scores.append([adjusted_rand_score(y, each) for each in (model.labels_, fit(X[:, :6], seed).labels_)])
                numbers.append(model.n_clusters_)
            ours, told = np.mean(scores, axis=0)
            groups = f"centres within {width:g} standard deviations" if width else "noise alone"
            case = f"{n_columns} columns, {groups}, {hidden:.0%} hidden"
            yield case, f"{ours:.3f}", f"{told:.3f}", f"{numbers} clusters"


def _among_noise(n_columns: int, width: float, hidden: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with none of the six entries are left out."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4 if width else 1, size=500)
    X = rng.normal(size=(500, n_columns))
    X[:, :6] += rng.uniform(-width / 2, width / 2, (4, 6))[y]
    X = hide_entries(X, hidden, random_state=seed) if hidden else X
    seen = ~np.isnan(X[:, :6]).all(axis=1)
    return X[seen], y[seen]


def overlapping(runs: int) -> Iterator[Row]:
    """Two Gaussians of 500 rows each with hardly a valley between them, in all columns; their number is given."""
    for p in (4, 16, 64):
        for apart, hidden in ((3.0, 0.0), (2.5, 0.0), (2.0, 0.0), (2.5, 0.2)):
            scores = []
            for seed in range(runs):
                y = np.repeat([0, 1], 500)
                X = np.random.default_rng(seed).standard_normal((1000, p)) + apart / np.sqrt(p) * y[:, None]
                X = hide_entries(X, hidden, random_state=seed) if hidden else X
                centers = apart / np.sqrt(p) * np.array([np.zeros(p), np.ones(p)])
                ours = FusionClustering(n_clusters=2, random_state=seed).fit_predict(X)
                found = (ours, knn_kmeans(X, 2), bayes(X, centers))
                scores.append([adjusted_rand_score(y, labels) for labels in found])
            ours, peer, best = np.mean(scores, axis=0)
            case = f"{p} columns, {apart:g} standard deviations apart, {hidden:.0%} hidden"
            yield case, f"{ours:.3f}", f"{peer:.3f}", f"Bayes {best:.3f}, worst {np.min(scores, axis=0)[0]:.3f}"


def factors(runs: int) -> Iterator[Row]:
    """Three groups of lognormal values that differ by factors in every column; only the peer gets logarithms."""
    for n, p, hidden in ((n, p, hidden) for n in (300, 1000) for p in (5, 10, 20) for hidden in (0.0, 0.2)):
        scores, numbers = [], []
        for seed in range(runs):
            X, y = _by_factors(seed, n, p)
            X = hide_entries(X, hidden, random_state=seed) if hidden else X
            model, told = fit(X, seed), FusionClustering(n_clusters=3, random_state=seed).fit(X)
            labels = model.labels_, knn_kmeans(np.log(X), 3), told.labels_
            scores.append([adjusted_rand_score(y, each) for each in labels])
            numbers.append(model.n_clusters_)
        ours, peer, given = np.mean(scores, axis=0)
        exact = f"3 clusters in {np.mean(np.array(numbers) == 3):.0%} of runs; K given {given:.3f}"
        yield f"{n} rows, {p} columns, {hidden:.0%} hidden", f"{ours:.3f}", f"{peer:.3f}", exact


def sizes(runs: int) -> Iterator[Row]:
    """Rows of all sizes, which two factors explain; groups differ in shape, where columns vary little."""
    for n, p, k, hidden in ((300, 5, 3, 0.0), (300, 8, 3, 0.0), (1000, 8, 4, 0.0), (300, 8, 3, 0.2), (300, 20, 3, 0.0)):
        scores, numbers = [], []
        for seed in range(runs):
            X, y = _of_all_sizes(seed, n, p, k)
            X = hide_entries(X, hidden, random_state=seed) if hidden else X
            model, told = fit(X, seed), FusionClustering(n_clusters=k, random_state=seed).fit(X)
            filled = KNNImputer().fit_transform(X)
            labels = model.labels_, GaussianMixture(k, n_init=10, random_state=0).fit_predict(filled), told.labels_
            scores.append([adjusted_rand_score(y, each) for each in labels])
            numbers.append(model.n_clusters_)
        ours, peer, given = np.mean(scores, axis=0)
        exact = f"{k} clusters in {np.mean(np.array(numbers) == k):.0%} of runs; K given {given:.3f}"
        yield f"{n} rows, {p} columns, {k} groups, {hidden:.0%} hidden", f"{ours:.3f}", f"{peer:.3f}", exact


def _of_all_sizes(seed: int, n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest groups are 5 standard deviations of the noise apart, at right angles to the factors."""
    rng = np.random.default_rng(seed)
    y, factors = np.arange(n) % k, 4 * rng.standard_normal((2, p))
    along = np.linalg.qr(factors.T)[0]
    centers = rng.standard_normal((k, p)) @ (np.eye(p) - along @ along.T)
    centers *= 5 / min(np.linalg.norm(centers[a] - centers[b]) for a in range(k) for b in range(a))
    return rng.standard_normal((n, 2)) @ factors + centers[y] + rng.standard_normal((n, p)), y


STUDIES: dict[str, tuple[str, str, Callable[[int], Iterator[Row]]]] = {
    "dataset1": ("Dataset-1, ARI", "Bayes", lambda runs: dataset(runs, 1.0)),
    "dataset2": ("Dataset-2, ARI", "Bayes", lambda runs: dataset(runs, 0.5)),
    "wine": ("Wine subset, ARI", "KNN + k-means (K)", wine),
    "nothing": ("Data without clusters: share of runs that return one cluster", "ideal", nothing),
    "outliers": ("Outliers and unequal sizes, ARI on the clusters", "KNN + k-means (K)", outliers),
    "surveys": ("Answers in steps, ARI", "KNN + k-means (K)", surveys),
    "mechanisms": ("30% missing, by five mechanisms, ARI", "KNN + k-means (K)", mechanisms),
    "toys": ("Shapes in two columns, ARI", "KNN + HDBSCAN", toys),
    "many": ("Many groups, ARI", "mean + mini-batch k-means (K)", many),
    "columns": ("Six columns with groups among noisy ones, ARI", "Fusewise on the six columns", columns),
    "overlapping": ("Two groups that overlap, K given, ARI", "KNN + k-means (K)", overlapping),
    "factors": ("Groups that differ by factors, ARI", "logarithms + KNN + k-means (K)", factors),
    "sizes": ("Groups of rows of all sizes that differ in shape, ARI", "KNN + Gaussian mixture (K)", sizes),
    "imputation": ("Imputation: error of filled values", "KNNImputer", imputation),
    "hints": ("Labels of a tenth of the rows, ARI on the others", "KNN + LogisticRegression", hints),
    "stability": ("Stability of clusters, mean Jaccard similarity", "wanted", stability),
    "calibration": ("Calibration: probability claimed, and share of rows that are right", "share right", calibration),
    "coverage": ("Multiple imputation: coverage of 90% intervals", "K given", coverage),
    "digits": ("Handwritten digits in principal components, ARI", "KNN + k-means (K)", digits),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=list(STUDIES), help=f"some of {', '.join(STUDIES)}; default: all")
    parser.add_argument("--runs", type=int, default=10, help="repetitions of each case (default 10)")
    parser.add_argument("--jobs", type=int, default=1, help="processes for data without clusters (default 1)")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.studies:
        title, beside, study = STUDIES[name]
        start = time.perf_counter()
        print(f"\n### {title}\n\n| case | Fusewise | {beside} | |\n|---|---|---|---|")
        with joblib.parallel_config(n_jobs=args.jobs):
            for row in study(args.runs):
                print("| " + " | ".join(row) + " |", flush=True)
        print(f"\n({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
