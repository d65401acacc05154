"""Filled values are values a column can have: in its observed range, on its grid, of its dtype."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fusewise import FusionImputer, load


@pytest.fixture(scope="module")
def table():
    """Two correlated groups: a skewed column whose smallest values are missing where the others are extreme, a 0/1
    column, ratings from 1 to 5 in halves, and counts."""
    random = np.random.default_rng(0)
    group = np.repeat([0, 1], 70)
    heat = group * 3 + random.normal(size=140)
    ozone = np.exp(0.6 * heat + 0.3 * random.normal(size=140))
    flag = (random.random(140) < np.where(group, 0.7, 0.3)).astype(float)
    rating = np.clip(np.round(2 * (2 + 0.5 * heat + 0.3 * random.normal(size=140))) / 2, 1, 5)
    visits = random.poisson(np.exp(1 + 0.3 * heat)).astype(float)
    X = np.column_stack([heat, ozone, flag, rating, visits])
    holes = random.random(X.shape) < 0.25
    holes[:, 0] = False
    holes[np.argsort(heat)[:8], 1] = holes[np.argsort(heat)[-8:], 1] = True
    return np.where(holes, np.nan, X)


@pytest.fixture(scope="module")
def imputer(table):
    return FusionImputer(n_clusters=2).fit(table)


def is_possible(filled, table):
    """Brute force: in the range of what was observed, and equal to one of the values of a column's grid."""
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    inside = ((filled >= low) & (filled <= high)).all()
    grids = {2: [0, 1], 3: np.arange(2, 11) / 2, 4: np.arange(100)}
    return bool(inside and all(np.isin(filled[:, j], grid).all() for j, grid in grids.items()))


def test_never_outside_the_range_and_on_the_grid(table, imputer):
    """Before, a skewed column was filled with negative values and a 0/1 column with 0.25."""
    free = np.where(np.isnan(table), imputer.clustering_.path_.completed(*_classified(imputer, table)), table)
    assert not is_possible(free, table)  # the expectations are not: nothing would be tested otherwise
    filled = imputer.transform(table)
    assert is_possible(filled, table)
    np.testing.assert_array_equal(filled[~np.isnan(table)], table[~np.isnan(table)])


def _classified(imputer, table):
    entries = imputer.clustering_.observations_
    return entries, imputer.clustering_.path_.classify(entries).posterior


def test_rows_that_were_not_there_at_the_fit(table, imputer):
    new = np.full((40, 5), np.nan)
    new[:, 0] = np.linspace(-30, 30, 40)  # far beyond anything observed
    filled = imputer.transform(new)
    assert is_possible(np.column_stack([np.clip(filled[:, 0], *_ends(table[:, 0])), filled[:, 1:]]), table)
    np.testing.assert_array_equal(filled[:, 0], new[:, 0])  # what was observed stays


def _ends(column):
    return np.nanmin(column), np.nanmax(column)


def test_sparse_tables_and_saved_models(table, imputer, tmp_path):
    seen = ~np.isnan(table)
    stored = sparse.csr_matrix((table[seen], np.nonzero(seen)), table.shape)
    np.testing.assert_array_equal(FusionImputer(n_clusters=2).fit_transform(stored), imputer.transform(table))
    imputer.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").transform(table), imputer.transform(table))


def test_frames_keep_their_dtypes(table, imputer):
    names = ["heat", "ozone", "flag", "rating", "visits"]
    frame = pd.DataFrame(table, columns=names, index=np.arange(140) + 7)
    typed = frame.astype({"flag": "Int64", "rating": "Float32", "visits": "Int16"})
    filled = FusionImputer(n_clusters=2).fit_transform(typed)
    assert filled.dtypes.equals(typed.dtypes)
    assert filled.index.equals(typed.index)
    assert not filled.isna().any().any()
    assert is_possible(filled.to_numpy(float), table)
    other = pl.DataFrame(table, schema=names).fill_nan(None).cast({"flag": pl.Int8, "visits": pl.Int64})
    again = FusionImputer(n_clusters=2).fit_transform(other)
    assert again.schema == other.schema
    np.testing.assert_allclose(again.to_numpy(), imputer.transform(table))
