"""``fusewise path``: the paper's algorithm along a path of lam."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.exceptions import ConvergenceWarning

import fusewise
from fusewise import DataWarning, PenalizedFusion
from fusewise.cli._exits import naming_options, stopping_at_once
from fusewise.cli._fit import blank_notes, label_table, prepare, unmet_notes
from fusewise.cli._output import staged, write_csv
from fusewise.cli._terminal import Terminal, grid, headed, listed, print_below
from fusewise.fusion import (
    FIDELITIES,
    PENALTIES,
    Ball,
    Box,
    Fidelity,
    FusionPath,
    Penalty,
    Solution,
    as_fidelity,
    as_penalty,
)
from fusewise.kernels import Labels, announcing
from fusewise.progress import Progress, listening
from fusewise.support import InputError, readable_apart
from fusewise.tables import Cells, Reading, ReadOptions, files_of, in_dialect

#: Maximum number of cluster sizes listed per line.
MOST_SIZES = 8
#: Shown where a path begins: what its columns are.
LEGEND = "lam: strength of the fusion penalty; stays: number of steps over which the partition stays the same"


@dataclass(frozen=True)
class PaperOptions:
    """The settings of the paper's algorithm, as given on the command line.

    ``epsilon`` is the width of the box or the radius of the ball.
    """

    n_clusters: int | None
    penalty: str
    sigma: float | None
    lam: float | None
    fidelity: str
    epsilon: float | None
    rank: str
    neighbors: str
    max_iter: int
    seed: int | None

    def build(self) -> PenalizedFusion:
        """Check all options and build the estimator."""
        if self.n_clusters is not None and self.n_clusters < 1:
            raise InputError(f"--n-clusters must be at least 1, got {self.n_clusters}")
        if self.lam is not None and not 0 <= self.lam < np.inf:
            raise InputError(f"--lam must be a non-negative number, got {self.lam:g}")
        return PenalizedFusion(
            "auto" if self.lam is None else self.lam,
            penalty=self._penalty(),
            fidelity=self._fidelity(),
            rank=_count("--rank", self.rank),
            n_neighbors=_count("--neighbors", self.neighbors),
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            random_state=self.seed,
        )

    def _penalty(self) -> Penalty:
        known = [name for name, kind in PENALTIES.items() if kind.has_weight]
        if self.penalty.lower() not in known:
            raise InputError(f"unknown --penalty {self.penalty!r}: use one of {', '.join(known)}")
        penalty = as_penalty(self.penalty)
        if self.sigma is None:
            return penalty
        if not hasattr(penalty, "sigma"):
            raise InputError(f"--sigma cannot be used with --penalty {self.penalty}, which has no scale")
        with naming_options({"sigma": "--sigma"}):
            return penalty.replace(sigma=self.sigma)

    def _fidelity(self) -> Fidelity:
        if self.fidelity.lower() not in FIDELITIES:
            raise InputError(f"unknown --fidelity {self.fidelity!r}: use one of {', '.join(FIDELITIES)}")
        fidelity = as_fidelity(self.fidelity)
        if self.epsilon is None:
            return fidelity
        if not 0 <= self.epsilon < np.inf:
            raise InputError(f"--epsilon must be a non-negative number, got {self.epsilon:g}")
        if isinstance(fidelity, Box):
            return Box(self.epsilon)
        if isinstance(fidelity, Ball):
            return Ball(self.epsilon)
        raise InputError(f"--epsilon can only be used with --fidelity box or ball, not {self.fidelity!r}")


def _count(option: str, value: str) -> int | str | None:
    """Convert an option to a positive number, "auto", or None for "none"."""
    word = value.lower()
    if word in ("auto", "none"):
        return None if word == "none" else word
    if not (value.isdecimal() and int(value) > 0):
        raise InputError(f"{option} must be a positive whole number, 'none' or 'auto', got {value!r}")
    return int(value)


@dataclass(frozen=True)
class PathPoint:
    """A point of the path: the sizes of its groups, the rows in none, and over how many points it stays the same."""

    lam: float
    sizes: list[int]
    alone: int
    stays: int
    chosen: bool


@dataclass(frozen=True, eq=False)
class PathResult:
    """Result of ``path``."""

    table: Reading
    steps: list[PathPoint]
    notes: list[str]
    files: list[Path]


def run_path(path: Path, model: PenalizedFusion, *, out: Path, picture: Path | None, partition: Path | None,
             force: bool, asked: ReadOptions, standardize: bool, tell: Progress) -> PathResult:  # fmt: skip
    """Read a table, fuse its rows along a path, and write the path and, if asked for, a picture and the labels."""
    prepared = prepare(path, model.n_clusters, asked=asked, tell=tell)
    table, encoder = prepared.table, prepared.encoder.by_distance(prepared.table, standardize=standardize)
    files = [file for file in (out, picture, partition) if file is not None]
    with staged(files, force=force, sources=files_of(path)) as places:
        with (
            warnings.catch_warnings(record=True) as caught,
            stopping_at_once(),
            listening(tell),
            announcing(tell),
        ):
            warnings.simplefilter("always")
            model.fit(encoder.encode(table))
        steps = _steps(model)
        tell("writing")
        write_csv(places[out], _csv(steps, table), table.dialect)
        if picture is not None:
            _draw(model, places[picture])
        if partition is not None:
            rows = label_table(table.names, table.names_column, model.labels_, table.dialect)
            write_csv(places[partition], rows, table.dialect)
    # Empty rows are reported by name and convergence by its outcome.
    ours = (ConvergenceWarning, DataWarning)
    notes = table.notes + blank_notes(table)
    notes += [] if model.converged_ else ["not converged: increase --max-iter, or treat the result with caution"]
    notes += sorted({str(w.message) for w in caught if not issubclass(w.category, ours)})
    return PathResult(table, steps, notes + unmet_notes(model.n_clusters, model.n_clusters_), files)


def _steps(model: PenalizedFusion) -> list[PathPoint]:
    """The points of the path; of the chosen one the clusters of the result."""
    path: FusionPath | list[Solution] | None = model.path_
    if path is None:
        return [_step(model.lam_, model.labels_, 1, chosen=True)]
    taken = max(k for k, point in enumerate(path) if (point.lam, point.penalty) == (model.lam_, model.penalty_))
    stays = [n for _, same in groupby(p.labels.tobytes() for p in path) for n in [len(list(same))] for _ in range(n)]
    return [
        _step(point.lam, model.labels_ if k == taken else point.labels, stays[k], chosen=k == taken)
        for k, point in enumerate(path)
    ]


def _step(lam: float, labels: Labels, stays: int, *, chosen: bool) -> PathPoint:
    sizes = sorted(np.bincount(labels[labels >= 0]).tolist(), reverse=True)
    return PathPoint(lam, sizes, int(np.count_nonzero(labels < 0)), stays, chosen)


def _draw(model: PenalizedFusion, place: Path) -> None:
    from fusewise.views import FusionPathDisplay

    try:
        FusionPathDisplay.from_estimator(model).figure_.savefig(place, dpi=200)
    except (ImportError, ValueError) as error:  # matplotlib is missing, or does not know the file format
        raise InputError(f"--picture: {error}") from error


def _csv(steps: list[PathPoint], table: Reading) -> dict[str, Cells]:
    columns: dict[str, list[Any]] = {
        "lam": [in_dialect(step.lam, table.dialect) if math.isfinite(step.lam) else None for step in steps],
        "clusters": [len(step.sizes) for step in steps],
        "alone": [step.alone for step in steps],
        "stays": [step.stays for step in steps],
        "chosen": ["yes" if step.chosen else "" for step in steps],
        "sizes": [" ".join(map(str, step.sizes)) for step in steps],
    }
    return {name: np.array(cells, dtype=object) for name, cells in columns.items()}


def path_data(found: PathResult) -> dict[str, Any]:
    """The path as a JSON-serialisable dictionary."""
    return {
        "version": fusewise.__version__,
        "table": str(found.table.path),
        "chosen": next(k for k, step in enumerate(found.steps) if step.chosen),
        "steps": [vars(step) | {"clusters": len(step.sizes)} for step in found.steps],
        "notes": found.notes,
        "files": [str(path) for path in found.files],
    }


def print_path(found: PathResult) -> None:
    """Print the path as a table with bars and the chosen step marked."""
    console = Terminal()
    console.print(Text.assemble((found.table.path.name, "bold"), "  ", LEGEND))
    table = headed("lam", "clusters", "alone", "stays", "sizes", left=("sizes",))
    # Steps at which nothing has fused yet are written to the file but not printed.
    first = next((k for k, step in enumerate(found.steps) if step.sizes), 0)
    lams = readable_apart([step.lam for step in found.steps])
    for lam, step in zip(lams[first:], found.steps[first:], strict=True):
        style = "bold green" if step.chosen else ""
        more = " ..." if len(step.sizes) > MOST_SIZES else ""
        sizes = " ".join(map(str, step.sizes[:MOST_SIZES])) + more + (" ◀ chosen" if step.chosen else "")
        table.add_row(lam, str(len(step.sizes)), str(step.alone), str(step.stays), Text(sizes, style))
    facts = grid("dim", "")
    listed(facts, "written", list(found.files))
    listed(facts, Text("note", "yellow"), found.notes)
    print_below(console, table, facts)
