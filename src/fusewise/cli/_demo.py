"""``fusewise demo`` and ``fusewise bench``: an example on a known table, and a comparison on simulated ones."""

from __future__ import annotations

import shlex
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

import fusewise
from fusewise import FusionClustering
from fusewise.cli import _summary as summary
from fusewise.cli import _terminal as console
from fusewise.cli._exits import stopping_at_once
from fusewise.cli._fit import REPORT, Clustered, Fit, Outputs, default_model, run_fit
from fusewise.cli._output import write_csv
from fusewise.cli._terminal import Terminal, grid, headed, print_below
from fusewise.datasets import hide_entries, make_clusters
from fusewise.kernels import SMALL, Stopwatch
from fusewise.progress import Progress
from fusewise.support import InputError, counted
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


#: Standard deviation of the noise, as in the paper's Dataset-1.
NOISE = 0.1**0.5

OURS, PEER = "Fusewise, default settings", "IterativeImputer + k-means, true K given"


@dataclass(frozen=True)
class BenchSetting:
    """Size and number of the simulated tables."""

    rows: int
    features: int
    clusters: int
    hidden: float
    repeats: int


@dataclass(frozen=True)
class Measured:
    """Result of one method on one table: seconds, adjusted Rand index, number of clusters found."""

    seconds: float
    ari: float
    clusters: int


def run_bench(setting: BenchSetting, *, tell: Progress) -> dict[str, list[Measured]]:
    """Run both methods in turn on every table, after compiling once."""
    if not 0 <= setting.hidden <= 0.9:
        raise InputError(f"--hidden must be from 0 to 0.9, got {setting.hidden:g}")
    if setting.clusters * 4 > setting.rows:
        raise InputError(
            f"--rows {setting.rows} is too few for {setting.clusters} clusters: use at least 4 per cluster"
        )
    found: dict[str, list[Measured]] = {OURS: [], PEER: []}
    methods: dict[str, Callable[[int], Any]] = {
        OURS: lambda seed: FusionClustering(),
        PEER: lambda seed: make_pipeline(
            IterativeImputer(random_state=seed), KMeans(setting.clusters, n_init=10, random_state=seed)
        ),
    }
    with stopping_at_once(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tell("compiling")
        FusionClustering().fit(_table(BenchSetting(SMALL + 100, 4, 2, 0.2, 1), 0)[0])
        for seed in range(setting.repeats):
            X, y = _table(setting, seed)
            for name, make in methods.items():
                tell(f"table {seed + 1} of {setting.repeats}: {name}")
                model = make(seed)
                watch = Stopwatch()
                labels = model.fit_predict(X)
                seconds = watch.working
                n_found = len(np.unique(labels[labels >= 0]))
                found[name].append(Measured(seconds, float(adjusted_rand_score(y, labels)), n_found))
    return found


def _table(setting: BenchSetting, seed: int) -> tuple[Any, Any]:
    sizes = np.bincount(np.arange(setting.rows) % setting.clusters).tolist()
    X, y, _ = make_clusters(setting.clusters, sizes, setting.features, noise=NOISE, random_state=seed)
    return hide_entries(X, setting.hidden, random_state=1000 + seed), y


def ratio(measured: dict[str, list[Measured]]) -> float:
    """Median over the tables of the time of Fusewise divided by the time of the other method."""
    ours, peer = (np.array([one.seconds for one in measured[name]]) for name in (OURS, PEER))
    return float(np.median(ours / peer))


def bench_data(setting: BenchSetting, measured: dict[str, list[Measured]]) -> dict[str, Any]:
    """All measurements as a JSON-serialisable dictionary."""
    runs = {name: [vars(one) for one in ones] for name, ones in measured.items()}
    return {"version": fusewise.__version__, **vars(setting), "time_ratio": ratio(measured), "runs": runs}


def print_bench(setting: BenchSetting, measured: dict[str, list[Measured]]) -> None:
    """Print a line for each method, and the ratio of the times."""
    console = Terminal()
    tables = counted(setting.repeats, "simulated table")
    console.print(
        Text(
            f"{tables}: {setting.rows:,} rows × {setting.features:,} features, "
            f"{counted(setting.clusters, 'cluster')}, {setting.hidden:.0%} of the entries hidden"
        )
    )
    table = headed("method", "clusters found", "adjusted Rand index", "seconds", left=("method",))
    for name, ones in measured.items():
        found = ", ".join(str(one.clusters) for one in ones)
        table.add_row(
            name, found, f"{np.mean([o.ari for o in ones]):.3f}", f"{np.median([o.seconds for o in ones]):.2f}"
        )
    facts = grid("dim", "")
    facts.add_row("time ratio", f"{ratio(measured):.2g} (Fusewise / IterativeImputer + k-means)")
    facts.add_row("note", "adjusted Rand index: mean over tables, 1 is perfect, 0 is chance; seconds: median")
    print_below(console, table, facts)
