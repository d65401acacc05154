"""Filled values are values a column can have; draws from their distribution have an honest spread."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fusewise import FusionImputer, load
from fusewise.datasets import hide_entries, make_clusters


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


def clusters(seed, n, p, k, *, correlated):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, p))
    if correlated:
        rows = rows @ (random.normal(size=(p, p)) / np.sqrt(p) + 0.5 * np.eye(p))
    return 2.5 * random.normal(size=(k, p))[np.arange(n) % k] + rows * random.uniform(0.4, 1.2, p)


@pytest.mark.parametrize(("p", "correlated", "k"), [(4, True, 2), (4, True, None), (12, False, None)])
def test_nine_of_ten_hidden_entries_are_in_the_90_per_cent_interval(p, correlated, k):
    inside = []
    for seed, fraction in enumerate((0.1, 0.3, 0.5)):
        truth = clusters(seed, 120, p, 2, correlated=correlated)
        X = hide_entries(truth, fraction, random_state=seed)
        draws = np.sort(FusionImputer(n_clusters=k).fit(X).sample(X, n_draws=99, random_state=seed), axis=0)
        inside.append(((draws[4] <= truth) & (truth <= draws[94]))[np.isnan(X)])
    assert 0.85 <= np.concatenate(inside).mean() <= 0.95


def test_draws_of_an_array(table, imputer):
    draws = imputer.sample(table, n_draws=6, random_state=1)
    assert len(draws) == 6
    holes = np.isnan(table)
    for drawn in draws:
        np.testing.assert_array_equal(drawn[~holes], table[~holes])
        assert np.isfinite(drawn).all()
        assert set(drawn[:, 2]) == {0.0, 1.0}
        assert drawn[:, 1].min() >= 0  # a column without negative values gets none
        assert (drawn[:, 4] % 1 == 0).all()
        assert drawn[:, 4].min() >= 0
    assert (np.stack(draws).std(axis=0)[holes] > 0).mean() > 0.7
    np.testing.assert_array_equal(imputer.sample(table, n_draws=6, random_state=1), draws)
    assert not np.array_equal(imputer.sample(table, n_draws=1, random_state=2)[0], draws[0])


def test_new_rows_and_saved_models(table, imputer, tmp_path):
    new = np.array([[np.nan, 7.0, np.nan, np.nan, np.nan]])
    draws = np.stack(imputer.sample(new, n_draws=100, random_state=0))
    assert draws[:, 0, 0].mean() == pytest.approx(np.log(7) / 0.6, abs=1)
    imputer.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").sample(new, 3, 0), draws[:3])


def test_a_row_without_entries_is_drawn_as_the_columns_are():
    X = hide_entries(clusters(0, 200, 4, 2, correlated=True), 0.2, random_state=0)
    draws = np.stack(FusionImputer().fit(X).sample(np.full((1, 4), np.nan), n_draws=400, random_state=0))[:, 0]
    np.testing.assert_allclose(draws.mean(axis=0), np.nanmean(X, axis=0), atol=0.3 * np.nanstd(X))
    np.testing.assert_allclose(draws.std(axis=0), np.nanstd(X, axis=0), rtol=0.2)


def test_frames_are_drawn_as_frames(table):
    frame = pd.DataFrame(table, columns=list("abcde")).astype({"c": "Int64"})
    frame["colour"] = np.where(np.arange(140) < 70, "red", "blue")
    frame.loc[::7, "colour"] = None
    draws = FusionImputer(n_clusters=2).fit(frame).sample(frame, n_draws=5, random_state=0)
    assert all(drawn.dtypes.equals(frame.dtypes) for drawn in draws)
    assert all(set(drawn["colour"]) == {"red", "blue"} for drawn in draws)
    numbers = pl.DataFrame(table, schema=list("abcde")).fill_nan(None)
    (drawn,) = FusionImputer(n_clusters=2).fit(numbers).sample(numbers, n_draws=1)
    assert drawn.schema == numbers.schema
    assert drawn.null_count().sum_horizontal().item() == 0


def test_the_number_of_draws_is_checked(table, imputer):
    with pytest.raises(ValueError, match="n_draws must be a positive whole number, got 0"):
        imputer.sample(table, n_draws=0)


def test_imputer_says_how_far_off_it_is():
    # Entries hidden from it beforehand: the error it foretells is the error it makes.
    truth, _, _ = make_clusters(3, 200, 12, noise=0.2, random_state=0)
    X = hide_entries(truth, 0.3, random_state=1)
    imputer = FusionImputer().fit(X)
    foretold = imputer.held_out_error_
    assert set(foretold) == {"clusters", "subspace", "means"}
    assert imputer.fill_ == min(("clusters", "subspace"), key=foretold.get)
    misses = ((imputer.transform(X) - truth) / np.nanstd(X, axis=0))[np.isnan(X)]
    assert np.sqrt(np.mean(misses**2)) == pytest.approx(foretold[imputer.fill_], rel=0.15)
    assert foretold["means"] == pytest.approx(1, abs=0.1)


def test_imputer_fills_by_the_subspace_where_rows_do_not_cluster():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 60)) + 0.5 * rng.normal(size=(150, 60))
    X = hide_entries(truth, 0.9, random_state=0)
    imputer = FusionImputer().fit(X)
    assert imputer.fill_ == "subspace"
    hidden = np.isnan(X)
    filled, means = imputer.transform(X), np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    assert np.mean((filled - truth)[hidden] ** 2) < 0.8 * np.mean((means - truth)[hidden] ** 2)
    np.testing.assert_array_equal(filled[~hidden], X[~hidden])


def test_imputer_fills_complex_tables_by_the_subspace():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(150, 2)) @ rng.normal(size=(2, 30)) * (1 + 0.5j)
    X = truth + 0.3 * (rng.normal(size=truth.shape) + 1j * rng.normal(size=truth.shape))
    hidden = rng.random(X.shape) < 0.7
    X[hidden] = complex(np.nan, np.nan)
    imputer = FusionImputer().fit(X)
    assert imputer.fill_ == "subspace"
    filled = imputer.transform(X)
    assert np.mean(np.abs(filled - truth)[hidden] ** 2) < 0.5 * np.mean(np.abs(truth)[hidden] ** 2)


def test_imputer_of_a_tiny_table_has_nothing_to_hide():
    imputer = FusionImputer(n_clusters=1).fit(np.array([[1.0, np.nan], [2.0, 3.0], [1.5, 2.0]]))
    assert imputer.held_out_error_ == {}
    assert imputer.fill_ == "clusters"
