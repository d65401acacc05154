"""``fusewise predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli import options


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `fusewise fit --save` or model.save wrote.")],
    table: options.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write. Without it: TABLE_labels.csv.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    names: options.Names = None,
    labels: options.Labels = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Say to which cluster new rows belong, holes and all.

    Columns are found by name and encoded as they were for the fit. One that is not in the table counts as missing.
    """
    from fusewise.cli.running.predicting import run_predict
    from fusewise.cli.showing import console, summary

    target = Path(f"{table.stem}_labels.csv") if out is None else out
    with console.working(shown=not json) as tell:
        result = run_predict(model, table, target, names=names, labels=labels, force=force, tell=tell)
    if json:
        console.print_json(summary.prediction_data(result))
    else:
        summary.print_prediction(result)
