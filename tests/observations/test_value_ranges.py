"""Ranges and grids of columns, against exact arithmetic on fractions."""

from fractions import Fraction
from functools import reduce
from math import gcd

import numpy as np
import pytest
from scipy import sparse

from fusewise.observations import (
    ArrayBlocks,
    StreamedEntries,
    ValueRanges,
    as_entries,
    as_sparse_entries,
    blur,
    number_by_size,
    steps,
)


def ranges_of(column, dtype=float):
    return ValueRanges.of(as_entries(np.asarray(column, dtype)[:, None]))


def exact_step(values):
    """Greatest common divisor of the differences of fractions."""
    parts = [value - min(values) for value in values]
    lcm = reduce(lambda a, b: a * b // gcd(a, b), (part.denominator for part in parts))
    return Fraction(reduce(gcd, (int(part * lcm) for part in parts)), lcm)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("step", ["1", "1/2", "1/10", "1/4", "5", "1/3", "100"])
@pytest.mark.parametrize("offset", ["0", "1/20", "-7"])
def test_the_step_is_the_greatest_common_divisor(step, offset, dtype):
    random = np.random.default_rng(0)
    for size in (4, 30, 300):
        drawn = [Fraction(offset) + Fraction(step) * int(k) for k in random.integers(0, 40, size)]
        found = ranges_of([float(value) for value in drawn], dtype)
        assert found.step[0] == pytest.approx(float(exact_step(drawn)), rel=1e-4)
        assert found.low[0] == dtype(float(min(drawn)))
        assert found.high[0] == dtype(float(max(drawn)))


def test_confined_is_the_nearest_possible_value():
    random = np.random.default_rng(1)
    for levels in (np.arange(2), np.arange(1, 6), np.arange(0, 4, 0.5), np.arange(3, 13) / 10):
        column = np.concatenate([levels, random.choice(levels, 50)])
        values = np.append(random.normal(levels.mean(), 2 * np.ptp(levels), 200), [levels.min() - 9, levels.max() + 9])
        nearest = levels[np.abs(values[:, None] - levels).argmin(axis=1)]
        np.testing.assert_array_equal(ranges_of(column).confined(values[:, None])[:, 0], nearest)


def test_tenths_are_written_as_tenths():
    found = ranges_of(np.arange(1, 8) / 10).confined(np.array([[0.29], [0.61]]))
    assert [repr(float(value)) for value in found[:, 0]] == ["0.3", "0.6"]


@pytest.mark.parametrize("column", [
    np.random.default_rng(2).normal(size=500),
    np.random.default_rng(2).normal(size=500).astype(np.float32),
    np.random.default_rng(3).random(4),
    [1.37, 2.81],  # two values, seen once each
    np.append(np.zeros(50), np.random.default_rng(4).lognormal(size=50)),
    [4.0, 4.0, 4.0],
    np.array([0.0, 1.0, 2**17]),
])  # fmt: skip
def test_no_grid_without_evidence(column):
    found = ranges_of(column, np.asarray(column).dtype)
    assert found.step[0] == 0
    inside = np.float64(np.mean(column)) + 1e-9 * np.ptp(column)
    assert found.confined(np.array([[inside]]))[0, 0] == inside
    assert found.confined(np.array([[1e9]]))[0, 0] == max(column)


def test_scaled_columns_keep_their_grid():
    column = np.random.default_rng(5).integers(0, 5, 100).astype(float)
    scaled = (column - column.mean()) / column.std()
    assert ranges_of(scaled).step[0] == pytest.approx(1 / column.std())


def test_a_column_without_entries_says_nothing():
    X = np.full((4, 2), np.nan)
    X[:, 1] = [0, 1, 1, 0]
    values = np.array([[-3.7, -3.7]])
    np.testing.assert_array_equal(ValueRanges.of(as_entries(X)).confined(values), [[-3.7, 0.0]])


def test_every_kind_of_table(monkeypatch):
    random = np.random.default_rng(6)
    X = np.column_stack([random.integers(0, 3, 200), random.normal(size=200), random.integers(0, 9, 200) / 4])
    X[random.random(X.shape) < 0.3] = np.nan
    seen = ~np.isnan(X)
    monkeypatch.setattr("fusewise.observations._streamed.READ_ENTRIES", 90)  # blocks of 30 rows
    tables = [
        as_sparse_entries(sparse.csr_matrix((X[seen], np.nonzero(seen)), X.shape)),
        StreamedEntries.of(ArrayBlocks(X)),
    ]
    whole = ValueRanges.of(as_entries(X))
    np.testing.assert_array_equal(whole.step, [1, 0, 0.25])
    for table in tables:
        found = ValueRanges.of(table)
        for name in ("low", "high", "step"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))


def test_parts_of_complex_columns():
    X = np.array([[0 + 2j], [1 + 4j], [1 + 6j], [0 + 4j], [2 + 2j]])
    found = ValueRanges.of(as_entries(X))
    np.testing.assert_array_equal(found.step, [1, 2])
    np.testing.assert_array_equal(found.confined(np.array([[1.6 + 9j], [-4 + 3.2j]])), [[2 + 6j], [0 + 4j]])


@pytest.mark.parametrize("names", [np.arange(9), 10**6 * np.arange(9), -np.arange(9), np.array(list("ihgfedcba"))])
@pytest.mark.parametrize("min_size", [1, 3])
def test_larger_groups_first_then_those_that_appear_first(names, min_size):
    picked = np.random.default_rng(0).integers(9, size=40)
    picked[picked == 4] = 5
    groups = names[picked]
    seen = list(dict.fromkeys(groups.tolist()))
    order = sorted(seen, key=lambda name: (-np.count_nonzero(groups == name), seen.index(name)))
    kept = [name for name in order if np.count_nonzero(groups == name) >= min_size]
    expected = [kept.index(name) if name in kept else -1 for name in groups.tolist()]
    np.testing.assert_array_equal(number_by_size(groups, min_size), expected)


def test_no_groups():
    assert number_by_size(np.zeros(0, int)).shape == (0,)


def columns():
    rng = np.random.default_rng(0)
    yes = rng.random(200) < 0.3
    rounded = np.round(rng.normal(size=200), 1)
    return np.column_stack([3.0 * yes, rounded, rng.normal(size=200), np.ones(200)])


def test_steps_are_gaps_between_values():
    found = steps(as_entries(columns()))
    np.testing.assert_allclose(found[:2], [3.0, 0.1], rtol=1e-9)
    assert 0 < found[2] < 0.05
    assert found[3] == 0


def test_holes_are_no_values():
    X = columns()
    X[:5, 0] = np.nan
    X[5:, 3] = np.nan
    assert steps(as_entries(X))[0] == 3
    assert blur(as_entries(np.column_stack([X, np.full(200, np.nan)])))[4] == 0


def test_two_values_become_one_hump():
    # Half of the rows at 0 and half at d: no dip in the middle at variance (d/2)², one at less.
    X = np.repeat([[0.0], [3.0]], 5000, axis=0)
    variance = blur(as_entries(X))[0]
    places = np.linspace(0, 3, 301)

    def density(v):
        return np.exp(-(places**2) / (2 * v)) + np.exp(-((places - 3) ** 2) / (2 * v))

    assert density(1.01 * variance).argmax() == 150
    assert density(0.9 * variance).argmax() != 150
