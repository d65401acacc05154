"""Arguments and options of ``fusewise fit``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fusewise.cli import options


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
    from fusewise.cli.running.fitting import REPORT, Outputs
    from fusewise.cli.running.table_fit import default_model
    from fusewise.cli.showing import console
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
    from fusewise.cli.running.fitting import run_fit
    from fusewise.cli.running.parts_fit import run_parts_fit
    from fusewise.cli.running.schedulers import exceeding, needed_scheduler
    from fusewise.cli.showing.parts_summary import parts_data, print_parts
    from fusewise.cli.showing.summary import fit_data, print_fit
    from fusewise.tables import parts_of

    parts = parts_of(table)
    where = needed_scheduler(scheduler, parts)
    if where is None:
        fit = run_fit(table, model, outputs, n_draws=n_draws, **given)
        return partial(fit_data, fit), partial(print_fit, fit)
    notes = [exceeding(parts)] if scheduler is None else []
    found = run_parts_fit(table, model, outputs, scheduler=where, notes=notes, **given)
    return partial(parts_data, found), partial(print_parts, found)
