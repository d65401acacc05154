"""``fusewise demo``: hide entries of a known table, cluster it, and compare the filled values with the hidden ones."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.datasets import load_wine

from fusewise.cli.running.fitting import REPORT, Fit, Outputs, run_fit
from fusewise.cli.running.staging import write_csv
from fusewise.cli.running.table_fit import Clustered, default_model
from fusewise.cli.showing import console, summary
from fusewise.datasets import hide_entries
from fusewise.support.errors import InputError
from fusewise.tables import Dialect, ReadOptions

TABLE, MODEL = "wine.csv", "wine.fusewise"


def run_demo(out: Path, *, hidden: float, seed: int, force: bool, json: bool = False) -> None:
    """Write the table with hidden entries, fit it as ``fusewise fit`` does, and measure the error of filled values."""
    if not 0 <= hidden <= 0.9:
        raise InputError(f"--hidden must be from 0 to 0.9, got {hidden:g}")
    wine = load_wine()
    X = hide_entries(wine.data, hidden, random_state=seed)
    command = f"fusewise demo --out {shlex.quote(str(out))} --hidden {hidden:g} --seed {seed}"
    outputs = Outputs(out, report=True, save=out / MODEL, table=TABLE, force=force, command=command)
    with console.working(shown=not json) as tell, tempfile.TemporaryDirectory() as folder:
        _write_table(Path(folder, TABLE), X, wine)
        asked = ReadOptions(labels="cultivar")
        fit = run_fit(Path(folder, TABLE), default_model(None, None), outputs, asked=asked, tell=tell)
    errors = _errors(fit.clustered, wine.data, X)
    if json:
        console.print_json(summary.fit_data(fit) | {"table": str(out / TABLE), **errors})
        return
    _print(fit, errors, out)


def _write_table(path: Path, X: Any, wine: Any) -> None:
    cells = X.astype(object)
    cells[np.isnan(X)] = None
    columns = {str(name): cells[:, j] for j, name in enumerate(wine.feature_names)}
    kinds = np.array([f"cultivar {k + 1}" for k in wine.target], dtype=object)
    write_csv(path, {**columns, "cultivar": kinds}, Dialect())


def _errors(found: Clustered, truth: Any, X: Any) -> dict[str, float]:
    """Root-mean-square error of the filled entries and of column means, in standard deviations of the columns."""
    hidden = np.isnan(X)
    if not hidden.any():
        return {}
    guesses = {"error_filled": found.completed, "error_column_means": np.nanmean(X, axis=0)}
    away = {name: (guess - truth) / np.nanstd(X, axis=0) for name, guess in guesses.items()}
    return {name: float(np.sqrt(np.mean(np.square(values[hidden])))) for name, values in away.items()}


def _print(fit: Fit, errors: dict[str, float], out: Path) -> None:
    plain = console.Terminal()
    summary.print_fit(fit)
    facts = console.grid("dim", "")
    facts.add_row("table", Text(f"{out / TABLE}: scikit-learn's Wine data with some entries hidden"))
    if errors:
        facts.add_row("error", f"{errors['error_filled']:.2f} standard deviations between filled and hidden values "
                      f"(column means: {errors['error_column_means']:.2f})")  # fmt: skip
    console.print_below(plain, facts)
    plain.print(Text.assemble("\nReport: ", (str(out / REPORT), "bold")), soft_wrap=True)
