"""Columns of every kind as numbers, and back: what the estimators do with a frame, or with categories in an array."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels.declared import Checked, Record, Rule, Several, Word
from fusewise.kernels.types import Floats
from fusewise.kernels.words import counted, some_of
from fusewise.observations import DataWarning
from fusewise.observations.plain import as_objects

#: Levels of a category told apart; rarer ones are pooled.
MOST_LEVELS = 50

#: The pooled level, as it is shown.
OTHER = "(other)"

#: How the dtypes of dates and times begin, and what a user can do about such a column.
DATE_KINDS = ("date", "time", "period")
DATES = "convert it to numbers (days since a date, month, weekday) or drop it"


@dataclass(frozen=True)
class ColumnCode(Checked):
    """How a column is encoded.

    Attributes
    ----------
    name : as the frame has it, or x0, x1, ... for an array.
    kind : "number", "category", "ordered" or "flag".
    levels : of a category, in their order; empty for numbers. The last may be ``OTHER``.
    dtype : as text, for the way back.
    """

    name: str
    kind: str
    levels: tuple[Any, ...] = ()
    dtype: str = "float64"

    _rules: ClassVar = {
        "name": Word(),
        "kind": Word("number", "category", "ordered", "flag"),
        "levels": Several(Rule()),
        "dtype": Word(),
    }

    def entry(self, features: Floats) -> Any:
        """The entry that features stand for: the number, whole where the column is, or the level with most of them."""
        if self.kind == "number":
            return round(float(features[0])) if self.dtype.startswith(("int", "uint")) else float(features[0])
        known = len(self.levels) - (self.levels[-1:] == (OTHER,))  # nobody wrote "(other)"
        return self.levels[int(features[: max(known, 1)].argmax())]

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features: ``age``, or ``colour=red``, ``colour=blue``."""
        return tuple(f"{self.name}={level}" for level in self.levels) or (self.name,)


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
        names = [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(np.shape(X)[1])])]
        asked = _asked(categorical_features, names)
        codes = []
        for j, (name, column) in enumerate(zip(names, _columns(X), strict=True)):
            code = _understand(name, column, None if asked is None else j in asked)
            if code.kind != "number" and len(code.levels) < 2:
                _warn_useless(name, code)
            codes.append(code)
        return cls(tuple(codes))

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
            cells = _cells(column)
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


def needs_encoding(X: Any, categorical_features: Any) -> bool:
    """Whether a table has, or is said to have, columns that are not numbers."""
    if not (isinstance(categorical_features, str) and categorical_features == "from_dtype"):
        return categorical_features is not None
    return is_frame(X) and any(_is_text_or_flag(column) for column in _columns(X))


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


def _kind_of(column: Any) -> str:
    """The dtype in lower case: "category", "object", "string", "boolean", "datetime64[ns]", "enum", ..."""
    return str(getattr(column, "dtype", "object")).lower()


def _is_text_or_flag(column: Any) -> bool:
    kind = _kind_of(column)
    if kind == "object":
        return any(isinstance(cell, str | bool) for cell in _cells(column))
    return kind.startswith(("categor", "enum", "str", "utf8", "bool", *DATE_KINDS))


def _cells(column: Any) -> list[Any]:
    """Entries as Python objects, None where missing."""
    cells = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if _is_missing(cell) else cell for cell in cells]


def _is_missing(cell: Any) -> bool:
    """Whether it is None, NaN, NaT or pandas' NA (which compares to nothing)."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


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


def _understand(name: str, column: Any, asked: bool | None) -> ColumnCode:
    kind = _kind_of(column)
    if kind.startswith(DATE_KINDS):
        raise ValueError(f"column {name!r} holds dates or times ({kind}): {DATES}")
    if not (_is_text_or_flag(column) if asked is None else asked):
        return ColumnCode(name, "number", dtype=kind)
    if kind.startswith(("categor", "enum")):
        return _from_categories(name, column, kind)
    cells = [cell for cell in _cells(column) if cell is not None]
    odd = next((cell for cell in cells if not isinstance(cell, str | bool | int | float | np.generic)), None)
    if odd is not None:
        raise ValueError(f"column {name!r} holds {type(odd).__name__} values, such as {odd!r}: {DATES}")
    flags = all(isinstance(cell, bool | np.bool_) for cell in cells)
    found = [_plain(cell) for cell in cells]
    return ColumnCode(name, "flag" if flags else "category", _frequent(found), kind)


def _from_categories(name: str, column: Any, kind: str) -> ColumnCode:
    """A column that may list its levels; those that do not occur are left out."""
    if hasattr(column, "iloc"):
        known, ordered = column.cat.categories.tolist(), bool(column.cat.ordered)
    else:  # of polars' two kinds only an Enum lists its levels, in their order
        ordered = kind.startswith("enum")
        known = list(column.dtype.categories) if ordered else []
    found = [_plain(cell) for cell in _cells(column) if cell is not None]
    order = {_plain(level): k for k, level in enumerate(known)}
    return ColumnCode(name, "ordered" if ordered else "category", _frequent(found, order), kind)


def _frequent(cells: list[Any], order: dict[Any, int] | None = None) -> tuple[Any, ...]:
    """The levels in their order, else sorted; of too many, the most frequent, and one for the rest."""
    counts = Counter(cells)
    by_value = sorted(counts, key=lambda level: (str(type(level)), level))
    position = order or {level: k for k, level in enumerate(by_value)}
    kept = sorted(counts, key=lambda level: (-counts[level], position[level]))[:MOST_LEVELS]
    rest = () if len(counts) <= MOST_LEVELS else (OTHER,)
    return (*sorted(kept, key=position.__getitem__), *rest)


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell


def _warn_useless(name: str, code: ColumnCode) -> None:
    what = "has no observed entry" if not code.levels else f"is always {code.levels[0]!r} where observed"
    warnings.warn(f"column {name!r} {what}: it does not separate clusters", DataWarning, stacklevel=5)


def _encoded(code: ColumnCode, column: Any, unseen: dict[str, list[str]]) -> Floats:
    """The features of a column, N x 1 or N x levels."""
    cells = _cells(column)
    if code.kind == "number":
        try:
            return np.array([[np.nan if cell is None else float(cell)] for cell in cells], dtype=float)
        except (TypeError, ValueError) as error:
            row = next(i for i, cell in enumerate(cells) if cell is not None and not _is_number(cell))
            raise ValueError(f"column {code.name!r}, row {row}: {cells[row]!r} is not a number") from error
    places = {level: k for k, level in enumerate(code.levels)}
    pooled = places.pop(OTHER, None) if code.levels[-1:] == (OTHER,) else None
    encoded = np.full((len(cells), max(len(code.levels), 1)), np.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        place = places.get(_plain(cell), pooled)
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
