"""Weights as numbers of copies; a table with repeated rows, against rows that are repeated."""

import numpy as np
import pytest
from scipy import sparse

from fusewise.observations import ArrayBlocks, RepeatedRows, StreamedEntries, as_counts, as_entries, as_sparse_entries


@pytest.mark.parametrize("kind", ["dense", "complex", "sparse", "streamed"])
def test_every_statistic_is_that_of_repeated_rows(kind, monkeypatch):
    random = np.random.default_rng(0)
    X = 100 + random.normal(size=(40, 5)) * (1 + 1j if kind == "complex" else 1)
    X[random.random(X.shape) < 0.3] = np.nan
    counts = random.integers(0, 4, 40)
    seen = ~np.isnan(X)
    monkeypatch.setattr("fusewise.observations._streamed.READ_ENTRIES", 35)  # blocks of 7 rows
    table = {
        "sparse": lambda: as_sparse_entries(sparse.csr_matrix((X[seen], np.nonzero(seen)), X.shape)),
        "streamed": lambda: StreamedEntries.of(ArrayBlocks(X)),
    }.get(kind, lambda: as_entries(X))()
    found, expected = RepeatedRows(table, counts), as_entries(np.repeat(X, counts, axis=0))
    for name in ("shape", "row_counts", "column_counts", "column_means", "column_variances"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    assert (found.dtype, found.is_complete) == (expected.dtype, expected.is_complete)
    rows = np.flatnonzero(random.random(found.shape[0]) < 0.5)
    for some, same in (
        (found.take(rows), expected.take(rows)),
        (found.dense(), expected),
    ):
        np.testing.assert_array_equal(some.dense().values, same.values)
        np.testing.assert_array_equal(some.dense().mask, same.mask)
    np.testing.assert_array_equal(np.concatenate([part.dense().values for part in found.parts()]), expected.values)
    np.testing.assert_array_equal(found.source(np.arange(found.shape[0])), np.repeat(np.arange(40), counts))


def test_fractions_are_rounded_so_that_every_running_sum_is_right():
    weights = np.random.default_rng(1).exponential(size=500)
    counts = as_counts(weights, weights)
    assert np.abs(np.cumsum(counts) - np.cumsum(weights)).max() <= 0.5
    assert np.abs(counts - weights).max() <= 1


def test_whole_weights_are_counts_and_ones_are_nothing():
    X = np.zeros((4, 2))
    np.testing.assert_array_equal(as_counts([2, 0, 1.0, 5], X), [2, 0, 1, 5])
    np.testing.assert_array_equal(as_counts(3, X), [3, 3, 3, 3])
    assert as_counts(None, X) is None
    assert as_counts(np.ones(4), X) is None


@pytest.mark.parametrize(("weights", "said"), [
    ([1, 2], r"shape \(2,\), but there are 4 rows"),
    (np.ones((4, 2)), r"shape \(4, 2\), but there are 4 rows"),
    ([1, -1, 1, 1], "row 1 is -1.0"),
    ([1, 1, np.nan, 1], "row 2 is nan"),
    ([0, 0, 0, 0], "every sample_weight is zero"),
    ([0.25, 0.25, 0.25, 0.25], "adds up to 1, but a weight is a number of rows: scale"),
    ([1e12, 1, 1, 1], "scale the weights"),
    (["a", "b", "c", "d"], "one number per row"),
])  # fmt: skip
def test_weights_that_make_no_sense(weights, said):
    with pytest.raises(ValueError, match=said):
        as_counts(weights, np.zeros((4, 2)))
