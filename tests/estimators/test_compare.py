"""``model.compare``: means of outside columns, corrected for uncertain membership, against a known truth."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fusewise import DataWarning, FusionClustering

TRUE = {"outcome": [0.0, 1.0], "smoker=no": [0.8, 0.3], "smoker=yes": [0.2, 0.7]}


def overlapping(seed, n=1000):
    """Two clusters of which one row in eight is nearer to the other, and two outcomes that depend on the cluster."""
    random = np.random.default_rng(seed)
    y = (np.arange(n) < 0.4 * n).astype(int)
    X = random.normal(size=(n, 4)) + 1.15 * y[:, None]
    yes = random.random(n) < np.array([0.2, 0.7])[y]
    frame = pd.DataFrame({"outcome": y + random.normal(size=n), "smoker": np.where(yes, "yes", "no")})
    return X, frame, y


@pytest.fixture(scope="module")
def simulated():
    """Comparisons in eight tables; clusters in the order of the truth."""
    found = []
    for seed in range(8):
        X, frame, y = overlapping(seed)
        model = FusionClustering(n_clusters=2).fit(X)
        order = np.argsort([y[model.labels_ == k].mean() for k in range(2)])
        comparison = model.compare(frame)
        assert comparison.features == tuple(TRUE)
        found.append([part[order] for part in (comparison.means, comparison.low, comparison.high,
                                               comparison.uncorrected)])  # fmt: skip
    return np.array(found)


def test_means_are_biased_without_correction_and_not_with_it(simulated):
    means, _, _, uncorrected = simulated.mean(axis=0)
    truth = np.array(list(TRUE.values())).T
    assert np.abs(means - truth).max() < 0.06
    between, without = np.diff(means, axis=0)[0], np.diff(uncorrected, axis=0)[0]
    real = np.diff(truth, axis=0)[0]
    np.testing.assert_allclose(between, real, rtol=0.08)
    assert (np.abs(without) < 0.85 * np.abs(real)).all()


def test_intervals_hold_the_truth(simulated):
    truth = np.array(list(TRUE.values())).T
    held = (simulated[:, 1] <= truth) & (truth <= simulated[:, 2])
    assert held.mean() > 0.85
    assert ((simulated[:, 1] <= simulated[:, 0]) & (simulated[:, 0] <= simulated[:, 2])).all()


def test_a_column_without_difference_is_seldom_said_to_differ():
    X, frame, _ = overlapping(0)
    model, random = FusionClustering(n_clusters=2).fit(X), np.random.default_rng(0)
    noise = pd.DataFrame(random.normal(size=(len(X), 200)), columns=[f"n{j}" for j in range(200)])
    p = np.array([test.p_value for test in model.compare(noise).tests])
    assert 0.01 < (p < 0.05).mean() < 0.1
    assert max(test.p_value for test in model.compare(frame).tests) < 1e-6


def test_certain_rows_give_plain_means_with_plain_errors():
    """Clusters far apart: the mean, and its standard error s / sqrt(n) but for n - 1 in place of n."""
    random = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [40.0, 0.0]], [60, 40], axis=0) + random.uniform(-1, 1, (100, 2))
    outcome = random.normal(size=100)
    outcome[:5] = np.nan
    model = FusionClustering(n_clusters=2).fit(X)
    found = model.compare(outcome)
    parts = [outcome[5:60], outcome[60:]]
    np.testing.assert_allclose(found.means[:, 0], [part.mean() for part in parts])
    np.testing.assert_allclose(found.errors[:, 0], [part.std() / np.sqrt(len(part)) for part in parts])
    np.testing.assert_allclose(found.uncorrected, found.means)
    half = model.compare(pl.DataFrame({"y": outcome}).fill_nan(None), level=0.5)
    np.testing.assert_allclose(half.high - half.low, 2 * 0.6745 * found.errors, rtol=1e-4)
    weighted = FusionClustering(n_clusters=2).fit(X, sample_weight=np.full(100, 2)).compare(pd.Series(outcome))
    np.testing.assert_allclose(weighted.errors, found.errors / np.sqrt(2))
    assert list(found.to_frame()["cluster"]) == [0, 1]
    assert ": p = " in repr(found)
    assert "p < 0.0001 for no difference" in repr(model.compare(X[:, 0]))
    assert "p = " in repr(found)


def test_what_cannot_be_compared_is_refused():
    X, frame, _ = overlapping(0, n=200)
    table = pd.DataFrame(X, columns=list("abcd"))
    model = FusionClustering(n_clusters=2).fit(table)
    with pytest.raises(ValueError, match="has 199 rows, but the model was fitted to 200 rows"):
        model.compare(frame[1:])
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.compare(frame, level=95)
    with pytest.warns(DataWarning, match="column a was used to find the clusters"):
        model.compare(table[["a"]])
    with pytest.raises(ValueError, match="column 'y' has no entry in the rows of some cluster"):
        model.compare(pd.DataFrame({"y": np.where(model.labels_ == 0, 1.0, np.nan)}))
    with pytest.raises(ValueError, match="fitted to a table in memory"):
        FusionClustering().partial_fit(X).compare(frame)
