"""Simulated latent classes of many shapes: told nothing and told K, beside EM with a known number of classes and BIC.

    python benchmarks/latent_classes.py              # 30 tables (about 5 minutes on 2 cores)
    python benchmarks/latent_classes.py --tables 10  # fewer

A table has 2 to 8 classes of unequal size, 100 to 2000 rows and 5 to 40 columns of 2 to 6 levels; none, a quarter or
half of the columns are noise; in a third of the tables neighbouring columns are copied from each other in part, so that
the columns of a class depend on each other; up to 30% of the entries are missing. Scores are adjusted Rand indices. The
oracle knows the probabilities of every level. EM is the latent class model of StepMix, poLCA and others: multinomial,
missing entries left out, the best of ten random starts (K given) or of five for each of 1 to 10 classes (BIC).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from fusewise import FusionClustering

METHODS = ("oracle", "Fusewise", "EM, BIC", "Fusewise (K)", "EM (K)", "k-means on levels (K)")
SEPARATIONS = {0.3: "well separated", 0.7: "separated", 1.5: "close", 3.0: "very close"}


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Codes (NaN if missing), classes, the oracle's classes, and the concentration of the levels' probabilities."""
    rng = np.random.default_rng([77, seed])
    n_classes, n_columns = int(rng.integers(2, 9)), int(rng.integers(5, 41))
    n = int(np.exp(rng.uniform(np.log(100), np.log(2000))))
    sizes = np.maximum(rng.dirichlet(np.full(n_classes, rng.choice([2.0, 20.0]))), 0.03)
    sizes /= sizes.sum()
    y = rng.choice(n_classes, n, p=sizes)
    noise, spread, copied = rng.choice([0, 0.25, 0.5]), rng.choice(list(SEPARATIONS)), rng.choice([0, 0, 0.4])
    hidden_share, most = rng.choice([0, 0, 0.1, 0.3]), int(rng.choice([2, 4, 6]))
    hidden = rng.random((n, n_columns)) < hidden_share
    codes, log_p = np.empty((n, n_columns)), np.tile(np.log(sizes), (n, 1))
    before = None
    for j in range(n_columns):
        n_levels = int(rng.integers(2, most + 1))
        base = rng.dirichlet(np.full(n_levels, 2.0))
        if rng.random() < noise:
            q = np.repeat(base[None], n_classes, axis=0)
        else:
            q = np.array([rng.dirichlet(np.maximum(base * n_levels * spread, 1e-2)) for _ in range(n_classes)])
        q = (q + 1e-3) / (q + 1e-3).sum(axis=1, keepdims=True)
        cells = (rng.random((n, 1)) > q[y].cumsum(axis=1)[:, :-1]).sum(axis=1)
        if copied and before is not None and before[1] == n_levels and rng.random() < 0.5:
            cells = np.where(rng.random(n) < copied, before[0], cells)
        before = cells, n_levels
        codes[:, j] = cells
        log_p[~hidden[:, j]] += np.log(q[:, cells[~hidden[:, j]]]).T
    codes[hidden] = np.nan
    return codes, y, log_p.argmax(axis=1), float(spread)


def indicators(codes: np.ndarray) -> list[np.ndarray]:
    """0/1 for each level of each column; all zero if missing."""
    found = (np.unique(column[~np.isnan(column)]) for column in codes.T)
    return [(column[:, None] == levels).astype(float) for column, levels in zip(codes.T, found, strict=True)]


def em(codes: np.ndarray, k: int, rng: np.random.Generator, starts: int) -> tuple[np.ndarray, float]:
    """Labels and BIC (smaller is better) of the best of some random starts."""
    parts = indicators(codes)
    table, edges = np.hstack(parts), np.cumsum([0, *(part.shape[1] for part in parts)])[:-1]
    widths = [part.shape[1] for part in parts]
    best, labels = -np.inf, np.zeros(len(codes), int)
    for _ in range(starts if k > 1 else 1):
        posterior, last = rng.dirichlet(np.ones(k), len(codes)), -np.inf
        for _ in range(200):
            counts = posterior.T @ table + 1e-10
            log_q = np.log(counts / np.repeat(np.add.reduceat(counts, edges, axis=1), widths, axis=1))
            joint = table @ log_q.T + np.log(posterior.mean(axis=0) + 1e-300)
            total = np.logaddexp.reduce(joint, axis=1)
            posterior, fit = np.exp(joint - total[:, None]), float(total.sum())
            if fit - last < 1e-3:
                break
            last = fit
        if fit > best:
            best, labels = fit, posterior.argmax(axis=1)
    free = k - 1 + k * (table.shape[1] - len(parts))
    return labels, free * np.log(len(codes)) - 2 * best


def scores(seed: int) -> tuple[float, list[float], int, int]:
    """Separation of a table, the score of each method, and how many classes were found by Fusewise and by BIC."""
    codes, y, oracle, spread = draw(seed)
    k, rng, every = len(np.unique(y)), np.random.default_rng(seed), list(range(codes.shape[1]))
    ours = FusionClustering(categorical_features=every, random_state=0).fit(codes)
    told = FusionClustering(categorical_features=every, random_state=0, n_clusters=k).fit(codes)
    by_bic = [em(codes, number, rng, 5) for number in range(1, 11)]
    number = int(np.argmin([bic for _, bic in by_bic]))
    means = KMeans(k, n_init=10, random_state=0).fit_predict(np.hstack(indicators(codes)))
    labels: Sequence[np.ndarray] = (
        oracle, ours.labels_, by_bic[number][0], told.labels_, em(codes, k, rng, 10)[0], means,
    )  # fmt: skip
    return spread, [adjusted_rand_score(y, found) for found in labels], ours.n_clusters_ - k, number + 1 - k


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=30)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    spreads, found, ours, bic = zip(*map(scores, range(args.tables)), strict=True)
    print(f"| {args.tables} tables, mean ARI | tables | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 2)}")
    table = np.array(found)
    for spread, name in SEPARATIONS.items():
        some = np.array(spreads) == spread
        if some.any():
            print(f"| {name} | {some.sum()} | " + " | ".join(f"{mean:.3f}" for mean in table[some].mean(axis=0)) + " |")
    print(f"| all | {len(table)} | " + " | ".join(f"{mean:.3f}" for mean in table.mean(axis=0)) + " |")
    exact = [f"{np.mean(np.array(gaps) == 0):.0%}" for gaps in (ours, bic)]
    print(f"\nThe true number of classes in {exact[0]} of the tables (Fusewise) and {exact[1]} (BIC).")


if __name__ == "__main__":
    main()
