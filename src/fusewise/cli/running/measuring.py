"""``fusewise guarantee``: the geometry of given clusters, on which the recovery guarantee rests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from fusewise.cli.exits import reporting_input_errors
from fusewise.kernels.words import counted
from fusewise.tables.columns import LABELS, find_column, sort_columns
from fusewise.tables.encoding import encode
from fusewise.tables.errors import InputError
from fusewise.tables.files import Cells, Table, read_table
from fusewise.theory import ClusterGeometry


def measure_geometry(
    path: Path, labels: str, *, drop: list[str], names: str | None, standardize: bool
) -> ClusterGeometry:
    """Measure the geometry of the clusters given by `labels` (a column of the table, or a file)."""
    table = read_table(path)
    inside = labels in table.columns
    if not inside and not Path(labels).exists():
        find_column(table, labels, "--labels (neither a file nor a column)")
    # With labels from a file, a column of known classes is not used as a feature either, as in fit.
    roles = sort_columns(table, drop=drop, names=names, labels=labels if inside else None)
    cells = table.columns[labels] if inside else _from_file(Path(labels), roles.names, table)
    with reporting_input_errors():
        return ClusterGeometry.from_data(encode(roles.used, standardize=standardize).matrix, _codes(cells))


def _from_file(path: Path, names: Cells, table: Table) -> Cells:
    """Read the labels of the rows, matched by name if the file has the names, and by order otherwise."""
    file = read_table(path)
    candidates = [name for name in file.columns if LABELS.fullmatch(name.lower())] or list(file.columns)[-1:]
    cells = file.columns[candidates[0]]
    wanted = list(map(str, names))
    for name in file.columns:
        given = list(map(str, file.columns[name]))
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
