"""Encoding of a new table in the same way as the table a model was fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.kernels.words import counted, some_of
from fusewise.tables.columns import Column, Roles, as_numbers, category_key, refuse_too_large, sort_columns
from fusewise.tables.encoding import Block, Encoding, indicators
from fusewise.tables.errors import InputError
from fusewise.tables.files import Table


@dataclass(frozen=True)
class Known:
    """A column as it was when the model was fitted."""

    name: str
    kind: str
    categories: list[Any]
    means: list[float]
    spread: float
    standardized: bool


def as_extra(encoding: Encoding, roles: Roles) -> dict[str, Any]:
    """The encoding of the table as plain JSON values, to be saved with the model."""
    columns = [
        {
            "name": block.column.name,
            "kind": block.column.kind,
            "categories": [_plain(category) for category in block.column.categories],
            "means": block.means.tolist(),
            "spread": block.spread,
            "standardized": block.standardized,
        }
        for block in encoding.blocks
    ]
    return {"columns": columns, "names": roles.names_column, "labels": roles.labels_column}


def _plain(category: Any) -> Any:
    return category.item() if isinstance(category, np.generic) else category


def recode(model: Any, extra: dict[str, Any], table: Table) -> tuple[Encoding, list[str]]:
    """Encode a table as in the fit, and return notes on what did not match.

    Columns that are not in the table, and categories that did not occur in the fit, count as missing.

    Parameters
    ----------
    model : the fitted estimator; its feature names are used if `extra` does not describe the columns.
    extra : the result of ``as_extra`` from the fit.
    table : the new table.
    """
    known = _known(model, extra, table)
    if not any(column.name in table.columns for column in known):
        shown = some_of([repr(column.name) for column in known])
        raise InputError(f"{str(table.path)!r} has none of the model's columns: {shown}")
    notes: list[str] = []
    return Encoding([_block(column, table, notes) for column in known]), notes


def _known(model: Any, extra: dict[str, Any], table: Table) -> list[Known]:
    if "columns" not in extra:
        return [Known(name, "number", [], [0.0], 1.0, False) for name in _names(model, table)]
    try:
        return [Known(**column) for column in extra["columns"]]
    except TypeError as error:
        raise InputError(f"the model's columns cannot be read: {error}") from error


def _names(model: Any, table: Table) -> list[str]:
    """Columns of a model saved from Python: by name if it has feature names, else the numeric columns in order."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return [str(name) for name in names]
    numbers = [column.name for column in sort_columns(table).used if column.kind == "number"]
    needed = getattr(model, "n_features_in_", 0)
    if len(numbers) != needed:
        has = f"{str(table.path)!r} has {counted(len(numbers), 'numeric column')}"
        raise InputError(f"the model has {counted(needed, 'unnamed feature')}, but {has}")
    return numbers


def _block(known: Known, table: Table, notes: list[str]) -> Block:
    column = _column(known, table, notes)
    features, values = indicators(column)
    return Block(column, features, values, np.array(known.means), known.spread, known.standardized)


def _column(known: Known, table: Table, notes: list[str]) -> Column:
    kind: Any = known.kind
    if known.name not in table.columns:
        notes.append(f"column {known.name!r} is not in the table: treated as missing")
        return Column(known.name, kind, np.full(table.n_rows, np.nan), tuple(known.categories))
    cells = table.columns[known.name]
    if kind == "number":
        values = as_numbers(cells, table.dialect)
        if values is None:
            raise InputError(f"column {known.name!r} was numeric when the model was fitted, but contains other values")
        refuse_too_large(known.name, values)
        return Column(known.name, kind, values)
    codes = {category_key(kind, category): code for code, category in enumerate(known.categories)}
    words = [None if cell is None else category_key(kind, cell) for cell in cells]
    new = sorted({word for word in words if word is not None and word not in codes})
    if new:
        shown = some_of([repr(word) for word in new], 4)
        notes.append(f"column {known.name!r} has values unknown to the model ({shown}): treated as missing")
    found = [np.nan if word is None else codes.get(word, np.nan) for word in words]
    return Column(known.name, kind, np.array(found, dtype=float), tuple(known.categories))
