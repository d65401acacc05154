"""The estimators, as a scikit-learn user meets them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import DataWarning, FusionClustering, FusionImputer, load
from fusewise.datasets import hide_entries, make_clusters
from fusewise.progress import listening


@pytest.fixture(scope="module")
def fitted(clusters):
    return FusionClustering().fit(clusters[0])


def test_finds_the_clusters(clusters, fitted):
    X, y = clusters
    assert adjusted_rand_score(y, fitted.labels_) == 1.0
    assert fitted.n_clusters_ == 3
    assert np.bincount(fitted.labels_).tolist() == [40, 30, 20]  # the largest first
    assert fitted.cluster_centers_.shape == (3, 10)
    assert fitted.fused_.shape == X.shape


@pytest.mark.parametrize("tree", [1, 2])
def test_interrupted_gives_the_best_so_far(clusters, tree):
    """Ctrl-C in the first search is raised; in the second, which has more dimensions, the first is the result."""
    trees: list[str] = []

    def interrupt(stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
        if stage.startswith("merge tree"):
            trees.append(stage)
            if len(trees) == tree:
                raise KeyboardInterrupt

    with listening(interrupt):
        if tree == 1:
            with pytest.raises(KeyboardInterrupt):
                FusionClustering().fit(clusters[0])
            return
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model = FusionClustering().fit(clusters[0])
    assert not model.converged_
    assert model.n_clusters_ == 3


def test_predict_new_rows_with_missing_values(fitted):
    X, y, _ = make_clusters(3, [40, 30, 20], 10, noise=0.08, random_state=0)
    holes = hide_entries(X, 0.4, random_state=7)
    assert adjusted_rand_score(y, fitted.predict(holes)) > 0.95


def test_blank_rows_are_labelled_minus_one(clusters):
    X = np.vstack([clusters[0], np.full((2, 10), np.nan)])
    with pytest.warns(DataWarning, match="rows 90, 91 have no observed entry"):
        model = FusionClustering().fit(X)
    assert (model.labels_[-2:] == -1).all()
    assert (model.labels_[:-2] >= 0).all()
    with pytest.warns(DataWarning, match="rows 90, 91"):
        assert (model.predict(X)[-2:] == -1).all()
    with pytest.warns(DataWarning):
        told = FusionClustering(n_clusters=3).fit(X)
    assert (told.labels_[-2:] == -1).all()


def test_without_outliers_every_row_has_its_likeliest_cluster(clusters):
    far = np.full((1, 10), 1e3)
    X = np.vstack([clusters[0], far, np.full((1, 10), np.nan)])
    with pytest.warns(DataWarning, match="row 91 has no observed entry: labelled -1"):
        model = FusionClustering().fit(X)
    with pytest.warns(DataWarning, match="row 91 has no observed entry: assigned to the likeliest cluster"):
        every = FusionClustering(outliers=False).fit(X)
    assert model.labels_[-2:].tolist() == [-1, -1]
    np.testing.assert_array_equal(every.labels_, every.probabilities_.argmax(axis=1))
    np.testing.assert_allclose(every.confidence_, every.probabilities_.max(axis=1))
    assert adjusted_rand_score(model.labels_[:90], every.labels_[:90]) == 1.0
    with pytest.warns(DataWarning, match="likeliest cluster"):
        np.testing.assert_array_equal(every.predict(X), every.labels_)


def test_what_would_take_long_is_not_listed(clusters):
    """scikit-learn's display evaluates every attribute that is listed."""
    model = FusionClustering()
    assert "labels_" not in dir(model)
    assert not hasattr(model, "labels_")
    stages = []
    with listening(lambda stage, *progress, **values: stages.append(stage)):
        assert "labels_" not in dir(model.partial_fit(clusters[0]))
        assert not stages
        assert model.labels_.shape == (90,)
        assert "labels_" in dir(model)
        assert "fused_" not in dir(model)  # it has the size of the table


def test_tables_of_every_kind_agree(clusters, fitted):
    X, _ = clusters
    names = [f"gene {i}" for i in range(10)]
    frames = [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names).fill_nan(None)]
    seen = ~np.isnan(X)
    stored = sparse.csr_matrix((X[seen], np.nonzero(seen)), shape=X.shape)
    for table in (*frames, stored):
        model = FusionClustering().fit(table)
        np.testing.assert_array_equal(model.labels_, fitted.labels_)
        np.testing.assert_array_equal(model.predict(table), fitted.predict(X))
    assert list(FusionClustering().fit(frames[0]).feature_names_in_) == names


def test_pandas_output(clusters):
    table = pd.DataFrame(clusters[0], columns=list("abcdefghij"), index=np.arange(90) + 5)
    filled = FusionImputer().set_output(transform="pandas").fit_transform(table)
    assert list(filled.columns) == list("abcdefghij")
    assert list(filled.index) == list(table.index)
    model = FusionClustering().set_output(transform="pandas")
    for distances in (model.fit_transform(table), model.fit(table).transform(table)):
        assert list(distances.columns) == [f"fusionclustering{k}" for k in range(3)]
        assert list(distances.index) == list(table.index)


@pytest.mark.parametrize("estimator", [FusionClustering, FusionImputer])
@pytest.mark.parametrize("weights", [None, np.ones(90)])
def test_what_is_no_table_is_refused_in_plain_words(clusters, estimator, weights):
    column, lazy = clusters[0][:, 0], pl.DataFrame(clusters[0]).lazy()
    for series in (pd.Series(column), pl.Series(column)):
        with pytest.raises(ValueError, match=r"X is a Series, a single column: pass a table"):
            estimator().fit(series, sample_weight=weights)
    with pytest.raises(ValueError, match=r"X is a polars LazyFrame, .*: pass X.collect\(\)"):
        estimator().fit(lazy, sample_weight=weights)
    with pytest.raises(ValueError, match="LazyFrame"):
        estimator().fit(clusters[0]).transform(lazy)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_text_that_is_an_identifier_is_warned_of_by_name(clusters, kind):
    X, _ = clusters
    columns = {"a": X[:, 0], "b": X[:, 1], "town": np.array(["here", "there"])[np.arange(90) % 2]}
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        FusionClustering().fit(kind(columns))
    named = kind(columns | {"patient": [f"p{i}" for i in range(90)]})
    with pytest.warns(DataWarning, match="column 'patient' is text with 90 different values") as said:
        FusionClustering().fit(named)
    assert said[0].filename == __file__
    some = kind(columns | {"patient": [f"p{i // 3}" for i in range(90)]})  # three rows each: a category
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        FusionClustering().fit(some)


def test_whoever_listens_hears_of_the_fit(clusters, capsys):
    stages = []
    with listening(lambda stage, done, total=None, **values: stages.append(stage)):
        FusionClustering().fit(clusters[0])
    assert "comparing partitions" in stages
    assert capsys.readouterr().err == ""
    FusionClustering(verbose=1).fit(clusters[0])
    assert "comparing partitions" in capsys.readouterr().err


def test_many_probabilities_are_computed_when_they_are_asked_for(monkeypatch, tmp_path):
    """They are those that would have been kept, also with hints and of a saved model; and are computed once."""
    X, _, _ = make_clusters(3, 40, 8, noise=0.2, random_state=0)
    X = hide_entries(X, 0.3, random_state=0)
    given = {"must_link": [(0, 1)], "cannot_link": [(0, 100)]}
    kept = FusionClustering(random_state=0).fit(X, **given)
    monkeypatch.setattr("fusewise.automatic._choice.MOST_PROBABILITIES", 100)
    lazy = FusionClustering(random_state=0).fit(X, **given)
    lazy.save(tmp_path / "model")
    np.testing.assert_array_equal(lazy.probabilities_, kept.probabilities_)
    assert lazy.probabilities_ is lazy.probabilities_
    np.testing.assert_array_equal(load(tmp_path / "model").probabilities_, kept.probabilities_)
    np.testing.assert_array_equal(lazy.fit(X).probabilities_, FusionClustering(random_state=0).fit(X).probabilities_)
