"""Encoding of columns as numeric features, and decoding to the user's units.

A categorical column becomes a block of 0/1 features, one per category (one in all for two categories); if the value is
missing, so are all of them. Numbers are standardised using the observed values. A block of k features is scaled as a
whole to variance 1, so that a column has the same weight whatever its number of categories.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.types import Floats
from fusewise.tables.columns import Column
from fusewise.tables.files import Cells, Table
from fusewise.tables.text import Dialect


@dataclass(frozen=True, eq=False)
class Block:
    """The features that encode one column: x = (value - shift) / scale.

    ``means`` and ``spread`` are the mean and standard deviation of the observed values. They are used as shift and
    scale if columns are standardised; otherwise shift and scale are 0 and 1.
    """

    column: Column
    features: tuple[str, ...]
    values: Floats
    means: Floats
    spread: float
    standardized: bool

    @property
    def shift(self) -> Floats:
        """What is subtracted from the values."""
        return self.means if self.standardized else np.zeros_like(self.means)

    @property
    def scale(self) -> float:
        """What the values are divided by."""
        return self.spread if self.standardized else 1.0

    @property
    def decimals(self) -> int:
        """Number of decimals to write: four digits of the column's standard deviation."""
        return min(max(3 - math.floor(math.log10(self.spread)), 0), 300)

    def words(self, values: Floats) -> list[Any]:
        """The most likely value of the column for each row of decoded values: a number, or a category."""
        if self.column.kind == "number":
            decimals = self.decimals
            return [round(value, decimals) for value in values[:, 0].tolist()]
        codes = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0.5).astype(int)
        return [self.column.categories[code] for code in codes]


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encoded columns of a table."""

    blocks: list[Block]

    @property
    def matrix(self) -> Floats:
        """The encoded features, N x Q; NaN if missing."""
        return np.hstack([(block.values - block.shift) / block.scale for block in self.blocks])

    @property
    def features(self) -> list[str]:
        """Names of the features: ``age``, ``colour=red``, ..."""
        return [name for block in self.blocks for name in block.features]

    @property
    def observed_fraction(self) -> float:
        """Fraction of observed values in the columns used."""
        return float(np.mean([~np.isnan(block.column.values) for block in self.blocks]))

    @property
    def units(self) -> tuple[Floats, Floats]:
        """Shift and scale of each feature: value = x * scale + shift."""
        widths = [len(block.features) for block in self.blocks]
        return np.concatenate([b.shift for b in self.blocks]), np.repeat([b.scale for b in self.blocks], widths)

    @property
    def shares(self) -> npt.NDArray[np.bool_]:
        """Whether each feature is a 0/1 indicator of a category."""
        return np.array([block.column.kind != "number" for block in self.blocks for _ in block.features])

    @property
    def blank_rows(self) -> npt.NDArray[np.intp]:
        """Rows with nothing observed."""
        return np.flatnonzero(np.all([np.isnan(block.column.values) for block in self.blocks], axis=0))

    def decode(self, matrix: Floats) -> list[Floats]:
        """The blocks of a matrix of features, in the user's units (proportions for categories)."""
        edges = np.cumsum([len(block.features) for block in self.blocks])[:-1]
        parts = np.split(matrix, edges, axis=1)
        return [part * block.scale + block.shift for part, block in zip(parts, self.blocks, strict=True)]


def encode(columns: list[Column], *, standardize: bool = True) -> Encoding:
    """Encode columns as numeric features."""
    return Encoding([_block(column, standardize) for column in columns])


def _block(column: Column, standardize: bool) -> Block:
    features, values = indicators(column)
    seen = values[~np.isnan(values[:, 0])]  # features of a block are missing together
    means = seen.mean(axis=0)
    away = seen - means
    largest = float(np.abs(away).max())  # so that squares do not overflow
    spread = largest * math.sqrt(np.square(away / largest).sum() / len(seen))
    return Block(column, features, values, means, spread, standardize)


def indicators(column: Column) -> tuple[tuple[str, ...], Floats]:
    """Features of a column, and their values: the column itself, or 0/1 for each category."""
    if column.kind == "number":
        return (column.name,), column.values[:, None]
    # For two categories one feature suffices: the second, which for booleans is "yes".
    codes = range(1, 2) if len(column.categories) == 2 else range(len(column.categories))
    values = (column.values[:, None] == np.array(codes)).astype(float)
    values[np.isnan(column.values)] = np.nan
    return tuple(f"{column.name}={column.categories[code]}" for code in codes), values


def complete(table: Table, encoding: Encoding, fused: Floats) -> dict[str, Cells]:
    """The user's table with its missing values filled in; observed cells and unused columns stay as they were."""
    filled = dict(table.written)
    for block, values in zip(encoding.blocks, encoding.decode(fused), strict=True):
        missing = np.flatnonzero(np.isnan(block.column.values))
        if not len(missing):
            continue
        cells = table.written[block.column.name].copy()
        for row, word in zip(missing, block.words(values[missing]), strict=True):
            cells[row] = in_dialect(word, table.dialect)
        filled[block.column.name] = cells
    return filled


def center_table(encoding: Encoding, centers: Floats, sizes: list[int], dialect: Dialect) -> dict[str, Cells]:
    """Cluster centres by feature, in the user's units; for categories the proportion of each."""
    features: dict[str, list[Any]] = {}
    for block, values in zip(encoding.blocks, encoding.decode(centers), strict=True):
        digits = block.decimals if block.column.kind == "number" else 4
        for name, column in zip(block.features, values.T, strict=True):
            name = free_name(name, features)  # a column may be named like a category of another: "colour=red"
            # Shrinkage can leave a proportion slightly outside [0, 1].
            shown = column if block.column.kind == "number" else np.clip(column, 0, 1)
            features[name] = [in_dialect(round(float(value), digits), dialect) for value in shown]
    leading = {free_name("cluster", features): list(range(len(sizes))), free_name("size", features): sizes}
    return {name: np.array(cells, dtype=object) for name, cells in (leading | features).items()}


def in_dialect(word: Any, dialect: Dialect) -> Any:
    """Format a number with the decimal separator of the table."""
    return repr(word).replace(".", dialect.decimal) if isinstance(word, float) else word


def free_name(name: str, taken: Container[str]) -> str:
    """The name itself if it is not taken, else the name with underscores appended."""
    while name in taken:
        name += "_"
    return name
