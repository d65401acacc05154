"""``fusewise fit``, ``impute`` and ``demo``: read a table, cluster it, fill in its missing values, write results."""

from __future__ import annotations

import shlex
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.exceptions import ConvergenceWarning

from fusewise import DataWarning, FusionClustering, FusionImputer
from fusewise.cli._exits import handling
from fusewise.cli._models import label_table, open_model, shares_in
from fusewise.cli._output import (
    Result,
    cluster_list,
    column_list,
    columns_data,
    facts,
    headline,
    staged,
    write_csv,
)
from fusewise.datasets import hide_entries
from fusewise.kernels import Stopwatch, announcing
from fusewise.progress import Progress, listening
from fusewise.saving import save
from fusewise.support import InputError, counted, some_of
from fusewise.tables import (
    Dialect,
    FrameEncoder,
    Reading,
    ReadOptions,
    as_extra,
    center_table,
    complete,
    files_of,
    free_name,
    read,
    read_grid,
    stem_of,
)
from fusewise.views import (
    Findings,
    TableOrigin,
    description_text,
    limits,
    number_sentence,
    read_findings,
    sql_script,
    stability_sentence,
)

TABLES = ("labels.csv", "completed.csv", "centers.csv")
WORDS = ("description.txt", "rules.sql")
REPORT, STABILITY = "report.html", "stability.csv"
#: The table and the model of the demonstration.
WINE, WINE_MODEL = "wine.csv", "wine.fusewise"
#: Number of refits; the seconds they may take, and the rows there must be, to be made without being asked for.
DRAWS, MOST_SECONDS, FEWEST_ROWS = 20, 10.0, 20
#: How the number of clusters is set on the command line.
OPTION = "--n-clusters "
#: What the stability of a cluster means.
SCALE = "From 0.85 a cluster is highly stable; below 0.6 it should not be trusted."


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
    rows, columns = table.shape
    tell(f"clustering {counted(rows, 'row')} × {counted(columns, 'column')}")
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


@dataclass(frozen=True)
class Outputs:
    """What to write, and where; `names` is a file with names of the clusters, `command` is shown in the report."""

    folder: Path
    report: bool = False
    save: Path | None = None
    stability: bool = False
    rows: bool = True  # whether the report contains the rows
    names: Path | None = None
    force: bool = False
    safe_csv: bool = False
    command: str | None = None

    @property
    def files(self) -> dict[str, Path]:
        """All files that will be written, by the names that they have in the JSON output."""
        names = [*TABLES, *WORDS, *[STABILITY] * self.stability, *[REPORT] * self.report]
        files = {name.replace("rules.", "rules_").partition(".")[0]: self.folder / name for name in names}
        return files | ({} if self.save is None else {"model": self.save})


def run_fit(path: Path, model: FusionClustering, outputs: Outputs, *, asked: ReadOptions, n_draws: int | None = 0,
            like: Path | None = None, tell: Progress) -> Result:  # fmt: skip
    """Read a table, cluster it, compute the stability of the clusters if there are draws, and write the results.

    With `n_draws` None the stability is computed if that takes at most `MOST_SECONDS`.
    """
    given = {} if outputs.names is None else _read_cluster_names(outputs.names)
    earlier = None if like is None else open_model(like)[0]
    sources = files_of(path) if like is None else [*files_of(path), like]
    table = read_rows(path, model.n_clusters, asked, tell)
    with staged(list(outputs.files.values()), force=outputs.force, sources=sources) as places:
        encoder, watch = FrameEncoder.of(table), Stopwatch()
        with fitting(table, tell, outliers=model.outliers) as notes:
            model.fit(table, like=earlier)
            findings = read_findings(model, names=table.names, origin=TableOrigin.of_file(table, encoder))
        seconds = {"seconds": watch.working, "compiling_seconds": watch.compiling}
        notes += unmet_notes(model.n_clusters, model.n_clusters_)
        if earlier is not None:
            notes += repr(model.matching_).splitlines()
        if given:
            findings = replace(findings, given_names=_all_names(findings, given, outputs.names))
            model.cluster_names_ = findings.given_names
        if n_draws is None:
            quick = seconds["seconds"] * DRAWS / 2 <= MOST_SECONDS
            n_draws = DRAWS if quick and table.n_rows >= FEWEST_ROWS else 0
        if n_draws:
            ctrl_c = handling(signal.SIGINT, signal.default_int_handler)  # ends the draws early
            with warnings.catch_warnings(record=True) as caught, listening(tell), ctrl_c:
                warnings.simplefilter("always")
                model.stability(n_draws)
            notes += [f"stability: {warning.message}" for warning in caught]
        tell("writing")
        drafts = {name: places[file] for name, file in outputs.files.items()}
        for name, columns in _tables(table, encoder, model, findings).items():
            if name in drafts:
                write_csv(drafts[name], columns, table.dialect, safe=outputs.safe_csv)
        texts = {
            "description": description_text(findings, notes),
            "rules_sql": sql_script(findings.rules, stem_of(path)),
        }
        for name, text in texts.items():
            drafts[name].write_text(text, "utf-8", errors="replace", newline="\n")  # names need not be valid Unicode
        if outputs.save is not None:
            titles = [described.name for described in findings.described]
            save(model, drafts["model"], extra=as_extra(table) | {"cluster_names": titles})
        if outputs.report:
            tell("writing the report")
            _write_report(replace(findings, remarks=tuple(notes)), path, drafts["report"], outputs)
    data = _common_data(table, encoder, model, notes) | seconds | _data(findings, outputs)
    return Result(data, _summary(table, findings, data))


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


def _all_names(findings: Findings, given: dict[int, str], path: Path | None) -> tuple[str, ...]:
    """The given names of clusters; others keep the names made of what sets them apart."""
    k = findings.n_clusters
    unknown = [number for number in given if number >= k]
    if unknown:
        numbers = "only cluster 0" if k == 1 else f"clusters 0 to {k - 1}"
        raise InputError(f"--name-clusters: {str(path)!r} names cluster {unknown[0]}, but there are {numbers}")
    return tuple(given.get(described.cluster) or described.name for described in findings.described)


def _tables(
    table: Reading, encoder: FrameEncoder, model: FusionClustering, findings: Findings
) -> dict[str, dict[str, Any]]:
    """The columns of each text table that is written."""
    titles, sizes = [described.name for described in findings.described], findings.sizes.tolist()
    entries = model.observations_.dense()
    completed, blank = entries.fill(model.path_.completed(entries)), entries.row_counts == 0
    completed[blank] = np.asarray(model.fused_)[blank]  # a row with nothing observed gets its fused centre
    judged = getattr(model, "stability_", None)
    shares = {"confidence": model.confidence_, "stability": None if judged is None else judged.rows}
    seen = findings.observed
    centers = center_table(table, encoder, sizes, model.cluster_centers_, seen.means, seen.medians)
    first = {name: centers[name] for name in list(centers)[:2]}
    tables: dict[str, dict[str, Any]] = {
        "labels": label_table(table.names, table.names_column, model.labels_, table.dialect, titles, **shares),
        "completed": complete(table, encoder, completed),
        "centers": first | {free_name("name", centers): [title or None for title in titles]} | centers,
    }
    if judged is not None:
        stability = shares_in(table.dialect, judged.clusters)
        columns = {"cluster": range(len(sizes)), "size": sizes, "stability": stability, "meaning": judged.grades}
        tables["stability"] = columns
    return tables


def _write_report(findings: Findings, table: Path, place: Path, outputs: Outputs) -> None:
    from fusewise.views import write_page

    shown = findings if outputs.rows else findings.without_rows()
    try:
        write_page(shown, place, title=table.name, command=outputs.command, table=stem_of(table))
    except ImportError as error:  # the message says what to install
        raise InputError(f"--report: {error}") from error


def _common_data(table: Reading, encoder: FrameEncoder, model: FusionClustering, notes: list[str]) -> dict[str, Any]:
    """What ``fit`` and ``impute`` both report."""
    return {
        "table": str(table.path),
        "rows": table.n_rows,
        "features": len(table.used),
        "encoded_features": len(encoder.features),
        "observed_fraction": table.observed_fraction,
        "columns": columns_data(table),
        "clusters": model.n_clusters_,
        "notes": notes,
    }


def _data(findings: Findings, outputs: Outputs) -> dict[str, Any]:
    model, judged, known = findings.model, findings.stability, findings.known
    return {
        "sizes": findings.sizes.tolist(),
        "names": [described.name for described in findings.described],
        "outliers": int(np.count_nonzero(model.labels_ < 0)),
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
        "converged": bool(model.converged_),
        "limits": limits(findings),
        "files": {name: str(path) for name, path in outputs.files.items()},
    }


def _summary(table: Reading, findings: Findings, data: dict[str, Any]) -> list[Any]:
    judged, known = findings.stability, findings.known
    apart = [
        Text.assemble((f"{described.name}\n", "bold") if described.name else "", described.apart)
        for described in findings.described
    ]
    more: dict[str, Any] = {} if judged is None else {"stability": [f"{share:.2f}" for share in judged.clusters]}
    more["what sets it apart"] = apart
    clusters = cluster_list(data["sizes"], data["outliers"], data["outliers"] - findings.n_outliers, more)
    rows = {} if known is None else {"agreement": known.sentence}
    rows["number"] = data["number"]
    if judged is not None:
        rows["stability"] = f"{stability_sentence(judged)} {SCALE}"
    rows["time"] = f"{data['seconds']:.1f} s"
    if data["compiling_seconds"] >= 1:
        rows["compiling"] = f"{data['compiling_seconds']:.1f} s more, on the first run only"
    last = facts(rows, limits=data["limits"], written=list(data["files"].values()), notes=data["notes"])
    return [headline(table.path, *table.shape, table.observed_fraction), column_list(table), clusters, last]


def run_impute(path: Path, out: Path, n_clusters: int | None, seed: int | None, *, asked: ReadOptions, force: bool,
               safe_csv: bool, tell: Progress) -> Result:  # fmt: skip
    """Read a table, cluster it, fill in its missing values, and write it."""
    table = read_rows(path, n_clusters, asked, tell)
    with staged([out], force=force, sources=files_of(path)) as places:
        encoder, watch = FrameEncoder.of(table), Stopwatch()
        with fitting(table, tell) as notes:
            imputer = FusionImputer(n_clusters, random_state=seed).fit(table)
            completed = imputer.completed_features(table)
        seconds = {"seconds": watch.working, "compiling_seconds": watch.compiling}
        notes += unmet_notes(n_clusters, imputer.clustering_.n_clusters_)
        tell("writing")
        write_csv(places[out], complete(table, encoder, completed), table.dialect, safe=safe_csv)
    used = {column.name: int(column.absent.sum()) for column in table.used if column.name in table.written}
    filled = sum(used.values())
    left = sum(cell is None for name in table.written if name not in used for cell in table.cells[name])
    way, errors = str(imputer.fill_), dict(imputer.held_out_error_)
    data = {"filled": filled, "left": left, "filled_from": way, "held_out_errors": errors}
    data = (
        _common_data(table, encoder, imputer.clustering_, notes) | seconds | data | {"files": {"completed": str(out)}}
    )
    source = "a subspace" if way == "subspace" else counted(imputer.clustering_.n_clusters_, "cluster")
    rows = {"filled in": f"{counted(filled, 'missing value')}, from {source}"}
    if errors:
        means = f"column means: {errors['means']:.2f}"
        rows["error"] = f"{errors[way]:.2f} standard deviations on held-out values ({means})"
    if left:
        rows["not filled"] = f"{counted(left, 'missing value')}, in columns that are not used"
    first = headline(path, *table.shape, table.observed_fraction)
    return Result(data, [first, column_list(table), facts(rows, written=[out], notes=notes)])


def run_demo(out: Path, *, hidden: float, seed: int, force: bool, tell: Progress) -> Result:
    """Write scikit-learn's Wine data with hidden entries, fit it, and measure the error of the values filled in."""
    from sklearn.datasets import load_wine

    wine = load_wine()
    X = hide_entries(wine.data, hidden, random_state=seed)
    cells: Any = X.astype(object)
    cells[np.isnan(X)] = None
    columns = {str(name): cells[:, j] for j, name in enumerate(wine.feature_names)}
    columns["cultivar"] = np.array([f"cultivar {k + 1}" for k in wine.target], dtype=object)
    command = f"fusewise demo --out {shlex.quote(str(out))} --hidden {hidden:g} --seed {seed}"
    outputs = Outputs(out, report=True, save=out / WINE_MODEL, force=force, command=command)
    table = out / WINE
    with staged([table], force=force) as places:
        write_csv(places[table], columns, Dialect())
        fit = run_fit(places[table], FusionClustering(), outputs, asked=ReadOptions(labels="cultivar"), tell=tell)
        filled = np.genfromtxt(out / "completed.csv", delimiter=",", skip_header=1, usecols=range(X.shape[1]))
    missing = np.isnan(X)
    guesses = {"error_filled": filled, "error_column_means": np.nanmean(X, axis=0)}
    away = {name: ((guess - wine.data) / np.nanstd(X, axis=0))[missing] for name, guess in guesses.items()}
    errors = {name: float(np.sqrt(np.mean(values**2))) for name, values in away.items()} if missing.any() else {}
    rows = {"table": f"{table}: scikit-learn's Wine data with some entries hidden"}
    if errors:
        means = f"column means: {errors['error_column_means']:.2f}"
        rows["error"] = f"{errors['error_filled']:.2f} standard deviations between filled and hidden values ({means})"
    files = {"wine": str(table)} | fit.data["files"]
    last = Text.assemble("Report: ", (str(out / REPORT), "bold"))
    return Result(fit.data | {"table": str(table), "files": files} | errors, [*fit.parts, facts(rows), last])
