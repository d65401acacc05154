"""``fusewise guarantee``: the geometry of given clusters, on which the recovery guarantee rests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fusewise.support.errors import InputError
from fusewise.support.words import counted
from fusewise.tables import Cells, FrameEncoder, Reading, ReadOptions, find_column, is_called_class, read, read_grid
from fusewise.theory import ClusterGeometry


def measure_geometry(path: Path, labels: str, *, asked: ReadOptions, standardize: bool) -> ClusterGeometry:
    """Measure the geometry of the clusters given by `labels` (a column of the table, or a file)."""
    grid = read_grid(path, asked)
    inside = labels in grid.written
    if not inside and not Path(labels).exists():
        find_column(grid.written, labels, "--labels (neither a file nor a column)")
    # With labels from a file, a column of known classes is not used as a feature either, as in fit.
    table = read(path, replace(asked, labels=labels if inside else None), grid)
    cells = table.cells[labels] if inside else _from_file(Path(labels), table)
    encoder = FrameEncoder.of(table).by_distance(table, standardize=standardize)
    return ClusterGeometry.from_data(encoder.encode(table), _codes(cells))


def _from_file(path: Path, table: Reading) -> Cells:
    """Read the labels of the rows, matched by name if the file has the names, and by order otherwise."""
    file = read(path, ReadOptions(decimal=".")).cells  # numbers are not needed, so any decimal separator will do
    candidates = [name for name in file if is_called_class(name)] or list(file)[-1:]
    cells = file[candidates[0]]
    wanted = list(map(str, table.names))
    for name, of in file.items():
        given = list(map(str, of))
        if name != candidates[0] and sorted(given) == sorted(wanted) and len(set(given)) == len(given):
            where = {row: k for k, row in enumerate(given)}
            return cells[[where[row] for row in wanted]]
    if len(cells) != table.n_rows:
        has = f"{str(path)!r} has {counted(len(cells), 'label')}"
        raise InputError(f"{has}, but {str(table.path)!r} has {counted(table.n_rows, 'row')}")
    return cells


def _codes(cells: Cells) -> npt.NDArray[np.intp]:
    """Number the clusters from 0; -1 for outliers and for rows without a label."""
    known = sorted({str(cell) for cell in cells if cell is not None} - {"-1", "-1.0"})
    if not known:
        raise InputError("--labels: no row has a label (-1 and empty labels mean outliers)")
    order = {word: code for code, word in enumerate(known)}
    return np.array([order.get(str(cell), -1) for cell in cells], dtype=np.intp)
