"""Clustering benchmark suites in the format of Gagolewski's (2022): Fusewise beside k-means, mixtures and HDBSCAN.

    python benchmarks/suite.py FOLDER [--hide 0.2] [--suites fcps sipu] [--most-rows 20000]

FOLDER has a folder for each suite, with NAME.data.gz (numbers) and NAME.labels0.gz, NAME.labels1.gz, ... (several
reference partitions, 1, 2, ...; 0 marks noise, which is not scored), as github.com/gagolews/clustering-data-v1 has
them. It is not part of this repository. Columns are standardised, entries are hidden at random, and the peers get the
table filled by its 5 nearest rows. k-means and the Gaussian mixture are given each true number K; Fusewise and HDBSCAN
are not. The ARI is the largest over the reference partitions, as the suite's authors propose.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from fusewise import FusionClustering
from fusewise.datasets import hide_entries

SUITES = ("fcps", "graves", "other", "sipu", "uci", "wut")
METHODS = ("Fusewise", "k-means (K)", "Gaussian mixture (K)", "HDBSCAN")
Case = tuple[str, np.ndarray, list[np.ndarray]]


def cases(folder: Path, suites: list[str], most_rows: int) -> Iterator[Case]:
    """Name, standardised table and reference partitions of every table with at most so many rows."""
    for file in sorted(file for suite in suites for file in (folder / suite).glob("*.data.gz")):
        name = file.name.removesuffix(".data.gz")
        references = [np.loadtxt(path, dtype=int) for path in sorted(file.parent.glob(f"{name}.labels*.gz"))]
        if len(references[0]) <= most_rows:
            X = StandardScaler().fit_transform(np.loadtxt(file, ndmin=2))
            yield f"{file.parent.name}/{name}", X, references


def score(references: list[np.ndarray], labels: np.ndarray) -> float:
    """The largest ARI over the reference partitions, without noise."""
    return max(adjusted_rand_score(y[y > 0], labels[y > 0]) for y in references)


def scores(X: np.ndarray, references: list[np.ndarray]) -> tuple[list[float], int, float]:
    """ARI of each method; the number of clusters that Fusewise found, and its seconds."""
    start = time.perf_counter()
    ours = FusionClustering(random_state=0).fit(X)
    seconds = time.perf_counter() - start
    filled = KNNImputer(keep_empty_features=True).fit_transform(X) if np.isnan(X).any() else X
    numbers = sorted({int(y.max()) for y in references})
    told = [
        [KMeans(k, n_init=10, random_state=0).fit_predict(filled) for k in numbers],
        [GaussianMixture(k, n_init=3, reg_covar=1e-4, random_state=0).fit_predict(filled) for k in numbers],
    ]
    free = HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit_predict(filled)
    found = [score(references, ours.labels_)]
    found += [max(score(references, labels) for labels in each) for each in told]
    return [*found, score(references, free)], ours.n_clusters_, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hide", type=float, default=0.0, help="share of the entries to hide")
    parser.add_argument("--suites", nargs="*", default=list(SUITES))
    parser.add_argument("--most-rows", type=int, default=20_000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| table | shape | K | found | {' | '.join(METHODS)} | s |\n|{'---|' * (5 + len(METHODS))}")
    rows = []
    for name, X, references in cases(args.folder, args.suites, args.most_rows):
        if args.hide and X.shape[1] == 1:
            continue  # a row is complete or has no entry
        table = hide_entries(X, args.hide, random_state=0) if args.hide else X
        found, number, seconds = scores(table, references)
        rows.append(found)
        true = ", ".join(str(y.max()) for y in references)
        values = " | ".join(f"{value:.3f}" for value in found)
        print(f"| {name} | {len(X)} x {X.shape[1]} | {true} | {number} | {values} | {seconds:.1f} |", flush=True)
    means = " | ".join(f"**{value:.3f}**" for value in np.mean(rows, axis=0))
    print(f"| mean of {len(rows)} | | | | {means} | |")


if __name__ == "__main__":
    main()
