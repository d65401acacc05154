"""Each reduction keeps the optimum: against brute force, and on graphs made for it."""

import numpy as np
import pytest
from exact_helpers import planted

from fusewise.exact._graph import feasible_pairs


@pytest.mark.parametrize("huge", [1e3, 1e16, 1e300, -1e308])
def test_feasibility_of_a_pair_depends_on_that_pair_alone(huge):
    X, _ = planted(20, 2, 3, 1.5, 0.7, 0)
    alone = feasible_pairs(X, 1.0)
    with_huge = feasible_pairs(np.vstack([X, np.full(3, huge)]), 1.0)
    np.testing.assert_array_equal(with_huge[:-1, :-1], alone)


def test_rounding_is_forgiven_at_every_magnitude():
    for scale in 10.0 ** np.arange(-300, 300, 20):
        for a, b, width in ((1, 3, 2), (2, 3, 1), (1, 7, 6)):
            X = scale * np.array([[0.1 * a], [0.1 * b]])
            assert feasible_pairs(X, scale * (0.1 * width))[0, 1]
            assert not feasible_pairs(X, scale * (0.1 * width * (1 - 1e-14)))[0, 1]
