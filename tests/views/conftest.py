"""A mixed table with clusters, missing values, and a column that says nothing."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pandas")

import pandas as pd

from fusewise import FusionClustering


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    """Three clusters of 40 rows; `middle` is distinctive only as a range, `noise` says nothing."""
    rng = np.random.default_rng(0)
    k = np.repeat([0, 1, 2], 40)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170 + 12 * k, 2).round(1),
            "seats": 2 + 2 * k + rng.integers(0, 2, 120),
            "middle": np.array([5.0, 0.0, -5.0])[k] + rng.normal(0, 0.5, 120),
            "noise": rng.normal(size=120),
            "colour": np.where(rng.random(120) < 0.1, 'O\'Neil "x"', np.array(["red", "red", "blue"])[k]),
            "size": pd.Categorical(np.array(["S", "M", "L"])[k], ["S", "M", "L"], ordered=True),
            "wet": pd.array(k == 1, dtype="boolean"),
        }
    )
    for j, name in enumerate(frame.columns):
        frame.loc[rng.random(120) < 0.05 * (j % 4), name] = None
    return frame


@pytest.fixture(scope="session")
def described(frame):
    """The description of a fitted model."""
    return FusionClustering().fit(frame).describe()
