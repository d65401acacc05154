"""Where the loop starts."""

import numpy as np
import pytest
from fusion_naive import draw

from fusewise.fidelity import Box, Quadratic
from fusewise.fusion import fuse, pose
from fusewise.fusion._fuse import start as start_of
from fusewise.observations import DataWarning
from fusewise.penalties import H1


def start(X, init, *, lam=0.2, fidelity=None, min_overlap=1):
    posed = pose(X, None, lam, H1(1.0), fidelity or Quadratic(), None, None)
    return start_of(posed, posed.problem, init, min_overlap)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_zero_and_mean_fill_the_holes(kind):
    X = draw(kind, 0.4)
    zero = start(X, "zero")
    np.testing.assert_array_equal(zero, np.where(np.isnan(X), 0, X))
    mean = start(X, "mean")
    np.testing.assert_allclose(mean, np.where(np.isnan(X), np.nanmean(X, axis=0), X), rtol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_partial_minimises_the_majoriser_of_partial_distances(missing, kind):
    """(S + 2 lam L) u = S x, L from the partial distances of every pair with enough in common."""
    X = draw(kind, missing)
    lam, least = 0.2, 2
    n, p = X.shape
    weights = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            common = ~(np.isnan(X[i]) | np.isnan(X[j]))
            if i != j and common.sum() >= least:
                t = np.sqrt(p / common.sum()) * np.linalg.norm(X[i, common] - X[j, common])
                weights[i, j] = np.exp(-(t**2) / 2) / 2
    laplacian = np.diag(weights.sum(axis=1)) - weights
    centers = start(X, "partial", lam=lam, min_overlap=least)
    for q in range(p):
        seen = ~np.isnan(X[:, q])
        system = np.diag(seen.astype(float)) + 2 * lam * laplacian
        residual = np.where(seen, X[:, q], 0) - system @ centers[:, q]
        assert np.linalg.norm(residual) < 1e-4 * np.linalg.norm(X[seen, q])


def test_an_array_is_moved_into_the_box():
    X = draw("real", 0.3)
    centers = start(X, np.full(X.shape, 50.0), fidelity=Box(0.2))
    np.testing.assert_allclose(centers, np.where(np.isnan(X), 50.0, X + 0.1), rtol=1e-12)


def test_an_array_covers_blank_rows_too():
    X = np.insert(draw("real", 0.3), 5, np.nan, axis=0)
    with pytest.warns(DataWarning):
        centers = start(X, np.arange(X.size, dtype=float).reshape(X.shape))
    np.testing.assert_array_equal(centers, np.delete(np.arange(X.size).reshape(X.shape), 5, axis=0))


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ("random", r"unknown init 'random'.*'partial', 'zero', 'mean'.*array"),
        (np.zeros((2, 2)), r"init has shape \(2, 2\), but the table has shape \(18, 4\)"),
        (np.full((18, 4), np.nan), "init must be finite"),
        ("subspace", "set rank"),
    ],
)
def test_bad_starts(init, message):
    with pytest.raises(ValueError, match=message):
        fuse(draw(), lam=0.2, penalty=H1(1.0), init=init)


def test_a_cold_start_merges_what_continuation_keeps_apart():
    """Why ``continuation`` is the default (Wine, 30% hidden, at the published lam)."""
    from sklearn.metrics import adjusted_rand_score

    from fusewise.datasets import hide_entries, load_wine_subset

    X, y = load_wine_subset()
    hidden = hide_entries(X, 0.3, random_state=0)
    options = {"lam": 0.65, "penalty": H1(0.153), "min_overlap": 4}
    cold = fuse(hidden, continuation=False, **options)
    warm = fuse(hidden, **options)
    assert adjusted_rand_score(y, cold.labels) < 0.2
    assert adjusted_rand_score(y, warm.labels) > 0.85
