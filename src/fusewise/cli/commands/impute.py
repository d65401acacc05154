"""``fusewise impute``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fusewise.cli import options


@options.reading()
def impute(
    table: options.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write. Without it: TABLE_completed.csv.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    n_clusters: options.Clusters = None,
    standardize: options.Standardize = True,
    seed: options.Seed = None,
    force: options.Force = False,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Fill the holes of a table, and nothing else.

    What was observed is handed back as it was written. A hole gets its expected value given what the row shows, under
    the clusters found; a category its likeliest value. Columns that cannot be used keep their holes.
    """
    from fusewise.cli.running.imputing import run_impute
    from fusewise.cli.running.model import Model
    from fusewise.cli.showing import console, summary
    from fusewise.tables.sources import stem_of

    target = Path(f"{stem_of(table)}_completed.csv") if out is None else out
    with console.working(shown=not json) as tell:
        result = run_impute(
            table,
            target,
            Model(n_clusters=n_clusters, seed=seed),
            asked=asked,
            standardize=standardize,
            force=force,
            tell=tell,
        )
    if json:
        console.print_json(summary.imputation_data(result))
    else:
        summary.print_imputation(result)
