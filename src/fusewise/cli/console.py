"""What the user reads: results as rich tables, or as JSON for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.padding import Padding
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid
from rich.text import Text

import fusewise
from fusewise.cli.fit import Fit
from fusewise.cli.plan import as_data, curve, sentences
from fusewise.theory import ClusterGeometry, Promise

#: Clusters, and columns of a kind, listed one by one.
MOST_LISTED = 12

#: Features named as what a cluster stands out by, and how far (in standard deviations) they must lie from the mean.
TRAITS, TRAIT_FROM = 3, 0.5

BAR = 20


@contextmanager
def working(what: str, *, shown: bool) -> Iterator[None]:
    """A spinner with the time elapsed, on stderr, where that is a terminal."""
    console = Console(stderr=True)
    if not (shown and console.is_terminal):
        yield
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


def print_json(data: dict[str, Any]) -> None:
    """One JSON object on stdout; what is not a finite number becomes null."""
    print(json.dumps(_plain(data), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value if isinstance(value, str | bool | int | None) else str(value)


def fit_data(fit: Fit) -> dict[str, Any]:
    """Everything ``fit`` found, for machines."""
    roles, model = fit.roles, fit.model
    encoded = [column for column in roles.used if column.categories]
    return {
        "version": fusewise.__version__,
        "table": str(fit.table.path),
        "rows": fit.table.n_rows,
        "features": len(roles.used),
        "encoded_features": len(fit.encoding.features),
        "observed_fraction": fit.encoding.observed_fraction,
        "columns": {
            "numbers": [column.name for column in roles.used if not column.categories],
            "encoded": [{"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in encoded],
            "unused": [{"name": name, "reason": reason} for name, reason in roles.unused.items()],
            "names": roles.names_column,
            "labels": roles.labels_column,
        },
        "clusters": model.n_clusters_,
        "sizes": fit.sizes,
        "outliers": fit.outliers,
        "ari": fit.ari,
        "converged": bool(model.converged_),
        "iterations": int(model.n_iter_),
        "objective": float(model.objective_),
        "lam": float(model.lam_),
        "penalty": str(model.penalty_),
        "fidelity": type(model.fidelity_).__name__,
        "seconds": fit.seconds,
        "notes": fit.notes,
        "files": {path.stem: str(path) for path in fit.files},
    }


def print_fit(fit: Fit) -> None:
    """The summary of ``fit``."""
    console = Console(highlight=False, soft_wrap=False)
    console.print(_headline(fit))
    for part in (_columns(fit), _clusters(fit), _facts(fit)):
        if part.row_count:
            console.print()
            console.print(Padding(part, (0, 0, 0, 2), expand=False))


def _headline(fit: Fit) -> Text:
    rows, used = fit.table.n_rows, len(fit.roles.used)
    what = f"{rows:,} rows × {used:,} feature{'s' if used > 1 else ''}, {fit.encoding.observed_fraction:.1%} observed"
    return Text.assemble((fit.table.path.name, "bold"), "  ", what)


def _columns(fit: Fit) -> Grid:
    """Columns that are not simply used as numbers, and what became of them."""
    roles, grid = fit.roles, _grid("dim", "cyan", "")
    if roles.names_column is not None:
        grid.add_row("row names", _name(roles.names_column), "names the rows in labels.csv")
    if roles.labels_column is not None:
        asked = "" if roles.labels_asked else "recognised by its name; "
        grid.add_row("label", _name(roles.labels_column), f"{asked}to score against, never to fit")
    encoded = [column for column in roles.used if column.categories]
    for k, column in enumerate(encoded[:MOST_LISTED]):
        words = ", ".join(map(str, column.categories[:4])) + (", ..." if len(column.categories) > 4 else "")
        n = len(column.categories)
        how = "one 0/1 feature" if n == 2 else f"{n} 0/1 features, missing together"
        grid.add_row("encoded" if k == 0 else "", _name(column.name), f"{column.kind} ({words}): {how}")
    for k, (name, reason) in enumerate(list(roles.unused.items())[:MOST_LISTED]):
        grid.add_row("not used" if k == 0 else "", _name(name), Text(reason))
    hidden = max(0, len(encoded) - MOST_LISTED) + max(0, len(roles.unused) - MOST_LISTED)
    if hidden:
        grid.add_row("", "...", f"and {hidden} more (all of them with --json)")
    return grid


def _clusters(fit: Fit) -> Grid:
    sizes = fit.sizes
    grid = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title, justify in (("cluster", "right"), ("rows", "right"), ("", "left"), ("stands out by", "left")):
        grid.add_column(title, justify=justify)  # type: ignore[arg-type]
    for k, size in enumerate(sizes[:MOST_LISTED]):
        bar = "█" * max(1, round(BAR * size / max(sizes)))
        grid.add_row(str(k), f"{size:,}", Text(bar, "cyan"), _traits(fit, k))
    if len(sizes) > MOST_LISTED:
        grid.add_row("...", f"{sum(sizes[MOST_LISTED:]):,}", "", f"in {len(sizes) - MOST_LISTED} smaller clusters")
    if fit.outliers:
        grid.add_row("-1", f"{fit.outliers:,}", "", Text("outliers: rows in no cluster", "dim"))
    return grid


def _traits(fit: Fit, k: int) -> Text:
    """The features in which a cluster lies furthest from the mean of all rows, in the user's units."""
    values = np.hstack(fit.encoding.decode(fit.model.cluster_centers_[k : k + 1]))[0]
    means = np.concatenate([np.nanmean(block.values, axis=0) for block in fit.encoding.blocks])
    spreads = np.repeat([b.spread for b in fit.encoding.blocks], [len(b.features) for b in fit.encoding.blocks])
    away = (values - means) / spreads
    furthest = [j for j in np.argsort(-np.abs(away))[:TRAITS] if abs(away[j]) >= TRAIT_FROM]
    names = fit.encoding.features
    numbers = [not b.column.categories for b in fit.encoding.blocks for _ in b.features]
    shown = {j: readable(values[j]) if numbers[j] else f"{np.clip(values[j], 0, 1):.0%}" for j in furthest}
    parts = [f"{names[j]} {'▲' if away[j] > 0 else '▼'}{shown[j]}" for j in furthest]
    return Text(", ".join(parts) or "nothing much: it lies near the mean", "" if parts else "dim")


def readable(value: float) -> str:
    """Three digits, and all of those before the point: 0.0123, 12.3, 1,230."""
    return f"{value:,.0f}" if 100 <= abs(value) < 1e7 else f"{value:.3g}"


def _facts(fit: Fit) -> Grid:
    model, grid = fit.model, _grid("dim", "")
    if fit.ari is not None:
        grid.add_row("agreement", f"adjusted Rand index {fit.ari:.3f} with {fit.roles.labels_column!r} (1: the same)")
    settled = "converged" if model.converged_ else "not converged"
    lam = "" if model.fidelity_.constrained else f", lam {model.lam_:.3g}"
    grid.add_row("solution", f"{settled}, {fit.seconds:.1f} s ({_short(model.penalty_)}{lam})")
    for k, path in enumerate(fit.files):
        grid.add_row("" if k else "written", Text(str(path)))
    for k, note in enumerate(fit.notes):
        grid.add_row("" if k else Text("note", "yellow"), Text(note))
    return grid


def _short(penalty: Any) -> str:
    sigma = getattr(penalty, "sigma", None)
    return type(penalty).__name__ + (f", sigma {sigma:.3g}" if sigma else "")


def promise_data(geometry: ClusterGeometry, result: Promise, uniform: bool) -> dict[str, Any]:
    """A promise, for machines."""
    return {"version": fusewise.__version__} | as_data(geometry, result, uniform)


def print_promise(geometry: ClusterGeometry, result: Promise, uniform: bool) -> None:
    """A promise in plain words, and how it grows with what is observed."""
    console = Console(highlight=False)
    first, *rest = sentences(result)
    parts: list[Any] = [Text(first, "bold"), *map(Text, rest)]
    console.print(Group(*parts))
    if result.reason or geometry.n_clusters == 1:
        return
    grid = Grid(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for title in ("observed", "promised", ""):
        grid.add_column(title, justify="left" if not title else "right")
    for fraction, chance in curve(geometry, uniform):
        bar = Text("█" * math.floor(BAR * chance), "green" if chance >= result.target else "yellow")
        grid.add_row(f"{fraction:.0%}", _chance(fraction, chance), bar)
    console.print()
    console.print(Padding(grid, (0, 0, 0, 2), expand=False))


def _chance(fraction: float, chance: float) -> str:
    """Rounded down: a promise short of certainty (which only complete data give) is never shown as certain."""
    if chance >= 0.999:
        return "certain" if fraction == chance == 1 else "over 99.9%"
    return f"{math.floor(1000 * chance) / 10:.1f}%" if chance else "nothing"


def _grid(*styles: str) -> Grid:
    grid = Grid.grid(padding=(0, 3, 0, 0))
    for style in styles:
        grid.add_column(style=style, overflow="fold")
    return grid


def _name(column: str) -> Text:
    return Text(column or "(no name)", "cyan")
