"""Steps of columns, and the blur at which they vanish."""

import numpy as np

from fusewise.observations import as_entries, blur, steps


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
