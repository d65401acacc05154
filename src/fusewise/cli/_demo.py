"""``fusewise demo``: an example on a known table."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.datasets import load_wine

from fusewise.cli._fit import REPORT, Fit, Outputs, default_model, run_fit
from fusewise.cli._output import write_csv
from fusewise.cli._summary import facts
from fusewise.cli._terminal import Terminal, print_below
from fusewise.datasets import hide_entries
from fusewise.progress import Progress
from fusewise.support import InputError
from fusewise.tables import Dialect, ReadOptions

TABLE, MODEL = "wine.csv", "wine.fusewise"


@dataclass(frozen=True, eq=False)
class Demo:
    """Result of ``demo``: a fit, and the root-mean-square error of filled entries and of column means."""

    fit: Fit
    errors: dict[str, float]

    def data(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dictionary."""
        return self.fit.data() | {"table": str(self.fit.outputs.folder / TABLE), **self.errors}

    def show(self) -> None:
        """Print the summary of the fit, the errors and where the report is."""
        self.fit.show()
        folder = self.fit.outputs.folder
        rows = {"table": f"{folder / TABLE}: scikit-learn's Wine data with some entries hidden"}
        if self.errors:
            filled, means = self.errors.values()
            rows["error"] = (
                f"{filled:.2f} standard deviations between filled and hidden values (column means: {means:.2f})"
            )
        console = Terminal()
        print_below(console, facts(rows))
        console.print(Text.assemble("\nReport: ", (str(folder / REPORT), "bold")), soft_wrap=True)


def run_demo(out: Path, *, hidden: float, seed: int, force: bool, tell: Progress) -> Demo:
    """Write the table with hidden entries, fit it as ``fusewise fit`` does, and measure the error of filled values."""
    if not 0 <= hidden <= 0.9:
        raise InputError(f"--hidden must be from 0 to 0.9, got {hidden:g}")
    wine = load_wine()
    X = hide_entries(wine.data, hidden, random_state=seed)
    cells: Any = X.astype(object)
    cells[np.isnan(X)] = None
    columns = {str(name): cells[:, j] for j, name in enumerate(wine.feature_names)}
    cultivars = np.array([f"cultivar {k + 1}" for k in wine.target], dtype=object)
    command = f"fusewise demo --out {shlex.quote(str(out))} --hidden {hidden:g} --seed {seed}"
    outputs = Outputs(out, report=True, save=out / MODEL, table=TABLE, force=force, command=command)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, TABLE)
        write_csv(table, {**columns, "cultivar": cultivars}, Dialect())
        fit = run_fit(table, default_model(None, None), outputs, asked=ReadOptions(labels="cultivar"), tell=tell)
    missing = np.isnan(X)
    guesses = {"error_filled": fit.clustered.completed, "error_column_means": np.nanmean(X, axis=0)}
    away = {name: ((guess - wine.data) / np.nanstd(X, axis=0))[missing] for name, guess in guesses.items()}
    errors = {name: float(np.sqrt(np.mean(values**2))) for name, values in away.items()} if missing.any() else {}
    return Demo(fit, errors)
