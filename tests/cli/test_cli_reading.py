"""Kinds of files and dialects: the same numbers, however they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import read, write

from fusewise.tables import read_table


def values(path: Path) -> np.ndarray:
    return np.column_stack([column.values for column in read_table(path).used])


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_missing_values_are_filled_with_the_decimals_of_the_table(run, tmp_path, numbers, separator, decimal):
    rows = [["" if v != v else str(v).replace(".", decimal) for v in row] for row in numbers[0]]
    path = write(tmp_path / "t.txt", "abcd", rows, separator)
    np.testing.assert_array_equal(values(path), numbers[0])
    assert run("fit", path, "--out", "out").code == 0
    completed = read(Path("out/completed.csv"), "," if separator + decimal == "\t." else ";")
    other = {".": ",", ",": "."}[decimal]
    assert not any(other in cell for cells in completed.values() for cell in cells)
    np.testing.assert_array_equal(np.isfinite(values(Path("out/completed.csv"))), True)
