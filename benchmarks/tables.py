"""Benchmarks on your own tables: time compared with StepMix, stability, known labels, and imputed ratings.

    python benchmarks/tables.py time FOLDER_OR_CSV...   # tables with the class in the last column
    python benchmarks/tables.py holes FOLDER_OR_CSV...  # the same tables, a tenth of their entries hidden, five draws
    python benchmarks/tables.py hints FOLDER_OR_CSV...  # the same tables, a tenth of their labels known, ten draws
    python benchmarks/tables.py ratings RATINGS.csv     # rows of ratings, empty where not rated

``time`` fits every table under 1000 rows with default settings, and StepMix (Gaussian, diagonal, with missing values)
with 1 to 15 clusters, the best chosen by BIC. StepMix is not a dependency: install it separately.
``holes`` shows how stable a result is: real clusters survive the loss of a tenth of the entries.
``hints`` shows what known labels do: how much they raise the ARI, how often it is lower than without them, and what a
classifier makes of the same labels.
``ratings`` hides a tenth of the ratings and compares the error of the imputed ones with that of the user's mean, the
item's mean, and their sum. The imputer fills in whole ratings, as all that are given are whole.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.impute import KNNImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering, FusionImputer
from fusewise.datasets import hide_entries


def read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read numbers (NaN where empty), and the last column as classes."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([[float(v) if v else np.nan for v in row[:-1]] for row in rows])
    return X, np.unique([row[-1] for row in rows], return_inverse=True)[1]


def read_frame(file: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Read numbers and text, with the types that a ``types.json`` of the folder states; and the last column as classes.

    It is {name: {"columns": ["number" | "category" | "ordered", ...]}}, without the class.
    """
    frame = pd.read_csv(file, keep_default_na=False, na_values=["", "NA", "NaN", "nan"], low_memory=False)
    X, y = frame.iloc[:, :-1].copy(), pd.factorize(frame.iloc[:, -1])[0]
    types = file.with_name("types.json")
    stated = json.loads(types.read_text(encoding="utf-8")).get(file.stem) if types.exists() else None
    for name, kind in zip(X.columns, stated["columns"], strict=True) if stated else ():
        X[name] = pd.to_numeric(X[name]) if kind == "number" else pd.Categorical(X[name], ordered=kind == "ordered")
    return X, y


def stepmix_search(X: np.ndarray) -> np.ndarray:
    from stepmix.stepmix import StepMix

    shared = {"measurement": "gaussian_diag_nan", "n_init": 2, "max_iter": 200, "random_state": 0, "progress_bar": 0}
    fits = [StepMix(k, **shared).fit(X) for k in range(1, 16)]
    return min(fits, key=lambda fit: fit.bic(X)).predict(X)


def standardised(paths: list[Path]) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, standardised entries and classes of every table under 1000 rows."""
    for file in sorted(file for path in paths for file in (path.glob("*.csv") if path.is_dir() else [path])):
        X, y = read(file)
        if len(X) >= 1000 or np.isnan(X).mean() > 0.9 or len(np.unique(y)) > 50:
            continue
        deviations = np.nanstd(X, axis=0)
        yield file.stem, (X - np.nanmean(X, axis=0)) / np.where(deviations > 0, deviations, 1), y


def times(paths: list[Path]) -> Iterator[str]:
    FusionClustering().fit(np.random.default_rng(0).normal(size=(500, 8)))  # compiled once, before the clock starts
    yield "| table | shape | Fusewise s | StepMix s | ratio | our ARI | StepMix ARI |\n|---|---|---|---|---|---|---|"
    for name, X, y in standardised(paths):
        start = time.perf_counter()
        ours = FusionClustering().fit_predict(X)
        middle = time.perf_counter()
        theirs = stepmix_search(X)
        end = time.perf_counter()
        a, b = middle - start, end - middle
        scores = f"{adjusted_rand_score(y, ours):.3f} | {adjusted_rand_score(y, theirs):.3f}"
        yield f"| {name} | {X.shape[0]} x {X.shape[1]} | {a:.2f} | {b:.2f} | {a / b:.2f} | {scores} |"


def holes(paths: list[Path]) -> Iterator[str]:
    yield "| table | ARI, five draws | clusters |\n|---|---|---|"
    means = []
    for name, X, y in standardised(paths):
        fits = [FusionClustering().fit(hide_entries(X, 0.1, random_state=seed)) for seed in range(5)]
        scores = [adjusted_rand_score(y, fit.labels_) for fit in fits]
        means.append(np.mean(scores))
        found = " ".join(str(fit.n_clusters_) for fit in fits)
        yield f"| {name} | {means[-1]:.3f} ({min(scores):.2f} to {max(scores):.2f}) | {found} |"
    yield f"| **mean** | **{np.mean(means):.3f}** | |"


def hints(paths: list[Path]) -> Iterator[str]:
    yield "| table | without labels | with | lower | KNN + LogisticRegression |\n|---|---|---|---|---|"
    means = []
    for name, X, y in standardised(paths):
        without = adjusted_rand_score(y, FusionClustering(random_state=0).fit_predict(X))
        scores, peer = [], []
        filled = KNNImputer(keep_empty_features=True).fit_transform(X)
        for seed in range(10):
            known = np.where(np.random.default_rng(seed).permutation(len(y)) < len(y) / 10, y, -1)
            model = FusionClustering(random_state=0, semi_supervised=True).fit(X, known)
            scores.append(adjusted_rand_score(y, model.labels_))
            logistic = LogisticRegression(max_iter=1000).fit(filled[known >= 0], known[known >= 0])
            peer.append(adjusted_rand_score(y, np.where(known >= 0, known, logistic.predict(filled))))
        lower = sum(score < without - 1e-9 for score in scores)
        means.append([without, np.mean(scores), lower, np.mean(peer)])
        yield f"| {name} | {without:.3f} | {np.mean(scores):.3f} | {lower} of 10 | {np.mean(peer):.3f} |"
    without, with_labels, lower, theirs = np.mean(means, axis=0)
    yield f"| **mean** | **{without:.3f}** | **{with_labels:.3f}** | {lower:.1f} of 10 | {theirs:.3f} |"


def ratings(paths: list[Path]) -> Iterator[str]:
    X, _ = read(paths[0])
    seen = np.argwhere(~np.isnan(X))
    hidden = tuple(seen[np.random.default_rng(0).random(len(seen)) < 0.1].T)
    table, truth = X.copy(), X[hidden]
    table[hidden] = np.nan
    overall = np.nanmean(table)
    user, item = (np.nan_to_num(np.nanmean(table, axis=a), nan=overall) for a in (1, 0))
    imputer = FusionImputer()
    start = time.perf_counter()
    guesses = {
        "user's mean": user[hidden[0]],
        "item's mean": item[hidden[1]],
        "both added": user[hidden[0]] + item[hidden[1]] - overall,
        "Fusewise": imputer.fit_transform(table)[hidden],
    }
    seconds = time.perf_counter() - start
    yield f"{len(truth)} of {len(seen)} ratings hidden; Fusewise fills by {imputer.fill_}, {seconds:.0f} s"
    yield "| | RMSE | RMSE in whole ratings |\n|---|---|---|"
    for name, guess in guesses.items():
        errors = [np.sqrt(np.mean((each - truth) ** 2)) for each in (guess, np.rint(guess))]
        yield f"| {name} | {errors[0]:.3f} | {errors[1]:.3f} |"


STUDIES = {"time": times, "holes": holes, "hints": hints, "ratings": ratings}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=list(STUDIES))
    parser.add_argument("paths", nargs="+", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for line in STUDIES[args.study](args.paths):
        print(line, flush=True)


if __name__ == "__main__":
    main()
