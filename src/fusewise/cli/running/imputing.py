"""``fusewise impute``: fill in the missing values of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fusewise.cli.running.model_options import Model
from fusewise.cli.running.staging import staged, write_csv
from fusewise.cli.running.table_fit import Clustered, cluster, prepare
from fusewise.progress import Progress
from fusewise.tables.encoding import complete


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


def run_impute(path: Path, out: Path, model: Model, *, columns: dict[str, Any], standardize: bool, force: bool,
               tell: Progress) -> Imputation:  # fmt: skip
    """Read a table, cluster it, fill in its missing values, and write it; see ``prepare`` for `columns`."""
    estimator = model.build()
    prepared = prepare(path, estimator, columns=columns, standardize=standardize, tell=tell)
    with staged([out], force=force, sources=[path]) as places:
        found = cluster(prepared, estimator, impute=True, tell=tell)
        tell("writing")
        write_csv(places[out], complete(found.table, found.encoding, found.completed), found.table.dialect)
    used = {column.name for column in found.roles.used}
    missing = {name: sum(cell is None for cell in cells) for name, cells in found.table.columns.items()}
    filled = sum(count for name, count in missing.items() if name in used)
    return Imputation(found, filled, sum(missing.values()) - filled, out)
