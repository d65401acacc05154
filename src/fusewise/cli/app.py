"""The commands and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import fusewise
from fusewise.cli import console
from fusewise.cli.errors import guarded
from fusewise.cli.fit import Model, run_fit
from fusewise.cli.guarantee import measure_geometry
from fusewise.cli.plan import planned_geometry, promised

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False)

COLUMNS, MODEL, OUTPUT = "Columns", "Model", "Output"

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="CSV, TSV, Parquet, Feather/Arrow or Excel.")]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave a column out (may be repeated).", rich_help_panel=COLUMNS),
]
Names = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column that names the rows.", rich_help_panel=COLUMNS)
]
Standardize = Annotated[
    bool,
    typer.Option(
        "--standardize/--no-standardize",
        help="Bring columns to one scale (on what was observed).",
        rich_help_panel=COLUMNS,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.", rich_help_panel=OUTPUT)]
Target = Annotated[float, typer.Option(help="Probability to be reached.")]
Uniform = Annotated[bool, typer.Option("--uniform", help="Assume that points fill their clusters uniformly.")]


def _version(asked: bool) -> None:
    if asked:
        print(f"fusewise {fusewise.__version__}")
        raise typer.Exit


@app.callback()
def fusewise_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find clusters in tables with holes, fill the holes, and say what can be promised."""


@app.command(epilog="Example: `fusewise fit penguins.csv --out penguins --labels species`")
@guarded
def fit(
    table: TableFile,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the results. Without it: TABLE_fusewise.", rich_help_panel=OUTPUT),
    ] = None,
    n_clusters: Annotated[
        int | None, typer.Option(metavar="K", help="How many clusters; the data say if not you.", rich_help_panel=MODEL)
    ] = None,
    drop: Drop = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Known classes, to score against; 'none': there are none.", rich_help_panel=COLUMNS
        ),
    ] = None,
    names: Names = None,
    standardize: Standardize = True,
    penalty: Annotated[
        str, typer.Option(help="h1, lp, l1, mcp, scad, truncated_l2 or geman_mcclure.", rich_help_panel=MODEL)
    ] = "h1",
    sigma: Annotated[float | None, typer.Option(help="Scale of the penalty.", rich_help_panel=MODEL)] = None,
    lam: Annotated[float | None, typer.Option(help="Strength of fusion.", rich_help_panel=MODEL)] = None,
    fidelity: Annotated[str, typer.Option(help="quadratic, box or ball.", rich_help_panel=MODEL)] = "quadratic",
    epsilon: Annotated[
        float | None, typer.Option(help="Width of the box, or radius of the ball.", rich_help_panel=MODEL)
    ] = None,
    rank: Annotated[
        str, typer.Option(metavar="R|none|auto", help="Dimension of the space to fuse in.", rich_help_panel=MODEL)
    ] = "auto",
    neighbors: Annotated[
        str,
        typer.Option(
            metavar="K|none|auto",
            help="Fuse along a graph of so many neighbours; none: all pairs.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    max_iter: Annotated[
        int, typer.Option(min=1, help="Most iterations for each strength.", rich_help_panel=MODEL)
    ] = 500,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of random choices.", rich_help_panel=MODEL)] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace results that are there.", rich_help_panel=OUTPUT)
    ] = False,
    json: Json = False,
    verbose: Annotated[
        bool | None,
        typer.Option(
            "--verbose/--quiet", help="Say more, or nothing but errors.", show_default=False, rich_help_panel=OUTPUT
        ),
    ] = None,
) -> None:
    """Cluster the rows of a table with holes.

    Writes labels.csv (the cluster of each row), completed.csv (your table, its holes filled) and centers.csv (the
    clusters, in your units). Scales such as sigma and epsilon are in standardised units unless --no-standardize.
    """
    model = Model(n_clusters, penalty, sigma, lam, fidelity, epsilon, rank, neighbors, max_iter, seed)
    with console.working(f"clustering {table.name}", shown=verbose is None and not json):
        result = run_fit(
            table,
            Path(f"{table.stem}_fusewise") if out is None else out,
            model,
            force=force,
            columns={"drop": drop or [], "names": names, "labels": labels},
            standardize=standardize,
            verbose=1 if verbose else 0,
        )
    if json:
        console.print_json(console.fit_data(result))
    elif verbose is not False:
        console.print_fit(result)


@app.command(epilog="Example: `fusewise guarantee penguins.csv --labels penguins/labels.csv`")
@guarded
def guarantee(
    table: TableFile,
    labels: Annotated[str, typer.Option(metavar="FILE|COLUMN", help="The clusters: labels.csv, or a column.")],
    target: Target = 0.95,
    uniform: Uniform = False,
    drop: Drop = None,
    names: Names = None,
    standardize: Standardize = True,
    json: Json = False,
) -> None:
    """With so much missing, were these clusters certain to be found?

    If the labels were found rather than known, the answer reads: if these are the true clusters, then so much is
    promised. Use the same --drop and --no-standardize as for fit.
    """
    with console.working(f"measuring {table.name}", shown=not json):
        geometry = measure_geometry(table, labels, drop=drop or [], names=names, standardize=standardize)
        result = promised(geometry, None, target, uniform)
    if json:
        console.print_json(console.promise_data(geometry, result, uniform))
    else:
        console.print_promise(geometry, result, uniform)


@app.command(epilog="Example: `fusewise plan --clusters 3 --size 200 --features 50 --kappa 0.4 --coherence 2`")
@guarded
def plan(
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    size: Annotated[int, typer.Option(help="Points in each.")],
    features: Annotated[int, typer.Option(help="Number of features.")],
    kappa: Annotated[float, typer.Option(help="Width of the clusters over the distance between them.")],
    coherence: Annotated[float, typer.Option(help="1: all features tell clusters apart alike; --features: one does.")],
    observed: Annotated[float, typer.Option(help="Fraction of entries that will be observed.")] = 1.0,
    target: Target = 0.95,
    uniform: Uniform = False,
    json: Json = False,
) -> None:
    """How much must be observed for clusters like these to be found?"""
    geometry = planned_geometry(clusters, size, features, kappa, coherence)
    result = promised(geometry, observed, target, uniform)
    if json:
        console.print_json(console.promise_data(geometry, result, uniform))
    else:
        console.print_promise(geometry, result, uniform)
