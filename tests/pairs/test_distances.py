"""Distances by matrix products against distances by loops."""

import numpy as np
import pytest

from fusewise.observations import as_entries
from fusewise.pairs import partial_squared_distances
from fusewise.pairs._distances import partial_squared_distances_between

KINDS = pytest.mark.parametrize("kind", ["real", "complex"])


def draw(n, p, kind, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) + (1j * rng.normal(size=(n, p)) if kind == "complex" else 0)


def with_holes(kind, n=12, p=5, hidden=0.3):
    X = draw(n, p, kind) + 100  # far from the origin, where products of raw values would round badly
    X[np.random.default_rng(9).uniform(size=X.shape) < hidden] = np.nan
    X[0, :3], X[1, 3:] = np.nan, np.nan  # rows 0 and 1 have nothing in common
    X[0, 3:], X[1, :3] = 101, 102
    return X


def naive_partial(X, min_overlap):
    """The definition, with P the columns that have any observed entry."""
    n = len(X)
    p = sum(not np.isnan(X[:, q]).all() for q in range(X.shape[1]))
    s = np.full((n, n), np.inf)
    for i in range(n):
        for j in range(n):
            common = [q for q in range(X.shape[1]) if not (np.isnan(X[i, q]) or np.isnan(X[j, q]))]
            if len(common) >= min_overlap:
                s[i, j] = p / max(len(common), 1) * sum(abs(X[i, q] - X[j, q]) ** 2 for q in common)
    return s


@KINDS
@pytest.mark.parametrize("min_overlap", [1, 2, 3])
def test_partial_distances(kind, min_overlap):
    X = with_holes(kind)
    X[:, 2] = np.nan  # a column nobody saw does not count in P
    expected = naive_partial(X, min_overlap)
    assert np.isinf(expected[0, 1])
    assert np.isfinite(expected).any()
    entries, everything, some = as_entries(X), slice(None), np.array([4, 0, 7])
    for rows, others in (
        (everything, everything),
        (slice(3, 8), everything),
        (slice(3, 8), slice(1, 4)),
        (some, everything),
    ):
        found = partial_squared_distances(entries, rows, others, min_overlap=min_overlap)
        np.testing.assert_allclose(found, expected[rows][:, others], rtol=1e-10, atol=1e-10)
    first, second = np.triu_indices(len(X), k=1)
    found = partial_squared_distances_between(entries, first, second, min_overlap=min_overlap)
    np.testing.assert_allclose(found, expected[first, second], rtol=1e-10)
