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
    from fusewise.cli.running.tracing import PaperOptions, path_data, print_path, run_path
    from fusewise.cli.showing import console
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
