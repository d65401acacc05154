"""Measure the geometry of labelled data, missing values allowed, in blocks that never hold N x N x P numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fusewise.kernels.types import Floats

BLOCK = 512  # pairs are visited in BLOCK x BLOCK tiles, which stay in cache


@dataclass
class PairSummary:
    """What the paper's assumptions ask of all pairs of points in different clusters."""

    delta: float = np.inf  # least distance
    mu0: float = 1.0  # largest coherence
    separating: float = np.inf  # least number of features that differ by more than epsilon
    n_pairs: int = 0  # pairs that shared enough entries to be measured


def feature_ranges(X: Floats, labels: NDArray[np.intp], n_clusters: int) -> tuple[Floats, Floats]:
    """Return the least and greatest observed entry of every cluster and feature (K x P; nan: none observed)."""
    low, high = np.full((2, n_clusters, X.shape[1]), np.nan)
    for k in range(n_clusters):
        rows = X[labels == k]
        seen = ~np.isnan(rows).all(axis=0)
        low[k, seen] = np.nanmin(rows[:, seen], axis=0)
        high[k, seen] = np.nanmax(rows[:, seen], axis=0)
    return low, high


def _tiles(n_rows: int, n_columns: int) -> Iterator[tuple[slice, slice]]:
    for i in range(0, n_rows, BLOCK):
        for j in range(0, n_columns, BLOCK):
            yield slice(i, i + BLOCK), slice(j, j + BLOCK)


def _measure_tile(A: Floats, B: Floats, epsilon: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Common entries, sum of squares, largest |difference| and number of differences > epsilon, for all rows A x B."""
    shape = (len(A), len(B))
    common, squares, largest, big = (np.zeros(shape) for _ in range(4))
    for a, b in zip(A.T, B.T, strict=True):
        gap = np.abs(a[:, None] - b[None, :])
        seen = ~np.isnan(gap)
        gap[~seen] = 0.0
        common += seen
        squares += gap**2
        np.maximum(largest, gap, out=largest)
        # Two entries epsilon apart on paper differ by epsilon (1 + rounding) in floats: they still can share. Rounding
        # is that of these two entries, whatever else is in the table.
        big += gap > epsilon * (1 + 1e-9) + 1e-12 * np.fmax(np.abs(a)[:, None], np.abs(b)[None, :])
    return common, squares, largest, big


def pair_summary(X: Floats, labels: NDArray[np.intp], n_clusters: int, epsilon: float, min_common: int) -> PairSummary:
    """Visit every pair of rows in different clusters that share at least ``min_common`` observed entries."""
    P, out = X.shape[1], PairSummary()
    groups = [X[labels == k] for k in range(n_clusters)]
    for A, B in combinations(groups, 2):
        for rows, columns in _tiles(len(A), len(B)):
            common, squares, largest, big = _measure_tile(A[rows], B[columns], epsilon)
            keep = common >= min_common
            if not keep.any():
                continue
            out.n_pairs += int(keep.sum())
            common, squares, largest, big = common[keep], squares[keep], largest[keep], big[keep]
            out.delta = min(out.delta, float(np.sqrt((squares * P / common).min())))
            with np.errstate(invalid="ignore", divide="ignore"):
                coherences = np.where(squares > 0, common * largest**2 / squares, P)
            out.mu0 = max(out.mu0, float(coherences.max()))
            out.separating = min(out.separating, float((big * P / common).min()))
    return out


def gap_features(low: Floats, high: Floats, epsilon: float) -> float:
    """Least number, over pairs of clusters, of features whose observed ranges lie more than epsilon apart."""
    counts = [
        float(np.sum(np.fmax(low[k] - high[m], low[m] - high[k]) > epsilon * (1 + 1e-9)))
        for k, m in combinations(range(len(low)), 2)
    ]
    return min(counts, default=np.inf)


def center_summary(centers: Floats) -> tuple[float, float]:
    """Least distance and largest coherence between centres, from the features known in both (scaled by P / known)."""
    P, distance, coherence = centers.shape[1], np.inf, 1.0
    for a, b in combinations(centers, 2):
        gap = np.abs(a - b)
        known = ~np.isnan(gap)
        total, count = float((gap[known] ** 2).sum()), int(known.sum())
        if count == 0:
            continue
        distance = min(distance, float(np.sqrt(total * P / count)))
        coherence = max(coherence, count * float(gap[known].max()) ** 2 / total if total > 0 else float(P))
    return distance, coherence
