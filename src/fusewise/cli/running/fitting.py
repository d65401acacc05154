"""``fusewise fit``: cluster a table, fill in its missing values, and write the results."""

from __future__ import annotations

import csv
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fusewise import FusionClustering
from fusewise.cli.running.staging import staged, write_csv
from fusewise.cli.running.table_fit import Clustered, cluster, prepare
from fusewise.kernels import Real
from fusewise.progress import Progress, listening
from fusewise.saving import save
from fusewise.support.errors import InputError
from fusewise.tables import (
    Cells,
    Dialect,
    ReadOptions,
    as_extra,
    center_table,
    complete,
    files_of,
    free_name,
    in_dialect,
    stem_of,
)
from fusewise.views.description import description_text
from fusewise.views.profile import ObservedCenters
from fusewise.views.rules import python_module, sql_script

TABLES = ("labels.csv", "completed.csv", "centers.csv")
WORDS = ("description.txt", "rules.sql", "rules.py")
#: Number of refits, and the seconds they may take to be made without being asked for.
DRAWS, MOST_SECONDS = 20, 10.0
REPORT, STABILITY = "report.html", "stability.csv"


@dataclass(frozen=True)
class Outputs:
    """Where to write the results.

    Attributes
    ----------
    folder : folder for the tables and the report.
    report : whether to write a report.
    save : file for the model, or None.
    stability : whether to write the stability of the clusters.
    rows : whether the report contains the rows.
    names : file with names of the clusters, or None.
    table : name of a copy of the table itself in the folder, or None.
    force : overwrite existing files.
    safe_csv : keep spreadsheets from taking text for formulas (``write_csv``).
    command : the command line, shown in the report.
    """

    folder: Path
    report: bool = False
    save: Path | None = None
    stability: bool = False
    rows: bool = True
    names: Path | None = None
    table: str | None = None
    force: bool = False
    safe_csv: bool = False
    command: str | None = None

    @property
    def files(self) -> list[Path]:
        """All files that will be written."""
        names = [*([self.table] if self.table else []), *TABLES, *WORDS]
        names += [*([STABILITY] if self.stability else []), *([REPORT] if self.report else [])]
        return [self.folder / name for name in names] + ([] if self.save is None else [self.save])


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of ``fit``."""

    clustered: Clustered
    outputs: Outputs


def run_fit(path: Path, estimator: FusionClustering, outputs: Outputs, *, asked: ReadOptions, n_draws: int | None = 0,
            tell: Progress) -> Fit:  # fmt: skip
    """Read a table, cluster it, compute the stability of the clusters if there are draws, and write the results.

    With `n_draws` None the stability is computed if that takes at most `MOST_SECONDS`.
    """
    given = None if outputs.names is None else read_cluster_names(outputs.names)
    prepared = prepare(path, estimator.n_clusters, asked=asked, tell=tell)
    with staged(outputs.files, force=outputs.force, sources=files_of(path)) as places:
        found = cluster(prepared, estimator, tell=tell)
        if given is not None:
            found = _with_names(found, given, outputs.names)
        if n_draws is None:
            n_draws = DRAWS if found.seconds * DRAWS / 2 <= MOST_SECONDS else 0
        if n_draws:
            _judge_stability(found, n_draws, tell)
        tell("writing")
        _write_tables(found, *(places[outputs.folder / name] for name in TABLES), safe=outputs.safe_csv)
        _write_words(found, *(places[outputs.folder / name] for name in WORDS))
        if outputs.stability:
            judged = _stability_table(found)
            write_csv(places[outputs.folder / STABILITY], judged, found.table.dialect, safe=outputs.safe_csv)
        if outputs.table is not None:
            shutil.copyfile(path, places[outputs.folder / outputs.table])
        if outputs.save is not None:
            names = {"cluster_names": [described.name for described in found.findings.described]}
            save(found.model, places[outputs.save], extra=as_extra(found.table) | names)
        if outputs.report:
            tell("writing the report")
            _write_report(found, places[outputs.folder / REPORT], outputs.command, rows=outputs.rows)
    return Fit(found, outputs)


def read_cluster_names(path: Path) -> dict[int, str]:
    """The names of clusters in a CSV file with the columns cluster and name."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"--name-clusters: cannot read {str(path)!r}: {error.strerror or error}") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"--name-clusters: {str(path)!r} is no CSV file in UTF-8: {error}") from error
    names: dict[int, str] = {}
    for row, line in enumerate(lines, 1):
        if "cluster" not in line or "name" not in line:
            raise InputError(f"--name-clusters: {str(path)!r} must have the columns 'cluster' and 'name'")
        if not (line["cluster"] or "").strip().isdecimal():
            raise InputError(f"--name-clusters: row {row} of {str(path)!r}: {line['cluster']!r} is no cluster's number")
        names[int(line["cluster"])] = (line["name"] or "").strip()
    return names


def _with_names(found: Clustered, given: dict[int, str], path: Path | None) -> Clustered:
    """The result with the given names of clusters; others keep the names made of what sets them apart."""
    k = found.findings.n_clusters
    unknown = [number for number in given if number >= k]
    if unknown:
        numbers = "only cluster 0" if k == 1 else f"clusters 0 to {k - 1}"
        raise InputError(f"--name-clusters: {str(path)!r} names cluster {unknown[0]}, but there are {numbers}")
    names = [given.get(described.cluster) or described.name for described in found.findings.described]
    return replace(found, findings=replace(found.findings, given_names=tuple(names)))


def _judge_stability(found: Clustered, n_draws: int, tell: Progress) -> None:
    """Compute the stability of the clusters; after Ctrl-C with the draws that are done, and a note."""
    with warnings.catch_warnings(record=True) as caught, listening(tell):
        warnings.simplefilter("always")
        found.model.stability(n_draws)
    found.notes.extend(f"stability: {warning.message}" for warning in caught)


def _stability_table(found: Clustered) -> dict[str, Cells]:
    judged = found.model.stability_
    columns = {
        "cluster": list(range(len(judged.clusters))),
        "size": found.sizes,
        "stability": _decimals(judged.clusters, found.table.dialect),
        "meaning": judged.grades,
    }
    return {name: np.array(cells, dtype=object) for name, cells in columns.items()}


def label_table(
    names: Cells, column: str | None, labels: Any, dialect: Dialect, titles: Sequence[str] = (), **shares: Real | None
) -> dict[str, Cells]:
    """Name and label of each row, its shares, if known (confidence, stability), and the name of its cluster."""
    known = {name: values for name, values in shares.items() if values is not None}
    columns = {free_name(column or "row", ("label", "cluster_name", *shares)): names, "label": labels.astype(object)}
    columns |= {name: np.array(_decimals(values, dialect), dtype=object) for name, values in known.items()}
    if any(titles):
        columns["cluster_name"] = np.array([*titles, None], dtype=object)[labels]  # -1 is the last: none
    return columns


def _decimals(shares: Real, dialect: Dialect) -> list[Any]:
    """Shares as text, None where there is none."""
    return [None if np.isnan(share) else in_dialect(round(float(share), 4), dialect) for share in shares]


def _write_tables(found: Clustered, labels: Path, completed: Path, centers: Path, *, safe: bool) -> None:
    table, model = found.table, found.model
    judged = getattr(model, "stability_", None)
    rows = label_table(
        table.names,
        table.names_column,
        model.labels_,
        table.dialect,
        [described.name for described in found.findings.described],
        confidence=model.confidence_,
        stability=None if judged is None else judged.rows,
    )
    write_csv(labels, rows, table.dialect, safe=safe)
    write_csv(completed, complete(table, found.encoder, found.completed), table.dialect, safe=safe)
    seen = ObservedCenters.of(found.findings.values, found.findings.labels, found.findings.n_clusters)
    clusters = center_table(table, found.encoder, found.sizes, model.cluster_centers_, seen.means, seen.medians)
    titles = np.array([described.name or None for described in found.findings.described], dtype=object)
    first = dict(list(clusters.items())[:2])
    write_csv(centers, first | {free_name("name", clusters): titles} | clusters, table.dialect, safe=safe)


def _write_words(found: Clustered, description: Path, sql: Path, python: Path) -> None:
    """Write the description of the clusters, and their rules as SQL and as Python."""
    findings = found.findings
    texts = {
        description: description_text(findings, found.notes),
        sql: sql_script(findings.rules, stem_of(found.table.path)),
        python: python_module(findings.rules),
    }
    for path, text in texts.items():
        path.write_text(text, "utf-8", errors="replace", newline="\n")  # names need not be valid Unicode


def _write_report(found: Clustered, path: Path, command: str | None, *, rows: bool) -> None:
    from fusewise.views.report import write_page

    try:
        findings = replace(found.findings, remarks=tuple(found.notes)).thinned()
        write_page(
            findings if rows else findings.without_rows(),
            path,
            title=found.table.path.name,
            command=command,
            table=stem_of(found.table.path),
        )
    except ImportError as error:  # the message says what to install
        raise InputError(f"--report: {error}") from error
