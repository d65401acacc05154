"""``fusewise guarantee`` and ``fusewise plan``: the recovery guarantee of given clusters, or of a planned study."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.text import Text

import fusewise
from fusewise.cli._exits import naming_options
from fusewise.cli._terminal import BAR, Terminal, headed, print_below, print_json
from fusewise.support import InputError, counted
from fusewise.tables import Cells, FrameEncoder, Reading, ReadOptions, find_column, is_called_class, read, read_grid
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability


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


def planned_geometry(clusters: int, size: int, features: int, kappa: float, coherence: float) -> ClusterGeometry:
    """The geometry of a planned study."""
    if features < 1:
        raise InputError(f"--features = {features} is out of range: it must be a whole number >= 1")
    with naming_options(OPTIONS):
        return ClusterGeometry.from_parameters(
            n_clusters=clusters, size=size, n_features=features, kappa=kappa, mu0=coherence
        )


def promised(geometry: ClusterGeometry, observed: float | None, target: float, uniform: bool) -> Promise:
    """The recovery guarantee, with errors reported in terms of the options."""
    with naming_options(OPTIONS):
        return promise(geometry, observed, target, uniform=uniform)


def sentences(result: Promise) -> list[str]:
    """The library's sentences, with arguments replaced by command-line options."""
    return [sentence.replace("(uniform=True)", "(--uniform)") for sentence in result.sentences]


def curve(geometry: ClusterGeometry, uniform: bool) -> list[tuple[float, float]]:
    """Pairs (observed fraction, guaranteed probability)."""
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS, uniform=uniform))
    return [(fraction, float(chance)) for fraction, chance in zip(FRACTIONS, chances, strict=True)]


def as_data(geometry: ClusterGeometry, result: Promise, uniform: bool) -> dict[str, Any]:
    """The guarantee as a JSON-serialisable dictionary."""
    return {
        "probability": result.probability,
        "observed": result.p0,
        "target": result.target,
        "required_observed": result.required,
        "paper_probability": result.paper_probability,
        "reason": result.reason.replace("(uniform=True)", "(--uniform)"),
        "sizes": list(geometry.sizes),
        "numbers": result.numbers,
        "curve": [{"observed": fraction, "probability": chance} for fraction, chance in curve(geometry, uniform)],
        "sentences": sentences(result),
    }


def show(geometry: ClusterGeometry, result: Promise, uniform: bool, *, json: bool) -> None:
    """Print a recovery guarantee as sentences and a table, or as JSON."""
    if json:
        print_json({"version": fusewise.__version__} | as_data(geometry, result, uniform))
        return
    console = Terminal()
    first, *rest = sentences(result)
    console.print(Text(first, "bold"))
    for sentence in rest:
        console.print(Text(sentence))
    if result.reason or geometry.n_clusters == 1:
        return
    grid = headed("observed", "probability of recovery, at least", "")
    for fraction, chance in curve(geometry, uniform):
        bar = Text("█" * math.floor(BAR * chance), "green" if chance >= result.target else "yellow")
        grid.add_row(f"{fraction:.0%}", _chance(fraction, chance), bar)
    print_below(console, grid)


def _chance(fraction: float, chance: float) -> str:
    """Format a probability, rounded down: only complete data are ever shown as certain."""
    if chance >= 0.999:
        return "certain" if fraction == chance == 1 else "over 99.9%"
    return f"{math.floor(1000 * chance) / 10:.1f}%" if chance else "no guarantee"
