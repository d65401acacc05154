"""``fusewise fit``: cluster a table, fill in its missing values, and write the results."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fusewise.cli.running.model_options import Model
from fusewise.cli.running.staging import staged, write_csv
from fusewise.cli.running.table_fit import Clustered, agreement, cluster, prepare
from fusewise.progress import Progress
from fusewise.saving import save
from fusewise.tables.encoding import center_table, complete, free_name, in_dialect
from fusewise.tables.errors import InputError
from fusewise.tables.files import Cells
from fusewise.tables.recoding import as_extra
from fusewise.tables.text import Dialect

TABLES = ("labels.csv", "completed.csv", "centers.csv")
REPORT = "report.html"


@dataclass(frozen=True)
class Outputs:
    """Where to write the results.

    Attributes
    ----------
    folder : folder for the tables and the report.
    report : whether to write a report.
    save : file for the model, or None.
    table : name of a copy of the table itself in the folder, or None.
    force : overwrite existing files.
    command : the command line, shown in the report.
    """

    folder: Path
    report: bool = False
    save: Path | None = None
    table: str | None = None
    force: bool = False
    command: str | None = None

    @property
    def files(self) -> list[Path]:
        """All files that will be written."""
        names = [*([self.table] if self.table else []), *TABLES, *([REPORT] if self.report else [])]
        return [self.folder / name for name in names] + ([] if self.save is None else [self.save])


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of ``fit``."""

    clustered: Clustered
    ari: float | None
    outputs: Outputs


def run_fit(path: Path, model: Model, outputs: Outputs, *, columns: dict[str, Any], standardize: bool,
            verbose: int = 0, tell: Progress) -> Fit:  # fmt: skip
    """Read a table, cluster it, and write the results; see ``prepare`` for `columns`."""
    estimator = model.build(verbose)  # checks the options before any work is done
    prepared = prepare(path, estimator, columns=columns, standardize=standardize, tell=tell)
    with staged(outputs.files, force=outputs.force, sources=[path]) as places:
        found = cluster(prepared, estimator, tell=tell)
        tell("writing")
        _write_tables(found, *(places[outputs.folder / name] for name in TABLES))
        if outputs.table is not None:
            shutil.copyfile(path, places[outputs.folder / outputs.table])
        if outputs.save is not None:
            save(found.model, places[outputs.save], extra=as_extra(found.encoding, found.roles))
        if outputs.report:
            tell("writing the report")
            _write_report(found, places[outputs.folder / REPORT], outputs.command)
    known = found.roles.labels_column
    ari = None if known is None else agreement(found.table.columns[known], found.model.labels_)
    return Fit(found, ari, outputs)


def label_table(names: Cells, column: str | None, labels: Any, confidence: Any, dialect: Dialect) -> dict[str, Cells]:
    """Name, label and (if known) confidence of each row."""
    columns = {free_name(column or "row", ("label", "confidence")): names, "label": labels.astype(object)}
    if confidence is not None:
        shown = [in_dialect(round(float(value), 4), dialect) for value in confidence]
        columns["confidence"] = np.array(shown, dtype=object)
    return columns


def _write_tables(found: Clustered, labels: Path, completed: Path, centers: Path) -> None:
    table, roles, model = found.table, found.roles, found.model
    rows = label_table(roles.names, roles.names_column, model.labels_, model.confidence_, table.dialect)
    write_csv(labels, rows, table.dialect)
    write_csv(completed, complete(table, found.encoding, found.completed), table.dialect)
    clusters = center_table(found.encoding, model.cluster_centers_, found.sizes, table.dialect)
    write_csv(centers, clusters, table.dialect)


def _write_report(found: Clustered, path: Path, command: str | None) -> None:
    from fusewise.views.report import write_page

    try:
        write_page(found.findings.thinned(), path, title=found.table.path.name, command=command)
    except ImportError as error:  # the message says what to install
        raise InputError(f"--report: {error}") from error
