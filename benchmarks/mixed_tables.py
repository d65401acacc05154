"""Benchmark of numbers beside categories: tables without clusters, and groups beside a peer that is given their number.

    python benchmarks/mixed_tables.py nothing [--runs 10] [--jobs 2]   # share of runs that return one cluster
    python benchmarks/mixed_tables.py groups [--runs 10] [--jobs 2]    # ARI of three groups
    python benchmarks/mixed_tables.py effects [--runs 10] [--jobs 2]   # the same, numbers differ between two sexes too

Numbers have many shapes, alone or related to each other by two factors; four categories of three levels depend on the
group alone; a tenth of the cells is hidden. The peer imputes numbers by KNN and categories by their most frequent
level, has one column of 0 and 1 for each level, and runs k-means with the true number of clusters.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import joblib
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from fusewise import FusionClustering

HIDDEN, N_CATEGORIES = 0.1, 4
LEVELS = np.array(["low", "mid", "high"])

#: Numbers of one group, N x P; those of several are shifted, or multiplied where they are positive.
SHAPES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "normal": lambda rng, n, p: rng.standard_normal((n, p)),
    "normal, related": lambda rng, n, p: related(rng, n, p),
    "uniform": lambda rng, n, p: rng.random((n, p)) * np.sqrt(12),
    "Student t, 3 degrees of freedom": lambda rng, n, p: rng.standard_t(3, size=(n, p)),
    "exponential": lambda rng, n, p: rng.exponential(size=(n, p)),
    "lognormal": lambda rng, n, p: rng.lognormal(size=(n, p)),
    "lognormal, related": lambda rng, n, p: np.exp(related(rng, n, p)),
}


def related(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Two factors explain 80% of the variance of each column."""
    loadings = rng.standard_normal((2, p))
    loadings /= np.linalg.norm(loadings, axis=0)
    return np.sqrt(0.8) * rng.standard_normal((n, 2)) @ loadings + np.sqrt(0.2) * rng.standard_normal((n, p))


def table(shape: str, n: int, p: int, groups: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A frame of numbers and categories, and the group of each row."""
    rng = np.random.default_rng(seed)
    y = rng.integers(groups, size=n)
    centres = rng.standard_normal((groups, p)) * (groups > 1)
    X = SHAPES[shape](rng, n, p)
    X = X * np.exp(1.5 * centres[y]) if "lognormal" in shape or shape == "exponential" else X + 1.2 * centres[y]
    frame = pd.DataFrame(X, columns=[f"number {j}" for j in range(p)])
    for j in range(N_CATEGORIES):
        ends = rng.dirichlet(np.ones(len(LEVELS)), size=groups).cumsum(axis=1)[y]
        frame[f"category {j}"] = pd.Categorical(LEVELS[(rng.random((n, 1)) > ends[:, :-1]).sum(axis=1)])
    return frame.mask(rng.random(frame.shape) < HIDDEN), y


def found(shape: str, n: int, p: int, groups: int, seed: int) -> tuple[int, float, float]:
    """The number of clusters, our ARI, and that of the peer."""
    warnings.simplefilter("ignore")
    frame, y = table(shape, n, p, groups, seed)
    model = FusionClustering(random_state=seed).fit(frame)
    theirs = knn_kmeans(frame, groups) if groups > 1 else np.zeros(n)
    return model.n_clusters_, adjusted_rand_score(y, model.labels_), adjusted_rand_score(y, theirs)


def knn_kmeans(frame: pd.DataFrame, k: int) -> np.ndarray:
    """The usual approach, given the number of clusters."""
    numbers = frame.select_dtypes("number")
    filled = KNNImputer().fit_transform(StandardScaler().fit_transform(numbers))
    levels = pd.get_dummies(frame.drop(columns=numbers.columns).apply(lambda cells: cells.fillna(cells.mode()[0])))
    return KMeans(k, n_init=10, random_state=0).fit_predict(np.hstack([filled, levels.to_numpy(float)]))


def with_sexes(n: int, effect: float, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Four related measures of three species; one sex is larger in each of them by so many standard deviations."""
    rng = np.random.default_rng(seed)
    y, male = rng.integers(3, size=n), rng.integers(2, size=n)
    centres = 3.5 * np.array([[0, 0, 0, 0], [1, 0, 1, 0], [0, 1.2, 0, 0.6]])
    X = centres[y] + effect * np.outer(male, [1, 0.8, 1, 0.5]) + rng.standard_normal((n, 4))
    frame = pd.DataFrame(X + 0.7 * rng.standard_normal((n, 1)), columns=["bill", "wing", "mass", "tail"])
    frame["sex"] = pd.Categorical(np.array(["female", "male"])[male])
    return frame.mask(rng.random(frame.shape) < HIDDEN), y


def found_in_spite(n: int, effect: float, seed: int) -> tuple[float, ...]:
    """The number of clusters, our ARI, that without the sexes, and that of the peer."""
    warnings.simplefilter("ignore")
    frame, y = with_sexes(n, effect, seed)
    model, bare = (FusionClustering(random_state=seed).fit(each) for each in (frame, frame.drop(columns="sex")))
    labels = model.labels_, bare.labels_, knn_kmeans(frame, 3)
    return model.n_clusters_, *(adjusted_rand_score(y, each) for each in labels)


def cells(runs: int, groups: int, jobs: int) -> Iterator[tuple[str, int, int, np.ndarray]]:
    for shape in SHAPES:
        for n, p in ((300, 2), (300, 6), (1000, 6)):
            each = partial(found, shape, n, p, groups)
            yield shape, n, p, np.array(joblib.Parallel(jobs)(joblib.delayed(each)(seed) for seed in range(runs)))


def nothing(runs: int, jobs: int) -> Iterator[str]:
    yield "| numbers | rows x numbers | one cluster | at most |\n|---|---|---|---|"
    for shape, n, p, scores in cells(runs, 1, jobs):
        yield f"| {shape} | {n} x {p} | {np.mean(scores[:, 0] == 1):.2f} | {scores[:, 0].max():.0f} |"


def three_groups(runs: int, jobs: int) -> Iterator[str]:
    yield "| numbers | rows x numbers | Fusewise | KNN + k-means (K) | 3 clusters found |\n|---|---|---|---|---|"
    means = []
    for shape, n, p, scores in cells(runs, 3, jobs):
        means.append(scores[:, 1:].mean(axis=0))
        right = f"{np.mean(scores[:, 0] == 3):.0%}"
        yield f"| {shape} | {n} x {p} | {means[-1][0]:.3f} | {means[-1][1]:.3f} | {right} |"
    ours, theirs = np.mean(means, axis=0)
    yield f"| **mean** | | **{ours:.3f}** | {theirs:.3f} | |"


def effects(runs: int, jobs: int) -> Iterator[str]:
    yield "| rows | sexes apart | Fusewise | without the sexes | KNN + k-means (K) | 3 clusters found |"
    yield "|---|---|---|---|---|---|"
    for n, effect in ((n, effect) for n in (200, 1000) for effect in (0.0, 1.0, 2.0, 3.0, 4.0)):
        each = partial(found_in_spite, n, effect)
        scores = np.array(joblib.Parallel(jobs)(joblib.delayed(each)(seed) for seed in range(runs)))
        means = " | ".join(f"{mean:.3f}" for mean in scores[:, 1:].mean(axis=0))
        yield f"| {n} | {effect:g} | {means} | {np.mean(scores[:, 0] == 3):.0%} |"


STUDIES = {"nothing": nothing, "groups": three_groups, "effects": effects}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    for line in STUDIES[given.study](given.runs, given.jobs):
        print(line, flush=True)
