"""``fusewise guarantee``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fusewise.cli import options


@options.reading("labels")
def guarantee(
    table: options.TableFile,
    labels: Annotated[str, typer.Option(metavar="FILE|COLUMN", help="The clusters: labels.csv, or a column.")],
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    standardize: options.Standardize = True,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """With so much missing, were these clusters certain to be found?

    If the labels were found rather than known, the answer reads: if these are the true clusters, then so much is
    promised. Use the same options for columns as for fit.
    """
    from fusewise.cli.running.geometry import measure_geometry
    from fusewise.cli.running.planning import promised
    from fusewise.cli.showing import console
    from fusewise.cli.showing import guarantees as promises

    with console.working(shown=not json) as tell:
        tell(f"measuring {table.name}")
        geometry = measure_geometry(table, labels, asked=asked, standardize=standardize)
        result = promised(geometry, None, target, uniform)
    promises.show(geometry, result, uniform, json=json)
