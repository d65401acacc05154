"""Arrays that hide what is missing, or are not of numbers: read right, or refused, wherever a table is given."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fusewise import FusionClustering, FusionImputer, fuse
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import as_entries, as_table
from fusewise.theory import ClusterGeometry

pytestmark = pytest.mark.filterwarnings("ignore")

X, LABELS, _ = make_clusters(2, 15, 4, noise=0.2, random_state=0)
HIDDEN = np.random.default_rng(0).random(X.shape) < 0.2
MISSING = np.where(HIDDEN, np.nan, X)
MASKED = np.ma.array(np.where(HIDDEN, -999.0, X), mask=HIDDEN)


def test_masked_entries_are_missing_everywhere():
    """They were read as the numbers underneath."""
    np.testing.assert_array_equal(FusionClustering().fit(MASKED).cluster_centers_,
                                  FusionClustering().fit(MISSING).cluster_centers_)  # fmt: skip
    model = FusionClustering().fit(MISSING)
    np.testing.assert_array_equal(model.predict(MASKED), model.predict(MISSING))
    np.testing.assert_array_equal(fuse(MASKED, lam=0.1).centers, fuse(MISSING, lam=0.1).centers)
    np.testing.assert_array_equal(FusionImputer().fit_transform(MASKED), FusionImputer().fit_transform(MISSING))
    assert ClusterGeometry.from_data(MASKED, LABELS) == ClusterGeometry.from_data(MISSING, LABELS)
    assert np.isnan(hide_entries(MASKED, 0.0)[HIDDEN]).all()


@pytest.mark.parametrize("make", [
    lambda: MASKED, lambda: MASKED * (1 + 0j), lambda: MASKED.astype(np.float32), lambda: list(MASKED),
    lambda: MASKED.astype(object), lambda: np.ma.array(np.where(HIDDEN, 7, 1), mask=HIDDEN),
    lambda: np.ma.array(np.ones(X.shape, bool), mask=HIDDEN),
])  # fmt: skip
def test_masked_arrays_of_every_kind(make):
    np.testing.assert_array_equal(as_entries(make()).mask, ~HIDDEN)


def test_a_masked_table_with_categories():
    table = np.ma.array([["a", "x"], ["b", "y"], ["a", "x"], ["b", "y"]] * 5, mask=False)
    table[0, 1] = np.ma.masked
    model = FusionClustering(categorical_features=[0, 1]).fit(table)
    assert model.encoder_.features == ("x0=a", "x0=b", "x1=x", "x1=y")
    assert np.isnan(model.encoder_.encode(table)[0, 2:]).all()


@pytest.mark.parametrize(("cells", "read"), [
    ([[1, None], [2.5, pd.NA], [True, np.nan]], [[1, np.nan], [2.5, np.nan], [1, np.nan]]),
    ([[1, 2 + 1j], [None, 4]], [[1, 2 + 1j], [np.nan, 4]]),
    ([[Decimal("1.5"), np.float32(2)], [np.ma.masked, 10**30]], [[1.5, 2], [np.nan, 1e30]]),
])  # fmt: skip
def test_objects_that_are_numbers(cells, read):
    table = np.empty(np.shape(read), object)
    for place in np.ndindex(table.shape):
        table[place] = cells[place[0]][place[1]]
    np.testing.assert_array_equal(as_entries(table).fill(np.nan), read)


@pytest.mark.parametrize(("table", "message"), [
    (np.array([[1, "x"], [2, 3]], object), "'x' to a number, at row 0, column 1"),
    (np.array([[1, 2], [10**400, 3]], object), "to a number, at row 1, column 0"),
    (np.array([["2020-01-01", "2020-01-02"]] * 3, "M8[D]"), "holds dates or times"),
    (np.zeros((3, 2), [("a", float)]), "holds records"),
])  # fmt: skip
def test_what_is_no_number_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        as_entries(table)
    with pytest.raises(ValueError, match=message):
        hide_entries(table)


def test_sparse_columns_of_pandas_are_observed():
    """As in pandas: what is not stored is the fill value, not a missing entry."""
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(np.eye(4)), columns=list("abcd"))
    entries = as_entries(frame)
    np.testing.assert_array_equal(entries.values, np.eye(4))
    assert entries.is_complete
    assert entries.feature_names == ("a", "b", "c", "d")
    mixed = frame.assign(e=[1.0, 2.0, np.nan, 4.0])
    np.testing.assert_array_equal(as_entries(mixed).mask.sum(axis=0), [4, 4, 4, 4, 3])


def test_the_theory_refuses_complex_tables():
    """It measured the real parts alone."""
    with pytest.raises(ValueError, match="X is complex"):
        ClusterGeometry.from_data(X * 1j, LABELS)


@pytest.mark.parametrize("other", [[1.0, 2.0, 3.0], pd.array([1, 2, None], dtype="Int64")])
def test_complex_columns_of_a_frame_are_refused_by_name(other):
    """Beside a column of nullable integers pandas would drop the imaginary parts."""
    frame = pd.DataFrame({"a": other, "wave": [1 + 1j, 2j, 3]})
    with pytest.raises(ValueError, match=r"column 'wave' holds complex numbers: give a complex table as an array"):
        as_table(frame)
