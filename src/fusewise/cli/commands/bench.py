"""Arguments and options of ``fusewise bench``."""

from __future__ import annotations

from typing import Annotated

import typer

from fusewise.cli import options


def bench(
    rows: Annotated[int, typer.Option(min=20, help="Number of rows in each table.")] = 300,
    features: Annotated[int, typer.Option(min=2, help="Number of features.")] = 20,
    clusters: Annotated[int, typer.Option(min=1, help="Number of true clusters.")] = 4,
    hidden: Annotated[float, typer.Option(help="Fraction of the entries to hide, from 0 to 0.9.")] = 0.4,
    repeats: Annotated[int, typer.Option(min=1, help="Number of simulated tables, each with its own seed.")] = 3,
    json: options.Json = False,
) -> None:
    """Measure speed and quality on this machine, compared with imputation followed by k-means.

    Both methods run in turn on the same tables, simulated as in the paper. Fusewise runs with default settings;
    k-means is given the true number of clusters.
    """
    from fusewise.cli.running.benchmarking import BenchSetting, bench_data, print_bench, run_bench
    from fusewise.cli.showing import console

    setting = BenchSetting(rows, features, clusters, hidden, repeats)
    with console.working(shown=not json) as tell:
        measured = run_bench(setting, tell=tell)
    if json:
        console.print_json(bench_data(setting, measured))
    else:
        print_bench(setting, measured)
