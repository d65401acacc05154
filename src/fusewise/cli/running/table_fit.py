"""Steps shared by ``fit``, ``impute`` and ``path``: read a table, encode its columns, cluster and fill it."""

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


def prepare(
    path: Path, estimator: FusionClustering, *, asked: ReadOptions, standardize: bool, tell: Progress
) -> Prepared:
    """Read a table with the given options and decide how its columns are encoded.

    The default algorithm standardises columns itself; the plain one is given an encoder that does.
    """
    tell(f"reading {path.name}")
    table = read(path, asked)
    if table.n_rows < 2:
        raise InputError(f"{str(path)!r} has only one row: clustering needs at least two")
    if estimator.n_clusters is not None and estimator.n_clusters > table.n_rows:
        raise InputError(f"--n-clusters {estimator.n_clusters} is more than the {table.n_rows} rows of {str(path)!r}")
    encoder = FrameEncoder.of(table)
    if estimator.is_plain():
        encoder = encoder.by_distance(table, standardize=standardize)
        estimator.set_params(categorical_features=encoder)
    return Prepared(table, encoder)


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
        imputer = FusionImputer(**estimator.get_params(deep=False)).fit(table) if impute else None
        found = estimator.fit(table) if imputer is None else imputer.clustering_
        findings = read_findings(found, names=table.names, origin=_origin(prepared), most_drawn=rows)
        completed = _by_clusters(findings) if imputer is None else imputer.completed_features(table)
    seconds, compiling = watch.working, watch.compiling
    # Empty rows are reported by name and convergence by its outcome, as warnings refer to encoded features.
    ours = (ConvergenceWarning, DataWarning)
    notes = table.notes + _blank_notes(table)
    notes += [] if found.converged_ else ["not converged: increase --max-iter, or treat the result with caution"]
    notes += sorted({str(w.message) for w in caught if not issubclass(w.category, ours)}) + unmet_notes(
        estimator, found
    )
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


def _blank_notes(table: Reading) -> list[str]:
    blank = table.blank_rows
    if not len(blank):
        return []
    rows = counted(len(blank), "row has", "rows have")
    return [f"{rows} no observed value: assigned to no cluster, label -1 ({some_of(list(table.names[blank]), 5)})"]


def unmet_notes(asked: FusionClustering, found: FusionClustering) -> list[str]:
    """Notes on requested settings that could not be met."""
    notes = []
    if asked.n_clusters not in (None, found.n_clusters_):
        why = "" if isinstance(asked.lam, str) else "; with --lam, the number of clusters depends on lam"
        requested = counted(asked.n_clusters, "cluster was", "clusters were")
        notes.append(f"{requested} requested, but {found.n_clusters_} found{why}")
    if isinstance(asked.rank, int) and found.rank_ != asked.rank:
        notes.append(f"--rank {asked.rank} is not possible for this table: rank {found.rank_} was used")
    return notes
