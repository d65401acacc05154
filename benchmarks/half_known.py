"""Entries below a limit of detection, and entries with errors: what the default makes of them, and what is usual.

    python benchmarks/half_known.py                 # everything (about two minutes)
    python benchmarks/half_known.py wine --runs 3   # some of it

Every way ends with ``FusionClustering()``, which is not told the number of clusters; only the treatment of the entries
differs. "Half the limit" is what laboratories put in place of a value below it.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.datasets import load_wine
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering

SHARES = (0.0, 0.1, 0.3, 0.6)
WAYS = ("with the limits", "missing", "half the limit", "KNN imputation", "complete table")


def found(X: np.ndarray, y: np.ndarray, centers: np.ndarray | None, **known: np.ndarray) -> tuple[float, float]:
    """ARI, and the root-mean-square distance of true centres from the nearest that was found, in each column."""
    model = FusionClustering(random_state=0).fit(X, **known)
    if centers is None:
        return adjusted_rand_score(y, model.labels_), np.nan
    away = np.square(centers[:, None] - model.cluster_centers_[None]).mean(axis=2).min(axis=1)
    return adjusted_rand_score(y, model.labels_), float(np.sqrt(away.mean()))


def clusters(seed: int, k: int = 4, size: int = 75, columns: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logarithms of concentrations: rows, their clusters and the centres, with a standard deviation of 1 in each."""
    rng = np.random.default_rng(seed)
    centers, y = 1.5 * rng.standard_normal((k, columns)), np.repeat(np.arange(k), size)
    return centers[y] + rng.standard_normal((len(y), columns)), y, centers


def ways(X: np.ndarray, share: float, *, logarithms: bool) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """What each of the `WAYS` fits: a table, and what is known of its missing entries; the limits are quantiles."""
    limit = np.quantile(X, share, axis=0)
    below = limit > X
    seen = np.where(below, np.nan, X)
    yield seen, {"upper": limit}
    yield seen, {}
    yield np.where(below, limit - np.log(2) if logarithms else limit / 2, X), {}
    yield KNNImputer().fit_transform(seen), {}
    yield X, {}


def means(scores: list[list[tuple[float, float]]]) -> list[str]:
    """ARI and error of each way, averaged over runs."""
    mean = np.mean(np.array(scores), axis=0)
    return [f"{ari:.3f}" + ("" if np.isnan(error) else f" ({error:.2f})") for ari, error in mean]


def limits(runs: int) -> Iterator[list[str]]:
    """Four clusters of 75 rows in 12 columns, a share of each column below its limit."""
    for share in SHARES:
        scores = []
        for seed in range(runs):
            X, y, centers = clusters(seed)
            scores.append([found(table, y, centers, **known) for table, known in ways(X, share, logarithms=True)])
        yield [f"{share:.0%}", *means(scores)]


def wine(runs: int) -> Iterator[list[str]]:
    """scikit-learn's wine, 178 rows in 13 columns, a share of each below its limit; there is nothing to repeat."""
    X, y = load_wine(return_X_y=True)
    for share in SHARES:
        scores = [found(table, y, None, **known) for table, known in ways(X, share, logarithms=False)]
        yield [f"{share:.0%}", *means([scores])]


def errors(runs: int) -> Iterator[list[str]]:
    """The same clusters; a share of the entries has a standard error of 4, the others of 0.2."""
    for share in SHARES:
        scores = []
        for seed in range(runs):
            X, y, centers = clusters(seed)
            rng = np.random.default_rng([seed, 1])
            error = np.where(rng.random(X.shape) < share, 4.0, 0.2)
            seen = X + error * rng.standard_normal(X.shape)
            tables = ((seen, {"error": error}), (seen, {}), (np.where(error > 1, np.nan, seen), {}), (X, {}))
            scores.append([found(table, y, centers, **known) for table, known in tables])
        yield [f"{share:.0%}", *means(scores)]


Study = Callable[[int], Iterator[list[str]]]
STUDIES: dict[str, tuple[str, tuple[str, ...], Study]] = {
    "limits": ("Simulated clusters, entries below a limit: ARI (error of the centres)", WAYS, limits),
    "wine": ("Wine, entries below a limit: ARI", WAYS, wine),
    "errors": (
        "Simulated clusters, entries with large errors: ARI (error of the centres)",
        ("with the errors", "errors ignored", "large errors missing", "exact table"),
        errors,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=list(STUDIES), help=f"some of {', '.join(STUDIES)}; default: all")
    parser.add_argument("--runs", type=int, default=5, help="repetitions of each simulated case (default 5)")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.studies:
        title, columns, study = STUDIES[name]
        start = time.perf_counter()
        print(f"\n### {title}\n\n| share | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
        for row in study(args.runs):
            print("| " + " | ".join(row) + " |", flush=True)
        print(f"\n({time.perf_counter() - start:.0f} s)")


if __name__ == "__main__":
    main()
