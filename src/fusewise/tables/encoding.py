"""Encoding of columns as numeric features, and decoding to the user's units.

For the default algorithm, which treats categories as categories, a category (ordered or not) becomes a block of 0/1
features, one per level, and nothing is scaled (``typed``). For the plain algorithm, which knows only numbers, two
categories become one feature, the levels of an ordered column 0, 1, 2, ..., numbers are standardised using the observed
values, and a block of k features is scaled as a whole to variance 1, so that a column has the same weight whatever its
number of categories. If a value is missing, so are all of its features.
"""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.kernels.types import Floats
from fusewise.observations import Entries, ValueRanges
from fusewise.tables.column_kinds import Column, Kind
from fusewise.tables.frames import FrameEncoder
from fusewise.tables.grids import Cells, Dialect
from fusewise.tables.levels import ColumnCode
from fusewise.tables.reading import Reading

#: Kinds of columns that become 0/1 features, as numbers and typed.
ENCODED = frozenset({Kind.CATEGORY, Kind.FLAG})
LEVELED = ENCODED | {Kind.ORDERED}


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
    typed: bool = False

    @property
    def shares(self) -> bool:
        """Whether the features are 0/1 indicators of categories."""
        return self.column.kind in (LEVELED if self.typed else ENCODED)

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
        if self.column.kind == Kind.NUMBER:
            return self._numbers(values)
        if self.column.kind == Kind.ORDERED and not self.typed:
            last = len(self.column.categories) - 1
            return [self.column.categories[code] for code in np.rint(values[:, 0]).clip(0, last).astype(int)]
        codes = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0.5).astype(int)
        return [self.column.categories[code] for code in codes]

    def _numbers(self, values: Floats) -> list[Any]:
        """Numbers as the column has them: within its range, on its grid if it has one, whole if it is."""
        observed = Entries(self.column.values[:, None], ~np.isnan(self.column.values[:, None]))
        ranges = ValueRanges.of(observed)
        if not ranges.step[0]:
            return list(ranges.confined(values.round(self.decimals))[:, 0].tolist())
        found = ranges.confined(values)[:, 0]
        whole = (ranges.low[0] % 1 == 0) and (ranges.step[0] % 1 == 0)
        return list((found.astype(int) if whole else found).tolist())


@dataclass(frozen=True, eq=False)
class Encoding:
    """The encoded columns of a table."""

    blocks: list[Block]

    @property
    def matrix(self) -> Floats:
        """The encoded features, N x Q; NaN if missing."""
        return np.hstack([(block.values - block.shift) / block.scale for block in self.blocks])

    @property
    def encoder(self) -> FrameEncoder | None:
        """How the estimators encode ``rows``; None if they take the features as numbers."""
        if not any(block.typed and block.shares for block in self.blocks):
            return None
        kinds = {Kind.FLAG: "flag", Kind.ORDERED: "ordered", Kind.CATEGORY: "category"}
        return FrameEncoder(
            tuple(
                ColumnCode(
                    block.column.name,
                    kinds.get(block.column.kind, "number"),
                    tuple(map(float, range(len(block.column.categories)))),
                )
                for block in self.blocks
            )
        )

    @property
    def rows(self) -> Floats:
        """What the estimators are given: numbers and positions of categories if typed, else the features."""
        return self.matrix if self.encoder is None else np.column_stack([block.column.values for block in self.blocks])

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
        return np.array([block.shares for block in self.blocks for _ in block.features])

    @property
    def blank_rows(self) -> npt.NDArray[np.intp]:
        """Rows with nothing observed."""
        return np.flatnonzero(np.all([np.isnan(block.column.values) for block in self.blocks], axis=0))

    def decode(self, matrix: Floats) -> list[Floats]:
        """The blocks of a matrix of features, in the user's units (proportions for categories)."""
        edges = np.cumsum([len(block.features) for block in self.blocks])[:-1]
        parts = np.split(matrix, edges, axis=1)
        return [part * block.scale + block.shift for part, block in zip(parts, self.blocks, strict=True)]


def encode(columns: list[Column], *, standardize: bool = True, typed: bool = False) -> Encoding:
    """Encode columns as numeric features; `typed` if categories are to stay categories, and there are any."""
    typed = typed and any(column.kind in LEVELED for column in columns)
    return Encoding([_block(column, standardize and not typed, typed) for column in columns])


def _block(column: Column, standardize: bool, typed: bool) -> Block:
    features, values = indicators(column, typed)
    seen = values[~np.isnan(values[:, 0])]  # features of a block are missing together
    means = seen.mean(axis=0)
    away = seen - means
    largest = float(np.abs(away).max())  # so that squares do not overflow
    spread = largest * math.sqrt(np.square(away / largest).sum() / len(seen))
    return Block(column, features, values, means, spread, standardize, typed)


def indicators(column: Column, typed: bool = False) -> tuple[tuple[str, ...], Floats]:
    """Features of a column, and their values: the column itself, or 0/1 for each category."""
    if column.kind not in (LEVELED if typed else ENCODED):
        return (column.name,), column.values[:, None]
    # As numbers one feature suffices for two categories: the second, which for booleans is "yes".
    one = len(column.categories) == 2 and not typed
    codes = range(1, 2) if one else range(len(column.categories))
    values = (column.values[:, None] == np.array(codes)).astype(float)
    values[np.isnan(column.values)] = np.nan
    return tuple(f"{column.name}={column.categories[code]}" for code in codes), values


def complete(table: Reading, encoding: Encoding, fused: Floats) -> dict[str, Cells]:
    """The user's table with its missing values filled in; observed cells and unused columns stay as they were."""
    filled = dict(table.written)
    for block, values in zip(encoding.blocks, encoding.decode(fused), strict=True):
        missing = np.flatnonzero(np.isnan(block.column.values))
        if not len(missing):
            continue
        cells = table.written[block.column.name].copy()
        before, after = block.column.affix  # "$" or " kg", as written with the observed numbers
        for row, word in zip(missing, block.words(values[missing]), strict=True):
            shown = in_dialect(word, table.dialect)
            cells[row] = f"{before}{shown}{after}" if before or after else shown
        filled[block.column.name] = cells
    return filled


def center_table(encoding: Encoding, centers: Floats, sizes: list[int], dialect: Dialect) -> dict[str, Cells]:
    """Cluster centres by feature, in the user's units; for categories the proportion of each."""
    features: dict[str, list[Any]] = {}
    for block, values in zip(encoding.blocks, encoding.decode(centers), strict=True):
        digits = 4 if block.shares else block.decimals
        for name, column in zip(block.features, values.T, strict=True):
            name = free_name(name, features)  # a column may be named like a category of another: "colour=red"
            # Shrinkage can leave a proportion slightly outside [0, 1].
            shown = np.clip(column, 0, 1) if block.shares else column
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
