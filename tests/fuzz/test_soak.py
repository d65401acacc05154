"""One model, many threads; and the slope of a soak, by another route."""

from __future__ import annotations

import numpy as np
from scipy import stats
from soak import predict_at_once, trend


def test_predict_from_eight_threads_at_once():
    assert predict_at_once(200) == 0


def test_the_trend_of_memory_is_least_squares_through_means():
    rng = np.random.default_rng(0)
    hours = np.sort(rng.random(100))
    memory = 300 + 40 * hours + rng.normal(size=100)
    known = stats.linregress(hours.reshape(10, 10).mean(axis=1), memory.reshape(10, 10).mean(axis=1))
    np.testing.assert_allclose(trend(hours, memory), (known.slope, known.stderr))
