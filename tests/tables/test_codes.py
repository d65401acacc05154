"""Whole numbers of few values: levels where a table has no measurements, numbers beside them."""

from pathlib import Path

import numpy as np
import pytest

from fusewise.tables import read_table

ROWS = 60


def written(tmp_path: Path, **columns):
    rng = np.random.default_rng(0)
    drawn = {"flag": rng.integers(2, size=ROWS), "grade": rng.choice([1, 2, 4], ROWS)} | columns
    lines = [",".join(drawn), *(",".join(str(drawn[name][i]) for name in drawn) for i in range(ROWS))]
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(lines))
    return path, drawn


def kinds(path: Path, told=()) -> list[str]:
    return [column.kind for column in read_table(path, kinds=dict.fromkeys(told, "number")).columns]


def test_two_values_are_a_flag_and_more_are_ordered(tmp_path):
    grade = ["" if i == 7 else [1, 2, 4][i % 3] for i in range(ROWS)]
    path, drawn = written(tmp_path, grade=grade)
    flag, ordered = read_table(path).columns
    assert (flag.kind, flag.categories) == ("flag", (0, 1))
    assert (ordered.kind, ordered.categories) == ("ordered", (1, 2, 4))
    np.testing.assert_array_equal(flag.values, drawn["flag"])
    expected = [np.nan if cell == "" else [1, 2, 4].index(cell) for cell in grade]
    np.testing.assert_array_equal(ordered.values, expected)
    assert "read as levels" in ordered.why


def test_categories_beside_them_do_not_matter(tmp_path):
    path, _ = written(tmp_path, colour=["red", "blue"] * (ROWS // 2))
    assert kinds(path) == ["flag", "ordered", "category"]


@pytest.mark.parametrize("measured", ["fraction", "many", "unit"])
def test_beside_a_measurement_codes_stay_numbers(tmp_path, measured):
    rng = np.random.default_rng(1)
    cells = {
        "fraction": rng.choice([0.5, 1.0, 2.0], ROWS),
        "many": rng.integers(11, size=ROWS),
        "unit": [f"{k} kg" for k in rng.integers(1, 4, size=ROWS)],
    }[measured]
    path, _ = written(tmp_path, other=cells)
    assert kinds(path) == ["number"] * 3


def test_a_number_that_the_user_named_is_a_measurement(tmp_path):
    path, _ = written(tmp_path)
    assert kinds(path, {"flag"}) == ["number", "number"]
