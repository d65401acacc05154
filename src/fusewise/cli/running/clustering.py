"""What ``fit``, ``impute`` and ``path`` have in common: a table read, understood, clustered and filled."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fusewise import DataWarning, FusionClustering, FusionImputer
from fusewise.cli.errors import blaming_input, stopping_at_once
from fusewise.kernels.types import Floats
from fusewise.kernels.words import counted
from fusewise.progress import Progress, listening
from fusewise.tables.columns import Roles, sort_columns
from fusewise.tables.encoding import Encoding, encode
from fusewise.tables.errors import InputError
from fusewise.tables.files import Cells, Table, read_table
from fusewise.views.findings import Findings, read_findings


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table as numbers with holes, and what its columns became."""

    table: Table
    roles: Roles
    encoding: Encoding


@dataclass(frozen=True, eq=False)
class Clustered(Prepared):
    """A table clustered and filled.

    Attributes
    ----------
    model : the fitted estimator.
    findings : its result as the views read it, every row with an observed entry drawn.
    imputer : what filled the holes, where more than the clusters was asked for.
    completed : the encoded table without holes.
    seconds : it took to fit.
    notes : what the user should know.
    """

    model: FusionClustering
    findings: Findings
    imputer: FusionImputer | None
    completed: Floats
    seconds: float
    notes: list[str]

    @property
    def sizes(self) -> list[int]:
        """Rows in each cluster."""
        labels = self.model.labels_
        return [int(n) for n in np.bincount(labels[labels >= 0], minlength=self.model.n_clusters_)]

    @property
    def outliers(self) -> int:
        """Rows in none."""
        return int(np.count_nonzero(self.model.labels_ < 0))


def prepare(
    path: Path, estimator: FusionClustering, *, columns: dict[str, Any], standardize: bool, tell: Progress
) -> Prepared:
    """Read a table and encode its columns.

    Parameters
    ----------
    columns : drop, names, labels: see ``sort_columns``.
    """
    tell(f"reading {path.name}")
    table = read_table(path)
    if table.n_rows < 2:
        raise InputError(f"{str(path)!r} has one row: clustering needs at least two")
    if estimator.n_clusters is not None and estimator.n_clusters > table.n_rows:
        raise InputError(f"--n-clusters {estimator.n_clusters} is more than the {table.n_rows} rows of {str(path)!r}")
    roles = sort_columns(table, **columns)
    return Prepared(table, roles, encode(roles.used, standardize=standardize))


def cluster(prepared: Prepared, estimator: FusionClustering, *, impute: bool = False, tell: Progress) -> Clustered:
    """Cluster a table and fill its holes, from the clusters or as an imputer finds best; Ctrl-C ends it at once."""
    table, roles, encoding = prepared.table, prepared.roles, prepared.encoding
    matrix = encoding.matrix
    tell(f"{'filling' if impute else 'clustering'} {matrix.shape[0]:,} rows × {matrix.shape[1]:,} features")
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, blaming_input(), stopping_at_once(), listening(tell):
        warnings.simplefilter("always")
        imputer = FusionImputer(**estimator.get_params(deep=False)).fit(matrix) if impute else None
        found = estimator.fit(matrix) if imputer is None else imputer.clustering_
        findings = read_findings(
            found,
            names=roles.names,
            feature_names=encoding.features,
            units=encoding.units,
            shares=encoding.shares,
            most_drawn=table.n_rows,
        )
        completed = _by_clusters(findings) if imputer is None else imputer.transform(matrix)
    seconds = time.perf_counter() - started
    # Blank rows are reported with their names, convergence by its outcome; features here are not the user's columns.
    ours = (ConvergenceWarning, DataWarning)
    notes = table.notes + _blank_notes(encoding, roles)
    notes += [] if found.converged_ else ["not converged: take the result with care, or raise --max-iter"]
    notes += sorted({str(w.message) for w in caught if not issubclass(w.category, ours)}) + _unmet(estimator, found)
    return Clustered(table, roles, encoding, found, findings, imputer, completed, seconds, notes)


def _by_clusters(found: Findings) -> Floats:
    """Rows filled by what their clusters expect; a row with nothing observed is its fused centre."""
    completed = np.array(found.model.fused_, dtype=float)
    completed[found.drawn] = found.completed
    return completed


def _blank_notes(encoding: Encoding, roles: Roles) -> list[str]:
    blank = encoding.blank_rows
    if not len(blank):
        return []
    shown = ", ".join(str(name) for name in roles.names[blank[:5]]) + (", ..." if len(blank) > 5 else "")
    rows = "1 row has" if len(blank) == 1 else f"{len(blank)} rows have"
    return [f"{rows} no observed entry ({shown}): labelled -1, as they could belong anywhere"]


def _unmet(asked: FusionClustering, found: FusionClustering) -> list[str]:
    """What was asked for and did not come about."""
    notes = []
    if asked.n_clusters not in (None, found.n_clusters_):
        why = "" if isinstance(asked.lam, str) else ": with --lam given, lam decides how many there are"
        notes.append(
            f"{counted(asked.n_clusters, 'cluster was', 'clusters were')} asked for, {found.n_clusters_} found{why}"
        )
    if isinstance(asked.rank, int) and found.rank_ != asked.rank:
        notes.append(f"--rank {asked.rank} was not possible for this table: rank {found.rank_} was used")
    return notes


def agreement(cells: Cells, labels: Any) -> float | None:
    """Adjusted Rand index on the rows whose class is known; outliers count as one group."""
    known = np.array([cell is not None for cell in cells])
    if not known.any():
        return None
    return float(adjusted_rand_score([str(cell) for cell in cells[known]], labels[known]))
