"""The encoder: columns of every kind as numbers, and back. Estimators, the command and saved models use it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Floats
from fusewise.observations import DataWarning, is_frame
from fusewise.support import Instance, Record, Several, counted, some_of
from fusewise.tables._codes import (
    MOST_LEVELS,
    ColumnCode,
    ColumnContent,
    asked_positions,
    columns_of,
    dtype_of,
    entries_of,
    is_text_or_flag,
    names_of,
    numbers_of,
    rebuilt,
)
from fusewise.tables._columns import Kind
from fusewise.tables._reading import Reading
from fusewise.tables._recognition import number_role


@dataclass(frozen=True, repr=False)
class FrameEncoder(Record):
    """A number is a feature; a category is a block of features, 1 for the level that a row has and 0 for the others.

    Where an entry is missing, all of its features are NaN. It encodes what ``fit`` takes: a pandas or polars frame, a
    file that was read (``Reading``) or an array.

    Attributes
    ----------
    columns : how each column is encoded.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([["red", 1.5], ["blue", None], ["red", 2.5]], dtype=object)
    >>> encoder = FrameEncoder.of(rows, categorical_features=[0])
    >>> encoder.features
    ('x0=blue', 'x0=red', 'x1')
    >>> encoder.encode(rows)
    array([[0. , 1. , 1.5],
           [1. , 0. , nan],
           [0. , 1. , 2.5]])
    """

    columns: tuple[ColumnCode, ...]

    _rules: ClassVar = {"columns": Several(Instance(ColumnCode), least=1)}

    def __repr__(self) -> str:
        categories = [column.name for column in self.columns if column.kind != "number"]
        return f"FrameEncoder({counted(len(self.columns), 'column')}; categories: {some_of(categories, 4)})"

    @classmethod
    def of(cls, X: Any, categorical_features: Any = "from_dtype") -> FrameEncoder:
        """Decide what each column is.

        Parameters
        ----------
        X : a pandas or polars frame, a ``Reading``, or an array.
        categorical_features : "from_dtype": strings, categories and booleans; a mask, indices or names; or an encoder.
        """
        if isinstance(categorical_features, FrameEncoder):
            return categorical_features
        encoder = cls.from_contents(contents_of(X, categorical_features))
        return encoder.spelled(X) if isinstance(X, Reading) else encoder

    @classmethod
    def from_contents(cls, contents: Iterable[ColumnContent]) -> FrameEncoder:
        """Decide what each column is from what it holds; text like an identifier and single levels are warned of."""
        contents = tuple(contents)
        for content in contents:
            if content.is_identifier:
                distinct = len(content.counts)
                pooled = f" (all but the {MOST_LEVELS} most frequent are pooled)" if distinct > MOST_LEVELS else ""
                what = f"text with {distinct} different values{pooled}, like an identifier"
                _warn(f"column {content.name!r} is {what}: leave it out, unless it is a category", 7)
        encoder = cls(tuple(content.code for content in contents))
        for code in encoder.columns:
            if code.kind != "number" and len(code.levels) < 2:
                what = "has no observed entry" if not code.levels else f"is always {code.levels[0]!r} where observed"
                _warn(f"column {code.name!r} {what}: it does not separate clusters", 7)
        return encoder

    def spelled(self, table: Reading) -> FrameEncoder:
        """The same with the kinds and words of a file that was read: yes and no for True and False."""
        codes = []
        for column, code in zip(table.used, self.columns, strict=True):
            spelling = dict(zip(column.levels, column.categories, strict=True))
            words = tuple(spelling[level] for level in code.levels) if column.is_boolean else ()
            codes.append(code if column.kind == Kind.NUMBER else replace(code, kind=str(column.kind), words=words))
        return FrameEncoder(tuple(codes))

    def extended(self, X: Any, categorical_features: Any) -> FrameEncoder:
        """An encoder that also knows the levels of further rows; this one, if it knows them."""
        if isinstance(categorical_features, FrameEncoder) or isinstance(X, Reading):
            return self
        found = zip(contents_of(X, categorical_features), self.columns, strict=True)
        codes = tuple(content.extending(code) for content, code in found)
        return self if codes == self.columns else FrameEncoder(codes)

    def places_in(self, other: FrameEncoder) -> tuple[int, ...]:
        """For each feature, the first feature of its column in another encoder of the same columns."""
        bounds = zip(self._bounds, other._bounds, strict=True)
        return tuple(there for (start, stop), (there, _) in bounds for _ in range(start, stop))

    def by_distance(self, X: Any, *, standardize: bool) -> FrameEncoder:
        """The same for an algorithm that knows only distances; see ``ColumnCode.by_distance``."""
        pairs = zip(self.columns, columns_of(X), strict=True)
        return FrameEncoder(tuple(code.by_distance(column, standardize=standardize) for code, column in pairs))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def _bounds(self) -> list[tuple[int, int]]:
        ends = list(accumulate(len(column.features) for column in self.columns))
        return list(zip([0, *ends[:-1]], ends, strict=True))

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) of the block of features of each category that has one."""
        return tuple(bounds for column, bounds in zip(self.columns, self._bounds, strict=True) if column.is_block)

    @property
    def ordered(self) -> tuple[bool, ...]:
        """Whether the levels of each of these categories are ordered; two are not, in whatever order they come."""
        return tuple(column.kind == "ordered" and len(column.levels) > 2 for column in self.columns if column.is_block)

    @property
    def shares(self) -> npt.NDArray[np.bool_]:
        """Whether each feature is a level of a category, whose mean is a share."""
        return np.array([column.has_shares for column in self.columns for _ in column.features])

    @property
    def units(self) -> tuple[Floats, Floats]:
        """Shift and scale of each feature: value = feature * scale + shift."""
        widths = [len(column.features) for column in self.columns]
        return np.concatenate([c.shift for c in self.columns]), np.repeat([c.scale for c in self.columns], widths)

    def encode(self, X: Any) -> Floats:
        """The features of each row, N x Q; a level that was not there at the fit counts as missing, and is said."""
        unseen: dict[str, list[str]] = {}
        pairs = zip(self.columns, columns_of(X), strict=True)
        parts = [code.encode(column, unseen) for code, column in pairs]
        if unseen:
            named = some_of([f"{name!r} ({some_of(levels, 4)})" for name, levels in unseen.items()])
            _warn(f"levels that did not occur when the model was fitted are treated as missing: column {named}", 5)
        return np.hstack(parts)

    def by_column(self, matrix: Floats) -> list[tuple[ColumnCode, Floats]]:
        """The code of each column, and its part of a matrix of features."""
        return [(code, matrix[:, start:stop]) for code, (start, stop) in zip(self.columns, self._bounds, strict=True)]

    def filled(self, X: Any, matrix: Floats) -> Any:
        """X with its missing entries taken from a matrix of features without missing values; of the type of X.

        Of a category the level with the largest share is taken. What was observed stays as it is.
        """
        columns = []
        for (code, part), column in zip(self.by_column(matrix), columns_of(X), strict=True):
            cells = entries_of(column)
            missing = [row for row, cell in enumerate(cells) if cell is None]
            for row, entry in zip(missing, code.entries(part[missing]), strict=True):
                cells[row] = entry
            columns.append(cells)
        return rebuilt(X, columns)


def needs_encoding(X: Any, categorical_features: Any) -> bool:
    """Whether a table has, or is said to have, columns that are not numbers."""
    if not (isinstance(categorical_features, str) and categorical_features == "from_dtype"):
        return categorical_features is not None
    return (is_frame(X) or isinstance(X, Reading)) and any(is_text_or_flag(column) for column in columns_of(X))


def warn_of_numbered_things(X: Any, categorical_features: Any) -> None:
    """Warn of the columns of a frame whose whole numbers name something, by the rule for files; they are kept."""
    if not is_frame(X) or isinstance(categorical_features, FrameEncoder):
        return
    asked = asked_positions(categorical_features, names_of(X)) or set()
    for j, (name, column) in enumerate(zip(names_of(X), columns_of(X), strict=True)):
        if j in asked or is_text_or_flag(column) or dtype_of(column) == "object":
            continue
        values = numbers_of(column, name)
        role = number_role(name, values, len(values)) if values.dtype.kind == "f" and len(values) else None
        if role is not None:
            remedy = "leave it out" if role[0] == "identifier" else "give it a category dtype"
            what = f"column {name!r} is used as a measurement, but has {role[1]}"
            _warn(f"{what}: {remedy}, or pass read_table(X), which decides as for files", 6)


def contents_of(X: Any, categorical_features: Any) -> tuple[ColumnContent, ...]:
    """What each column of a frame or an array holds."""
    names = names_of(X)
    asked = asked_positions(categorical_features, names)
    return tuple(
        ColumnContent.of(name, column, None if asked is None else j in asked)
        for j, (name, column) in enumerate(zip(names, columns_of(X), strict=True))
    )


def _warn(what: str, level: int) -> None:
    warnings.warn(what, DataWarning, stacklevel=level)
