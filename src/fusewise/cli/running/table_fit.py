"""Steps shared by ``fit`` and ``impute``: read a table, encode its columns, cluster and fill it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise import DataWarning, FusionClustering, FusionImputer
from fusewise.cli.exits import stopping_at_once
from fusewise.kernels import Floats, Stopwatch, announcing
from fusewise.progress import Progress, listening
from fusewise.support.errors import InputError
from fusewise.support.words import counted, some_of
from fusewise.tables import FrameEncoder, Reading, ReadOptions, read
from fusewise.views.columns import columns_of_file, columns_of_reading
from fusewise.views.findings import Findings, TableOrigin, read_findings


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table and how its columns are encoded as numbers."""

    table: Reading
    encoder: FrameEncoder


@dataclass(frozen=True, eq=False)
class Clustered(Prepared):
    """A table with its clusters and its missing values filled in.

    Attributes
    ----------
    model : the fitted estimator.
    findings : the result as read by the views, with every row that has an observed entry drawn.
    imputer : the fitted imputer, for ``impute``; otherwise None.
    completed : the features of all rows, with the missing ones filled in.
    seconds, compiling : time the fit took, and time spent compiling before that (on the first run only).
    notes : remarks to show to the user.
    """

    model: FusionClustering
    findings: Findings
    imputer: FusionImputer | None
    completed: Floats
    seconds: float
    compiling: float
    notes: list[str]

    @property
    def sizes(self) -> list[int]:
        """Number of rows in each cluster."""
        return [int(n) for n in self.findings.sizes]

    @property
    def outliers(self) -> int:
        """Number of rows in no cluster."""
        return int(np.count_nonzero(self.model.labels_ < 0))


def default_model(
    n_clusters: int | None, seed: int | None, *, outliers: bool = True, verbose: int = 0
) -> FusionClustering:
    """The estimator of ``fit`` and ``impute``."""
    if n_clusters is not None and n_clusters < 1:
        raise InputError(f"--n-clusters must be at least 1, got {n_clusters}")
    return FusionClustering(n_clusters, outliers=outliers, random_state=seed, verbose=verbose)


def prepare(path: Path, n_clusters: int | None, *, asked: ReadOptions, tell: Progress) -> Prepared:
    """Read a table with the given options, and decide how its columns are encoded."""
    tell(f"reading {path.name}")
    table = read(path, asked)
    if table.n_rows < 2:
        raise InputError(f"{str(path)!r} has only one row: clustering needs at least two")
    if n_clusters is not None and n_clusters > table.n_rows:
        raise InputError(f"--n-clusters {n_clusters} is more than the {table.n_rows} rows of {str(path)!r}")
    return Prepared(table, FrameEncoder.of(table))


def cluster(prepared: Prepared, estimator: FusionClustering, *, impute: bool = False, tell: Progress) -> Clustered:
    """Cluster a table and fill in its missing values, from the clusters or with an imputer; Ctrl-C stops at once."""
    table = prepared.table
    rows, columns = table.shape
    tell(f"{'filling' if impute else 'clustering'} {counted(rows, 'row')} × {counted(columns, 'column')}")
    watch = Stopwatch()
    with (
        warnings.catch_warnings(record=True) as caught,
        stopping_at_once(),
        listening(tell),
        announcing(tell),
    ):
        warnings.simplefilter("always")
        imputer = FusionImputer(estimator.n_clusters, random_state=estimator.random_state) if impute else None
        found = estimator.fit(table) if imputer is None else imputer.fit(table).clustering_
        findings = read_findings(found, names=table.names, origin=_origin(prepared), most_drawn=rows)
        completed = _by_clusters(findings) if imputer is None else imputer.completed_features(table)
    seconds, compiling = watch.working, watch.compiling
    # Empty rows are reported by name and convergence by its outcome, as warnings refer to encoded features.
    ours = (ConvergenceWarning, DataWarning)
    notes = table.notes + blank_notes(table, alone=estimator.outliers)
    notes += sorted({str(w.message) for w in caught if not issubclass(w.category, ours)})
    notes += unmet_notes(estimator.n_clusters, found.n_clusters_)
    return Clustered(table, prepared.encoder, found, findings, imputer, completed, seconds, compiling, notes)


def _origin(prepared: Prepared) -> TableOrigin:
    """The columns of the file, for the views."""
    table = prepared.table
    read = columns_of_reading(table)
    markers = {column.name: tuple(column.markers) for column in read.columns}
    known = table.labels_column
    return TableOrigin(
        columns_of_file(table, prepared.encoder, markers),
        read,
        None if known is None else (known, table.cells[known]),
    )


def _by_clusters(found: Findings) -> Floats:
    """Rows filled with the values expected from their clusters; a row with nothing observed gets its fused centre."""
    completed = np.array(found.model.fused_, dtype=float)
    completed[found.drawn] = found.completed
    return completed


def blank_notes(table: Reading, *, alone: bool = True) -> list[str]:
    """A note on rows without observed values; `alone`: they are in no cluster."""
    blank = table.blank_rows
    if not len(blank):
        return []
    rows = counted(len(blank), "row has", "rows have")
    fate = "assigned to no cluster, label -1" if alone else "assigned to the likeliest cluster"
    return [f"{rows} no observed value: {fate} ({some_of(list(table.names[blank]), 5)})"]


def unmet_notes(asked: int | None, found: int) -> list[str]:
    """A note on a number of clusters that could not be met."""
    if asked in (None, found):
        return []
    return [f"{counted(asked or 0, 'cluster was', 'clusters were')} requested, but {found} found"]
