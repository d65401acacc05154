"""One table, held in three ways: the same numbers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fusewise.observations import (
    ArrayBlocks,
    Entries,
    RepeatedRows,
    SparseEntries,
    StreamedEntries,
    as_counts,
    as_entries,
    as_sparse_entries,
    as_table,
    each_block,
)
from fusewise.observations import _conversion as reading
from fusewise.observations import _streamed as blocks

KINDS = ["entries", "sparse", "streamed"]


def numbers(dtype=float, n=41, p=6):
    """A table with holes, an empty row, an empty column and a constant one."""
    rng = np.random.default_rng(0)
    X = (100 + rng.normal(size=(n, p)) + (1j * rng.normal(size=(n, p)) if dtype is complex else 0)).astype(dtype)
    X[:, 2] = 0.1
    X[rng.random(X.shape) < 0.4] = np.nan
    X[7], X[:, 4] = np.nan, np.nan
    return X


def stored(X):
    seen = ~np.isnan(X)
    return sparse.csr_matrix((X[seen], np.nonzero(seen)), X.shape)


def table(kind, X):
    if kind == "sparse":
        return as_sparse_entries(stored(X))
    return as_entries(X) if kind == "entries" else StreamedEntries.of(ArrayBlocks(X))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "READ_ENTRIES", 60)  # ten rows


@pytest.mark.usefixtures("small_blocks")
class TestTheSameNumbers:
    @pytest.mark.parametrize("dtype", [float, np.float32, complex])
    @pytest.mark.parametrize("kind", KINDS)
    def test_as_numpy_counts_them(self, kind, dtype):
        X = numbers(dtype)
        held, seen = table(kind, X), ~np.isnan(X)
        assert held.shape == X.shape
        assert held.dtype == X.dtype
        np.testing.assert_array_equal(held.row_counts, seen.sum(axis=1))
        np.testing.assert_array_equal(held.column_counts, seen.sum(axis=0))
        some = seen.any(axis=0)
        tolerance = 1e-5 if dtype is np.float32 else 1e-12
        wide = X[:, some].astype(complex if dtype is complex else float)
        np.testing.assert_allclose(held.column_means[some], np.nanmean(wide, axis=0), rtol=tolerance)
        np.testing.assert_allclose(held.column_variances[some], np.nanvar(wide, axis=0), rtol=tolerance, atol=1e-9)
        assert held.column_means[4] == held.column_variances[4] == 0
        assert held.is_constant.tolist() == [False, False, True, False, True, False]
        assert not held.is_complete
        assert held.observed_fraction == pytest.approx(seen.mean())

    @pytest.mark.parametrize("kind", KINDS)
    def test_rows(self, kind):
        X = numbers()
        rows = np.array([0, 3, 9, 10, 38, 40])
        np.testing.assert_array_equal(table(kind, X).take(rows).dense().fill(np.nan), X[rows])
        np.testing.assert_array_equal(table(kind, X).dense().fill(np.nan), X)
        parts = [part.dense().fill(np.nan) for part in table(kind, X).parts()]
        assert len(parts) == (5 if kind == "streamed" else 1)
        np.testing.assert_array_equal(np.concatenate(parts), X)

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_row_comes_by_once(self, kind, monkeypatch):
        monkeypatch.setattr("fusewise.observations._entries.BLOCK_ROWS", 7)
        X = numbers()
        found = np.zeros(X.shape)

        def add(rows, where):
            assert rows.shape[0] <= 7
            found[where] += rows.dense().fill(np.nan)

        each_block(add, table(kind, X))
        np.testing.assert_array_equal(found, X)

    @pytest.mark.parametrize("kind", KINDS)
    def test_rows_numbered_among_those_seen(self, kind):
        X, rows = numbers(), np.array([0, 6, 7, 39])  # row 7 is empty
        held = table(kind, X)
        assert held.n_seen == 40
        np.testing.assert_array_equal(held.take_seen(rows).dense().fill(np.nan), np.delete(X, 7, axis=0)[rows])


class TestReading:
    def test_small_tables_are_held_whole(self):
        X = numbers()
        for given in (X, stored(X), ArrayBlocks(X)):
            held = as_table(given)
            assert isinstance(held, Entries)
            np.testing.assert_array_equal(held.fill(np.nan), X)

    def test_large_ones_stay_as_they_are(self, monkeypatch, tmp_path):
        monkeypatch.setattr(reading, "DENSE_ENTRIES", 100)
        X = numbers(np.float32)
        np.save(tmp_path / "x.npy", X)
        mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
        assert isinstance(as_table(stored(X)), SparseEntries)
        assert isinstance(as_table(X), Entries)
        for given in (mapped, ArrayBlocks(mapped)):
            held = as_table(given)
            assert isinstance(held, StreamedEntries)
            assert held.take(np.arange(3)).dtype == np.float32
            assert as_table(held) is held

    @pytest.mark.usefixtures("small_blocks")
    def test_infinity_is_refused_where_it_stands(self):
        X = numbers()
        X[23, 5] = np.inf
        with pytest.raises(ValueError, match="infinity: at row 23, column 5"):
            as_table(ArrayBlocks(X))
        mask = np.isfinite(X)
        np.testing.assert_array_equal(as_table(ArrayBlocks(X, mask)).mask, mask)

    def test_a_frame_with_a_column_called_blocks(self):
        assert as_table(pd.DataFrame({"blocks": [1.0, 2.0], "rows": [3.0, 4.0]})).feature_names == ("blocks", "rows")

    def test_a_copy_leaves_the_rows_where_they_are(self):
        held = table("streamed", numbers())
        copy = pickle.loads(pickle.dumps(held))
        np.testing.assert_array_equal(copy.column_means, held.column_means)
        with pytest.raises(ValueError, match="do not include their table on disk"):
            copy.take(np.arange(2))


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
