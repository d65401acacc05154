"""Output of ``fit``, ``predict`` and ``impute``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text

import fusewise
from fusewise.cli._fit import Clustered, Fit, Imputation
from fusewise.cli._predict import Prediction
from fusewise.cli._terminal import Terminal, bar, grid, headed, listed, picture, print_below
from fusewise.support import counted
from fusewise.tables import Reading
from fusewise.views import KnownLabels, limits, number_sentence, stability_sentence

#: Header of the column that characterises the clusters.
DISTINCTIVE = "what sets it apart"
#: What rows in no cluster are.
NO_CLUSTER = "no cluster: outliers, and rows without observed values"
#: What the stability of a cluster means.
SCALE = "From 0.85 a cluster is highly stable; below 0.6 it should not be trusted."
#: How the number of clusters is set on the command line.
OPTION = "--n-clusters "
#: Maximum number of clusters, columns and notes listed one by one.
MOST_LISTED, MOST_COLUMNS, MOST_NOTES = 12, 40, 20


def fit_data(fit: Fit) -> dict[str, Any]:
    """The result of ``fit`` as a JSON-serialisable dictionary."""
    found, model = fit.clustered, fit.clustered.model
    return _table_data(found) | {
        "clusters": model.n_clusters_,
        "sizes": found.sizes,
        "names": [described.name for described in found.findings.described],
        "outliers": found.outliers,
        "ari": None if found.findings.known is None else found.findings.known.ari,
        "known": None if found.findings.known is None else found.findings.known.as_dict(),
        "descriptions": [described.sentence for described in found.findings.described],
        "rules": [rule.as_dict() for rule in found.findings.rules],
        **_sureness_data(found),
        "converged": bool(model.converged_),
        "seconds": found.seconds,
        "compiling_seconds": found.compiling,
        "limits": limits(found.findings),
        "notes": found.notes,
        "files": {_key(path): str(path) for path in fit.outputs.files if path != fit.outputs.save}
        | ({} if fit.outputs.save is None else {"model": str(fit.outputs.save)}),
    }


def _key(path: Path) -> str:
    """The name of a result: "labels", "report", ...; of the rules "rules_sql" and "rules_py"."""
    return f"{path.stem}_{path.suffix[1:]}" if path.stem == "rules" else path.stem


def _sureness_data(found: Clustered) -> dict[str, Any]:
    judged, others = found.findings.stability, found.findings.alternatives
    return {
        "number": number_sentence(found.findings, OPTION),
        "alternatives": [
            {"clusters": a.n_clusters, "sizes": a.sizes, "gain": a.gain, "error": a.error, "per_row": a.per_row}
            for a in others
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
    }


def _table_data(found: Clustered) -> dict[str, Any]:
    table = found.table
    return {
        "version": fusewise.__version__,
        "table": str(table.path),
        "rows": table.n_rows,
        "features": len(found.findings.columns),
        "encoded_features": len(found.findings.features),
        "observed_fraction": found.findings.observed_fraction,
        "columns": kind_data(table),
    }


def kind_data(table: Reading) -> dict[str, Any]:
    """The columns of a file and how they were read, as a JSON-serialisable dictionary."""
    encoded = [column for column in table.used if column.categories]
    roles = (table.names_column, table.labels_column)
    return {
        "all": [{"name": c.name, "kind": c.kind, "used": c.used, "why": c.why} for c in table.columns],
        "numbers": [column.name for column in table.used if not column.categories],
        "encoded": [{"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in encoded],
        "unused": [{"name": c.name, "reason": c.why} for c in table.columns if not c.used and c.name not in roles],
        "names": table.names_column,
        "labels": table.labels_column,
    }


def print_fit(fit: Fit) -> None:
    """Print the summary of ``fit``."""
    found, console = fit.clustered, Terminal(soft_wrap=False)
    console.print(_headline(found.table))
    map_ = Group(*picture(found.findings, console))
    print_below(console, column_list(found.table), _clusters(found), map_, _facts(fit))


def _headline(table: Reading) -> Text:
    rows, used = table.shape
    what = f"{counted(rows, 'row')} × {counted(used, 'column')}, {table.observed_fraction:.1%} of the values observed"
    return Text.assemble((table.path.name, "bold"), "  ", what)


def column_list(read: Reading) -> Grid:
    """Each column of the file: its kind, and how it was read or why it is not used."""
    columns, table = read.columns, headed("column", "read as", "", left=("column", "read as"))
    roles = (read.names_column, read.labels_column)
    for column in columns[:MOST_COLUMNS]:
        why = Text(("" if column.used or column.name in roles else "not used: ") + column.why)
        table.add_row(_name(column.name), Text(column.kind, "" if column.used else "dim"), why)
    if len(columns) > MOST_COLUMNS:
        table.add_row("...", "", f"and {counted(len(columns) - MOST_COLUMNS, 'more column')} (--json lists all)")
    return table


def folded(notes: list[str]) -> list[str]:
    """The first notes, and the number of the others."""
    more = len(notes) - MOST_NOTES
    return notes if more <= 0 else [*notes[:MOST_NOTES], f"... and {counted(more, 'more note')} (--json lists all)"]


def _clusters(found: Clustered) -> Grid:
    sizes, judged = found.sizes, found.findings.stability
    table = headed("cluster", "rows", "", *([] if judged is None else ["stability"]), DISTINCTIVE, left=(DISTINCTIVE,))
    none = [] if judged is None else [""]
    for k, size in enumerate(sizes[:MOST_LISTED]):
        stable = [] if judged is None else [f"{judged.clusters[k]:.2f}"]
        described = found.findings.described[k]
        words = Text.assemble((f"{described.name}\n", "bold") if described.name else "", described.apart)
        table.add_row(str(k), f"{size:,}", bar(size / max(sizes)), *stable, words)
    if len(sizes) > MOST_LISTED:
        rest = counted(len(sizes) - MOST_LISTED, "smaller cluster")
        table.add_row("...", f"{sum(sizes[MOST_LISTED:]):,}", "", *none, f"in {rest}")
    if found.outliers:
        table.add_row(
            "-1",
            f"{found.outliers:,}",
            "",
            *none,
            Text(NO_CLUSTER, "dim"),
        )
    return table


def _facts(fit: Fit) -> Grid:
    found, table = fit.clustered, grid("dim", "")
    if found.findings.known is not None:
        table.add_row("agreement", _agreement(found.findings.known))
    table.add_row("number", Text(number_sentence(found.findings, OPTION)))
    judged = found.findings.stability
    if judged is not None:
        table.add_row("stability", Text(f"{stability_sentence(judged)} {SCALE}"))
    table.add_row("time", f"{found.seconds:.1f} s")
    if found.compiling >= 1:
        table.add_row("compiling", f"{found.compiling:.1f} s more, on the first run only")
    listed(table, "limits", limits(found.findings))
    listed(table, "written", list(fit.outputs.files))
    listed(table, Text("note", "yellow"), folded(found.notes))
    return table


def _agreement(known: KnownLabels) -> Text:
    return Text(known.sentence)


def _name(column: str) -> Text:
    return Text(column or "(no name)", "cyan")


def prediction_data(found: Prediction) -> dict[str, Any]:
    """The result of ``predict`` as a JSON-serialisable dictionary."""
    return {
        "version": fusewise.__version__,
        "table": str(found.table.path),
        "rows": found.table.n_rows,
        "observed_fraction": found.table.observed_fraction,
        "sizes": found.sizes,
        "outliers": int(np.count_nonzero(found.labels < 0)),
        "ari": None if found.known is None else found.known.ari,
        "notes": found.notes,
        "files": {"labels": str(found.file)},
    }


def print_prediction(found: Prediction) -> None:
    """Print the summary of ``predict``."""
    console = Terminal()
    console.print(_headline(found.table))
    clusters = headed("cluster", "rows", "")
    for k, size in enumerate(found.sizes[:MOST_LISTED]):
        clusters.add_row(str(k), f"{size:,}", bar(size / max(found.sizes)) if size else "")
    outliers = int(np.count_nonzero(found.labels < 0))
    if outliers:
        clusters.add_row("-1", f"{outliers:,}", Text(NO_CLUSTER, "dim"))
    facts = grid("dim", "")
    if found.known is not None:
        facts.add_row("agreement", _agreement(found.known))
    listed(facts, "written", [found.file])
    listed(facts, Text("note", "yellow"), folded(found.notes))
    print_below(console, clusters, facts)


def imputation_data(found: Imputation) -> dict[str, Any]:
    """The result of ``impute`` as a JSON-serialisable dictionary."""
    return _table_data(found.clustered) | {
        "filled": found.filled,
        "left": found.left,
        "filled_from": found.way,
        "held_out_errors": found.errors,
        "clusters": found.clustered.model.n_clusters_,
        "seconds": found.clustered.seconds,
        "compiling_seconds": found.clustered.compiling,
        "notes": found.clustered.notes,
        "files": {"completed": str(found.file)},
    }


def print_imputation(found: Imputation) -> None:
    """Print the summary of ``impute``."""
    done, console = found.clustered, Terminal()
    console.print(_headline(done.table))
    facts = grid("dim", "")
    clusters = done.model.n_clusters_
    source = "a subspace" if found.way == "subspace" else counted(clusters, "cluster")
    facts.add_row("filled in", f"{counted(found.filled, 'missing value')}, from {source}")
    if found.errors:
        means = f"column means: {found.errors['means']:.2f}"
        facts.add_row("error", f"{found.errors[found.way]:.2f} standard deviations on held-out values ({means})")
    if found.left:
        facts.add_row("not filled", f"{counted(found.left, 'missing value')}, in columns that are not used")
    listed(facts, "written", [found.file])
    listed(facts, Text("note", "yellow"), folded(done.notes))
    print_below(console, column_list(done.table), facts)
