import pytest

from fusewise.support import counted, readable, readable_apart, some_of


@pytest.mark.parametrize(
    ("n", "said"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1_000_000, "1,000,000 rows"), (-1, "-1 rows")]
)
def test_counted(n, said):
    assert counted(n, "row") == said


def test_irregular_plurals_are_given():
    assert [counted(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


def test_some_of():
    assert some_of(["a", "b"]) == "a, b"
    assert some_of(list("abcdefgh")) == "a, b, c, d, e, f, g, h"
    assert some_of(range(5), most=3) == "0, 1, 2 and 2 more"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.012345, "0.0123"), (12.345, "12.3"), (1234.5, "1234"), (1995, "1995"), (12345, "12,345"), (9999.9, "10,000"),
     (-3.0, "−3"), (1e9, "1e+09"), (float("nan"), "–")],
)  # fmt: skip
def test_readable(value, said):
    assert readable(value) == said


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, 2.0, 2.0], ["1", "2", "2"]),
        ([50.7313, 50.7399, 0.5], ["50.73", "50.74", "0.5"]),
        ([2633.7, 2634.2, 12.0], ["2633.7", "2634.2", "12"]),
        ([float("nan"), 3.0, float("nan")], ["–", "3", "–"]),
        ([], []),
    ],
)
def test_different_numbers_read_differently(values, said):
    assert readable_apart(values) == said
