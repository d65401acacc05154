"""Multiple imputation: completed tables drawn from the posterior, with an honest spread."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fusewise import FusionImputer, load
from fusewise.datasets import hide_entries


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


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    group = np.repeat([0, 1], 60)
    size = group * 4 + random.normal(size=120)
    flag = random.random(120) < np.where(group, 0.9, 0.2)
    X = np.column_stack([size, np.exp(0.5 * size), flag, random.poisson(2 + 4 * group)])
    X[random.random(X.shape) < 0.25] = np.nan
    return X


@pytest.fixture(scope="module")
def imputer(table):
    return FusionImputer(n_clusters=2).fit(table)


def test_draws_of_an_array(table, imputer):
    draws = imputer.sample(table, n_draws=6, random_state=1)
    assert len(draws) == 6
    holes = np.isnan(table)
    for drawn in draws:
        np.testing.assert_array_equal(drawn[~holes], table[~holes])
        assert np.isfinite(drawn).all()
        assert set(drawn[:, 2]) == {0.0, 1.0}
        assert drawn[:, 1].min() >= 0  # a column without negative values gets none
        assert (drawn[:, 3] % 1 == 0).all()
        assert drawn[:, 3].min() >= 0
    assert (np.stack(draws).std(axis=0)[holes] > 0).mean() > 0.7
    np.testing.assert_array_equal(imputer.sample(table, n_draws=6, random_state=1), draws)
    assert not np.array_equal(imputer.sample(table, n_draws=1, random_state=2)[0], draws[0])


def test_new_rows_and_saved_models(table, imputer, tmp_path):
    new = np.array([[np.nan, 7.0, np.nan, np.nan], [np.nan] * 4])
    draws = np.stack(imputer.sample(new, n_draws=100, random_state=0))
    assert draws[:, 0, 0].mean() == pytest.approx(np.log(7) / 0.5, abs=1)
    assert draws[:, 1, 0].std() == pytest.approx(np.nanstd(table[:, 0]), rel=0.2)  # nothing known: as the column varies
    imputer.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").sample(new, 3, 0), draws[:3])


def test_frames_are_drawn_as_frames(table):
    frame = pd.DataFrame(table, columns=list("abcd")).astype({"c": "Int64"})
    frame["colour"] = np.where(np.arange(120) < 60, "red", "blue")
    frame.loc[::7, "colour"] = None
    draws = FusionImputer(n_clusters=2).fit(frame).sample(frame, n_draws=5, random_state=0)
    assert all(drawn.dtypes.equals(frame.dtypes) for drawn in draws)
    assert all(set(drawn["colour"]) == {"red", "blue"} for drawn in draws)
    numbers = pl.DataFrame(table, schema=list("abcd")).fill_nan(None)
    (drawn,) = FusionImputer(n_clusters=2).fit(numbers).sample(numbers, n_draws=1)
    assert drawn.schema == numbers.schema
    assert drawn.null_count().sum_horizontal().item() == 0


def test_the_number_of_draws_is_checked(table, imputer):
    with pytest.raises(ValueError, match="n_draws must be a positive whole number, got 0"):
        imputer.sample(table, n_draws=0)
