"""Arguments and options of ``fusewise path``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fusewise.cli import options


@options.reading()
def path(
    table: options.TableFile,
    out: options.PathFile = None,
    picture: options.PictureFile = None,
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
    asked: Any = None,
) -> None:
    """Show the partitions the result is chosen from, as lam (the strength of the fusion penalty) grows.

    By default the candidates are cuts of the merge tree, and the one with the largest criterion is chosen. With
    --sigma, --rank none or --neighbors none they are the solutions of the paper's path, and the partition that stays
    the same over the largest number of steps is chosen.
    """
    from fusewise.cli.running.model_options import Model
    from fusewise.cli.running.tracing import path_data, print_path, run_path
    from fusewise.cli.showing import console
    from fusewise.tables import stem_of

    target = Path(f"{stem_of(table)}_path.csv") if out is None else out
    model = Model(n_clusters, penalty, sigma, None, fidelity, epsilon, rank, neighbors, max_iter, seed)
    with console.working(shown=not json) as tell:
        found = run_path(table, model, target, picture, asked=asked, standardize=standardize, force=force, tell=tell)
    if json:
        console.print_json(path_data(found))
    else:
        print_path(found)
