"""``fusewise guarantee`` and ``fusewise plan``: the recovery guarantee of given clusters, or of a planned study."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.text import Text

from fusewise.cli._exits import naming_options
from fusewise.cli._terminal import BAR, Result, headed
from fusewise.progress import Progress
from fusewise.support import InputError, counted
from fusewise.tables import Cells, FrameEncoder, Reading, ReadOptions, find_column, is_called_class, read, read_grid
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability

#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: The library's argument names -> the command-line options.
OPTIONS = {
    "n_clusters": "--clusters",
    "size": "--size",
    "sizes": "--size",
    "n_features": "--features",
    "kappa": "--kappa",
    "mu0": "--coherence",
    "observed": "--observed",
    "p0": "--observed",
    "target": "--target",
}


def _measure_geometry(path: Path, labels: str, *, asked: ReadOptions, standardize: bool) -> ClusterGeometry:
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


def run_guarantee(path: Path, labels: str, *, target: float, uniform: bool, standardize: bool, asked: ReadOptions,
                  tell: Progress) -> Result:  # fmt: skip
    """The guarantee for the clusters of a table given by `labels`, a column of the table or a file."""
    tell(f"measuring {path.name}")
    geometry = _measure_geometry(path, labels, asked=asked, standardize=standardize)
    with naming_options(OPTIONS):
        return _result(geometry, promise(geometry, None, target, uniform=uniform), uniform)


def run_plan(numbers: dict[str, Any], observed: float, target: float, uniform: bool, *, tell: Progress) -> Result:
    """The guarantee for clusters of a given geometry."""
    if numbers["n_features"] < 1:
        raise InputError(f"--features = {numbers['n_features']} is out of range: it must be a whole number >= 1")
    with naming_options(OPTIONS):
        geometry = ClusterGeometry.from_parameters(**numbers)
        return _result(geometry, promise(geometry, observed, target, uniform=uniform), uniform)


def _result(geometry: ClusterGeometry, found: Promise, uniform: bool) -> Result:
    """The guarantee as sentences, with the library's argument replaced by the option, and as a table."""
    said = [sentence.replace("(uniform=True)", "(--uniform)") for sentence in found.sentences]
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS, uniform=uniform)).tolist()
    curve = list(zip(FRACTIONS, chances, strict=True))
    data = {
        "probability": found.probability,
        "observed": found.p0,
        "target": found.target,
        "required_observed": found.required,
        "paper_probability": found.paper_probability,
        "reason": found.reason.replace("(uniform=True)", "(--uniform)"),
        "sizes": list(geometry.sizes),
        "numbers": found.numbers,
        "curve": [{"observed": fraction, "probability": chance} for fraction, chance in curve],
        "sentences": said,
    }
    table = headed("observed", "probability of recovery, at least", "")
    for fraction, chance in [] if found.reason or geometry.n_clusters == 1 else curve:
        bar = Text("█" * math.floor(BAR * chance), "green" if chance >= found.target else "yellow")
        table.add_row(f"{fraction:.0%}", _chance(fraction, chance), bar)
    return Result(data, [Text.assemble((said[0], "bold"), *(f"\n{sentence}" for sentence in said[1:])), table])


def _chance(fraction: float, chance: float) -> str:
    """Format a probability, rounded down: only complete data are ever shown as certain."""
    if chance >= 0.999:
        return "certain" if fraction == chance == 1 else "over 99.9%"
    return f"{math.floor(1000 * chance) / 10:.1f}%" if chance else "no guarantee"
