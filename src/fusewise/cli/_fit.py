"""``fusewise fit`` and ``fusewise impute``: read a table, cluster it, fill in its missing values, write the results."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.text import Text
from sklearn.exceptions import ConvergenceWarning

from fusewise import DataWarning, FusionClustering, FusionImputer
from fusewise.cli._exits import ending_early
from fusewise.cli._models import open_model
from fusewise.cli._output import staged, write_csv
from fusewise.cli._summary import cluster_list, column_list, columns_data, facts, headline
from fusewise.cli._terminal import Terminal, picture, print_below
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
    read_grid,
    stem_of,
)
from fusewise.views import (
    Findings,
    ObservedCenters,
    TableOrigin,
    columns_of_file,
    columns_of_reading,
    description_text,
    limits,
    number_sentence,
    python_module,
    read_findings,
    sql_script,
    stability_sentence,
)

TABLES = ("labels.csv", "completed.csv", "centers.csv")
WORDS = ("description.txt", "rules.sql", "rules.py")
REPORT, STABILITY = "report.html", "stability.csv"
#: Number of refits; the seconds they may take, and the rows there must be, to be made without being asked for.
DRAWS, MOST_SECONDS, FEWEST_ROWS = 20, 10.0, 20
#: How the number of clusters is set on the command line.
OPTION = "--n-clusters "
#: What the stability of a cluster means.
SCALE = "From 0.85 a cluster is highly stable; below 0.6 it should not be trusted."


@dataclass(frozen=True, eq=False)
class Clustered:
    """A table with its clusters and its missing values filled in.

    Attributes
    ----------
    table, encoder : the table, and how its columns are encoded as numbers.
    model : the fitted estimator.
    findings : the result as read by the views, with every row that has an observed entry drawn.
    imputer : the fitted imputer, for ``impute``; otherwise None.
    completed : the features of all rows, with the missing ones filled in.
    seconds, compiling : time the fit took, and time spent compiling before that (on the first run only).
    notes : remarks to show to the user.
    """

    table: Reading
    encoder: FrameEncoder
    model: FusionClustering
    findings: Findings
    imputer: FusionImputer | None
    completed: Floats
    seconds: float
    compiling: float
    notes: list[str]

    def data(self) -> dict[str, Any]:
        """What ``fit`` and ``impute`` both report, as a JSON-serialisable dictionary."""
        return {
            "table": str(self.table.path),
            "rows": self.table.n_rows,
            "features": len(self.findings.columns),
            "encoded_features": len(self.findings.features),
            "observed_fraction": self.findings.observed_fraction,
            "columns": columns_data(self.table),
            "clusters": self.model.n_clusters_,
            "seconds": self.seconds,
            "compiling_seconds": self.compiling,
            "notes": self.notes,
        }

    @property
    def outside(self) -> tuple[int, int]:
        """Number of rows in no cluster, and how many of them have no observed value."""
        outside = int(np.count_nonzero(self.model.labels_ < 0))
        return outside, outside - self.findings.n_outliers

    def headline(self) -> Text:
        """The table and its size."""
        return headline(self.table.path, *self.table.shape, self.table.observed_fraction)


def default_model(
    n_clusters: int | None,
    seed: int | None,
    *,
    outliers: bool = True,
    weights: Mapping[str, float] | None = None,
    verbose: int = 0,
) -> FusionClustering:
    """The estimator of ``fit`` and ``impute``."""
    if n_clusters is not None and n_clusters < 1:
        raise InputError(f"--n-clusters must be at least 1, got {n_clusters}")
    return FusionClustering(n_clusters, feature_weights=weights, outliers=outliers, random_state=seed, verbose=verbose)


def read_rows(path: Path, n_clusters: int | None, asked: ReadOptions, tell: Progress) -> Reading:
    """Read a table that can be clustered, into so many clusters if a number is given."""
    tell(f"reading {path.name}")
    table = read(path, asked)
    if table.n_rows < 2:
        raise InputError(f"{str(path)!r} has only one row: clustering needs at least two")
    if n_clusters is not None and n_clusters > table.n_rows:
        raise InputError(f"--n-clusters {n_clusters} is more than the {table.n_rows} rows of {str(path)!r}")
    return table


@contextmanager
def fitting(table: Reading, tell: Progress, *, outliers: bool = True) -> Iterator[list[str]]:
    """Yield a list for notes, which holds those on the table and, at the end of the block, its warnings."""
    notes, blank = list(table.notes), table.blank_rows
    if len(blank):
        notes.append(f"{blank_note(len(blank), outliers)} ({some_of(list(table.names[blank]), 5)})")
    with warnings.catch_warnings(record=True) as caught, listening(tell), announcing(tell):
        warnings.simplefilter("always")
        yield notes
    # Empty rows are noted by name and convergence by its outcome, as these warnings refer to encoded features.
    ours = (ConvergenceWarning, DataWarning)
    notes += sorted({str(warning.message) for warning in caught if not issubclass(warning.category, ours)})


def blank_note(number: int, outliers: bool) -> str:
    """A note on rows without observed values."""
    fate = "assigned to no cluster, label -1" if outliers else "assigned to the likeliest cluster"
    return f"{counted(number, 'row has', 'rows have')} no observed value: {fate}"


def unmet_notes(asked: int | None, found: int) -> list[str]:
    """A note on a number of clusters that could not be met."""
    if asked in (None, found):
        return []
    return [f"{counted(asked or 0, 'cluster was', 'clusters were')} requested, but {found} found"]


def cluster(
    table: Reading, estimator: FusionClustering, *, impute: bool = False, like: Any = None, tell: Progress
) -> Clustered:
    """Cluster a table and fill in its missing values, from the clusters or with an imputer."""
    rows, columns = table.shape
    tell(f"{'filling' if impute else 'clustering'} {counted(rows, 'row')} × {counted(columns, 'column')}")
    encoder, watch = FrameEncoder.of(table), Stopwatch()
    with fitting(table, tell, outliers=estimator.outliers) as notes:
        imputer = FusionImputer(estimator.n_clusters, random_state=estimator.random_state) if impute else None
        found = estimator.fit(table, like=like) if imputer is None else imputer.fit(table).clustering_
        findings = read_findings(found, names=table.names, origin=_origin(table, encoder), most_drawn=rows)
        if imputer is None:
            completed = np.array(found.fused_, dtype=float)  # a row with nothing observed gets its fused centre
            completed[findings.drawn] = findings.completed
        else:
            completed = imputer.completed_features(table)
    notes += unmet_notes(estimator.n_clusters, found.n_clusters_)
    if like is not None:
        notes += repr(found.matching_).splitlines()
    return Clustered(table, encoder, found, findings, imputer, completed, watch.working, watch.compiling, notes)


def _origin(table: Reading, encoder: FrameEncoder) -> TableOrigin:
    """The columns of the file, for the views."""
    read, known = columns_of_reading(table), table.labels_column
    markers = {column.name: tuple(column.markers) for column in read.columns}
    labels = None if known is None else (known, table.cells[known])
    return TableOrigin(columns_of_file(table, encoder, markers), read, labels)


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
    def files(self) -> dict[str, Path]:
        """All files that will be written, by the names that they have in the JSON output."""
        names = [*([self.table] if self.table else []), *TABLES, *WORDS]
        names += [*([STABILITY] if self.stability else []), *([REPORT] if self.report else [])]
        files = {name.replace("rules.", "rules_").partition(".")[0]: self.folder / name for name in names}
        return files | ({} if self.save is None else {"model": self.save})


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of ``fit``."""

    clustered: Clustered
    outputs: Outputs

    def data(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dictionary."""
        found, findings = self.clustered, self.clustered.findings
        judged, known = findings.stability, findings.known
        return found.data() | {
            "sizes": findings.sizes.tolist(),
            "names": [described.name for described in findings.described],
            "outliers": found.outside[0],
            "ari": None if known is None else known.ari,
            "known": None if known is None else known.as_dict(),
            "descriptions": [described.sentence for described in findings.described],
            "rules": [rule.as_dict() for rule in findings.rules],
            "number": number_sentence(findings, OPTION),
            "alternatives": [
                {"clusters": a.n_clusters, "sizes": a.sizes, "gain": a.gain, "error": a.error, "per_row": a.per_row}
                for a in findings.alternatives
            ],
            "stability": None
            if judged is None
            else {
                "clusters": judged.clusters.tolist(),
                "meanings": judged.grades,
                "numbers_of_clusters": {str(k): often for k, often in judged.n_clusters.items()},
                "draws": judged.n_draws,
                "hidden": judged.hidden,
            },
            "converged": bool(found.model.converged_),
            "limits": limits(findings),
            "files": {name: str(path) for name, path in self.outputs.files.items()},
        }

    def show(self) -> None:
        """Print the summary."""
        found, findings, console = self.clustered, self.clustered.findings, Terminal(soft_wrap=False)
        judged, known = findings.stability, findings.known
        apart = [
            Text.assemble((f"{described.name}\n", "bold") if described.name else "", described.apart)
            for described in findings.described
        ]
        more: dict[str, Any] = {} if judged is None else {"stability": [f"{share:.2f}" for share in judged.clusters]}
        outside, blank = found.outside
        clusters = cluster_list(findings.sizes.tolist(), outside, blank, more | {"what sets it apart": apart})
        rows = {} if known is None else {"agreement": known.sentence}
        rows["number"] = number_sentence(findings, OPTION)
        if judged is not None:
            rows["stability"] = f"{stability_sentence(judged)} {SCALE}"
        rows["time"] = f"{found.seconds:.1f} s"
        if found.compiling >= 1:
            rows["compiling"] = f"{found.compiling:.1f} s more, on the first run only"
        files = list(self.outputs.files.values())
        last = facts(rows, limits=limits(findings), written=files, notes=found.notes)
        console.print(found.headline())
        print_below(console, column_list(found.table), clusters, Group(*picture(findings, console)), last)


def run_fit(path: Path, estimator: FusionClustering, outputs: Outputs, *, asked: ReadOptions, n_draws: int | None = 0,
            like: Path | None = None, tell: Progress) -> Fit:  # fmt: skip
    """Read a table, cluster it, compute the stability of the clusters if there are draws, and write the results.

    With `n_draws` None the stability is computed if that takes at most `MOST_SECONDS`.
    """
    given = {} if outputs.names is None else _read_cluster_names(outputs.names)
    earlier = None if like is None else open_model(like).model
    earlier = getattr(earlier, "clustering_", earlier)
    sources = files_of(path) if like is None else [*files_of(path), like]
    table = read_rows(path, estimator.n_clusters, asked, tell)
    with staged(list(outputs.files.values()), force=outputs.force, sources=sources) as places:
        found = cluster(table, estimator, like=earlier, tell=tell)
        if given:
            found = _with_names(found, given, outputs.names)
        if n_draws is None:
            quick = found.seconds * DRAWS / 2 <= MOST_SECONDS
            n_draws = DRAWS if quick and table.n_rows >= FEWEST_ROWS else 0
        if n_draws:
            _judge_stability(found, n_draws, tell)
        tell("writing")
        _write(found, outputs, {name: places[file] for name, file in outputs.files.items()})
        if outputs.report:
            tell("writing the report")
            _write_report(found, places[outputs.folder / REPORT], outputs)
    return Fit(found, outputs)


def _read_cluster_names(path: Path) -> dict[int, str]:
    """The names of clusters in a table with the columns cluster and name."""
    try:
        written = read_grid(path, ReadOptions()).written
    except InputError as error:
        raise InputError(f"--name-clusters: {error}") from error
    if not {"cluster", "name"} <= written.keys():
        raise InputError(f"--name-clusters: {str(path)!r} must have the columns 'cluster' and 'name'")
    names: dict[int, str] = {}
    for row, (number, name) in enumerate(zip(written["cluster"], written["name"], strict=True), 1):
        if not str(number).strip().isdecimal():
            raise InputError(f"--name-clusters: row {row} of {str(path)!r}: {number!r} is not the number of a cluster")
        names[int(number)] = str(name or "").strip()
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
    """Compute the stability of the clusters; after Ctrl-C from the draws that are done, with a note."""
    with warnings.catch_warnings(record=True) as caught, listening(tell), ending_early():
        warnings.simplefilter("always")
        found.model.stability(n_draws)
    found.notes.extend(f"stability: {warning.message}" for warning in caught)


def label_table(
    names: Cells, column: str | None, labels: Any, dialect: Dialect, titles: Sequence[str] = (), **shares: Real | None
) -> dict[str, Cells]:
    """Name and label of each row, its shares, if known (confidence, stability), and the name of its cluster."""
    columns = {free_name(column or "row", ("label", "cluster_name", *shares)): names, "label": labels.astype(object)}
    for name, values in shares.items():
        if values is not None:
            columns[name] = np.array(_decimals(values, dialect), dtype=object)
    if any(titles):
        columns["cluster_name"] = np.array([*titles, None], dtype=object)[labels]  # -1 is the last: none
    return columns


def _decimals(shares: Real, dialect: Dialect) -> list[Any]:
    """Shares as text, None where there is none."""
    return [None if np.isnan(share) else in_dialect(round(float(share), 4), dialect) for share in shares]


def _write(found: Clustered, outputs: Outputs, places: dict[str, Path]) -> None:
    """Write everything except the report."""
    table, model, findings = found.table, found.model, found.findings
    titles = [described.name for described in findings.described]
    judged = getattr(model, "stability_", None)
    tables: dict[str, dict[str, Any]] = {
        "labels": label_table(
            table.names,
            table.names_column,
            model.labels_,
            table.dialect,
            titles,
            confidence=model.confidence_,
            stability=None if judged is None else judged.rows,
        ),
        "completed": complete(table, found.encoder, found.completed),
    }
    seen = ObservedCenters.of(findings.values, findings.labels, findings.n_clusters)
    sizes = findings.sizes.tolist()
    centers = center_table(table, found.encoder, sizes, model.cluster_centers_, seen.means, seen.medians)
    first = {name: centers[name] for name in list(centers)[:2]}
    tables["centers"] = first | {free_name("name", centers): [title or None for title in titles]} | centers
    if outputs.stability and judged is not None:
        shares = _decimals(judged.clusters, table.dialect)
        tables["stability"] = {
            "cluster": range(len(sizes)),
            "size": sizes,
            "stability": shares,
            "meaning": judged.grades,
        }
    for name, columns in tables.items():
        write_csv(places[name], columns, table.dialect, safe=outputs.safe_csv)
    texts = {
        "description": description_text(findings, found.notes),
        "rules_sql": sql_script(findings.rules, stem_of(table.path)),
        "rules_py": python_module(findings.rules),
    }
    for name, text in texts.items():
        places[name].write_text(text, "utf-8", errors="replace", newline="\n")  # names need not be valid Unicode
    if outputs.table is not None:
        shutil.copyfile(table.path, places[Path(outputs.table).stem])
    if outputs.save is not None:
        save(model, places["model"], extra=as_extra(table) | {"cluster_names": titles})


def _write_report(found: Clustered, path: Path, outputs: Outputs) -> None:
    from fusewise.views import write_page

    findings, table = replace(found.findings, remarks=tuple(found.notes)).thinned(), found.table.path
    shown = findings if outputs.rows else findings.without_rows()
    try:
        write_page(shown, path, title=table.name, command=outputs.command, table=stem_of(table))
    except ImportError as error:  # the message says what to install
        raise InputError(f"--report: {error}") from error


@dataclass(frozen=True, eq=False)
class Imputation:
    """Result of ``impute``.

    Attributes
    ----------
    filled : number of missing values filled in.
    left : number of missing values left, in columns that are not used.
    way : how they were filled in: from "clusters" or a "subspace".
    errors : error of each method on held-out entries, in standard deviations of the columns.
    """

    clustered: Clustered
    filled: int
    left: int
    way: str
    errors: dict[str, float]
    file: Path

    def data(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dictionary."""
        return self.clustered.data() | {
            "filled": self.filled,
            "left": self.left,
            "filled_from": self.way,
            "held_out_errors": self.errors,
            "files": {"completed": str(self.file)},
        }

    def show(self) -> None:
        """Print the summary."""
        done, console = self.clustered, Terminal()
        source = "a subspace" if self.way == "subspace" else counted(done.model.n_clusters_, "cluster")
        rows = {"filled in": f"{counted(self.filled, 'missing value')}, from {source}"}
        if self.errors:
            means = f"column means: {self.errors['means']:.2f}"
            rows["error"] = f"{self.errors[self.way]:.2f} standard deviations on held-out values ({means})"
        if self.left:
            rows["not filled"] = f"{counted(self.left, 'missing value')}, in columns that are not used"
        console.print(done.headline())
        print_below(console, column_list(done.table), facts(rows, written=[self.file], notes=done.notes))


def run_impute(path: Path, out: Path, estimator: FusionClustering, *, asked: ReadOptions, force: bool, safe_csv: bool,
               tell: Progress) -> Imputation:  # fmt: skip
    """Read a table, cluster it, fill in its missing values, and write it."""
    table = read_rows(path, estimator.n_clusters, asked, tell)
    with staged([out], force=force, sources=files_of(path)) as places:
        found = cluster(table, estimator, impute=True, tell=tell)
        tell("writing")
        write_csv(places[out], complete(table, found.encoder, found.completed), table.dialect, safe=safe_csv)
    used = {column.name: int(column.absent.sum()) for column in table.used if column.name in table.written}
    filled = sum(used.values())
    left = sum(cell is None for name in table.written if name not in used for cell in table.cells[name])
    imputer: Any = found.imputer
    return Imputation(found, filled, left, str(imputer.fill_), dict(imputer.held_out_error_), out)
