import os
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from fusewise.automatic import _sample as sample
from fusewise.datasets import hide_entries, make_clusters

pytest.importorskip("dask")
pytest.importorskip("distributed")


@contextmanager
def environment_kept():
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True, scope="module")
def _environment_of_the_module():
    """Clusters of a whole module: see below."""
    with environment_kept():
        yield


@pytest.fixture(autouse=True)
def _environment():
    """Dask sets what its workers are to inherit in this process, and leaves it there: one thread for each library."""
    with environment_kept():
        yield


@pytest.fixture(autouse=True)
def small_sample(monkeypatch):
    """Clusters are found in a sample of 150 rows."""
    monkeypatch.setattr(sample, "SAMPLE", 150)


@pytest.fixture(scope="session")
def table():
    """360 rows in three clusters, 30% missing, four of them empty."""
    X, _, _ = make_clusters(3, 120, 8, noise=0.1, random_state=0)
    X = hide_entries(X, 0.3, random_state=0)[np.random.default_rng(0).permutation(360)]
    X[[5, 100, 101, 359]] = np.nan
    return X


@pytest.fixture(scope="session")
def frame():
    """300 rows with numbers, text, a flag and an ordered category; the index is not 0, 1, ..."""
    rng = np.random.default_rng(0)
    n = 300
    y = rng.integers(3, size=n)
    colour = np.array(["red", "green", "blue"])[np.where(rng.random(n) < 0.95, y, rng.integers(3, size=n))]
    frame = pd.DataFrame(
        {
            "x": 4 * y + 0.3 * rng.normal(size=n),
            "count": rng.integers(3, size=n) + 5 * y,
            "colour": pd.array(colour, dtype="string"),
            "size": pd.Categorical.from_codes(
                np.clip(y + rng.integers(2, size=n), 0, 2), ["S", "M", "L"], ordered=True
            ),
            "flag": pd.array(rng.random(n) < 0.2 + 0.3 * y, dtype="boolean"),
        },
        index=pd.Index(10 * np.arange(n), name="patient"),
    )
    for name in ("x", "colour", "size", "flag"):
        frame.loc[frame.index[rng.random(n) < 0.15], name] = None
    return frame
