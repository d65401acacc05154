"""``fusewise bench``."""

from __future__ import annotations

from typing import Annotated

import typer

from fusewise.cli import options


def bench(
    rows: Annotated[int, typer.Option(min=20, help="Rows of each table.")] = 300,
    features: Annotated[int, typer.Option(min=2, help="Features.")] = 20,
    clusters: Annotated[int, typer.Option(min=1, help="True clusters.")] = 4,
    hidden: Annotated[float, typer.Option(help="Fraction of the entries hidden, from 0 to 0.9.")] = 0.4,
    repeats: Annotated[int, typer.Option(min=1, help="Tables, each with its own seed.")] = 3,
    json: options.Json = False,
) -> None:
    """Measure speed and quality on this machine, beside imputation and k-means told the number of clusters.

    Simulated tables, as in the paper; both methods see the same ones, in turn, in this one run.
    """
    from fusewise.cli.running.benchmarking import Setting, bench_data, print_bench, run_bench
    from fusewise.cli.showing import console

    setting = Setting(rows, features, clusters, hidden, repeats)
    with console.working(shown=not json) as tell:
        measured = run_bench(setting, tell=tell)
    if json:
        console.print_json(bench_data(setting, measured))
    else:
        print_bench(setting, measured)
