"""Kinds of files and dialects: the same numbers, however they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cli_helpers import read, write

from fusewise.tables import FrameEncoder, read_table


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


def test_one_missing_category_is_a_missing_block_of_variance_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,colour\n1,red\n2,green\n3,\n4,blue\n5,red\n6,green\n7,blue\n")
    table = read_table(path)
    encoder = FrameEncoder.of(table).by_distance(table, standardize=True)
    assert encoder.features == ("x", "colour=blue", "colour=green", "colour=red")
    matrix = encoder.encode(table)
    block = matrix[:, 1:]
    assert np.isnan(block[2]).all()
    assert not np.isnan(np.delete(block, 2, axis=0)).any()
    np.testing.assert_allclose(np.nanvar(block, axis=0).sum(), 1)
    np.testing.assert_allclose(np.nanmean(matrix, axis=0), 0, atol=1e-12)
    x, colour = (code.decode(part) for code, part in encoder.by_column(matrix))
    np.testing.assert_allclose(x[:, 0], range(1, 8))
    np.testing.assert_allclose(colour[0], [0, 0, 1], atol=1e-12)
