"""``fusewise impute``: fill the holes of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fusewise.cli.running.clustering import Clustered, cluster, prepare
from fusewise.cli.running.model import Model
from fusewise.cli.running.writing import staged, write_csv
from fusewise.progress import Progress
from fusewise.tables.encoding import complete
from fusewise.tables.read_options import ReadOptions
from fusewise.tables.sources import files_of


@dataclass(frozen=True, eq=False)
class Imputation:
    """What was filled, ready to be shown.

    Attributes
    ----------
    filled, left : holes filled, and holes left in columns that cannot be used.
    """

    clustered: Clustered
    filled: int
    left: int
    file: Path

    @property
    def way(self) -> str:
        """What the holes were filled from: "clusters" or "subspace"."""
        assert self.clustered.imputer is not None
        return str(self.clustered.imputer.fill_)

    @property
    def errors(self) -> dict[str, float]:
        """Error of each way on entries hidden for the purpose, in standard deviations of their columns."""
        assert self.clustered.imputer is not None
        return dict(self.clustered.imputer.held_out_error_)


def run_impute(path: Path, out: Path, model: Model, *, asked: ReadOptions, standardize: bool, force: bool,
               tell: Progress) -> Imputation:  # fmt: skip
    """Read, cluster, fill, write."""
    estimator = model.build()
    prepared = prepare(path, estimator, asked=asked, standardize=standardize, tell=tell)
    with staged([out], force=force, sources=files_of(path)) as places:
        found = cluster(prepared, estimator, impute=True, tell=tell)
        tell("writing")
        write_csv(places[out], complete(found.table, found.encoding, found.completed), found.table.dialect)
    used = {column.name: column.values for column in found.table.used}
    filled = sum(int(np.isnan(values).sum()) for values in used.values())
    left = sum(cell is None for name, cells in found.table.cells.items() if name not in used for cell in cells)
    return Imputation(found, filled, left, out)
