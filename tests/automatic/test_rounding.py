"""Rows that are equal because their values were rounded."""

import numpy as np
import pytest

from fusewise import FusionClustering
from fusewise.automatic.copies import row_keys, spread_out, step
from fusewise.observations import as_entries


@pytest.mark.parametrize("d", [1.0, 0.1, 1 / 3, 250.0])
def test_the_step_of_rounded_values(d):
    values = np.unique(np.round(np.random.default_rng(0).normal(0, 30, 800)) * d)
    assert step(values) == pytest.approx(d)
    assert step(np.float32(values)) == pytest.approx(d, rel=1e-3)


def test_measurements_and_answers_have_no_step():
    random = np.random.default_rng(0)
    assert step(np.sort(random.normal(size=500))) == 0
    assert step(np.unique(np.round(random.normal(size=500), 4))) == 0  # rounded, but hardly any two are equal
    assert step(np.arange(1.0, 11.0)) == 0


def test_rows_move_within_their_step():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(0, 40, 900), random.integers(0, 2, 900)]).astype(float)
    X[random.random(X.shape) < 0.1] = np.nan
    table = as_entries(X)
    moved = spread_out(table, 0)
    away = (moved.values - table.values)[table.mask[:, 0], 0]
    assert np.abs(away).max() <= 0.5
    assert away.std() == pytest.approx(12**-0.5, rel=0.1)
    np.testing.assert_array_equal(moved.values[:, 1], table.values[:, 1])  # answers stay
    np.testing.assert_array_equal(moved.mask, table.mask)
    assert not moved.values[~moved.mask].any()
    assert len(np.unique(row_keys(moved))) > 3 * len(np.unique(row_keys(table)))


def test_rows_that_are_hardly_ever_equal_stay():
    X = np.random.default_rng(0).integers(0, 300, (400, 2)).astype(float)
    table = as_entries(X)
    assert spread_out(table, 0) is table
    waves = as_entries(np.repeat(X[:40], 10, axis=0) * 1j)
    assert spread_out(waves, 0) is waves


@pytest.mark.parametrize("n_groups", [2, 3, 5])
def test_groups_of_one_rounded_column(n_groups):
    """Before, each value was a group of its own, and in the end all were one."""
    y = np.repeat(np.arange(n_groups), 400)
    X = np.round(np.random.default_rng(1).normal(60.0 * y, 10))[:, None]
    model = FusionClustering().fit(X)
    assert model.n_clusters_ == n_groups
    assert len(np.unique(np.c_[X, model.labels_[:, None]], axis=0)) == len(np.unique(X))  # equal rows, equal labels
