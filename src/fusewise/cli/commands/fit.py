"""Arguments and options of ``fusewise fit``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from fusewise.cli import options


@options.reading()
def fit(
    table: options.TableFile,
    out: options.OutFolder = None,
    report: options.Report = False,
    open_report: options.OpenReport = False,
    save: options.SaveModel = None,
    n_clusters: options.ClusterCount = None,
    standardize: options.Standardize = True,
    penalty: options.PenaltyName = "h1",
    sigma: options.Sigma = None,
    lam: options.Lam = None,
    fidelity: options.FidelityName = "quadratic",
    epsilon: options.Epsilon = None,
    rank: options.Rank = "auto",
    neighbors: options.Neighbors = "auto",
    max_iter: options.MaxIter = 500,
    stability: options.Stability = False,
    draws: options.Draws = 20,
    seed: options.RandomSeed = None,
    force: options.Overwrite = False,
    safe_csv: options.SafeCsv = False,
    json: options.Json = False,
    verbose: options.Verbose = None,
    asked: Any = None,
) -> None:
    """Cluster the rows of a table with missing values.

    Writes labels.csv (the cluster of each row), completed.csv (your table with the missing values filled in) and
    centers.csv (the cluster centres, in your units); with --stability also stability.csv. --sigma and --epsilon are in
    units of the standardised columns, unless --no-standardize is given.
    """
    from fusewise.cli.running.fitting import REPORT, Outputs, run_fit
    from fusewise.cli.running.model_options import Model
    from fusewise.cli.showing import console, summary
    from fusewise.tables.sources import stem_of

    model = Model(n_clusters, penalty, sigma, lam, fidelity, epsilon, rank, neighbors, max_iter, seed)
    folder = Path(f"{stem_of(table)}_fusewise") if out is None else out
    command = shlex.join(["fusewise", *sys.argv[1:]])
    written: dict[str, Any] = {"stability": stability, "force": force, "safe_csv": safe_csv, "command": command}
    outputs = Outputs(folder, report or open_report, save, **written)
    with console.working(shown=verbose is None and not json) as tell:
        result = run_fit(
            table,
            model,
            outputs,
            asked=asked,
            standardize=standardize,
            n_draws=draws if stability else 0,
            verbose=1 if verbose else 0,
            tell=tell,
        )
    if json:
        console.print_json(summary.fit_data(result))
    elif verbose is not False:
        summary.print_fit(result)
    if open_report:
        console.open_page(folder / REPORT)
