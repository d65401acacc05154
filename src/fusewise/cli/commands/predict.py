"""Arguments and options of ``fusewise predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli import options


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file, written by `fusewise fit --save` or model.save.")
    ],
    table: options.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write (default: TABLE_labels.csv).", rich_help_panel=options.OUTPUT),
    ] = None,
    names: options.Names = None,
    labels: options.LabelsColumn = None,
    force: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Assign new rows to the clusters of a saved model; they may have missing values.

    Columns are matched by name and encoded as in the fit. A column that is not in the table counts as missing.
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
