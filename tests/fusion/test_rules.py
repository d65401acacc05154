"""The rule for sigma, on tables whose distances are known."""

import numpy as np
import pytest

from fusewise.fusion import choose_sigma
from fusewise.observations import as_entries


def test_sigma_is_half_the_median_of_the_nearest_distances():
    # On a line, 0 1 3 7: the nearest are at 1, 1, 2 and 4.
    assert choose_sigma(as_entries([[0.0], [1.0], [3.0], [7.0]])) == pytest.approx(0.75)


def test_sigma_does_not_count_rows_on_top_of_each_other():
    assert choose_sigma(as_entries([[0.0], [0.0], [3.0], [5.0], [5.0]])) == pytest.approx(0.5 * 2)
    assert choose_sigma(as_entries(np.ones((4, 2)))) == 1.0
