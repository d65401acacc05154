"""The geometry on which every guarantee rests: how wide the clusters are, how far apart, and in how many features.

It is measured on labelled data, missing values allowed, in blocks that never hold N x N x P numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fusewise.kernels import Floats
from fusewise.observations import as_entries
from fusewise.support import InputError
from fusewise.theory import _checks as check
from fusewise.theory._bounds import separating_features

BLOCK = 512  # pairs are visited in BLOCK x BLOCK tiles, which stay in cache


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


def pair_summary(
    pairs: Iterable[tuple[Floats, Floats]], epsilon: float, min_common: int
) -> tuple[int, float, float, float]:
    """Visit every row of A with every row of B, for pairs (A, B) of tables, if they share ``min_common`` entries.

    Returns how many they are, their least distance, their largest coherence, and the least number of features that
    differ by more than epsilon.
    """
    n_pairs, delta, mu0, separating = 0, np.inf, 1.0, np.inf
    for A, B in pairs:
        P = A.shape[1]
        for i, j in product(range(0, len(A), BLOCK), range(0, len(B), BLOCK)):
            common, squares, largest, big = _measure_tile(A[i : i + BLOCK], B[j : j + BLOCK], epsilon)
            keep = common >= min_common
            if not keep.any():
                continue
            n_pairs += int(keep.sum())
            common, squares, largest, big = common[keep], squares[keep], largest[keep], big[keep]
            delta = min(delta, float(np.sqrt((squares * P / common).min())))
            with np.errstate(invalid="ignore", divide="ignore"):
                coherences = np.where(squares > 0, common * largest**2 / squares, P)
            mu0 = max(mu0, float(coherences.max()))
            separating = min(separating, float((big * P / common).min()))
    return n_pairs, delta, mu0, separating


def coherence(y: ArrayLike) -> Floats:
    r"""mu(y) = P ||y||_inf^2 / ||y||_2^2, along the last axis.

    1 when all entries have the same size, P when a single one is non-zero, nan for the zero vector.
    """
    y = np.abs(np.asarray(y, dtype=np.float64))
    if y.ndim == 0 or y.shape[-1] == 0:
        raise InputError(f"y must have at least one feature along its last axis; it has shape {y.shape}")
    largest = y.max(axis=-1)
    scaled = y / np.where(largest > 0, largest, 1.0)[..., None]  # so that squares do not under- or overflow
    with np.errstate(invalid="ignore", divide="ignore"):
        return check.unwrap(np.where(largest > 0, y.shape[-1] / (scaled**2).sum(axis=-1), np.nan))


@dataclass(frozen=True)
class ClusterGeometry:
    r"""epsilon, delta, mu0, c of the paper's assumptions A.1 to A.3, and what follows from them.

    * ``epsilon`` = max over clusters of ||z - z'||_inf: the side of the cube that holds a cluster;
    * ``delta`` = min over points of different clusters of ||z - z'||_2;
    * ``mu0`` = max over points of different clusters of the coherence of z - z';
    * ``c`` = min distance between cluster centres; ``mu_centers`` = max coherence of their differences;
    * ``kappa`` = epsilon sqrt(P) / delta and ``kappa_prime`` = epsilon sqrt(P) / c;
    * ``n_features`` = P, ``sizes`` of the clusters, ``observed`` fraction of the entries;
    * ``separating`` = min over points of different clusters of the number of features that differ by more than
      epsilon. ``measured_separating`` is its count on data; without data it follows from kappa and mu0.

    Build it with `from_data` or `from_parameters`.
    """

    epsilon: float
    delta: float
    mu0: float
    c: float
    mu_centers: float
    n_features: int
    sizes: tuple[int, ...]
    observed: float = 1.0
    measured_separating: int | None = None

    def __post_init__(self) -> None:
        check.real("epsilon", self.epsilon, 0, np.inf, open_high=True)
        check.real("delta", self.delta, 0, np.inf)
        check.real("c", self.c, 0, np.inf)
        check.whole("n_features", self.n_features, 1)
        check.whole("sizes", self.sizes, 1)
        check.real("mu0", self.mu0, 1, self.n_features)
        check.real("mu_centers", self.mu_centers, 1, self.n_features)
        check.real("observed", self.observed, 0, 1)

    @property
    def n_clusters(self) -> int:
        """K, the number of clusters."""
        return len(self.sizes)

    @property
    def n_points(self) -> int:
        """N, the number of points in clusters."""
        return sum(self.sizes)

    @property
    def equal_sizes(self) -> bool:
        """Whether all clusters have the same number of points, as the paper's theorem needs."""
        return len(set(self.sizes)) <= 1

    @property
    def kappa(self) -> float:
        """Kappa = epsilon sqrt(P) / delta (inf when points of different clusters coincide)."""
        return self.epsilon * self.n_features**0.5 / self.delta if self.delta else np.inf

    @property
    def kappa_prime(self) -> float:
        """kappa' = epsilon sqrt(P) / c (inf when two centres coincide)."""
        return self.epsilon * self.n_features**0.5 / self.c if self.c else np.inf

    @property
    def separating(self) -> int:
        """Features in which any two points of different clusters differ by more than epsilon; 0 when unknown."""
        implied = 0
        if self.kappa < 1:
            implied = int(separating_features(self.n_features, self.kappa, self.mu0))
        return max(implied, self.measured_separating or 0)

    @classmethod
    def from_parameters(
        cls,
        *,
        n_clusters: int,
        size: int | Sequence[int],
        n_features: int,
        kappa: float,
        mu0: float,
        kappa_prime: float | None = None,
        mu_centers: float | None = None,
        observed: float = 1.0,
        separating: int | None = None,
    ) -> ClusterGeometry:
        """Describe a study that is being planned; lengths are in units of delta (delta = 1).

        Parameters
        ----------
        n_clusters : number of clusters.
        size : points in each cluster: one number, or one per cluster.
        n_features : number of features.
        kappa : cluster size over cluster separation.
        mu0 : coherence, from 1 to n_features.
        kappa_prime, mu_centers : the same for the centres; by default kappa and mu0.
        observed : fraction of entries that will be observed.
        separating : number of features known to separate any two points of different clusters.
        """
        K = int(check.whole("n_clusters", n_clusters, 1))
        sizes = (size,) * K if isinstance(size, int | np.integer) else tuple(size)
        if len(sizes) != K:
            raise InputError(f"size has {len(sizes)} entries and n_clusters = {K}: they must agree")
        check.whole("size", sizes, 1)
        check.whole("n_features", n_features, 1)
        check.real("kappa", kappa, 0, np.inf, open_high=True)
        kappa_prime = kappa if kappa_prime is None else kappa_prime
        check.real("kappa_prime", kappa_prime, 0, np.inf, open_high=True)
        epsilon = kappa / float(np.sqrt(n_features))
        # kappa = 0 makes epsilon 0, so any positive c gives kappa' = 0: the noiseless case
        c = kappa / kappa_prime if kappa_prime > 0 and kappa > 0 else 1.0
        return cls(
            epsilon=epsilon,
            delta=1.0,
            mu0=mu0,
            c=c,
            mu_centers=mu0 if mu_centers is None else mu_centers,
            n_features=n_features,
            sizes=tuple(int(s) for s in sizes),
            observed=observed,
            measured_separating=separating,
        )

    @classmethod
    def from_data(cls, X: ArrayLike, labels: ArrayLike, *, min_common: int | None = None) -> ClusterGeometry:
        """Measure the geometry of a labelled table; nan marks a missing entry.

        Parameters
        ----------
        X : the data, N x P. Rows with label -1 are outliers: they are left out, and the guarantees do not speak of
            them.
        labels : the clusters, one for each row.
        min_common : pairs with fewer commonly observed entries are left out of delta, mu0 and the count of
            separating features. Default: half the expected overlap, ceil(p^2 P / 2), at least 1.

        Notes
        -----
        On complete data every number is exact. With missing values they are **estimates**:

        * epsilon: largest range of the *observed* entries of a feature within a cluster. Never above the truth:
          optimistic.
        * delta: least partial distance sqrt(P/|common|) ||difference on the common entries||. Unbiased pair by
          pair in its square, but the least of many noisy values lies below the truth: pessimistic, unless so few
          pairs overlap that the closest one is never seen.
        * mu0: largest |common| ||.||_inf^2 / ||.||_2^2 on the common entries. It cannot exceed the overlap, and
          misses peaks that are hidden: optimistic.
        * separating: the least over pairs of the count on the common entries times P/|common| (rounded down), or
          the number of features whose observed cluster ranges are more than epsilon apart, if that is larger. The
          first is noisy and pessimistic; the second misses hidden extremes and is slightly optimistic.
        * centres: midpoints of the observed range, feature by feature; c and mu_centers from them.

        Memory is bounded by small tiles of pairs; time grows as N^2 P (N = 5000, P = 50: about 10 s).
        """
        table, codes, sizes = _clean(X, labels)
        K, P = len(sizes), table.shape[1]
        observed = float((~np.isnan(table)).mean())
        groups = [table[codes == k] for k in range(K)]
        low = np.array([np.fmin.reduce(rows) for rows in groups])  # NaN where nothing was observed
        high = np.array([np.fmax.reduce(rows) for rows in groups])
        epsilon = float(np.nanmax(high - low, initial=0.0))
        if min_common is None:
            min_common = max(1, int(np.ceil(observed**2 * P / 2)))
        n_pairs, delta, mu0, separating = pair_summary(combinations(groups, 2), epsilon, min_common)
        if K > 1 and n_pairs == 0:
            raise InputError(
                f"no two rows of different clusters share {min_common} observed entries: "
                "nothing can be measured; pass a smaller min_common"
            )
        centers = (low + high) / 2
        _, c, mu_centers, _ = pair_summary(((centers[:k], centers[k : k + 1]) for k in range(1, K)), epsilon, 1)
        # Features whose observed ranges in two clusters lie more than epsilon apart.
        gaps = [np.fmax(low[k] - high[m], low[m] - high[k]) for k, m in combinations(range(K), 2)]
        separating = max(separating, min((float((gap > epsilon * (1 + 1e-9)).sum()) for gap in gaps), default=np.inf))
        return cls(
            epsilon=epsilon,
            delta=delta,
            mu0=float(np.clip(mu0, 1, P)),
            c=c,
            mu_centers=float(np.clip(mu_centers, 1, P)),
            n_features=P,
            sizes=sizes,
            observed=observed,
            measured_separating=None if K == 1 else int(np.floor(separating + 1e-9)),
        )


def _clean(X: ArrayLike, labels: ArrayLike) -> tuple[Floats, np.ndarray[Any, np.dtype[np.intp]], tuple[int, ...]]:
    """Drop outliers (label -1) and number the clusters from 0."""
    table, names = as_entries(X, min_rows=1).fill(np.nan), np.asarray(labels)
    if np.iscomplexobj(table):
        raise InputError("X is complex: the guarantees are for real features; pass real and imaginary parts as columns")
    table = table.astype(float)
    if table.ndim != 2 or names.shape != table.shape[:1]:
        raise InputError(f"X must be (N, P) and labels (N,); they are {table.shape} and {names.shape}")
    inliers = np.ones(len(names), dtype=bool) if names.dtype.kind in "USO" else names != -1
    if not inliers.any():
        raise InputError("labels are all -1: there is no cluster to measure")
    _, codes, counts = np.unique(names[inliers], return_inverse=True, return_counts=True)
    return table[inliers], codes, tuple(int(n) for n in counts)
