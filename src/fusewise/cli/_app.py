"""The application: its commands, with their arguments and help.

Nothing expensive is imported before a command runs, so that ``--help`` and completion are fast.
"""

from __future__ import annotations

import shlex
import sys
import time
import webbrowser
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fusewise
from fusewise.cli import _options as options
from fusewise.cli._exits import GuardedGroup, Stop
from fusewise.cli._mri import app as mri

if TYPE_CHECKING:
    from fusewise.cli._output import Result

app = typer.Typer(cls=GuardedGroup, no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False)


def _present(
    run: Callable[..., Result], *args: Any, json: bool, quiet: bool = False, progress: bool = True, **given: Any
) -> None:
    """Run a command with a progress line, and print its result."""
    from fusewise.cli._output import working

    with working(shown=progress and not json) as tell:
        result = run(*args, tell=tell, **given)
    if json or not quiet:
        result.show(json=json)


def _default(out: Path | None, table: Path, ending: str) -> Path:
    """The output asked for, or one named after the table."""
    from fusewise.tables import stem_of

    return Path(stem_of(table) + ending) if out is None else out


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
    weight: options.Weights = None,
    outliers: options.Outliers = True,
    stability: options.Stability = None,
    draws: options.Draws = 20,
    seed: options.RandomSeed = None,
    scheduler: options.Scheduler = None,
    like: options.Like = None,
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
    from fusewise import FusionClustering
    from fusewise.cli._fit import REPORT, Outputs, run_fit
    from fusewise.cli._parts import LOCAL, exceeding, run_parts_fit
    from fusewise.support import InputError
    from fusewise.tables import parts_of

    weights = options.numbers_of("--weight", weight or (), 0, needed=True) or None
    model = FusionClustering(
        n_clusters, feature_weights=weights, outliers=outliers, random_state=seed, verbose=1 if verbose else 0
    )
    folder = _default(out, table, "_fusewise")
    outputs = Outputs(
        folder,
        report=report or open_report,
        save=save,
        stability=bool(stability),
        rows=not no_rows,
        names=name_clusters,
        force=force,
        safe_csv=safe_csv,
        command=shlex.join(["fusewise", *sys.argv[1:]]),
    )
    note = exceeding(parts_of(table)) if scheduler is None else None
    run: Callable[..., Result]
    if scheduler is None and note is None:
        n_draws = draws if stability else 0 if stability is False else None
        run = partial(run_fit, table, model, outputs, asked=asked, n_draws=n_draws, like=like)
    elif like is not None:
        raise InputError("--like needs a table in memory, not one in parts that a scheduler computes")
    else:
        run = partial(run_parts_fit, table, model, outputs, asked=asked, scheduler=scheduler or LOCAL, note=note)
    _present(run, json=json, quiet=verbose is False, progress=verbose is None)
    if open_report:
        page = folder / REPORT
        if not webbrowser.open(page.resolve().as_uri()):
            print(f"no browser was found: open {page} yourself", file=sys.stderr)


OnError = StrEnum("OnError", "stop missing")


@options.reading("columns", "drop", "number", "category", "ordered")
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file, written by `fusewise fit --save` or model.save.")
    ],
    table: options.TableFile,
    out: options.LabelsFile = None,
    on_error: Annotated[
        OnError,
        typer.Option(
            help="A cell that is not a number in a numeric column: stop, or treat it as missing.",
            rich_help_panel=options.COLUMNS,
        ),
    ] = OnError.stop,
    force: options.Overwrite = False,
    safe_csv: options.SafeCsv = False,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Assign new rows to the clusters of a saved model; they may have missing values.

    Columns are matched by name and encoded as in the fit. A column that is not in the table counts as missing.
    """
    from fusewise.cli._models import run_predict

    target, odd = _default(out, table, "_labels.csv"), "missing" if on_error is OnError.missing else "raise"
    _present(run_predict, model, table, target, asked=asked, on_error=odd, force=force, safe_csv=safe_csv, json=json)


@options.reading("columns", "drop", "number", "category", "ordered", "labels")
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, written by `fusewise fit --save`.")],
    table: options.TableFile,
    row: options.RowNames,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Say why rows are in their clusters: what each entry adds against the runner-up, in nats."""
    from fusewise.cli._models import run_explain

    _present(run_explain, model, table, row, asked=asked, json=json)


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
    from fusewise.cli._fit import run_impute

    target = _default(out, table, "_completed.csv")
    _present(run_impute, table, target, n_clusters, seed, asked=asked, force=force, safe_csv=safe_csv, json=json)


@options.reading()
def path(
    table: options.TableFile,
    out: options.PathFile = None,
    partition: options.PartitionFile = None,
    standardize: options.Standardize = True,
    n_clusters: options.ClusterCount = None,
    lam: options.Lam = None,
    penalty: options.PenaltyName = options.PenaltyKind.h1,
    sigma: options.Sigma = None,
    fidelity: options.FidelityName = options.FidelityKind.quadratic,
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
    from fusewise.cli._paper import paper_model, run_path

    model = paper_model(n_clusters, penalty, sigma, lam, fidelity, epsilon, rank, neighbors, max_iter, seed)
    files: dict[str, Any] = {"out": _default(out, table, "_path.csv"), "partition": partition}
    _present(run_path, table, model, **files, force=force, asked=asked, standardize=standardize, json=json)


@options.reading("labels")
def guarantee(
    table: options.TableFile,
    labels: Annotated[
        str, typer.Option(metavar="FILE|COLUMN", help="The clusters: a labels.csv file, or a column of the table.")
    ],
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    standardize: options.Standardize = True,
    json: options.Json = False,
    asked: Any = None,
) -> None:
    """Compute the probability with which these clusters are recovered despite the missing values.

    If the labels come from a fit, the guarantee is conditional: it holds if these are the true clusters. Use the same
    options for columns as for fit.
    """
    from fusewise.cli._paper import run_guarantee

    settings: dict[str, Any] = {"target": target, "uniform": uniform, "standardize": standardize}
    _present(run_guarantee, table, labels, asked=asked, json=json, **settings)


def plan(
    clusters: Annotated[int, typer.Option(help="Number of clusters.")],
    size: Annotated[int, typer.Option(help="Number of rows in each cluster.")],
    features: Annotated[int, typer.Option(help="Number of features.")],
    kappa: Annotated[float, typer.Option(help="Width of the clusters divided by the distance between them.")],
    coherence: Annotated[
        float,
        typer.Option(help="mu0, from 1 (all features separate the clusters equally) to --features (one feature does)."),
    ],
    observed: Annotated[float, typer.Option(help="Fraction of the entries that will be observed.")] = 1.0,
    target: options.Target = 0.95,
    uniform: options.Uniform = False,
    json: options.Json = False,
) -> None:
    """Compute the fraction of entries that must be observed to recover clusters of a given geometry."""
    from fusewise.cli._paper import run_plan

    geometry = {"n_clusters": clusters, "size": size, "n_features": features, "kappa": kappa, "mu0": coherence}
    _present(run_plan, geometry, observed, target, uniform, json=json, progress=False)


def demo(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results.", rich_help_panel=options.OUTPUT)
    ] = Path("fusewise_demo"),
    hidden: Annotated[float, typer.Option(min=0, max=0.9, help="Fraction of the entries to hide.")] = 0.3,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for choosing the hidden entries.")] = 0,
    force: options.Overwrite = False,
    json: options.Json = False,
) -> None:
    """Hide entries of an example table, cluster it, and compare the filled values with the hidden ones.

    The table is scikit-learn's Wine data: 178 wines with 13 measurements. The cultivars are used only to score the
    result.
    """
    from fusewise.cli._fit import run_demo

    _present(run_demo, out, hidden=hidden, seed=seed, force=force, json=json)


FIGURES = ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8")
STYLES = {"agrees": "green", "agrees in part": "yellow", "differs": "red"}


def reproduce(
    figure: Annotated[
        str, typer.Argument(metavar="FIGURE", help=f"Figure to reproduce: {', '.join(FIGURES)} or all.")
    ] = "all",
    quick: Annotated[
        bool, typer.Option("--quick", help="Run fewer and smaller trials, in minutes instead of hours.")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page, the figures and the trials.")] = Path(
        "fusewise_paper"
    ),
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Number of processes (default: one per processor).")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Recompute every trial, and overwrite an existing page.")
    ] = False,
) -> None:
    """Reproduce the figures of the paper, and compare its claims with the results.

    Writes a self-contained index.html, the figures and numbers.json. Finished trials are kept in DIR/trials: after an
    interruption, the same command resumes from there.
    """
    from fusewise.cli._output import Terminal, headed
    from fusewise.progress import Printer
    from fusewise.support import InputError

    if figure not in (*FIGURES, "all"):
        raise InputError(f"unknown figure {figure!r}: use one of {', '.join(FIGURES)} or all")
    if out.exists() and not out.is_dir():
        raise InputError(f"cannot write to {str(out)!r}: it is a file, not a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "trials").is_dir() and not force:
        raise InputError(f"folder {str(out)!r} contains other files: choose another --out, or add --force")
    try:
        from fusewise.reproduce import PAGE
        from fusewise.reproduce import reproduce as run
    except ImportError as error:  # it names what to install
        raise InputError(str(error)) from error
    start, names = time.perf_counter(), FIGURES if figure == "all" else (figure,)
    try:
        with Printer() as progress:
            findings = run(names, out, quick=quick, jobs=jobs, fresh=force, progress=progress)
    except (KeyboardInterrupt, Stop):
        raise Stop("finished trials are kept, and the same command resumes") from None
    except OSError as error:
        raise InputError(f"cannot write to {str(out)!r}: {error.strerror or error}") from error
    console, grid = Terminal(), headed("figure", "claim of the paper", "", left=("figure", "claim of the paper"))
    for name, found in findings.items():
        for k, claim in enumerate(found.claims):
            grid.add_row("" if k else name, claim.paper, f"[{STYLES[claim.verdict]}]{claim.verdict}[/]")
    console.print(grid)
    console.print(f"\n{out / PAGE} written in {time.perf_counter() - start:.0f} s", soft_wrap=True, markup=False)


CLUSTER, GUARANTEE, TRY = "Cluster and fill tables", "Recovery guarantees", "Demonstration"

EXAMPLES: dict[Callable[..., None], tuple[str, str]] = {
    fit: (CLUSTER, "fusewise fit penguins.csv --out penguins --labels species --report --save penguins.fusewise"),
    predict: (CLUSTER, "fusewise predict penguins.fusewise new_penguins.csv"),
    explain: (CLUSTER, "fusewise explain penguins.fusewise new_penguins.csv --row 7"),
    impute: (CLUSTER, "fusewise impute penguins.csv --out penguins_filled.csv"),
    path: (CLUSTER, "fusewise path penguins.csv"),
    guarantee: (GUARANTEE, "fusewise guarantee penguins.csv --labels penguins/labels.csv"),
    plan: (GUARANTEE, "fusewise plan --clusters 3 --size 200 --features 50 --kappa 0.4 --coherence 2"),
    demo: (TRY, "fusewise demo --out demo"),
    reproduce: (TRY, "fusewise reproduce fig7 --quick"),
}


def _version(asked: bool) -> None:
    if asked:
        print(f"fusewise {fusewise.__version__}")
        raise typer.Exit


@app.callback()
def fusewise_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Cluster tables with missing values, fill in the missing values, and compute recovery guarantees."""


for _command, (_panel, _example) in EXAMPLES.items():
    app.command(rich_help_panel=_panel, epilog=f"Example: `{_example}`")(_command)

app.add_typer(mri, name="mri", rich_help_panel="Dynamic MRI")
