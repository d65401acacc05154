"""Output of ``fit``, ``predict`` and ``impute``."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.table import Table as Grid
from rich.text import Text

import fusewise
from fusewise.cli.running.fitting import Fit
from fusewise.cli.running.imputing import Imputation
from fusewise.cli.running.predicting import Prediction
from fusewise.cli.running.table_fit import Clustered
from fusewise.cli.showing.console import bar, grid, headed, listed, print_below
from fusewise.cli.showing.picture import picture
from fusewise.kernels.words import counted
from fusewise.tables.encoding import Encoding
from fusewise.views.findings import profile_of
from fusewise.views.wording import traits

#: Header of the column that characterises the clusters.
DISTINCTIVE = "distinctive values (▲ high, ▼ low)"
#: Maximum number of clusters, and of columns of a kind, listed one by one.
MOST_LISTED = 12


def fit_data(fit: Fit) -> dict[str, Any]:
    """The result of ``fit`` as a JSON-serialisable dictionary."""
    found, model = fit.clustered, fit.clustered.model
    return _table_data(found) | {
        "clusters": model.n_clusters_,
        "sizes": found.sizes,
        "outliers": found.outliers,
        "ari": fit.ari,
        "converged": bool(model.converged_),
        "iterations": int(model.n_iter_),
        "objective": float(model.objective_),
        "lam": float(model.lam_),
        "penalty": str(model.penalty_),
        "fidelity": type(model.fidelity_).__name__,
        "seconds": found.seconds,
        "compiling_seconds": found.compiling,
        "notes": found.notes,
        "files": {path.stem: str(path) for path in fit.outputs.files if path != fit.outputs.save}
        | ({} if fit.outputs.save is None else {"model": str(fit.outputs.save)}),
    }


def _table_data(found: Clustered) -> dict[str, Any]:
    roles = found.roles
    encoded = [column for column in roles.used if column.categories]
    return {
        "version": fusewise.__version__,
        "table": str(found.table.path),
        "rows": found.table.n_rows,
        "features": len(roles.used),
        "encoded_features": len(found.encoding.features),
        "observed_fraction": found.encoding.observed_fraction,
        "columns": {
            "numbers": [column.name for column in roles.used if not column.categories],
            "encoded": [{"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in encoded],
            "unused": [{"name": name, "reason": reason} for name, reason in roles.unused.items()],
            "names": roles.names_column,
            "labels": roles.labels_column,
        },
    }


def print_fit(fit: Fit) -> None:
    """Print the summary of ``fit``."""
    found, console = fit.clustered, Console(highlight=False, soft_wrap=False)
    console.print(_headline(found.table.path.name, found.table.n_rows, found.encoding))
    map_ = Group(*picture(found.findings, console))
    print_below(console, _columns(found), _clusters(found), map_, _facts(fit))


def _headline(name: str, rows: int, encoding: Encoding) -> Text:
    used = len(encoding.blocks)
    what = (
        f"{counted(rows, 'row')} × {counted(used, 'column')}, {encoding.observed_fraction:.1%} of the values observed"
    )
    return Text.assemble((name, "bold"), "  ", what)


def _columns(found: Clustered) -> Grid:
    """Columns that are not used as numbers, and how they are treated."""
    roles, table = found.roles, grid("dim", "cyan", "")
    if roles.names_column is not None:
        table.add_row("row names", _name(roles.names_column), "used to name the rows in labels.csv")
    if roles.labels_column is not None:
        asked = "" if roles.labels_asked else "recognised by its name; "
        table.add_row("known classes", _name(roles.labels_column), f"{asked}used only to score the result")
    encoded = [column for column in roles.used if column.categories]
    for k, column in enumerate(encoded[:MOST_LISTED]):
        words = ", ".join(map(str, column.categories[:4])) + (", ..." if len(column.categories) > 4 else "")
        n = len(column.categories)
        how = "one 0/1 feature" if n == 2 else f"{n} 0/1 features"
        table.add_row("encoded" if k == 0 else "", _name(column.name), Text(f"{column.kind} ({words}): {how}"))
    for k, (name, reason) in enumerate(list(roles.unused.items())[:MOST_LISTED]):
        table.add_row("not used" if k == 0 else "", _name(name), Text(reason))
    hidden = max(0, len(encoded) - MOST_LISTED) + max(0, len(roles.unused) - MOST_LISTED)
    if hidden:
        table.add_row("", "...", f"and {hidden} more (--json lists all)")
    return table


def _clusters(found: Clustered) -> Grid:
    sizes, profile = found.sizes, profile_of(found.findings)
    table = headed("cluster", "rows", "", DISTINCTIVE, left=(DISTINCTIVE,))
    for k, size in enumerate(sizes[:MOST_LISTED]):
        table.add_row(str(k), f"{size:,}", bar(size / max(sizes)), Text(", ".join(traits(found.findings, profile, k))))
    if len(sizes) > MOST_LISTED:
        rest = counted(len(sizes) - MOST_LISTED, "smaller cluster")
        table.add_row("...", f"{sum(sizes[MOST_LISTED:]):,}", "", f"in {rest}")
    if found.outliers:
        table.add_row(
            "-1", f"{found.outliers:,}", "", Text("no cluster: outliers, and rows without observed values", "dim")
        )
    return table


def _facts(fit: Fit) -> Grid:
    found, model, table = fit.clustered, fit.clustered.model, grid("dim", "")
    if fit.ari is not None:
        table.add_row("agreement", _agreement(fit.ari, found.roles.labels_column))
    state = "converged" if model.converged_ else "not converged"
    lam = "" if model.fidelity_.constrained else f", strength lam {model.lam_:.3g}"
    table.add_row("solution", f"{state} in {found.seconds:.1f} s (penalty {_short(model.penalty_)}{lam})")
    if found.compiling >= 1:
        table.add_row("compiling", f"{found.compiling:.1f} s more, on the first run only")
    listed(table, "written", list(fit.outputs.files))
    listed(table, Text("note", "yellow"), found.notes)
    return table


def _agreement(ari: float, column: str | None) -> Text:
    return Text(f"adjusted Rand index {ari:.3f} with {column!r} (1: identical, 0: chance)")


def _short(penalty: Any) -> str:
    sigma = getattr(penalty, "sigma", None)
    return type(penalty).__name__ + (f", scale sigma {sigma:.3g}" if sigma else "")


def _name(column: str) -> Text:
    return Text(column or "(no name)", "cyan")


def prediction_data(found: Prediction) -> dict[str, Any]:
    """The result of ``predict`` as a JSON-serialisable dictionary."""
    return {
        "version": fusewise.__version__,
        "table": str(found.table.path),
        "rows": found.table.n_rows,
        "observed_fraction": found.encoding.observed_fraction,
        "sizes": found.sizes,
        "outliers": int(np.count_nonzero(found.labels < 0)),
        "ari": found.ari,
        "notes": found.notes,
        "files": {"labels": str(found.file)},
    }


def print_prediction(found: Prediction) -> None:
    """Print the summary of ``predict``."""
    console = Console(highlight=False)
    console.print(_headline(found.table.path.name, found.table.n_rows, found.encoding))
    clusters = headed("cluster", "rows", "")
    for k, size in enumerate(found.sizes[:MOST_LISTED]):
        clusters.add_row(str(k), f"{size:,}", bar(size / max(found.sizes)) if size else "")
    outliers = int(np.count_nonzero(found.labels < 0))
    if outliers:
        clusters.add_row("-1", f"{outliers:,}", Text("no cluster: outliers, and rows without observed values", "dim"))
    facts = grid("dim", "")
    if found.ari is not None:
        facts.add_row("agreement", _agreement(found.ari, found.labels_column))
    listed(facts, "written", [found.file])
    listed(facts, Text("note", "yellow"), found.notes)
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
    done, console = found.clustered, Console(highlight=False)
    console.print(_headline(done.table.path.name, done.table.n_rows, done.encoding))
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
    listed(facts, Text("note", "yellow"), done.notes)
    print_below(console, _columns(done), facts)
