"""``fusewise path``: the partitions the result is chosen from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

import fusewise
from fusewise.cli.running.model_options import Model
from fusewise.cli.running.staging import staged, write_csv
from fusewise.cli.running.table_fit import Clustered, cluster, prepare
from fusewise.cli.showing.console import BAR, Terminal, bar, grid, headed, listed, print_below
from fusewise.progress import Progress
from fusewise.support.errors import InputError
from fusewise.support.words import readable_apart
from fusewise.tables import Cells, ReadOptions, files_of, in_dialect
from fusewise.views.findings import Findings
from fusewise.views.plots import FusionPathDisplay
from fusewise.views.trees import Step, Trail

#: Maximum number of cluster sizes listed per line.
MOST_SIZES = 8


@dataclass(frozen=True, eq=False)
class PathResult:
    """Result of ``path``."""

    clustered: Clustered
    trail: Trail
    files: list[Path]


def run_path(path: Path, model: Model, out: Path, picture: Path | None = None, *, asked: ReadOptions,
             standardize: bool, force: bool, tell: Progress) -> PathResult:  # fmt: skip
    """Read a table, cluster it, and write the path as a table and, if asked for, as a picture."""
    estimator = model.build()
    prepared = prepare(path, estimator, asked=asked, standardize=standardize, tell=tell)
    files = [out] if picture is None else [out, picture]
    with staged(files, force=force, sources=files_of(path)) as places:
        found = cluster(prepared, estimator, tell=tell)
        trail = found.findings.trail
        tell("writing")
        write_csv(places[out], _table(found, trail), found.table.dialect)
        if picture is not None:
            _draw(found, places[picture])
    return PathResult(found, trail, files)


def _draw(found: Clustered, place: Path) -> None:
    try:
        FusionPathDisplay.from_estimator(found.model).figure_.savefig(place, dpi=200)
    except (ImportError, ValueError) as error:  # matplotlib is missing, or does not know the file format
        raise InputError(f"--picture: {error}") from error


def sizes(found: Findings, step: Step) -> list[int]:
    """Number of rows in each group of a step, largest first; of the chosen step the clusters of all rows."""
    if step is _chosen(found):
        return sorted((int(n) for n in found.sizes), reverse=True)
    counts = np.bincount(step.labels[step.labels >= 0])
    return sorted((int(n) for n in counts), reverse=True)


def _alone(found: Findings, step: Step) -> int:
    """Number of rows in no group."""
    return int(np.count_nonzero((found.labels if step is _chosen(found) else step.labels) < 0))


def _chosen(found: Findings) -> Step | None:
    trail = found.trail
    return None if trail.chosen is None else trail.steps[trail.chosen]


def lams_of(trail: Trail) -> list[float]:
    """The lam from which on each step holds; NaN if it holds at none, because the next one begins at the same lam.

    Such a partition was compared, but is not one of the tree's: fusing its groups takes the tree from a finer partition
    to a coarser one at once.
    """
    lams = [step.lam for step in trail.steps]
    return [math.nan if lam == following else lam for lam, following in zip(lams, [*lams[1:], math.nan], strict=True)]


def _table(found: Clustered, trail: Trail) -> dict[str, Cells]:
    dialect, lams = found.table.dialect, lams_of(trail)
    rows = [
        (
            _written(lams[k], dialect),
            len(sizes(found.findings, step)),
            _alone(found.findings, step),
            _written(step.criterion, dialect),
            "yes" if k == trail.chosen else "",
            " ".join(map(str, sizes(found.findings, step))),
        )
        for k, step in enumerate(trail.steps)
    ]
    names = ("lam", "clusters", "alone", "criterion", "chosen", "sizes")
    return {name: np.array([row[k] for row in rows], dtype=object) for k, name in enumerate(names)}


def _written(value: float, dialect: Any) -> Any:
    return None if math.isnan(value) else in_dialect(float(value), dialect)


def path_data(found: PathResult) -> dict[str, Any]:
    """The path as a JSON-serialisable dictionary."""
    return {
        "version": fusewise.__version__,
        "table": str(found.clustered.table.path),
        "criterion": found.trail.criterion_name,
        "chosen": found.trail.chosen,
        "steps": [
            {
                "lam": lam,
                "clusters": len(sizes(found.clustered.findings, step)),
                "alone": _alone(found.clustered.findings, step),
                "criterion": step.criterion,
                "sizes": sizes(found.clustered.findings, step),
            }
            for step, lam in zip(found.trail.steps, lams_of(found.trail), strict=True)
        ],
        "notes": found.clustered.notes,
        "files": [str(path) for path in found.files],
    }


def print_path(found: PathResult) -> None:
    """Print the path as a table with bars and the chosen step marked."""
    console, trail = Terminal(), found.trail
    lams = lams_of(trail)
    legend = f"lam: strength of the fusion penalty; {trail.criterion_name}"
    console.print(Text.assemble((found.clustered.table.path.name, "bold"), "  ", legend))
    table = headed("lam", "clusters", "criterion", "", "sizes", left=("sizes",))
    # Steps before the first candidate are finer cuts of the tree: they are written to the file but not printed.
    known = [k for k, step in enumerate(trail.steps) if not math.isnan(step.criterion)]
    first = known[0] if known else 0
    heights, shown = _heights(trail), readable_apart(lams)
    for k, step in enumerate(trail.steps[first:], first):
        chosen = k == trail.chosen
        drawn = Text() if math.isnan(step.criterion) else bar(heights[k], "bold green" if chosen else "cyan")
        drawn.pad_right(BAR - len(drawn))
        mark = " ◀ chosen" if chosen else ""
        criterion = "" if math.isnan(step.criterion) else f"{step.criterion:,.1f}"
        counts = sizes(found.clustered.findings, step)
        table.add_row(shown[k], str(len(counts)), criterion, drawn, _shown(counts) + mark)
    facts = grid("dim", "")
    if any(math.isnan(lam) for lam in lams[first:]):
        listed(facts, "lam –", ["compared as well, but no lam gives this partition"])
    listed(facts, "written", list(found.files))
    listed(facts, Text("note", "yellow"), found.clustered.notes)
    print_below(console, table, facts)


def _heights(trail: Trail) -> list[float]:
    """The criteria scaled to [0, 1]."""
    values = np.array([step.criterion for step in trail.steps], dtype=float)
    if np.isnan(values).all():
        return [0.0] * len(values)
    low, size = np.nanmin(values), np.nanmax(values) - np.nanmin(values)
    return [float(v) for v in (values - low) / size] if size > 0 else [1.0] * len(values)


def _shown(counts: list[int]) -> str:
    more = " ..." if len(counts) > MOST_SIZES else ""
    return " ".join(map(str, counts[:MOST_SIZES])) + more
