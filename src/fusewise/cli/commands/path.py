"""Arguments and options of ``fusewise path``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fusewise.cli import options


def path(
    table: options.TableFile,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File to write (default: TABLE_path.csv).", rich_help_panel=options.OUTPUT),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Also draw the path to a .png, .svg or .pdf file.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    drop: options.Drop = None,
    labels: options.LabelsColumn = None,
    names: options.Names = None,
    standardize: options.Standardize = True,
    n_clusters: options.ClusterCount = None,
    penalty: options.PenaltyName = "h1",
    sigma: options.Sigma = None,
    fidelity: options.FidelityName = "quadratic",
    epsilon: options.Epsilon = None,
    rank: options.Rank = "auto",
    neighbors: options.Neighbors = "auto",
    max_iter: options.MaxIter = 500,
    seed: options.RandomSeed = None,
    force: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Show the partitions the result is chosen from, as lam (the strength of the fusion penalty) grows.

    By default the candidates are cuts of the merge tree, and the one with the largest criterion is chosen. With
    --sigma, --rank none or --neighbors none they are the solutions of the paper's path, and the partition that stays
    the same over the largest number of steps is chosen.
    """
    from fusewise.cli.running.model_options import Model
    from fusewise.cli.running.tracing import PathOutputs, path_data, print_path, run_path
    from fusewise.cli.showing import console

    target = Path(f"{table.stem}_path.csv") if out is None else out
    model = Model(n_clusters, penalty, sigma, None, fidelity, epsilon, rank, neighbors, max_iter, seed)
    columns = {"drop": drop or [], "names": names, "labels": labels}
    with console.working(shown=not json) as tell:
        outputs = PathOutputs(target, picture, force)
        found = run_path(table, model, outputs, columns=columns, standardize=standardize, tell=tell)
    if json:
        console.print_json(path_data(found))
    else:
        print_path(found)
