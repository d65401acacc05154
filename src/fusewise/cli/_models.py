"""Saved models: ``fusewise predict``, the clusters of new rows, and ``explain``, why rows are in their clusters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.text import Text

from fusewise import FusionClustering, PenalizedFusion
from fusewise.cli._output import Result, cluster_list, facts, headline, staged, write_csv
from fusewise.kernels import Real
from fusewise.progress import Progress
from fusewise.saving import ModelFileError, load_with_extra
from fusewise.support import InputError, counted
from fusewise.tables import (
    Cells,
    Dialect,
    Reading,
    ReadOptions,
    column_or_none,
    files_of,
    free_name,
    in_dialect,
    recode,
    row_names,
)
from fusewise.views import compare_labels


def open_model(path: Path) -> tuple[Any, dict[str, Any]]:
    """A fitted clustering (also that of an imputer) from a file, and what the command saved with it."""
    try:
        model, extra = load_with_extra(path)
    except ModelFileError as error:
        raise InputError(str(error)) from error
    except FileNotFoundError as error:
        raise InputError(f"file {str(path)!r} does not exist") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    clustering = getattr(model, "clustering_", model)
    if not isinstance(clustering, FusionClustering | PenalizedFusion) or not hasattr(clustering, "n_clusters_"):
        raise InputError(f"the model in {str(path)!r} was not fitted before it was saved")
    return clustering, extra


def label_table(
    names: Cells, column: str | None, labels: Any, dialect: Dialect, titles: Sequence[str] = (), **shares: Real | None
) -> dict[str, Cells]:
    """Name and label of each row, its shares, if known (confidence, stability), and the name of its cluster."""
    columns = {free_name(column or "row", ("label", "cluster_name", *shares)): names, "label": labels.astype(object)}
    columns |= {name: shares_in(dialect, values) for name, values in shares.items() if values is not None}
    if any(titles):
        columns["cluster_name"] = np.array([*titles, None], dtype=object)[labels]  # -1 is the last: none
    return columns


def shares_in(dialect: Dialect, shares: Real) -> Cells:
    """Shares as they are written, None where there is none."""
    rounded = [None if np.isnan(share) else in_dialect(round(float(share), 4), dialect) for share in shares]
    return np.array(rounded, dtype=object)


def run_predict(model: Path, path: Path, out: Path, *, asked: ReadOptions, on_error: Literal["raise", "missing"],
                force: bool, safe_csv: bool, tell: Progress) -> Result:  # fmt: skip
    """Load a model, read a table, predict the clusters of its rows, and write them."""
    tell(f"reading {model.name}")
    clustering, extra = open_model(model)
    titles, n_clusters = extra.get("cluster_names"), int(clustering.n_clusters_)
    titles = titles if isinstance(titles, list) and len(titles) == n_clusters else []
    tell(f"reading {path.name}")
    table = recode(clustering, extra, path, asked, on_error)
    with staged([out], force=force, sources=[*files_of(path), model]) as places:
        tell(f"assigning {counted(table.n_rows, 'row')} to clusters")
        with warnings.catch_warnings():
            # Warnings about empty rows are redundant (their label is -1), and columns were already matched by name.
            warnings.simplefilter("ignore")
            labels: Any = clustering.predict(table)
            confidence = clustering.predict_confidence(table) if isinstance(clustering, FusionClustering) else None
        column = _column(table, asked.names, extra.get("names"), "--names")
        of_rows = row_names(table.cells, column, table.n_rows)
        rows = label_table(of_rows, column, labels, table.dialect, titles, confidence=confidence)
        write_csv(places[out], rows, table.dialect, safe=safe_csv)
    classes = _column(table, asked.labels, extra.get("labels"), "--labels")
    known = None if classes is None else compare_labels(classes, table.cells[classes], labels, n_clusters)
    sizes, outside = np.bincount(labels[labels >= 0], minlength=n_clusters).tolist(), labels < 0
    data = {
        "table": str(path),
        "rows": table.n_rows,
        "observed_fraction": table.observed_fraction,
        "sizes": sizes,
        "outliers": int(np.count_nonzero(outside)),
        "ari": None if known is None else known.ari,
        "notes": table.notes,
        "files": {"labels": str(out)},
    }
    first = headline(path, *table.shape, table.observed_fraction)
    clusters = cluster_list(sizes, data["outliers"], int(np.count_nonzero(outside[table.blank_rows])))
    last = facts({} if known is None else {"agreement": known.sentence}, written=[out], notes=table.notes)
    return Result(data, [first, clusters, last])


def _column(table: Reading, asked: str | Literal[False] | None, at_fit: Any, option: str) -> str | None:
    """The requested column, or the one used in the fit if the table has it."""
    if asked:
        return column_or_none(table.cells, asked, option)
    return at_fit if at_fit in table.cells else None


def run_explain(model: Path, path: Path, wanted: list[str], *, asked: ReadOptions, tell: Progress) -> Result:
    """Load a model, read a table, and explain the clusters of the rows with these names (or numbers from 1)."""
    tell(f"reading {model.name}")
    clustering, extra = open_model(model)
    if not isinstance(clustering, FusionClustering):
        raise InputError(f"the model in {str(model)!r} is one of the paper's algorithm, which has no probabilities")
    tell(f"reading {path.name}")
    table = recode(clustering, extra, path, asked)
    column = _column(table, asked.names, extra.get("names"), "--names")
    names = [str(name) for name in row_names(table.cells, column, table.n_rows)]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(f"{str(path)!r} has no row {missing[0]!r}: its rows are {names[0]} to {names[-1]}")
    tell(f"explaining {counted(len(wanted), 'row')}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other rows
        found = clustering.explain(table, rows=[names.index(name) for name in wanted])
    found = [replace(row, row=name) for row, name in zip(found, wanted, strict=True)]
    facts_of_row = ("row", "cluster", "runner_up", "outlier", "log_odds", "by_size")
    data = []
    for row in found:
        entries = zip(row.columns, row.values, row.nats.tolist(), strict=True)
        listed = [{"column": column, "value": value, "nats": nats} for column, value, nats in entries]
        data.append({name: getattr(row, name) for name in facts_of_row} | {"entries": listed})
    return Result({"rows": data}, [Text("\n".join(map(repr, found)))])
