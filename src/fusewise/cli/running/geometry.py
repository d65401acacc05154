"""``fusewise guarantee``: with so much missing, were these clusters certain to be found?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fusewise.cli.errors import blaming_input
from fusewise.tables.encoding import encode
from fusewise.tables.errors import InputError
from fusewise.tables.grids import Cells, find_column
from fusewise.tables.read_options import ReadOptions
from fusewise.tables.reading import Reading, read, read_grid
from fusewise.tables.recognising import LABELS
from fusewise.theory import ClusterGeometry


def measure_geometry(path: Path, labels: str, *, asked: ReadOptions, standardize: bool) -> ClusterGeometry:
    """The geometry of the clusters that `labels` (a column, or a file) makes of a table."""
    grid = read_grid(path, asked.sheet, asked.sep)
    inside = labels in grid.written
    if not inside and not Path(labels).exists():
        find_column(grid.written, labels, "--labels (neither a file nor a column)")
    # With labels from a file, a column of known classes is still no feature: fit does not use it either.
    table = read(path, replace(asked, labels=labels if inside else None), grid)
    cells = table.cells[labels] if inside else _from_file(Path(labels), table)
    with blaming_input():
        return ClusterGeometry.from_data(encode(table.used, standardize=standardize).matrix, _codes(cells))


def _from_file(path: Path, table: Reading) -> Cells:
    """Labels of the table's rows, matched by name where the file has the names, and by order otherwise."""
    file = read(path, ReadOptions(decimal=".")).cells  # the decimals of its other columns do not matter here
    candidates = [name for name in file if LABELS.fullmatch(name.lower())] or list(file)[-1:]
    cells = file[candidates[0]]
    wanted = list(map(str, table.names))
    for name, of in file.items():
        given = list(map(str, of))
        if name != candidates[0] and sorted(given) == sorted(wanted) and len(set(given)) == len(given):
            where = {row: k for k, row in enumerate(given)}
            return cells[[where[row] for row in wanted]]
    if len(cells) != table.n_rows:
        raise InputError(f"{str(path)!r} labels {len(cells)} rows, and {str(table.path)!r} has {table.n_rows}")
    return cells


def _codes(cells: Cells) -> npt.NDArray[np.intp]:
    """Clusters numbered from 0; -1 for outliers and for rows without a label."""
    known = sorted({str(cell) for cell in cells if cell is not None} - {"-1", "-1.0"})
    if not known:
        raise InputError("--labels: no row has a label (-1 and empty ones are outliers)")
    order = {word: code for code, word in enumerate(known)}
    return np.array([order.get(str(cell), -1) for cell in cells], dtype=np.intp)
