"""Tables large enough for gaps and long descents: groups of any shape, graphs."""

from __future__ import annotations

import numpy as np
from invariants import PENALTIES, check_fit, refusing
from odd_inputs import odd_table
from sklearn.datasets import make_circles, make_moons

from fusewise import FusionClustering, fuse, fusion_path
from fusewise.penalties import L1

#: Rings, crescents, lines, a grid, blobs and a few points.
SHAPES = (
    lambda rng, n: make_circles(n, factor=0.4, random_state=int(rng.integers(2**31)))[0],
    lambda rng, n: make_moons(n, random_state=int(rng.integers(2**31)))[0],
    lambda rng, n: np.column_stack([rng.random(n), rng.integers(3, size=n)]),
    lambda rng, n: rng.integers(rng.integers(2, 6), size=(n, 2)).astype(float),
    lambda rng, n: rng.normal(size=(4, 2))[rng.integers(4, size=n)] * rng.choice([1, 9]),
    lambda rng, n: rng.normal(size=(3, 2))[rng.integers(rng.integers(1, 4), size=n)],
)


def shaped_table(rng):
    """Groups of some shape in two columns, with a few more columns, holes, copies, steps, and any scale."""
    n = int(rng.choice([rng.integers(1, 6), rng.integers(6, 80), rng.integers(80, 700)], p=[0.1, 0.3, 0.6]))
    X = SHAPES[rng.integers(len(SHAPES))](rng, n)
    X = X + rng.normal(size=X.shape) * rng.choice([0, 1e-14, 1e-6, 0.05, 0.2])
    more = int(rng.choice([0, 1, 2, 6, 12], p=[0.5, 0.25, 0.1, 0.1, 0.05]))
    X = np.column_stack([X, *(_further_column(rng, X) for _ in range(more))])
    if rng.random() < 0.2:
        X = X[rng.integers(n, size=n) // rng.choice([1, 2, 10])]
    if rng.random() < 0.2:
        X = np.round(X, rng.integers(0, 3))
    X = X * 10.0 ** rng.choice([0, 0, 0, 0, 12, -12, 98, -98]) + rng.choice([0, 0, 0, 1, 1e9])
    if rng.random() < 0.1:
        X = X * 10.0 ** rng.integers(-30, 30, size=X.shape[1])
    hidden = rng.choice([0, 0.05, 0.3, 0.6, 0.95])
    X[rng.random(X.shape) < hidden] = np.nan
    if rng.random() < 0.1:  # one entry in each row
        X = np.where(np.arange(X.shape[1]) == rng.integers(X.shape[1], size=n)[:, None], X, np.nan)
    kind = rng.choice([np.float64, np.float32, np.int64], p=[0.7, 0.2, 0.1])
    with np.errstate(over="ignore", invalid="ignore"):
        whole = kind is np.int64 and np.isfinite(X).all() and np.abs(X).max() < 1e15
        return X.astype(kind) if kind is np.float32 or whole else X


def _further_column(rng, X):
    made = rng.integers(5)
    if made == 0:
        return np.full(len(X), rng.choice([0, 1, 1e9]))
    if made == 1:
        return X[:, 0].copy()
    if made == 2:
        return X @ np.array([1.0, -2.0]) + rng.choice([0, 1e-9]) * rng.normal(size=len(X))
    return rng.normal(size=len(X)) * rng.choice([1e-9, 1, 30])


def shapes(seed):
    """Groups of any shape: a fit, or plain words; the same for any layout of the array in memory."""
    rng = np.random.default_rng(seed)
    X = shaped_table(rng)
    n_clusters = int(rng.integers(1, 6)) if rng.random() < 0.15 else None
    with refusing():
        model = FusionClustering(n_clusters=n_clusters).fit(X)
    check_fit(model, X)
    if rng.random() < 0.3:
        wide = np.full((2 * len(X), 3 * X.shape[1]), np.asarray(7, X.dtype))
        wide[::-2, 1::3] = X
        strided = [np.asfortranarray(X), wide[::-2, 1::3]][rng.integers(2)]
        np.testing.assert_array_equal(FusionClustering(n_clusters=n_clusters).fit(strided).labels_, model.labels_)


def graphs(seed):
    """Along the edges of a graph, or of all pairs, the objective never rises, at a point or along a path."""
    rng = np.random.default_rng(seed)
    X = shaped_table(rng)[:300] if rng.random() < 0.6 else odd_table(seed)
    penalty = L1(10.0 ** rng.choice([-2, -6, 0])) if rng.random() < 0.6 else PENALTIES[rng.integers(5)]
    settings = {"penalty": penalty, "n_neighbors": [1, 3, 5, "auto", None][rng.integers(5)], "max_iter": 60}
    with refusing():
        if rng.random() < 0.3:
            solutions = fusion_path(X, lams=10.0 ** np.sort(rng.uniform(-5, 4, size=5)), **settings).solutions
        else:
            solutions = (fuse(X, lam=10.0 ** rng.uniform(-6, 6), **settings),)
    for solution in solutions:
        history = np.array(solution.history)
        assert np.isfinite(solution.centers).all()
        assert solution.centers.dtype == (X.dtype if X.dtype.kind in "fc" else float)
        assert np.isfinite(history).all()
        assert np.diff(history).max(initial=0) <= 1e-6 * abs(history[0])
