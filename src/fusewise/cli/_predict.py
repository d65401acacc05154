"""``fusewise predict``: assign new rows to the clusters of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fusewise import FusionClustering, FusionImputer, PenalizedFusion
from fusewise.cli._exits import stopping_at_once
from fusewise.cli._fit import label_table
from fusewise.cli._output import staged, write_csv
from fusewise.progress import Progress
from fusewise.saving import ModelFileError, SavedModel, load_with_extra
from fusewise.support import InputError, counted
from fusewise.tables import Reading, ReadOptions, column_or_none, files_of, recode, row_names
from fusewise.views import KnownLabels, compare_labels


@dataclass(frozen=True, eq=False)
class Prediction:
    """Result of ``predict``."""

    table: Reading
    labels: Any
    n_clusters: int
    known: KnownLabels | None
    notes: list[str]
    file: Path

    @property
    def sizes(self) -> list[int]:
        """Number of rows in each cluster."""
        return [int(n) for n in np.bincount(self.labels[self.labels >= 0], minlength=self.n_clusters)]


def run_predict(model: Path, path: Path, out: Path, *, asked: ReadOptions, on_error: Literal["raise", "missing"],
                force: bool, safe_csv: bool, tell: Progress) -> Prediction:  # fmt: skip
    """Load a model, read a table, predict the clusters of its rows, and write them."""
    tell(f"reading {model.name}")
    saved = open_model(model)
    clustering = _clustering(saved, model)
    tell(f"reading {path.name}")
    extra = saved.extra
    table = recode(clustering, extra, path, asked, on_error)
    with staged([out], force=force, sources=[*files_of(path), model]) as places:
        tell(f"assigning {counted(table.n_rows, 'row')} to clusters")
        found, confidence = _predict(clustering, table)
        column = _column(table, asked.names, extra.get("names"), "--names")
        rows = label_table(
            row_names(table.cells, column, table.n_rows),
            column,
            found,
            table.dialect,
            _titles(extra, clustering.n_clusters_),
            confidence=confidence,
        )
        write_csv(places[out], rows, table.dialect, safe=safe_csv)
    known = _column(table, asked.labels, extra.get("labels"), "--labels")
    n_clusters = int(clustering.n_clusters_)
    compared = None if known is None else compare_labels(known, table.cells[known], found, n_clusters)
    return Prediction(table, found, n_clusters, compared, table.notes, out)


def open_model(path: Path) -> SavedModel:
    """Load a saved model; raise ``InputError`` if the file cannot be used."""
    try:
        return load_with_extra(path)
    except ModelFileError as error:
        raise InputError(str(error)) from error
    except FileNotFoundError as error:
        raise InputError(f"file {str(path)!r} does not exist") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error


def _clustering(saved: SavedModel, path: Path) -> FusionClustering | PenalizedFusion:
    model = saved.model
    clustering = getattr(model, "clustering_", None) if isinstance(model, FusionImputer) else model
    if not isinstance(clustering, FusionClustering | PenalizedFusion) or not hasattr(clustering, "n_clusters_"):
        raise InputError(f"the model in {str(path)!r} was not fitted before it was saved")
    return clustering


def _predict(model: FusionClustering | PenalizedFusion, rows: Reading) -> tuple[Any, Any]:
    """Labels, and the confidence in each if the model has probabilities (else None)."""
    with warnings.catch_warnings(), stopping_at_once():
        # Warnings about empty rows are redundant (their label is -1), and columns were already matched by name.
        warnings.simplefilter("ignore")
        return model.predict(rows), model.predict_confidence(rows) if isinstance(model, FusionClustering) else None


def _titles(extra: dict[str, Any], n_clusters: int) -> list[str]:
    """The names of the clusters, if they were saved with the model."""
    names = extra.get("cluster_names")
    if not isinstance(names, list) or len(names) != n_clusters:
        return []
    return [str(name) for name in names]


def _column(table: Reading, asked: str | Literal[False] | None, at_fit: Any, option: str) -> str | None:
    """The requested column, or the one used in the fit if the table has it."""
    if asked:
        return column_or_none(table.cells, asked, option)
    return at_fit if at_fit in table.cells else None
