"""The tables the paper describes, made again, and the plane it draws them in."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import adjusted_rand_score

from fusewise.datasets import make_clusters
from fusewise.kernels.types import Labels, Values
from fusewise.theory import ClusterGeometry

#: Distances between the centres of Dataset-1.
TRIANGLE = (3.5, 2.8, 3.3)


def triangle_centers(n_features: int, seed: int, sides: tuple[float, float, float] = TRIANGLE) -> Values:
    """Three centres at given distances: random ones of the unit cube, moved within their own plane.

    ``sides`` are |c_0 - c_1|, |c_0 - c_2| and |c_1 - c_2|.
    """
    drawn = np.random.RandomState(seed).uniform(size=(3, n_features))
    edges = drawn[1:] - drawn[0]
    a, b, c = sides
    inner = (a**2 + b**2 - c**2) / 2
    wanted = np.linalg.cholesky(np.array([[a**2, inner], [inner, b**2]]))
    given = np.linalg.cholesky(edges @ edges.T)
    moved = wanted @ np.linalg.solve(given, edges)
    return np.vstack([drawn[0], drawn[0] + moved])


@cache
def designed_pair(kappa: float, mu0: float, n_features: int = 50, size: int = 100) -> tuple[Values, float]:
    """Two centres and a width epsilon whose uniform clusters have the given kappa and coherence mu0.

    The centres differ by |d_p| = u_p^q, u_p uniform: q = 0 makes all features alike, a large q leaves few that matter.
    q and epsilon are found by bisection, in turns, on one sample of `size` points per cluster, measured exactly.
    """
    rng = np.random.RandomState(0)
    u, signs = rng.uniform(0.05, 1, n_features), rng.choice([-1.0, 1.0], n_features)

    def centers(q: float) -> Values:
        return np.stack([np.zeros(n_features), signs * u**q])

    def measured(q: float, epsilon: float) -> ClusterGeometry:
        X, y, _ = make_clusters(
            2, size, noise=epsilon, distribution="uniform", centers=centers(q), random_state=np.random.RandomState(1)
        )
        return ClusterGeometry.from_data(X, y)

    def scaled(q: float, ratio: float) -> float:
        return ratio * float(np.linalg.norm(u**q)) / float(np.sqrt(n_features))

    q, ratio = 0.5, kappa
    for _ in range(6):
        ratio = _bisect(lambda r: measured(q, scaled(q, r)).kappa, kappa, 0.01, 3.0)  # noqa: B023 (used at once)
        q = _bisect(lambda e: measured(e, scaled(e, ratio)).mu0, mu0, 0.0, 8.0)  # noqa: B023
    ratio = _bisect(lambda r: measured(q, scaled(q, r)).kappa, kappa, 0.01, 3.0)
    return centers(q), scaled(q, ratio)


def _bisect(function: Any, target: float, low: float, high: float) -> float:
    """Where a rising function reaches the target."""
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < target else (low, middle)
    return (low + high) / 2


def projected(table: Values, rows: Values) -> npt.NDArray[np.float32]:
    """Coordinates of rows in the first two principal components of a complete table."""
    mean = table.mean(axis=0)
    plane = np.linalg.svd(table - mean, full_matrices=False)[2][:2]
    return np.asarray((rows - mean) @ plane.T, dtype=np.float32)


def mapped(table: Values, truth: Labels, centers: Values, labels: Labels) -> dict[str, Any]:
    """What a map of a clustering shows: rows and centres in the plane of the complete table, and the agreement."""
    return {
        "points": projected(table, table),
        "centers": projected(table, centers),
        "truth": truth.astype(np.int8),
        "n_clusters": labels.max() + 1,
        "ari": adjusted_rand_score(truth, labels),
    }
