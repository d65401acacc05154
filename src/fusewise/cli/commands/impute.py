"""Arguments and options of ``fusewise impute``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fusewise.cli import options


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
    from fusewise.cli.running.imputing import run_impute
    from fusewise.cli.running.table_fit import default_model
    from fusewise.cli.showing import console, summary
    from fusewise.tables import stem_of

    target = Path(f"{stem_of(table)}_completed.csv") if out is None else out
    with console.working(shown=not json) as tell:
        model = default_model(n_clusters, seed)
        result = run_impute(table, target, model, asked=asked, force=force, safe_csv=safe_csv, tell=tell)
    if json:
        console.print_json(summary.imputation_data(result))
    else:
        summary.print_imputation(result)
