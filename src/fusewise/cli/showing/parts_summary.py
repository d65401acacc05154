"""Output of ``fit`` on a scheduler, where no row is on the client."""

from __future__ import annotations

from typing import Any

from rich.text import Text

import fusewise
from fusewise.cli.running.parts_fit import PartsFit
from fusewise.cli.showing.console import Terminal, bar, grid, headed, listed, print_below
from fusewise.cli.showing.summary import MOST_LISTED, NO_CLUSTER, column_list, folded, kind_data
from fusewise.support.words import counted


def parts_data(found: PartsFit) -> dict[str, Any]:
    """The result as a JSON-serialisable dictionary."""
    model = found.model
    return {
        "version": fusewise.__version__,
        "table": str(found.sample.path),
        "parts": found.n_parts,
        "rows": found.shape[0],
        "features": found.shape[1],
        "observed_fraction": found.observed_fraction,
        "columns": kind_data(found.sample),
        "clusters": int(model.n_clusters_),
        "sizes": found.sizes,
        "outliers": found.outliers,
        "converged": bool(model.converged_),
        "seconds": found.seconds,
        "limits": list(model.limits_),
        "notes": found.notes,
        "files": [str(file) for file in found.files],
        "model": None if found.saved is None else str(found.saved),
    }


def print_parts(found: PartsFit) -> None:
    """Print the summary."""
    console = Terminal()
    rows, columns = found.shape
    what = f"{counted(found.n_parts, 'part')}, {counted(rows, 'row')} × {counted(columns, 'column')}"
    observed = f"{found.observed_fraction:.1%} of the values observed"
    console.print(Text.assemble((found.sample.path.name, "bold"), "  ", f"{what}, {observed}"))
    clusters = headed("cluster", "rows", "")
    for k, size in enumerate(found.sizes[:MOST_LISTED]):
        clusters.add_row(str(k), f"{size:,}", bar(size / max(found.sizes)))
    if len(found.sizes) > MOST_LISTED:
        rest = counted(len(found.sizes) - MOST_LISTED, "smaller cluster")
        clusters.add_row("...", f"{sum(found.sizes[MOST_LISTED:]):,}", f"in {rest}")
    if found.outliers:
        clusters.add_row("-1", f"{found.outliers:,}", Text(NO_CLUSTER, "dim"))
    facts = grid("dim", "")
    facts.add_row("columns", Text(f"as in a sample of {counted(found.sample.n_rows, 'row')}"))
    facts.add_row("time", f"{found.seconds:.1f} s")
    listed(facts, "limits", list(found.model.limits_))
    labels, others = found.files[: found.n_parts], found.files[found.n_parts :]
    listed(facts, "written", [f"{labels[0].parent}: {counted(len(labels), 'file')}, one for each part", *others])
    listed(facts, Text("note", "yellow"), folded(found.notes))
    print_below(console, column_list(found.sample), clusters, facts)
