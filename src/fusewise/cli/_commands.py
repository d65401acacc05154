"""The commands: their arguments, options and help texts.

Nothing expensive is imported before a command runs, so that ``--help`` and completion are fast.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fusewise.cli import _options as options


@options.reading()
def fit(
    table: options.TableFile,
    out: options.OutFolder = None,
    report: options.Report = False,
    no_rows: options.NoRows = False,
    name_clusters: options.ClusterNames = None,
    open_report: options.OpenReport = False,
    save: options.SaveModel = None,
    n_clusters: options.ClusterCount = None,
    outliers: options.Outliers = True,
    stability: options.Stability = None,
    draws: options.Draws = 20,
    seed: options.RandomSeed = None,
    scheduler: options.Scheduler = None,
    force: options.Overwrite = False,
    safe_csv: options.SafeCsv = False,
    json: options.Json = False,
    verbose: options.Verbose = None,
    asked: Any = None,
) -> None:
    """Cluster the rows of a table with missing values.

    Writes labels.csv (the cluster of each row), completed.csv (your table with the missing values filled in) and
    centers.csv (the cluster centres, in your units); with --stability also stability.csv.

    With --scheduler, or if the parts of a table exceed memory, writes centers.csv and, for each part, its labels as
    labels/PART.parquet.
    """
    from fusewise.cli import _terminal as console
    from fusewise.cli._fit import REPORT, Outputs, default_model
    from fusewise.tables import stem_of

    model = default_model(n_clusters, seed, outliers=outliers, verbose=1 if verbose else 0)
    folder = Path(f"{stem_of(table)}_fusewise") if out is None else out
    command = shlex.join(["fusewise", *sys.argv[1:]])
    written: dict[str, Any] = {
        "stability": bool(stability),
        "rows": not no_rows,
        "names": name_clusters,
        "force": force,
        "safe_csv": safe_csv,
        "command": command,
    }
    outputs = Outputs(folder, report or open_report, save, **written)
    n_draws = draws if stability else 0 if stability is False else None
    with console.working(shown=verbose is None and not json) as tell:
        data, show = _run(table, model, outputs, scheduler, n_draws, asked=asked, tell=tell)
    if json:
        console.print_json(data())
    elif verbose is not False:
        show()
    if open_report:
        console.open_page(folder / REPORT)


def _run(
    table: Path, model: Any, outputs: Any, scheduler: str | None, n_draws: int | None, **given: Any
) -> tuple[Callable[[], dict[str, Any]], Callable[[], None]]:
    """Fit in memory or on a scheduler, and return functions that give the result as data and print it."""
    from fusewise.cli._fit import run_fit
    from fusewise.cli._parts import exceeding, needed_scheduler, parts_data, print_parts, run_parts_fit
    from fusewise.cli._summary import fit_data, print_fit
    from fusewise.tables import parts_of

    parts = parts_of(table)
    where = needed_scheduler(scheduler, parts)
    if where is None:
        fit = run_fit(table, model, outputs, n_draws=n_draws, **given)
        return partial(fit_data, fit), partial(print_fit, fit)
    notes = [exceeding(parts)] if scheduler is None else []
    found = run_parts_fit(table, model, outputs, scheduler=where, notes=notes, **given)
    return partial(parts_data, found), partial(print_parts, found)


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
    from fusewise.cli import _summary as summary
    from fusewise.cli import _terminal as console
    from fusewise.cli._predict import run_predict
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


@options.reading()
def impute(
    table: options.TableFile,
    out: options.CompletedFile = None,
    n_clusters: options.ClusterCount = None,
    seed: options.RandomSeed = None,
    force: options.Overwrite = False,
    safe_csv: options.SafeCsv = False,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Fill in the missing values of a table.

    Observed values are written back unchanged. A missing number is replaced by its expected value given the observed
    values of its row, a missing category by the most likely one. Columns that cannot be used keep their missing values.
    """
    from fusewise.cli import _summary as summary
    from fusewise.cli import _terminal as console
    from fusewise.cli._fit import default_model, run_impute
    from fusewise.tables import stem_of

    target = Path(f"{stem_of(table)}_completed.csv") if out is None else out
    with console.working(shown=not json) as tell:
        model = default_model(n_clusters, seed)
        result = run_impute(table, target, model, asked=asked, force=force, safe_csv=safe_csv, tell=tell)
    if json:
        console.print_json(summary.imputation_data(result))
    else:
        summary.print_imputation(result)


@options.reading()
def path(
    table: options.TableFile,
    out: options.PathFile = None,
    picture: options.PictureFile = None,
    partition: options.PartitionFile = None,
    standardize: options.Standardize = True,
    n_clusters: options.ClusterCount = None,
    lam: options.Lam = None,
    penalty: options.PenaltyName = "h1",
    sigma: options.Sigma = None,
    fidelity: options.FidelityName = "quadratic",
    epsilon: options.Epsilon = None,
    rank: options.Rank = "none",
    neighbors: options.Neighbors = "auto",
    max_iter: options.MaxIter = 500,
    seed: options.RandomSeed = None,
    force: options.Overwrite = False,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Fuse the rows by the paper's algorithm, as lam (the strength of the fusion penalty) grows.

    Shows the number of clusters at each lam, and chooses the partition that stays the same over the largest number of
    steps, or the one at --lam. `fusewise fit` needs none of these settings. --sigma and --epsilon are in units of the
    standardised columns, unless --no-standardize is given.
    """
    from fusewise.cli import _terminal as console
    from fusewise.cli._path import PaperOptions, path_data, print_path, run_path
    from fusewise.tables import stem_of

    target = Path(f"{stem_of(table)}_path.csv") if out is None else out
    model = PaperOptions(n_clusters, penalty, sigma, lam, fidelity, epsilon, rank, neighbors, max_iter, seed).build()
    with console.working(shown=not json) as tell:
        files: dict[str, Any] = {"out": target, "picture": picture, "partition": partition, "force": force}
        found = run_path(table, model, **files, asked=asked, standardize=standardize, tell=tell)
    if json:
        console.print_json(path_data(found))
    else:
        print_path(found)


@options.reading("labels")
def guarantee(
    table: options.TableFile,
    labels: Annotated[
        str, typer.Option(metavar="FILE|COLUMN", help="The clusters: a labels.csv file, or a column of the table.")
    ],
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    standardize: options.Standardize = True,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Compute the probability with which these clusters are recovered despite the missing values.

    If the labels come from a fit, the guarantee is conditional: it holds if these are the true clusters. Use the same
    options for columns as for fit.
    """
    from fusewise.cli import _guarantee as guarantees
    from fusewise.cli import _terminal as console
    from fusewise.cli._guarantee import measure_geometry, promised

    with console.working(shown=not json) as tell:
        tell(f"measuring {table.name}")
        geometry = measure_geometry(table, labels, asked=asked, standardize=standardize)
        result = promised(geometry, None, target, uniform)
    guarantees.show(geometry, result, uniform, json=json)


def plan(
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    size: Annotated[int, typer.Option(help="Number of rows in each cluster.")],
    features: Annotated[int, typer.Option(help="Number of features.")],
    kappa: Annotated[float, typer.Option(help="Width of the clusters divided by the distance between them.")],
    coherence: Annotated[
        float,
        typer.Option(help="mu0, from 1 (all features separate the clusters equally) to --features (one feature does)."),
    ],
    observed: Annotated[float, typer.Option(help="Fraction of the entries that will be observed.")] = 1.0,
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    json: options.Json = False,
) -> None:
    """Compute the fraction of entries that must be observed to recover clusters of a given geometry."""
    from fusewise.cli import _guarantee as guarantees
    from fusewise.cli._guarantee import planned_geometry, promised

    geometry = planned_geometry(clusters, size, features, kappa, coherence)
    guarantees.show(geometry, promised(geometry, observed, target, uniform), uniform, json=json)


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results.", rich_help_panel=options.OUTPUT)
    ] = Path("fusewise_demo"),
    hidden: Annotated[float, typer.Option(help="Fraction of the entries to hide, from 0 to 0.9.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for choosing the hidden entries.")] = 0,
    force: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Hide entries of an example table, cluster it, and compare the filled values with the hidden ones.

    The table is scikit-learn's Wine data: 178 wines with 13 measurements. The cultivars are used only to score the
    result.
    """
    from fusewise.cli._demo import run_demo

    run_demo(out, hidden=hidden, seed=seed, force=force, json=json)


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
    from fusewise.cli import _terminal as console
    from fusewise.cli._demo import BenchSetting, bench_data, print_bench, run_bench

    setting = BenchSetting(rows, features, clusters, hidden, repeats)
    with console.working(shown=not json) as tell:
        measured = run_bench(setting, tell=tell)
    if json:
        console.print_json(bench_data(setting, measured))
    else:
        print_bench(setting, measured)
