"""Steps of columns, the blur at which they vanish, and groups numbered by size, against a sort of their members."""

import numpy as np
import pytest

from fusewise.observations import as_entries, blur, number_by_size, steps


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
