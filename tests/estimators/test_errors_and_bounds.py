"""Entries with errors and between bounds, through the estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import fusewise
from fusewise import FusionClustering, FusionImputer
from fusewise.datasets import make_clusters
from fusewise.support import InputError

K, SIZE, COLUMNS = 3, 40, 8
COMPLETE, TRUTH, _ = make_clusters(K, SIZE, COLUMNS, noise=0.15, random_state=0)
LIMIT = np.quantile(COMPLETE, 0.3, axis=0)
BELOW = LIMIT > COMPLETE
SEEN = np.where(BELOW, np.nan, COMPLETE)


@pytest.fixture(scope="module")
def model():
    return FusionClustering().fit(SEEN, upper=LIMIT)


def same(one, other, tolerance=1e-8):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.probabilities_, other.probabilities_, atol=tolerance)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, atol=tolerance)


def test_a_narrow_interval_is_a_value():
    half = np.full(COMPLETE.shape, np.nan)
    half[BELOW] = 1e-7
    narrow = FusionClustering().fit(SEEN, lower=COMPLETE - half, upper=COMPLETE + half)
    exact = FusionClustering().fit(COMPLETE)
    np.testing.assert_array_equal(narrow.labels_, exact.labels_)
    np.testing.assert_allclose(narrow.cluster_centers_, exact.cluster_centers_, atol=1e-3)


def test_limits_find_the_clusters_that_missing_entries_hide(model):
    assert model.n_clusters_ == K
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.95
    assert adjusted_rand_score(TRUTH, FusionClustering().fit(SEEN).labels_) < 0.9


@pytest.mark.parametrize("seed", [5, 7, 10])
def test_skewed_columns_with_a_limit_are_made_symmetric(seed):
    """Three log-normal groups, three of eight columns with 20 to 40% below a limit: before, two clusters in one."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], 100)
    X = np.exp(rng.normal(0, 1, (3, 8))[truth] + 0.5 * rng.normal(size=(300, 8)))
    limit = np.array([*(np.quantile(X[:, j], q) for j, q in enumerate((0.2, 0.3, 0.4))), *[-np.inf] * 5])
    model = FusionClustering(random_state=0).fit(
        np.where(limit > X, np.nan, X), upper=np.where(limit > X, limit, np.inf)
    )
    assert any("made symmetric" in each for each in model.limits_)
    assert adjusted_rand_score(truth, model.labels_) > 0.94


def test_units_do_not_matter(model):
    scales = 10.0 ** np.arange(-3, 5)
    other = FusionClustering().fit(SEEN * scales, upper=LIMIT * scales)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.cluster_centers_, model.cluster_centers_ * scales, rtol=1e-6)


def test_a_lower_bound_is_an_upper_one_of_the_negative(model):
    other = FusionClustering().fit(-SEEN, lower=-LIMIT)
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_allclose(other.cluster_centers_, -model.cluster_centers_, atol=1e-5)


def test_errors_count(model):
    rng = np.random.default_rng(0)
    error = np.where(rng.random(COMPLETE.shape) < 0.4, 2.0, 0.01)
    seen = COMPLETE + error * rng.standard_normal(COMPLETE.shape)
    aware, ignorant = FusionClustering().fit(seen, error=error), FusionClustering().fit(seen)
    assert adjusted_rand_score(TRUTH, aware.labels_) > adjusted_rand_score(TRUTH, ignorant.labels_) + 0.2
    np.testing.assert_array_equal(aware.predict(seen, error=error), aware.labels_)


def test_new_rows_have_bounds_too(model):
    np.testing.assert_array_equal(model.predict(SEEN, upper=LIMIT), model.labels_)
    np.testing.assert_allclose(model.predict_proba(SEEN, upper=LIMIT), model.probabilities_, atol=1e-9)
    np.testing.assert_allclose(model.predict_confidence(SEEN, upper=LIMIT), model.confidence_, atol=1e-9)
    away = model.transform(SEEN, upper=LIMIT)
    inside = model.labels_ >= 0
    np.testing.assert_array_equal(away.argmin(axis=1)[inside], model.labels_[inside])
    assert model.score(SEEN, upper=LIMIT) < 0
    (found,) = model.explain(SEEN, rows=[1], upper=LIMIT, error=[0.25] * COLUMNS)
    assert {("at most" in said, "± 0.25" in said) for said in found.values} == {(True, False), (False, True)}


def test_a_row_of_nothing_but_bounds_has_a_cluster(model):
    centers = model.cluster_centers_
    row = np.full((1, COLUMNS), np.nan)
    for k, center in enumerate(centers):
        assert model.predict(row, lower=center - 0.1, upper=center + 0.1)[0] == k


def test_alternatives_stability_and_likeness_go_on_from_it(model):
    assert model.stability(2).clusters.shape == (K,)
    assert all(each.n_clusters != K for each in model.alternatives())
    assert (FusionClustering().fit(SEEN, upper=LIMIT, like=model).matching_.similarity == 1).all()


def test_weights_are_copies_with_the_same_bounds():
    weights = 1 + np.arange(len(SEEN)) % 2
    copies = np.repeat(np.arange(len(SEEN)), weights)
    upper = np.where(BELOW, LIMIT, np.nan)
    weighted = FusionClustering().fit(SEEN, upper=upper, sample_weight=weights)
    repeated = FusionClustering().fit(SEEN[copies], upper=upper[copies])
    np.testing.assert_array_equal(weighted.labels_[copies], repeated.labels_)


def test_imputed_values_are_between_the_bounds(model):
    lower = LIMIT - 1.0
    imputer = FusionImputer().fit(SEEN, lower=lower, upper=LIMIT)
    filled = imputer.transform(SEEN, lower=lower, upper=LIMIT)
    np.testing.assert_array_equal(filled[~BELOW], COMPLETE[~BELOW])
    draws = imputer.sample(SEEN, 3, random_state=0, lower=lower, upper=LIMIT)
    for table in (filled, *draws):
        inside = (table >= lower) & (table <= LIMIT)
        assert inside[BELOW].all()
    error = np.sqrt(np.mean(np.square(filled - COMPLETE)[BELOW]))
    ignorant = np.sqrt(np.mean(np.square(FusionImputer().fit_transform(SEEN) - COMPLETE)[BELOW]))
    assert error < 0.5 * ignorant


def test_frames_have_bounds_by_name_and_categories_have_none():
    frame = pd.DataFrame(SEEN, columns=list("abcdefgh")).assign(kind=np.where(TRUTH == 0, "u", "v"))
    upper = pd.DataFrame(np.where(BELOW, LIMIT, np.nan), columns=list("abcdefgh")).assign(kind=np.nan)
    model = FusionClustering().fit(frame, upper=upper[["kind", *"hgfedcba"]])
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.95
    np.testing.assert_array_equal(model.predict(frame, upper=upper), model.labels_)
    with pytest.raises(InputError, match="column 'kind' holds categories, which have no upper"):
        model.predict(frame, upper=upper.assign(kind=1.0))
    with pytest.raises(InputError, match=r"upper has the columns a and b, but X has a, b, "):
        model.predict(frame, upper=upper[["a", "b"]])
    with pytest.raises(InputError, match=r"upper has shape \(8,\), but the table has 9 columns"):
        model.predict(frame, upper=LIMIT)


def test_a_column_of_two_values_has_neither_errors_nor_bounds(model):
    table = np.column_stack([COMPLETE, TRUTH == 0])
    model = FusionClustering().fit(table)
    with pytest.raises(InputError, match="column 8 has one of two values in each row of the fit"):
        model.predict(table, error=[*np.zeros(COLUMNS), 0.1])


UPPER = np.where(BELOW, LIMIT, np.nan)
ERROR = np.where(np.random.default_rng(1).random(COMPLETE.shape) < 0.2, 0.1, 0.0)
ORDER = np.random.default_rng(0).permutation(len(SEEN))


@pytest.mark.parametrize("sizes", [(120,), (50, 69, 1), (1, 30, 89)])
def test_a_stream_of_blocks_is_one_table(sizes, tmp_path):
    whole = FusionClustering().fit(SEEN, upper=UPPER, error=ERROR)
    parts = np.split(ORDER, np.cumsum(sizes)[:-1])
    model = FusionClustering()
    for rows in parts:
        model.partial_fit(SEEN[rows], upper=UPPER[rows], error=ERROR[rows])
    model.save(tmp_path / "model.fusewise")
    for each in (model, fusewise.load(tmp_path / "model.fusewise")):
        np.testing.assert_array_equal(each.predict(SEEN, upper=UPPER, error=ERROR), whole.labels_)
        np.testing.assert_array_equal(each.labels_, whole.labels_[parts[-1]])
        np.testing.assert_allclose(each.cluster_centers_, whole.cluster_centers_, atol=1e-8)


def test_blocks_with_bounds_go_on_from_a_fit_with_them_and_without():
    whole = FusionClustering().fit(SEEN, upper=UPPER)
    exact, bounded = ~BELOW.any(axis=1), BELOW.any(axis=1)
    for first, then in ((exact, bounded), (bounded, exact)):
        model = FusionClustering().fit(SEEN[first], upper=UPPER[first])
        model.partial_fit(SEEN[then], upper=UPPER[then])
        np.testing.assert_array_equal(model.predict(SEEN, upper=UPPER), whole.labels_)


def test_bounds_of_streams_come_with_their_blocks():
    with pytest.raises(InputError, match="partial_fit"):
        FusionClustering().fit(iter([SEEN]), upper=LIMIT)


def test_weights_and_bounds_are_used_together():
    """A column without weight is absent, whatever its bounds; the others keep theirs."""
    upper = np.where(BELOW, LIMIT, np.inf)
    some = FusionClustering(random_state=0).fit(SEEN[:, 1:], upper=upper[:, 1:])
    weighted = FusionClustering(feature_weights=[0, *[1] * (COLUMNS - 1)], random_state=0).fit(SEEN, upper=upper)
    np.testing.assert_array_equal(weighted.labels_, some.labels_)
    double = FusionClustering(feature_weights=[2] * COLUMNS, random_state=0).fit(SEEN, upper=upper)
    assert adjusted_rand_score(double.labels_, TRUTH) > 0.9
    np.testing.assert_array_equal(double.predict(SEEN, upper=upper), double.labels_)
