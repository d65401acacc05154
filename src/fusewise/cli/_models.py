"""Saved models, and ``fusewise explain``: why rows are in their clusters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fusewise import FusionClustering, FusionImputer, PenalizedFusion
from fusewise.cli._terminal import Terminal
from fusewise.estimators import Explanation
from fusewise.progress import Progress
from fusewise.saving import ModelFileError, SavedModel, load_with_extra
from fusewise.support import InputError, counted
from fusewise.tables import ReadOptions, column_or_none, recode, row_names


def open_model(path: Path) -> SavedModel:
    """Load a saved, fitted model; raise ``InputError`` if the file cannot be used."""
    try:
        saved = load_with_extra(path)
    except ModelFileError as error:
        raise InputError(str(error)) from error
    except FileNotFoundError as error:
        raise InputError(f"file {str(path)!r} does not exist") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    clustering = getattr(saved.model, "clustering_", saved.model)
    if not isinstance(clustering, FusionClustering | PenalizedFusion) or not hasattr(clustering, "n_clusters_"):
        raise InputError(f"the model in {str(path)!r} was not fitted before it was saved")
    return saved


@dataclass(frozen=True)
class ExplainedRows:
    """Result of ``explain``."""

    rows: list[Explanation]

    def data(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dictionary."""
        names = ("row", "cluster", "runner_up", "outlier", "log_odds", "by_size")
        entries = [zip(row.columns, row.values, row.nats.tolist(), strict=True) for row in self.rows]
        of = [[{"column": column, "value": value, "nats": nats} for column, value, nats in row] for row in entries]
        facts = [{name: getattr(row, name) for name in names} for row in self.rows]
        return {"rows": [known | {"entries": values} for known, values in zip(facts, of, strict=True)]}

    def show(self) -> None:
        """Print each row."""
        console = Terminal()
        for row in self.rows:
            console.print(repr(row), markup=False, highlight=False)


def run_explain(model: Path, path: Path, wanted: list[str], *, asked: ReadOptions, tell: Progress) -> ExplainedRows:
    """Load a model, read a table, and explain the clusters of the rows with these names (or numbers from 1)."""
    tell(f"reading {model.name}")
    saved = open_model(model)
    clustering = saved.model.clustering_ if isinstance(saved.model, FusionImputer) else saved.model
    if not isinstance(clustering, FusionClustering):
        raise InputError(f"the model in {str(model)!r} is one of the paper's algorithm, which has no probabilities")
    tell(f"reading {path.name}")
    table = recode(clustering, saved.extra, path, asked, "raise")
    at_fit = saved.extra.get("names")
    column = column_or_none(table.cells, asked.names, "--names") if asked.names else at_fit
    names = [str(name) for name in row_names(table.cells, column if column in table.cells else None, table.n_rows)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(f"{str(path)!r} has no row {missing[0]!r}: its rows are {names[0]} to {names[-1]}")
    tell(f"explaining {counted(len(wanted), 'row')}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other rows
        found = clustering.explain(table, rows=[names.index(name) for name in wanted])
    return ExplainedRows([replace(row, row=name) for row, name in zip(found, wanted, strict=True)])
