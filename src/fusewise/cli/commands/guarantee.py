"""Arguments and options of ``fusewise guarantee``."""

from __future__ import annotations

from typing import Annotated

import typer

from fusewise.cli import options


def guarantee(
    table: options.TableFile,
    labels: Annotated[
        str, typer.Option(metavar="FILE|COLUMN", help="The clusters: a labels.csv file, or a column of the table.")
    ],
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    drop: options.Drop = None,
    names: options.Names = None,
    standardize: options.Standardize = True,
    json: options.Json = False,
) -> None:
    """Compute the probability with which these clusters are recovered despite the missing values.

    If the labels come from a fit, the guarantee is conditional: it holds if these are the true clusters. Use the same
    --drop and --no-standardize options as for fit.
    """
    from fusewise.cli.running.measuring import measure_geometry
    from fusewise.cli.running.planning import promised
    from fusewise.cli.showing import console, guarantees

    with console.working(shown=not json) as tell:
        tell(f"measuring {table.name}")
        geometry = measure_geometry(table, labels, drop=drop or [], names=names, standardize=standardize)
        result = promised(geometry, None, target, uniform)
    guarantees.show(geometry, result, uniform, json=json)
