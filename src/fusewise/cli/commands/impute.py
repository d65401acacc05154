"""Arguments and options of ``fusewise impute``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli import options


def impute(
    table: options.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File to write (default: TABLE_completed.csv).", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    n_clusters: options.ClusterCount = None,
    drop: options.Drop = None,
    labels: options.LabelsColumn = None,
    names: options.Names = None,
    standardize: options.Standardize = True,
    seed: options.RandomSeed = None,
    force: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Fill in the missing values of a table.

    Observed values are written back unchanged. A missing number is replaced by its expected value given the observed
    values of its row, a missing category by the most likely one. Columns that cannot be used keep their missing values.
    """
    from fusewise.cli.running.imputing import run_impute
    from fusewise.cli.running.model_options import Model
    from fusewise.cli.showing import console, summary

    target = Path(f"{table.stem}_completed.csv") if out is None else out
    columns = {"drop": drop or [], "names": names, "labels": labels}
    with console.working(shown=not json) as tell:
        result = run_impute(
            table,
            target,
            Model(n_clusters=n_clusters, seed=seed),
            columns=columns,
            standardize=standardize,
            force=force,
            tell=tell,
        )
    if json:
        console.print_json(summary.imputation_data(result))
    else:
        summary.print_imputation(result)
