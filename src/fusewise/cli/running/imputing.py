"""``fusewise impute``: fill in the missing values of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fusewise import FusionClustering
from fusewise.cli.running.staging import staged, write_csv
from fusewise.cli.running.table_fit import Clustered, cluster, prepare
from fusewise.progress import Progress
from fusewise.tables import ReadOptions, complete, files_of


@dataclass(frozen=True, eq=False)
class Imputation:
    """Result of ``impute``.

    Attributes
    ----------
    filled : number of missing values filled in.
    left : number of missing values left, in columns that are not used.
    """

    clustered: Clustered
    filled: int
    left: int
    file: Path

    @property
    def way(self) -> str:
        """How the missing values were filled in: from "clusters" or a "subspace"."""
        assert self.clustered.imputer is not None
        return str(self.clustered.imputer.fill_)

    @property
    def errors(self) -> dict[str, float]:
        """Error of each method on held-out entries, in standard deviations of the columns."""
        assert self.clustered.imputer is not None
        return dict(self.clustered.imputer.held_out_error_)


def run_impute(
    path: Path, out: Path, estimator: FusionClustering, *, asked: ReadOptions, force: bool, safe_csv: bool,
    tell: Progress,
) -> Imputation:  # fmt: skip
    """Read a table, cluster it, fill in its missing values, and write it."""
    prepared = prepare(path, estimator.n_clusters, asked=asked, tell=tell)
    with staged([out], force=force, sources=files_of(path)) as places:
        found = cluster(prepared, estimator, impute=True, tell=tell)
        tell("writing")
        completed = complete(found.table, found.encoder, found.completed)
        write_csv(places[out], completed, found.table.dialect, safe=safe_csv)
    used = {column.name: column.values for column in found.table.used}
    filled = sum(int(np.isnan(values).sum()) for values in used.values())
    left = sum(cell is None for name, cells in found.table.cells.items() if name not in used for cell in cells)
    return Imputation(found, filled, left, out)
