"""Arguments and options of ``fusewise predict``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fusewise.cli import options


class OnError(StrEnum):
    """What to do with a cell that is not a number in a numeric column."""

    STOP = "stop"
    MISSING = "missing"


@options.reading("columns", "drop", "number", "category", "ordered")
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file, written by `fusewise fit --save` or model.save.")
    ],
    table: options.TableFile,
    out: options.LabelsFile = None,
    on_error: Annotated[
        OnError,
        typer.Option(
            help="A cell that is not a number in a numeric column: stop, or treat it as missing.",
            rich_help_panel=options.COLUMNS,
        ),
    ] = OnError.STOP,
    force: options.Overwrite = False,
    safe_csv: options.SafeCsv = False,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Assign new rows to the clusters of a saved model; they may have missing values.

    Columns are matched by name and encoded as in the fit. A column that is not in the table counts as missing.
    """
    from fusewise.cli.running.predicting import run_predict
    from fusewise.cli.showing import console, summary
    from fusewise.tables import stem_of

    target = Path(f"{stem_of(table)}_labels.csv") if out is None else out
    with console.working(shown=not json) as tell:
        error: Literal["raise", "missing"] = "missing" if on_error is OnError.MISSING else "raise"
        result = run_predict(
            model, table, target, asked=asked, on_error=error, force=force, safe_csv=safe_csv, tell=tell
        )
    if json:
        console.print_json(summary.prediction_data(result))
    else:
        summary.print_prediction(result)
