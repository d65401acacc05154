"""Entries of a sparse table, against the same table filled up."""

import numpy as np
import pytest
from scipy import sparse

from fusewise.observations import as_entries, as_sparse_entries


def stored(seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    X = sparse.random(30, 7, 0.3, "coo", random_state=seed, data_rvs=rng.standard_normal).astype(dtype)
    X.data[::5] = 0  # a stored zero is an observation
    X.data[3::11] = np.nan  # and a stored NaN is none
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_as_the_dense_entries(dtype):
    one, other = as_entries(stored(dtype=dtype)), as_sparse_entries(stored(dtype=dtype))
    assert other.shape == one.shape
    assert other.rows.dtype == one.values.dtype == dtype
    np.testing.assert_array_equal(other.row_counts, one.row_counts)
    np.testing.assert_array_equal(other.column_counts, one.column_counts)
    np.testing.assert_allclose(other.column_means, one.column_means, rtol=1e-5)
    variances = np.square(np.abs(one.centred)).sum(axis=0) / np.maximum(one.column_counts, 1)
    np.testing.assert_allclose(other.column_variances, variances, rtol=1e-4)
    assert other.observed_fraction == pytest.approx(one.observed_fraction)
    assert not other.is_complete
    rows = np.array([4, 1, 22])
    np.testing.assert_array_equal(other.take(rows).dense().values, one.take(rows).values)


def test_the_mask_is_what_is_stored():
    X = stored()
    mask = np.zeros(X.shape, bool)
    mask[X.row, X.col] = ~np.isnan(X.data)
    np.testing.assert_array_equal(as_sparse_entries(X).dense().mask, mask)


def test_standardised():
    entries = as_sparse_entries(stored())
    columns = np.array([5, 0, 3])
    scale = np.sqrt(entries.column_variances)
    table = entries.standardised(columns, scale, entries.column_means)
    np.testing.assert_allclose(table.column_means, 0, atol=1e-12)
    np.testing.assert_allclose(table.column_variances, 1)
    np.testing.assert_array_equal(table.column_counts, entries.column_counts[columns])


def test_duplicates_add_up():
    X = sparse.coo_matrix(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), (2, 2))
    assert as_sparse_entries(X).dense().values.tolist() == [[0, 3], [5, 0]]


def test_infinity_is_refused_where_it_stands():
    X = sparse.csr_matrix(([1.0, np.inf], ([0, 2], [1, 3])), (4, 5))
    with pytest.raises(ValueError, match="row 2, column 3"):
        as_sparse_entries(X)


def test_a_complete_table():
    assert as_sparse_entries(sparse.csr_matrix(np.ones((3, 2)))).is_complete


def test_what_is_given_is_left_alone():
    X = stored().tocsr()
    before = X.copy()
    as_sparse_entries(X)
    np.testing.assert_array_equal(X.data, before.data)
