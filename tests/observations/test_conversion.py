"""Reading tables: every kind of input, and every way it can be wrong."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fusewise import FusionClustering, FusionImputer, fuse
from fusewise.datasets import hide_entries, make_clusters
from fusewise.observations import Entries, as_entries, as_table
from fusewise.theory import ClusterGeometry

NAN = np.nan


def assert_same(entries: Entries, expected) -> None:
    """The values where there are any, and holes (zero inside) at NaN."""
    expected = np.asarray(expected)
    np.testing.assert_array_equal(entries.mask, ~np.isnan(expected))
    np.testing.assert_array_equal(entries.values, np.where(np.isnan(expected), 0, expected))


class TestArrays:
    def test_nan_is_a_hole(self):
        assert_same(as_entries([[1.0, NAN], [NAN, 4.0]]), [[1.0, NAN], [NAN, 4.0]])

    def test_mask_and_nan_both_hide(self):
        entries = as_entries([[1.0, NAN], [3.0, 4.0]], mask=[[True, True], [False, True]])
        assert_same(entries, [[1.0, NAN], [NAN, 4.0]])

    def test_what_the_mask_hides_may_be_infinite(self):
        assert_same(as_entries([[1.0, np.inf], [3.0, 4.0]], mask=[[1, 0], [1, 1]]), [[1.0, NAN], [3.0, 4.0]])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
    def test_precision_is_kept(self, dtype):
        X = np.array([[1.5, NAN], [2.5, -3.0]], dtype=dtype)
        entries = as_entries(X)
        assert entries.values.dtype == dtype
        assert entries.seen.dtype == np.zeros(1, dtype).real.dtype
        assert_same(entries, X)

    @pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool, np.float16])
    def test_other_numbers_become_float64(self, dtype):
        entries = as_entries(np.array([[1, 0], [1, 1]], dtype=dtype))
        assert entries.values.dtype == np.float64
        assert_same(entries, [[1.0, 0.0], [1.0, 1.0]])

    def test_complex_with_nan_in_one_part_is_a_hole(self):
        entries = as_entries(np.array([[1 + 2j, complex(NAN, 1)], [complex(1, NAN), 0]]))
        np.testing.assert_array_equal(entries.mask, [[True, False], [False, True]])
        assert entries.values[0, 0] == 1 + 2j
        assert entries.values[0, 1] == 0

    def test_numbers_among_objects(self):
        assert_same(as_entries(np.array([[1, None], ["2.5", 4]], dtype=object)), [[1.0, NAN], [2.5, 4.0]])


class TestFrames:
    def test_pandas(self):
        frame = pd.DataFrame({"a": [1.0, NAN], "b": pd.array([3, pd.NA], dtype="Int64"), "c": [5, 6]})
        entries = as_entries(frame)
        assert_same(entries, [[1.0, 3.0, 5.0], [NAN, NAN, 6.0]])
        assert entries.feature_names == ("a", "b", "c")

    def test_polars(self):
        frame = pl.DataFrame({"a": [1.0, None], "b": [3, None], "c": [NAN, 6.0]})
        entries = as_entries(frame)
        assert_same(entries, [[1.0, 3.0, NAN], [NAN, NAN, 6.0]])
        assert entries.feature_names == ("a", "b", "c")


class TestSparse:
    # A stored zero at (0, 1), a stored NaN at (1, 0), nothing stored at (0, 2) and (1, 1).
    DATA = (np.array([5.0, 0.0, NAN, 7.0]), (np.array([0, 0, 1, 1]), np.array([0, 1, 0, 2])))

    @pytest.mark.parametrize(
        "make",
        [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array],
    )
    def test_stored_entries_are_observed(self, make):
        assert_same(as_entries(make(self.DATA, shape=(2, 3))), [[5.0, 0.0, NAN], [NAN, NAN, 7.0]])

    def test_duplicates_add_up(self):
        # What scipy.sparse itself means by an entry stored twice.
        doubled = sparse.coo_matrix(([1.0, 2.0, 4.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
        assert_same(as_entries(doubled), [[NAN, 3.0], [4.0, NAN]])

    def test_a_mask_beside_it_is_refused(self):
        with pytest.raises(ValueError, match="sparse table takes no mask"):
            as_entries(sparse.csr_matrix(np.eye(2)), mask=np.ones((2, 2), dtype=bool))

    def test_infinite(self):
        with pytest.raises(ValueError, match="infinity: at row 1, column 0"):
            as_entries(sparse.csr_matrix(np.array([[0.0, 1.0], [-np.inf, 0.0]])))


class TestBadInput:
    def test_text_in_a_named_column(self):
        for make in (pd.DataFrame, pl.DataFrame):
            frame = make({"size": [1.0, 2.0, 3.0], "colour": ["1.5", "red", "blue"]})
            with pytest.raises(ValueError, match=r"'red'.*row 1, column 1 \('colour'\).*encode or drop"):
                as_entries(frame)

    def test_infinite(self):
        X = np.zeros((3, 4))
        X[1, 2], X[2, 0] = np.inf, -np.inf
        with pytest.raises(ValueError, match=r"infinity: at row 1, column 2, and 1 more"):
            as_entries(X)
        with pytest.raises(ValueError, match=r"row 1, column 2 \('c'\)"):
            as_entries(pd.DataFrame(X, columns=list("abcd")))

    @pytest.mark.parametrize("dtype", [float, complex])
    @pytest.mark.parametrize(("shape", "said"), [
        ((0, 3), "0 sample.*minimum of 2"),
        ((1, 3), "1 sample.*minimum of 2"),
        ((3, 0), "0 feature"),
        ((3,), "Expected 2D array, got 1D array instead"),
        ((2, 2, 2), "3D array|dim 3"),
    ])  # fmt: skip
    def test_shapes(self, shape, said, dtype):
        with pytest.raises(ValueError, match=said):
            as_entries(np.zeros(shape, dtype=dtype))

    def test_mask_of_another_shape(self):
        with pytest.raises(ValueError, match=r"mask has shape \(2, 3\), but the table has shape \(3, 2\)"):
            as_entries(np.zeros((3, 2)), mask=np.ones((2, 3), dtype=bool))

    @pytest.mark.parametrize("mask", [[[0.5, 1.0], [1.0, 1.0]], [[2, 1], [1, 1]], [[NAN, 1.0], [1.0, 1.0]]])
    def test_mask_of_other_numbers(self, mask):
        with pytest.raises(ValueError, match="only True"):
            as_entries(np.zeros((2, 2)), mask=mask)


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
