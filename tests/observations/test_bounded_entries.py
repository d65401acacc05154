"""Entries with errors and entries between bounds: how they are read, and what is refused."""

import numpy as np
import pytest

from fusewise.observations import BoundedEntries, Entries, as_entries, half_known
from fusewise.support import InputError

X = np.array([[1.0, np.nan], [2.0, 5.0], [np.nan, 7.0]])
NAN, INF = np.nan, np.inf


def table(names: tuple[str, ...] | None = None) -> Entries:
    entries = as_entries(X)
    return Entries(entries.values, entries.mask, names)


def test_errors_are_variances_of_observed_entries():
    found = half_known(table(), error=[[0.5, NAN], [0, 2], [1, 1]])
    np.testing.assert_array_equal(found.variances, [[0.25, 0], [0, 4], [0, 1]])
    np.testing.assert_array_equal(half_known(table(), error=[0.5, 2]).variances, [[0.25, 0], [0.25, 4], [0, 4]])


def test_no_error_is_an_exact_table_and_an_infinite_one_a_missing_entry():
    assert half_known(table(), error=[0, 0]).variances is None
    found = half_known(table(), error=[[0, 0], [INF, 0], [0, 0]])
    assert found.variances is None
    np.testing.assert_array_equal(found.mask, [[True, False], [False, True], [False, True]])


def test_bounds_are_of_missing_entries():
    found = half_known(table(), lower=[[NAN, 1], [NAN, NAN], [-INF, NAN]], upper=[[NAN, 2], [INF, NAN], [0.5, NAN]])
    assert isinstance(found, BoundedEntries)
    np.testing.assert_array_equal(found.mask, table().mask)
    np.testing.assert_array_equal(found.low, [[-INF, 1], [-INF, -INF], [-INF, -INF]])
    np.testing.assert_array_equal(found.high, [[INF, 2], [INF, INF], [0.5, INF]])
    np.testing.assert_array_equal(found.row_counts, [2, 2, 2])


def test_bounds_per_column_are_of_its_missing_entries():
    found = half_known(table(), upper=[0.5, NAN])
    np.testing.assert_array_equal(found.high, [[INF, INF], [INF, INF], [0.5, INF]])


def test_bounds_that_say_nothing_or_all():
    assert type(half_known(table(), lower=[-INF, NAN], upper=[INF, INF])) is Entries
    found = half_known(table(), lower=[[NAN, 3], [NAN, NAN], [NAN, NAN]], upper=[[NAN, 3], [NAN, NAN], [NAN, NAN]])
    assert type(found) is Entries
    assert found.values[0, 1] == 3
    assert found.mask[0, 1]


def test_rows_columns_and_parts_keep_what_is_known():
    found = half_known(table(), error=[1, 2], upper=[0.5, 4])
    some = found.take(np.array([2, 0]))
    np.testing.assert_array_equal(some.high, found.high[[2, 0]])
    np.testing.assert_array_equal(some.variances, found.variances[[2, 0]])
    scaled = found.standardised(np.array([1]), np.array([1.0, 2.0]), np.array([0.0, 3.0]))
    np.testing.assert_array_equal(scaled.high[:, 0], [0.5, INF, INF])
    np.testing.assert_array_equal(scaled.variances[:, 0], found.variances[:, 1] / 4)
    nothing = found.only(np.zeros(X.shape, bool))
    assert not nothing.known.any()


@pytest.mark.parametrize(("given", "message"), [
    ({"error": [[-1, 0], [0, 0], [0, 0]]}, r"error at row 0, column 0 \('a'\) is negative"),
    ({"error": [[0, 0], [0, NAN], [0, 0]]}, r"observed entry at row 1, column 1 \('b'\) is NaN: give a number"),
    ({"error": [1, 2, 3]}, r"error has shape \(3,\), but the table has \(3, 2\)"),
    ({"error": [["much", 0], [0, 0], [0, 0]]}, "error must be an array of numbers"),
    ({"lower": [NAN, 2], "upper": [NAN, 1]}, r"lower is above upper at row 0, column 1 \('b'\)"),
    ({"upper": [[NAN, NAN], [1.5, NAN], [NAN, NAN]]}, r"row 1, column 0 \('a'\) is outside of its bounds"),
    ({"upper": [[NAN, NAN], [2.5, NAN], [NAN, NAN]]}, r"row 1, column 0 \('a'\) is observed and has bounds"),
    ({"lower": [INF, NAN]}, r"lower is inf at row 2, column 0 \('a'\)"),
])  # fmt: skip
def test_what_cannot_be_is_refused_by_row_and_column(given, message):
    with pytest.raises(InputError, match=message):
        half_known(table(("a", "b")), **given)


def test_complex_tables_have_neither():
    with pytest.raises(InputError, match="tables of real numbers, and this one is complex"):
        half_known(as_entries(X + 1j), error=[1, 1])
