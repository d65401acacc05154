"""``fusewise path``, ``guarantee`` and ``plan``: the paper's algorithm along lam, and its theory."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table as Grid
from rich.text import Text

from fusewise import PenalizedFusion
from fusewise.cli._exits import naming_options
from fusewise.cli._fit import fitting, read_rows, unmet_notes
from fusewise.cli._models import label_table
from fusewise.cli._output import BAR, Result, facts, headed, staged, write_csv
from fusewise.fusion import Ball, Box, as_fidelity, as_penalty
from fusewise.kernels import Labels
from fusewise.progress import Progress
from fusewise.support import InputError, counted, readable_apart
from fusewise.tables import (
    Cells,
    FrameEncoder,
    Reading,
    ReadOptions,
    files_of,
    find_column,
    in_dialect,
    is_called_class,
    read,
    read_grid,
)
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability
from fusewise.views import plateaus, point_of_result

#: Maximum number of cluster sizes listed per line.
MOST_SIZES = 8
LEGEND = "lam: strength of the fusion penalty; stays: number of steps over which the partition stays the same"

#: The library's argument names -> the command-line options.
OPTIONS = {
    "n_features": "--features",
    "size": "--size",
    "sizes": "--size",
    "kappa": "--kappa",
    "mu0": "--coherence",
    "observed": "--observed",
    "p0": "--observed",
    "lam": "--lam",
    "sigma": "--sigma",
    "epsilon": "--epsilon",
    "radius": "--epsilon",
    "rank": "--rank",
    "n_neighbors": "--neighbors",
    "target": "--target",
}


def paper_model(n_clusters: int | None, penalty: str, sigma: float | None, lam: float | None, fidelity: str,
                epsilon: float | None, rank: str, neighbors: str, max_iter: int, seed: int | None
                ) -> PenalizedFusion:  # fmt: skip
    """The estimator of ``path``; `epsilon` is the width of the box or the radius of the ball."""
    shape, tie = as_penalty(penalty), as_fidelity(fidelity)
    if sigma is not None and not hasattr(shape, "sigma"):
        raise InputError(f"--sigma cannot be used with --penalty {penalty}, which has no scale")
    if epsilon is not None and not isinstance(tie, Box | Ball):
        raise InputError(f"--epsilon can only be used with --fidelity box or ball, not {fidelity}")
    with naming_options(OPTIONS):
        return PenalizedFusion(
            "auto" if lam is None else lam,
            penalty=shape if sigma is None else shape.replace(sigma=sigma),
            fidelity=tie if epsilon is None else type(tie)(epsilon),
            rank=_count(rank),
            n_neighbors=_count(neighbors),
            n_clusters=n_clusters,
            max_iter=max_iter,
            random_state=seed,
        )


def _count(word: str) -> int | str | None:
    """The value of an option: a number, "auto", or None for "none"; anything else, which the estimator refuses."""
    return int(word) if word.isdecimal() else None if word.lower() == "none" else word.lower()


def run_path(path: Path, model: PenalizedFusion, *, out: Path, partition: Path | None,
             force: bool, asked: ReadOptions, standardize: bool, tell: Progress) -> Result:  # fmt: skip
    """Read a table, fuse its rows along a path, and write the path and, if asked for, the labels."""
    table = read_rows(path, model.n_clusters, asked, tell)
    encoder = FrameEncoder.of(table).by_distance(table, standardize=standardize)
    files = [file for file in (out, partition) if file is not None]
    with staged(files, force=force, sources=files_of(path)) as places:
        with fitting(table, tell) as notes, naming_options(OPTIONS):
            model.fit(encoder.encode(table))
        steps = _steps(model)
        tell("writing")
        columns: dict[str, list[Any]] = {
            "lam": [in_dialect(s["lam"], table.dialect) if math.isfinite(s["lam"]) else None for s in steps],
            **{name: [step[name] for step in steps] for name in ("clusters", "alone", "stays")},
            "chosen": ["yes" if step["chosen"] else "" for step in steps],
            "sizes": [" ".join(map(str, step["sizes"])) for step in steps],
        }
        write_csv(places[out], columns, table.dialect)
        if partition is not None:
            rows = label_table(table.names, table.names_column, model.labels_, table.dialect)
            write_csv(places[partition], rows, table.dialect)
    if not model.converged_:
        notes.append("not converged: increase --max-iter, or treat the result with caution")
    notes += unmet_notes(model.n_clusters, model.n_clusters_)
    data = {
        "table": str(path),
        "chosen": next(k for k, step in enumerate(steps) if step["chosen"]),
        "steps": steps,
        "notes": notes,
        "files": [str(file) for file in files],
    }
    first = Text.assemble((path.name, "bold"), "  ", LEGEND)
    return Result(data, [first, _listed(steps), facts({}, written=files, notes=notes)])


def _listed(steps: list[dict[str, Any]]) -> Grid:
    """The path as a table with the chosen point marked, from the first point at which something has fused."""
    table = headed("lam", "clusters", "alone", "stays", "sizes", left=("sizes",))
    first = next((k for k, step in enumerate(steps) if step["sizes"]), 0)
    lams = readable_apart([step["lam"] for step in steps])
    for lam, step in zip(lams[first:], steps[first:], strict=True):
        more = " ..." if step["clusters"] > MOST_SIZES else ""
        sizes = " ".join(map(str, step["sizes"][:MOST_SIZES])) + more + (" ◀ chosen" if step["chosen"] else "")
        counts = (str(step[name]) for name in ("clusters", "alone", "stays"))
        table.add_row(lam, *counts, Text(sizes, "bold green" if step["chosen"] else ""))
    return table


def _steps(model: PenalizedFusion) -> list[dict[str, Any]]:
    """The points of the path: the sizes of their groups, the rows in none, over how many points they stay the same.

    At the chosen point the groups are those of the result.
    """
    if model.path_ is None:
        return [_step(model.lam_, model.labels_, 1, chosen=True)]
    taken = point_of_result(model)
    return [
        _step(point.lam, model.labels_ if k == taken else point.labels, stays, chosen=k == taken)
        for k, (point, stays) in enumerate(zip(model.path_, plateaus(model.path_), strict=True))
    ]


def _step(lam: float, labels: Labels, stays: int, *, chosen: bool) -> dict[str, Any]:
    sizes = sorted(np.bincount(labels[labels >= 0]).tolist(), reverse=True)
    alone = int(np.count_nonzero(labels < 0))
    return {"lam": lam, "sizes": sizes, "clusters": len(sizes), "alone": alone, "stays": stays, "chosen": chosen}


#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


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
    grid = read_grid(path, asked)
    inside = labels in grid.written
    if not inside and not Path(labels).exists():
        find_column(grid.written, labels, "--labels (neither a file nor a column)")
    # With labels from a file, a column of known classes is not used as a feature either, as in fit.
    table = read(path, replace(asked, labels=labels if inside else None), grid)
    cells = table.cells[labels] if inside else _from_file(Path(labels), table)
    encoder = FrameEncoder.of(table).by_distance(table, standardize=standardize)
    geometry = ClusterGeometry.from_data(encoder.encode(table), _codes(cells))
    with naming_options(OPTIONS):
        return _result(geometry, promise(geometry, None, target, uniform=uniform), uniform)


def run_plan(numbers: dict[str, Any], observed: float, target: float, uniform: bool, *, tell: Progress) -> Result:
    """The guarantee for clusters of a given geometry."""
    if numbers["n_features"] < 1:
        raise InputError(f"--features = {numbers['n_features']} is out of range: it must be a whole number >= 1")
    with naming_options(OPTIONS | {"n_clusters": "--clusters"}):
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
