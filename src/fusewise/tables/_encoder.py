"""Columns of a file, a frame or an array as features, and back: estimators, the command and saved models use it."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Floats
from fusewise.observations import DataWarning, as_objects, is_frame, is_missing
from fusewise.support import InputError, Instance, Number, Record, Rule, Several, Word, counted, some_of
from fusewise.tables._columns import Column, Kind, are_numbers
from fusewise.tables._reading import Reading
from fusewise.tables._recognition import are_groups, number_role

#: How the dtypes of dates and times begin.
DATE_KINDS = ("date", "time", "period")


def names_of(X: Any) -> list[str]:
    """Names of the columns; x0, x1, ... of an array."""
    if isinstance(X, Reading):
        return [column.name for column in X.used]
    return [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(np.shape(X)[1])])]


def columns_of(X: Any) -> list[Any]:
    """The columns: series of a frame, ``Column`` of a file that was read, or arrays."""
    if isinstance(X, Reading):
        return list(X.used)
    if hasattr(X, "iloc"):
        return [X.iloc[:, j] for j in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    array = as_objects(X)
    return [array[:, j] for j in range(array.shape[1])]


def dtype_of(column: Any) -> str:
    """The dtype in lower case: "category", "object", "string", "boolean", "datetime64[ns]", "enum", ..."""
    if isinstance(column, Column):
        return "float64" if column.kind == Kind.NUMBER else "object"
    return str(getattr(column, "dtype", "object")).lower()


def is_text_or_flag(column: Any) -> bool:
    """Whether a column is not one of numbers, by its kind or dtype."""
    if isinstance(column, Column):
        return column.kind != Kind.NUMBER
    dtype = dtype_of(column)
    if dtype == "object":
        return any(isinstance(cell, str | bool) for cell in entries_of(column))
    return dtype.startswith(("categor", "enum", "str", "utf8", "bool", *DATE_KINDS))


def entries_of(column: Any) -> list[Any]:
    """Entries as Python objects, None where missing."""
    if isinstance(column, Column):
        return column.entries
    cells = column.to_list() if hasattr(column, "to_list") else list(column)
    return [None if is_missing(cell) else cell for cell in cells]


def numbers_of(column: Any, name: str) -> Floats:
    """Entries as floats, NaN where missing; ValueError names the row of one that is not a number."""
    if isinstance(column, Column) and column.kind == Kind.NUMBER:
        return column.values
    if dtype_of(column).startswith(("float", "int", "uint")) and isinstance(column.dtype, np.dtype):
        return np.asarray(column, dtype=float)
    numbers = []
    for row, cell in enumerate(entries_of(column)):
        try:
            numbers.append(np.nan if cell is None else float(cell))
        except (TypeError, ValueError) as error:
            raise InputError(f"column {name!r}, row {row}: {cell!r} is not a number") from error
    return np.array(numbers, dtype=float)


def rebuilt(X: Any, columns: Sequence[list[Any]]) -> Any:
    """A table like X with other entries: a frame with the same dtypes, or an array."""
    X = X.frame if isinstance(X, Reading) else X
    if hasattr(X, "iloc"):
        made = X.copy()
        for j, cells in enumerate(columns):
            made[made.columns[j]] = type(X.iloc[:, j])(cells, index=X.index, dtype=X.dtypes.iloc[j])
        return made
    if hasattr(X, "get_columns"):
        old = X.get_columns()
        return type(X)([type(one)(one.name, new, dtype=one.dtype) for one, new in zip(old, columns, strict=True)])
    return np.array(columns, dtype=np.asarray(X).dtype).T


#: The pooled level, as it is shown.
OTHER = "(other)"


@dataclass(frozen=True)
class ColumnCode(Record):
    """How a column is encoded: a number is a feature, a category has one for each level, 1 for that of the row.

    Where an entry is missing, all of its features are NaN. A feature is (value - shift) / scale.

    Attributes
    ----------
    name : as the frame has it, or x0, x1, ... for an array.
    kind : "number", "category", "ordered" or "flag".
    levels : of a category, in their order; empty for numbers. The last may be ``OTHER``.
    dtype : as text, for the way back.
    words : the levels as the user wrote them, where that differs: yes for True.
    places : where the levels lie along one feature; empty if each has its own.
    shifts : of the features; empty: 0.
    scale : of all features.
    """

    name: str
    kind: str
    levels: tuple[Any, ...] = ()
    dtype: str = "float64"
    words: tuple[Any, ...] = ()
    places: tuple[float, ...] = ()
    shifts: tuple[float, ...] = ()
    scale: float = 1.0

    _rules: ClassVar = {
        "name": Word(),
        "kind": Word("number", "category", "ordered", "flag"),
        "levels": Several(Rule()),
        "dtype": Word(),
        "words": Several(Rule()),
        "places": Several(Number()),
        "shifts": Several(Number()),
        "scale": Number(low=5e-324),
    }

    def _agree(self, dims: dict[str, int]) -> None:
        sizes = {len(self.words), len(self.places)} - {0, len(self.levels)}
        if sizes or len(self.shifts) not in (0, len(self.features)):
            raise ValueError(f"the code of column {self.name!r} does not fit its levels")

    @property
    def spelling(self) -> tuple[Any, ...]:
        """The levels as they are shown."""
        return self.words or self.levels

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the features: ``age``, or ``colour=red``, ``colour=blue``."""
        if self.places:
            return (self.name if self.kind == "ordered" else f"{self.name}={self.spelling[-1]}",)
        return tuple(f"{self.name}={level}" for level in self.spelling) or (self.name,)

    @property
    def has_shares(self) -> bool:
        """Whether the mean of a feature is the share of a level."""
        return self.kind != "number" and not (self.places and self.kind == "ordered")

    @property
    def is_block(self) -> bool:
        """Whether each level has a feature."""
        return self.kind != "number" and not self.places

    @property
    def shift(self) -> Floats:
        """What is subtracted from the values of each feature."""
        return np.array(self.shifts or (0.0,) * len(self.features))

    def encode(self, column: Any, unseen: dict[str, list[str]]) -> Floats:
        """The features of each entry; levels that are not known are added to `unseen` under the column's name."""
        return (self._values(column, unseen) - self.shift) / self.scale

    def decode(self, features: Floats) -> Floats:
        """Features as values in the user's units: numbers, or shares of levels."""
        return features * self.scale + self.shift

    def entries(self, features: Floats) -> list[Any]:
        """The entries that features stand for: numbers, whole where the column is, or the levels closest to them.

        None for a category of which no level is known.
        """
        values = self.decode(features)
        if self.kind == "number":
            whole = self.dtype.startswith(("int", "uint"))
            return [round(value) if whole else value for value in values[:, 0].tolist()]
        if not self.levels:
            return [None] * len(features)
        known = len(self.levels) - (self.levels[-1:] == (OTHER,))  # nobody wrote "(other)"
        nearness = -np.abs(values - np.array(self.places)) if self.places else values[:, :known]
        return [self.levels[k] for k in nearness.argmax(axis=1)]

    def by_distance(self, column: Any, *, standardize: bool) -> ColumnCode:
        """The same column for an algorithm that knows only distances.

        An ordered column and one of two levels become one feature: levels that are numbers are used as such, others as
        0, 1, 2, ... Numbers are standardised using the observed values, and the features of a category together to
        variance 1, so that a column has the same weight whatever its number of levels.
        """
        code = self
        if self.kind == "ordered" or len(self.levels) == 2:
            numbers = self.kind == "ordered" and are_numbers(self.levels)
            code = replace(self, places=tuple(map(float, self.levels if numbers else range(len(self.levels)))))
        values = code._values(column, {})
        seen = values[~np.isnan(values[:, 0])]  # features of a column are missing together
        if not standardize or not len(seen):
            return code
        away = seen - seen.mean(axis=0)
        largest = float(np.abs(away).max()) or 1.0  # so that squares do not overflow
        spread = largest * math.sqrt(np.square(away / largest).sum() / len(seen))
        return replace(code, shifts=tuple(seen.mean(axis=0).tolist()), scale=spread or 1.0)

    def _values(self, column: Any, unseen: dict[str, list[str]]) -> Floats:
        """The features before they are shifted and scaled, N x 1 or N x levels."""
        if self.kind == "number":
            return numbers_of(column, self.name)[:, None]
        known = {level: k for k, level in enumerate(self.levels)}
        pooled = known.pop(OTHER, None) if self.levels[-1:] == (OTHER,) else None
        codes = []  # -1: missing or not known
        for entry in entries_of(column):
            place = -1 if entry is None else known.get(plain(entry), pooled)
            if place is None and str(entry) not in unseen.setdefault(self.name, []):
                unseen[self.name].append(str(entry))
            codes.append(-1 if place is None else place)
        of_level = np.array(self.places)[:, None] if self.places else np.eye(max(len(self.levels), 1))
        return np.asarray(np.vstack([of_level, np.full(of_level.shape[1], np.nan)])[codes])


def plain(entry: Any) -> Any:
    """A value of NumPy as one of Python."""
    return entry.item() if isinstance(entry, np.generic) else entry


#: Levels of a category told apart; rarer ones are pooled.
MOST_LEVELS = 100
#: Values of a text that may be names of rows: with fewer, that most differ means little.
FEWEST_NAMES = 20
#: Levels of a column that are counted: of more, the most frequent ones.
MOST_COUNTED = 10_000


def asked_positions(features: Any, names: Sequence[str]) -> set[int] | None:
    """Positions of the columns that ``categorical_features`` names; None: by their dtypes."""
    if isinstance(features, str) and features == "from_dtype":
        return None
    try:
        given = np.asarray([] if features is None else list(features))
    except (TypeError, ValueError):  # one number or object, or lists of several lengths
        given = np.zeros(())
    kind = given.dtype.kind if given.size else "i"
    if isinstance(features, str) or given.ndim != 1 or kind not in "iubUO":
        raise InputError(f"categorical_features={features!r}: use 'from_dtype', a mask, indices or names")
    if kind == "b":
        if len(given) != len(names):
            raise InputError(f"categorical_features is a mask of {len(given)} for {counted(len(names), 'column')}")
        return set(np.flatnonzero(given).tolist())
    if kind in "UO":
        unknown = [name for name in given.tolist() if name not in names]
        if unknown:
            raise InputError(f"categorical_features names {unknown[0]!r}, which is not a column: {some_of(names)}")
        return {names.index(name) for name in given.tolist()}
    outside = [j for j in given.tolist() if not -len(names) <= j < len(names)]
    if outside:
        raise InputError(f"categorical_features has index {outside[0]}, and there are {counted(len(names), 'column')}")
    return {j % len(names) for j in given.tolist()}


@dataclass(frozen=True, eq=False)
class ColumnContent:
    """What a column of a frame or an array holds in some rows; contents of two groups of rows give that of both."""

    name: str
    dtype: str  # in lower case
    category: bool = False  # by its dtype, its entries or because the user says so
    counts: Counter[Any] = field(default_factory=Counter)  # of the levels; nothing of a column that can only be numbers
    flags: bool = False  # whether all levels are True or False
    listed: tuple[Any, ...] | None = None  # the levels that the dtype lists, in their order
    ordered: bool = False  # whether that order means something

    @classmethod
    def of(cls, name: str, column: Any, asked: bool | None) -> ColumnContent:
        """Look at the rows that a column has here; `asked`: whether it is a category (None: by its dtype)."""
        dtype = dtype_of(column)
        if dtype.startswith(DATE_KINDS):
            remedy = "pass fusewise.tables.read_table(X), which makes features of dates, or drop it"
            raise InputError(f"column {name!r} holds dates or times ({dtype}): {remedy}")
        category = is_text_or_flag(column) if asked is None else asked
        if not category and (asked is False or dtype != "object"):
            return cls(name, dtype)
        listed, ordered = None, False
        if isinstance(column, Column):
            listed, ordered = column.levels, column.kind == Kind.ORDERED
        elif dtype.startswith("enum"):
            listed, ordered = tuple(column.dtype.categories), True
        elif dtype.startswith("categor"):  # of polars, it lists no levels
            listed = tuple(column.cat.categories.tolist()) if hasattr(column, "iloc") else ()
            ordered = hasattr(column, "iloc") and bool(column.cat.ordered)
        entries = [plain(entry) for entry in entries_of(column) if entry is not None]
        odd = next((entry for entry in entries if not isinstance(entry, str | bool | int | float)), None)
        if odd is not None and listed is None:
            if not category:
                return cls(name, dtype)
            what = f"{type(odd).__name__} values, such as {odd!r}"
            raise InputError(f"column {name!r} holds {what}: convert it to numbers or text, or drop it")
        flags = listed is None and all(isinstance(entry, bool) for entry in entries)
        return cls(name, dtype, category, _bounded(Counter(entries)), flags, listed, ordered)

    def merged(self, later: ColumnContent) -> ColumnContent:
        """The content in these rows and in later ones."""
        listed = self.listed if later.listed is None else _both(self.listed or (), later.listed)
        decided = later if later.category and not self.category else self
        return replace(
            decided,
            category=self.category or later.category,
            counts=_bounded(self.counts + later.counts),
            flags=(self.flags or not self.counts) and (later.flags or not later.counts),
            listed=listed,
            ordered=self.ordered or later.ordered,
        )

    @property
    def is_identifier(self) -> bool:
        """Whether a text has too many values for a category, by the rule for files; lists of levels are as meant."""
        distinct, seen = len(self.counts), self.counts.total()
        text = self.category and self.listed is None and any(isinstance(level, str) for level in self.counts)
        many = distinct >= FEWEST_NAMES and distinct > min(MOST_LEVELS, seen // 2)
        return text and many and not are_groups(distinct, seen)

    @property
    def code(self) -> ColumnCode:
        """How the column is encoded."""
        if not self.category:
            return ColumnCode(self.name, "number", dtype=self.dtype)
        flag = len(self._levels) == 2 or (self.flags and self.listed is None)
        kind = "ordered" if self.ordered else "flag" if flag else "category"
        return ColumnCode(self.name, kind, self._levels, self.dtype)

    @cached_property
    def _levels(self) -> tuple[Any, ...]:
        """The levels that occur, as listed or else sorted; of too many, the most frequent, and one for the rest."""
        order = {plain(level): k for k, level in enumerate(self.listed or ())}
        if not self.counts.keys() <= order.keys():
            by_value = sorted(self.counts, key=lambda level: (str(type(level)), level))  # there may be several types
            order = {level: k for k, level in enumerate(by_value)}
        kept = sorted(self.counts, key=lambda level: (-self.counts[level], order[level]))[:MOST_LEVELS]
        rest = () if len(self.counts) <= MOST_LEVELS else (OTHER,)
        return (*sorted(kept, key=order.__getitem__), *rest)


def _both(first: tuple[Any, ...], later: tuple[Any, ...]) -> tuple[Any, ...]:
    """The levels of two groups of rows in one order: that of the first, or of numbers if the later has new ones."""
    both = tuple(dict.fromkeys((*first, *later)))
    try:
        return tuple(sorted(both, key=float)) if len(both) > len(first) else first
    except ValueError:
        return both


def _bounded(counts: Counter[Any]) -> Counter[Any]:
    return Counter(dict(counts.most_common(MOST_COUNTED))) if len(counts) > MOST_COUNTED else counts


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

    def by_distance(self, X: Any, *, standardize: bool) -> FrameEncoder:
        """The same for an algorithm that knows only distances; see ``ColumnCode.by_distance``."""
        pairs = zip(self.columns, columns_of(X), strict=True)
        return FrameEncoder(tuple(code.by_distance(column, standardize=standardize) for code, column in pairs))

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.columns for name in column.features)

    @cached_property
    def bounds(self) -> list[tuple[int, int]]:
        """(start, stop) of the features of each column."""
        return list(pairwise(accumulate((len(column.features) for column in self.columns), initial=0)))

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """(start, stop) of the block of features of each category that has one."""
        return tuple(bounds for column, bounds in zip(self.columns, self.bounds, strict=True) if column.is_block)

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
        return [(code, matrix[:, start:stop]) for code, (start, stop) in zip(self.columns, self.bounds, strict=True)]

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
