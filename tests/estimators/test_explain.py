"""``model.explain``: what each entry of a row adds to the log-odds of its cluster against the runner-up."""

from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest

from fusewise import FusionClustering
from fusewise.datasets import hide_entries


@pytest.fixture(scope="module")
def mixed():
    """Three overlapping clusters of correlated numbers, with a category and missing entries."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 40, 30])
    numbers = 2.5 * random.normal(size=(3, 4))[y] + random.normal(size=(130, 4)) @ random.normal(size=(4, 4))
    frame = pd.DataFrame(hide_entries(numbers, 0.15, random_state=0), columns=list("abcd"))
    frame["colour=x"] = np.array(["red", "blue", "green=1"])[np.where(random.random(130) < 0.7, y, 0)]
    frame.index = [f"p{i}" for i in range(130)]
    return frame


@pytest.fixture(scope="module")
def model(mixed):
    return FusionClustering(n_clusters=3).fit(mixed)


def test_entries_add_up_to_the_log_odds_of_predict_proba(model, mixed):
    rows = mixed.iloc[::6]
    shares = model.predict_proba(rows)
    for found, name, share in zip(model.explain(rows), rows.index, shares, strict=True):
        assert found.row == name
        assert (found.cluster, found.runner_up) == tuple(np.argsort(-share)[:2])
        assert found.log_odds == pytest.approx(np.log(share[found.cluster] / share[found.runner_up]), rel=1e-6)
        assert found.by_size + found.nats.sum() == pytest.approx(found.log_odds)
        assert list(found.columns) == list(rows.columns[rows.loc[name].notna()])


def test_contributions_are_shapley_values(model, mixed):
    """By their formula over all subsets of the entries, from predictions of rows with the other entries missing."""
    row = mixed[mixed.notna().all(axis=1)].iloc[[1]]
    (found,) = model.explain(row)

    def log_odds(kept):
        share = model.predict_proba(row.where(np.isin(np.arange(5), kept)[None], None))[0]
        return np.log(share[found.cluster] / share[found.runner_up])

    values = {kept: log_odds(kept) for m in range(6) for kept in combinations(range(5), m)}
    for j in range(5):
        exact = sum(
            factorial(len(kept)) * factorial(4 - len(kept)) / factorial(5)
            * (values[tuple(sorted((*kept, j)))] - values[kept])
            for kept in values if j not in kept
        )  # fmt: skip
        assert found.nats[j] == pytest.approx(exact, abs=0.05 + 0.1 * abs(exact))
    assert found.by_size == pytest.approx(values[()])


def test_in_words_and_as_a_frame(model, mixed):
    (found,) = model.explain(mixed, rows=[3])
    said = repr(found)
    assert said == repr(model.explain(mixed.iloc[[3]])[0])
    assert said.startswith(f"row p3: in cluster {found.cluster} rather than {found.runner_up}")
    assert f"  colour=x = {mixed['colour=x'].iloc[3]}: " in said
    assert "sizes of the clusters" in said
    assert repr(model.explain(rows=[3])[0]) == said.replace("row p3", "row 3")  # the table of the fit
    assert [mixed.columns[j] for j in found.positions] == list(found.columns)
    frame = found.to_frame()
    assert frame["nats"].abs().is_monotonic_decreasing
    assert frame["nats"].sum() + found.by_size == pytest.approx(found.log_odds)


def test_independent_columns_outliers_and_rows_without_entries():
    random = np.random.default_rng(0)
    X = np.repeat([[0, 0, 0], [9, 0, 0]], 60, axis=0) + random.normal(size=(120, 3))
    model = FusionClustering(n_clusters=2).fit(X)
    found, far, blank = model.explain(np.array([[8.0, 0.5, -0.3], [60.0, 60.0, 60.0], [np.nan] * 3]))
    assert found.nats[0] > 10 * np.abs(found.nats[1:]).max()  # the one column that differs
    assert far.outlier
    assert "an outlier, nearest to cluster" in repr(far)
    assert not blank.columns
    assert (
        blank.log_odds
        == blank.by_size
        == pytest.approx(abs(np.log(np.divide(*model.predict_proba(X[:1] * np.nan)[0]))))
    )


def test_one_cluster_has_no_runner_up():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="one cluster: there is no other"):
        FusionClustering(n_clusters=1).fit(X).explain(X[:1])
    with pytest.raises(ValueError, match=r"rows must be numbers from 0 to 59, got \[60\]"):
        FusionClustering(n_clusters=2).fit(X).explain(X, rows=[60])
