"""``fusewise fit`` and ``fusewise impute``: read a table, cluster it, fill in its missing values, write the results."""

from __future__ import annotations

import csv
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise import DataWarning, FusionClustering, FusionImputer
from fusewise.cli._exits import stopping_at_once
from fusewise.cli._output import staged, write_csv
from fusewise.kernels import Floats, Real, Stopwatch, announcing
from fusewise.progress import Progress, listening
from fusewise.saving import save
from fusewise.support import InputError, counted, some_of
from fusewise.tables import (
    Cells,
    Dialect,
    FrameEncoder,
    Reading,
    ReadOptions,
    as_extra,
    center_table,
    complete,
    files_of,
    free_name,
    in_dialect,
    read,
    stem_of,
)
from fusewise.views import (
    Findings,
    ObservedCenters,
    TableOrigin,
    columns_of_file,
    columns_of_reading,
    description_text,
    python_module,
    read_findings,
    sql_script,
)


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
    found.model.cluster_names_ = tuple(names)
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
    from fusewise.views import write_page

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
