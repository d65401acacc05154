"""``fusewise predict``: assign new rows to the clusters of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fusewise import FusionClustering, FusionImputer
from fusewise.cli._fit import label_table
from fusewise.cli._models import open_model
from fusewise.cli._output import staged, write_csv
from fusewise.cli._summary import cluster_list, facts, headline
from fusewise.cli._terminal import Terminal, print_below
from fusewise.progress import Progress
from fusewise.support import counted
from fusewise.tables import Reading, ReadOptions, column_or_none, files_of, recode, row_names
from fusewise.views import KnownLabels, compare_labels


@dataclass(frozen=True, eq=False)
class Prediction:
    """Result of ``predict``."""

    table: Reading
    sizes: list[int]
    outliers: int
    blank: int
    known: KnownLabels | None
    file: Path

    def data(self) -> dict[str, Any]:
        """The result as a JSON-serialisable dictionary."""
        return {
            "table": str(self.table.path),
            "rows": self.table.n_rows,
            "observed_fraction": self.table.observed_fraction,
            "sizes": self.sizes,
            "outliers": self.outliers,
            "ari": None if self.known is None else self.known.ari,
            "notes": self.table.notes,
            "files": {"labels": str(self.file)},
        }

    def show(self) -> None:
        """Print the summary."""
        console = Terminal()
        console.print(headline(self.table.path, *self.table.shape, self.table.observed_fraction))
        rows = {} if self.known is None else {"agreement": self.known.sentence}
        last = facts(rows, written=[self.file], notes=self.table.notes)
        print_below(console, cluster_list(self.sizes, self.outliers, self.blank), last)


def run_predict(model: Path, path: Path, out: Path, *, asked: ReadOptions, on_error: Literal["raise", "missing"],
                force: bool, safe_csv: bool, tell: Progress) -> Prediction:  # fmt: skip
    """Load a model, read a table, predict the clusters of its rows, and write them."""
    tell(f"reading {model.name}")
    saved = open_model(model)
    clustering = saved.model.clustering_ if isinstance(saved.model, FusionImputer) else saved.model
    names, n_clusters = saved.extra.get("cluster_names"), int(clustering.n_clusters_)
    tell(f"reading {path.name}")
    table = recode(clustering, saved.extra, path, asked, on_error)
    with staged([out], force=force, sources=[*files_of(path), model]) as places:
        tell(f"assigning {counted(table.n_rows, 'row')} to clusters")
        with warnings.catch_warnings():
            # Warnings about empty rows are redundant (their label is -1), and columns were already matched by name.
            warnings.simplefilter("ignore")
            labels: Any = clustering.predict(table)
            confidence = clustering.predict_confidence(table) if isinstance(clustering, FusionClustering) else None
        column = _column(table, asked.names, saved.extra.get("names"), "--names")
        titles = names if isinstance(names, list) and len(names) == n_clusters else []
        of_rows = row_names(table.cells, column, table.n_rows)
        rows = label_table(of_rows, column, labels, table.dialect, titles, confidence=confidence)
        write_csv(places[out], rows, table.dialect, safe=safe_csv)
    known = _column(table, asked.labels, saved.extra.get("labels"), "--labels")
    compared = None if known is None else compare_labels(known, table.cells[known], labels, n_clusters)
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters).tolist()
    outside = labels < 0
    blank = int(np.count_nonzero(outside[table.blank_rows]))
    return Prediction(table, sizes, int(np.count_nonzero(outside)), blank, compared, out)


def _column(table: Reading, asked: str | Literal[False] | None, at_fit: Any, option: str) -> str | None:
    """The requested column, or the one used in the fit if the table has it."""
    if asked:
        return column_or_none(table.cells, asked, option)
    return at_fit if at_fit in table.cells else None
