"""Columns of every kind as numbers, and back: what the estimators do with a frame, or with categories in an array."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels.declared import Checked, Record, Several
from fusewise.kernels.types import Floats
from fusewise.kernels.words import counted, some_of
from fusewise.observations import DataWarning
from fusewise.observations.plain import as_objects
from fusewise.tables.levels import OTHER, ColumnCode, ColumnContent, cells_of, is_text_or_flag, plain_cell


@dataclass(frozen=True, repr=False)
class FrameEncoder(Checked):
    """A number is a feature; a category is a block of features, 1 for the level that a row has and 0 for the others.

    Where an entry is missing, all of its features are NaN.
    """

    columns: tuple[ColumnCode, ...]

    _rules: ClassVar = {"columns": Several(Record(ColumnCode), least=1)}

    def __repr__(self) -> str:
        categories = [column.name for column in self.columns if column.kind != "number"]
        return f"FrameEncoder({counted(len(self.columns), 'column')}; categories: {some_of(categories, 4)})"

    @classmethod
    def of(cls, X: Any, categorical_features: Any = "from_dtype") -> FrameEncoder:
        """Decide what each column is.

        Parameters
        ----------
        X : a pandas or polars frame, or an array.
        categorical_features : "from_dtype": strings, categories and booleans; a mask, indices or names; or an encoder.
        """
        if isinstance(categorical_features, FrameEncoder):
            return categorical_features
        return cls.from_contents(contents(X, categorical_features))

    @classmethod
    def from_contents(cls, found: Iterable[ColumnContent]) -> FrameEncoder:
        """Decide what each column is from what it holds; columns with fewer than two levels are said."""
        codes = tuple(content.code for content in found)
        for code in codes:
            if code.kind != "number" and len(code.levels) < 2:
                _warn_useless(code.name, code)
        return cls(codes)

    def extended(self, X: Any, categorical_features: Any) -> FrameEncoder:
        """An encoder that also knows the levels of further rows; this one, if it knows them."""
        if isinstance(categorical_features, FrameEncoder):
            return self
        found = zip(contents(X, categorical_features), self.columns, strict=True)
        codes = tuple(content.extending(code) for content, code in found)
        return self if codes == self.columns else FrameEncoder(codes)

    def places_in(self, other: FrameEncoder) -> tuple[int, ...]:
        """For each feature, the first feature of its column in another encoder of the same columns."""
        return tuple(
            there
            for (start, stop), (there, _) in zip(self._bounds, other._bounds, strict=True)
            for _ in range(start, stop)
        )

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        ends = list(accumulate(len(column.features) for column in self.columns))
        return list(zip([0, *ends[:-1]], ends, strict=True))

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) of the block of features of each category."""
        return tuple(
            bounds for column, bounds in zip(self.columns, self._bounds, strict=True) if column.kind != "number"
        )

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Whether the levels of each category are ordered."""
        return tuple(column.kind == "ordered" for column in self.columns if column.kind != "number")

    @property
    def shares(self) -> npt.NDArray[np.bool_]:
        """Whether each feature is a level of a category, whose mean is a share."""
        return np.array([column.kind != "number" for column in self.columns for _ in column.features])

    def encode(self, X: Any) -> Floats:
        """The features of each row, N x Q; a level that was not there at the fit counts as missing, and is said."""
        unseen: dict[str, list[str]] = {}
        parts = [_encoded(code, column, unseen) for code, column in zip(self.columns, _columns(X), strict=True)]
        if unseen:
            named = some_of([f"{name!r} ({some_of(levels, 4)})" for name, levels in unseen.items()])
            warnings.warn(
                f"levels that did not occur when the model was fitted are treated as missing: column {named}",
                DataWarning,
                stacklevel=4,
            )
        return np.hstack(parts)

    def filled(self, X: Any, matrix: Floats) -> Any:
        """X with its missing entries taken from a matrix of features without missing values; of the type of X.

        Of a category the level with the largest share is taken. What was observed stays as it is.
        """
        columns = []
        for code, column, (start, stop) in zip(self.columns, _columns(X), self._bounds, strict=True):
            cells = cells_of(column)
            for row in (row for row, cell in enumerate(cells) if cell is None):
                cells[row] = code.entry(matrix[row, start:stop])
            columns.append(cells)
        if hasattr(X, "iloc"):
            filled = X.copy()
            for j, cells in enumerate(columns):
                filled[filled.columns[j]] = type(X.iloc[:, j])(cells, index=X.index, dtype=X.dtypes.iloc[j])
            return filled
        if hasattr(X, "get_columns"):
            old = X.get_columns()
            return type(X)([type(one)(one.name, new, dtype=one.dtype) for one, new in zip(old, columns, strict=True)])
        return np.array(columns, dtype=np.asarray(X).dtype).T


def contents(X: Any, categorical_features: Any) -> tuple[ColumnContent, ...]:
    """What each column of a frame or an array holds."""
    names = [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(np.shape(X)[1])])]
    asked = _asked(categorical_features, names)
    return tuple(
        ColumnContent.of(name, column, None if asked is None else j in asked)
        for j, (name, column) in enumerate(zip(names, _columns(X), strict=True))
    )


def needs_encoding(X: Any, categorical_features: Any) -> bool:
    """Whether a table has, or is said to have, columns that are not numbers."""
    if not (isinstance(categorical_features, str) and categorical_features == "from_dtype"):
        return categorical_features is not None
    return is_frame(X) and any(is_text_or_flag(column) for column in _columns(X))


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars frame."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))


def _columns(X: Any) -> Iterator[Any]:
    """The columns of a frame, as its own series, or of an array."""
    if hasattr(X, "iloc"):
        return (X.iloc[:, j] for j in range(X.shape[1]))
    if hasattr(X, "get_columns"):
        return iter(X.get_columns())
    array = as_objects(X)
    return (array[:, j] for j in range(array.shape[1]))


def _asked(features: Any, names: Sequence[str]) -> set[int] | None:
    """Positions of the columns named as categories; None: by their dtypes."""
    if isinstance(features, str):
        if features != "from_dtype":
            raise ValueError(f"categorical_features={features!r}: use 'from_dtype', a mask, indices or names")
        return None
    given = np.asarray([] if features is None else features)
    if given.dtype == bool:
        if len(given) != len(names):
            raise ValueError(f"categorical_features is a mask of {len(given)} for {counted(len(names), 'column')}")
        return set(np.flatnonzero(given).tolist())
    if given.dtype.kind in "US" or given.dtype == object:
        unknown = [name for name in given.tolist() if name not in names]
        if unknown:
            raise ValueError(f"categorical_features names {unknown[0]!r}, which is not a column: {some_of(names)}")
        return {names.index(name) for name in given.tolist()}
    outside = [j for j in given.tolist() if not -len(names) <= j < len(names)]
    if outside:
        raise ValueError(f"categorical_features has index {outside[0]}, and there are {counted(len(names), 'column')}")
    return {int(j) % len(names) for j in given.tolist()}


def _warn_useless(name: str, code: ColumnCode) -> None:
    what = "has no observed entry" if not code.levels else f"is always {code.levels[0]!r} where observed"
    warnings.warn(f"column {name!r} {what}: it does not separate clusters", DataWarning, stacklevel=5)


def _encoded(code: ColumnCode, column: Any, unseen: dict[str, list[str]]) -> Floats:
    """The features of a column, N x 1 or N x levels."""
    cells = cells_of(column)
    if code.kind == "number":
        try:
            return np.array([np.nan if cell is None else float(cell) for cell in cells], dtype=float)[:, None]
        except (TypeError, ValueError) as error:
            row = next(i for i, cell in enumerate(cells) if cell is not None and not _is_number(cell))
            raise ValueError(f"column {code.name!r}, row {row}: {cells[row]!r} is not a number") from error
    places = {level: k for k, level in enumerate(code.levels)}
    pooled = places.pop(OTHER, None) if code.levels[-1:] == (OTHER,) else None
    encoded = np.full((len(cells), max(len(code.levels), 1)), np.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        place = places.get(plain_cell(cell), pooled)
        if place is None:
            known = unseen.setdefault(code.name, [])
            if str(cell) not in known:
                known.append(str(cell))
            continue
        encoded[row] = 0.0
        encoded[row, place] = 1.0
    return encoded


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
