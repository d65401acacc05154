"""Groups numbered by size, against a sort of their members."""

import numpy as np
import pytest

from fusewise.observations import number_by_size


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
