"""Classes that declare what their fields must be.

A class lists its fields in ``_rules``. A dimension named in several rules has the same size in all of them:

    _rules = {"means": NumberArray("K", "r"), "shares": NumberArray("K", low=0)}

A rule checks type and shape (``shape``), which is cheap and done whenever an object is made, and the numbers themselves
(``content``), which is done where it comes from outside, as from a model file. Compiled loops check no bounds, so what
they are given is checked here.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from scipy import sparse

from fusewise.support._errors import as_input_errors
from fusewise.support._words import counted

Dims = dict[str, int]


class Rule:
    """What one field must be; here plain values: None, booleans, numbers, text, and lists or dicts of these."""

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check type and shape, and note the sizes of dimensions in `dims`."""
        if isinstance(value, list | tuple):
            for item in value:
                self.shape(item, where, dims)
        elif isinstance(value, dict):
            self.shape([*value, *value.values()], where, dims)
        elif not (value is None or isinstance(value, bool | str | numbers.Number)):
            raise ValueError(f"{where} is {_kind_of(value)}, not plain values")

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check the numbers themselves."""


@dataclass(frozen=True, init=False)
class NumberArray(Rule):
    """An array with named dimensions, of the kinds of dtypes in `kinds`; within the bounds, and finite unless said.

    `below` is a number or a dimension that all entries are less than, as positions are.
    """

    dims: tuple[str, ...]
    kinds: str
    low: float | None
    high: float | None
    below: str | None
    finite: bool

    def __init__(
        self,
        *dims: str,
        kinds: str = "f",
        low: float | None = None,
        high: float | None = None,
        below: str | None = None,
        finite: bool = True,
    ) -> None:
        given = {"dims": dims, "kinds": kinds, "low": low, "high": high, "below": below, "finite": finite}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check dtype and shape."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.kinds:
            raise ValueError(f"{where} is {_kind_of(value)}, not an array of {_words(self.kinds)}")
        if value.ndim != len(self.dims):
            raise ValueError(f"{where} has shape {value.shape}: it must have {counted(len(self.dims), 'dimension')}")
        for name, size in zip(self.dims, value.shape, strict=True):
            bind(dims, name, size, where)

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check that all entries are finite and within the bounds."""
        if not value.size or value.dtype.kind == "b":
            return
        if self.finite and not np.isfinite(value).all():
            raise ValueError(f"{where} has entries that are not finite")
        if self.low is not None and value.min() < self.low:
            raise ValueError(f"{where} has an entry {value.min()}, less than {self.low}")
        if self.high is not None and value.max() > self.high:
            raise ValueError(f"{where} has an entry {value.max()}, more than {self.high}")
        if self.below is not None and value.max() >= dims[self.below]:
            raise ValueError(f"{where} has an entry {value.max()}, but there are {dims[self.below]}")


class PositionArray(NumberArray):
    """Positions along a dimension: integers from 0 (or `low`) up to its size."""

    def __init__(self, *dims: str, below: str, low: int = 0) -> None:
        super().__init__(*dims, kinds="iu", low=low, below=below)


@dataclass(frozen=True)
class Sparse(Rule):
    """A matrix in compressed sparse rows; its indices are within bounds (``check_format``)."""

    rows: str
    columns: str

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check type and shape."""
        if not isinstance(value, sparse.csr_matrix | sparse.csr_array) or value.dtype.kind not in "fc":
            raise ValueError(f"{where} is {_kind_of(value)}, not a sparse matrix of numbers")
        bind(dims, self.rows, value.shape[0], where)
        bind(dims, self.columns, value.shape[1], where)

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check the indices, and that all entries are finite."""
        value.check_format()
        if not np.isfinite(value.data).all():
            raise ValueError(f"{where} has entries that are not finite")


@dataclass(frozen=True)
class Number(Rule):
    """A real number, within bounds; NaN and infinity only where `finite` is False. `size`: equal to a dimension."""

    low: float = -math.inf
    finite: bool = True
    whole: bool = False
    size: str | None = None

    def __str__(self) -> str:
        return "a whole number" if self.whole or self.size is not None else "a number"

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check the type."""
        kind: Any = numbers.Integral if self.whole or self.size is not None else numbers.Real
        if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
            _refuse(where, self, value)
        if self.size is not None:
            bind(dims, self.size, int(value), where)

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check the bounds."""
        if value < self.low:
            _refuse(where, f"at least {self.low:g}", value)
        if self.finite and not math.isfinite(value):
            _refuse(where, "finite", value)


@dataclass(frozen=True, init=False)
class Word(Rule):
    """Text: one of some words, or any."""

    known: tuple[str, ...]

    def __init__(self, *known: str) -> None:
        object.__setattr__(self, "known", known)

    def __str__(self) -> str:
        return " or ".join(map(repr, self.known)) or "text"

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check the word."""
        if not isinstance(value, str) or (self.known and value not in self.known):
            _refuse(where, self, value)


class Flag(Rule):
    """True or False."""

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check the type."""
        if not isinstance(value, bool | np.bool_):
            _refuse(where, "True or False", value)


@dataclass(frozen=True, init=False)
class Either(Rule):
    """What one of several rules asks for."""

    rules: tuple[Rule, ...]

    def __init__(self, *rules: Rule) -> None:
        object.__setattr__(self, "rules", rules)

    def __str__(self) -> str:
        return " or ".join(map(str, self.rules))

    def _fitting(self, value: Any, where: str) -> Rule:
        for rule in self.rules:
            try:
                rule.shape(value, where, {})
            except ValueError:
                continue
            return rule
        return _refuse(where, self, value)

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check it by the first rule that fits."""
        self._fitting(value, where).shape(value, where, dims)

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check it by the first rule that fits."""
        self._fitting(value, where).content(value, where, dims)


@dataclass(frozen=True)
class Several(Rule):
    """A tuple (or an array of text), each item by the same rule; `count` names their number, `least` bounds it."""

    rule: Rule
    count: str | None = None
    least: int = 0

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check each item."""
        text = isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1
        if not (isinstance(value, tuple) or text) or len(value) < self.least:
            raise ValueError(f"{where} is {_kind_of(value)}, not a tuple of at least {self.least}")
        if self.count is not None:
            bind(dims, self.count, len(value), where)
        if not isinstance(self.rule, Word):  # names of columns may be many
            for k, item in enumerate(value):
                self.rule.shape(item, f"{where}[{k}]", dims)

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check each item."""
        for k, item in enumerate(value):
            if isinstance(self.rule, Word):
                self.rule.shape(item, f"{where}[{k}]", dims)
            self.rule.content(item, f"{where}[{k}]", dims)


@dataclass(frozen=True)
class Maybe(Rule):
    """None, or what another rule asks for."""

    rule: Rule

    def __str__(self) -> str:
        return f"{self.rule} or None"

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check it, unless it is None."""
        if value is None:
            return
        try:
            self.rule.shape(value, where, dims)
        except ValueError:
            if isinstance(self.rule, Number | Word | Either):
                _refuse(where, self, value)
            raise

    def content(self, value: Any, where: str, dims: Dims) -> None:
        """Check it, unless it is None."""
        if value is not None:
            self.rule.content(value, where, dims)


def _refuse(where: str, what: object, value: Any) -> NoReturn:
    """Raise ValueError for a value that is not what it must be."""
    raise ValueError(f"{where} must be {what}, got {_kind_of(value)}")


def bind(dims: Dims, name: str, size: int, where: str) -> None:
    """Note the size of a dimension; raise if it is already known to be another. A digit is its own size."""
    known = int(name) if name.isdigit() else dims.setdefault(name, size)
    if known != size:
        raise ValueError(f"{where} has {size} along {name}, where {known} are expected")


def _kind_of(value: Any) -> str:
    """A value in a message: itself if it is short, or its type."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return repr(value)[:40] if value is None or isinstance(value, bool | str | numbers.Number) else type(value).__name__


def _words(kinds: str) -> str:
    names = {"f": "real", "c": "complex", "i": "integer", "b": "true or false"}
    return " or ".join(names[kind] for kind in kinds if kind in names) + " numbers"


@dataclass(frozen=True, init=False)
class Instance(Rule):
    """An object of one of some classes. ``Instance(Mixture, r="s")``: its r is the s of the object that has it."""

    kinds: tuple[type[Any], ...]
    same: Mapping[str, str]

    def __init__(self, *kinds: type[Any], **same: str) -> None:
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "same", same)

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check the class, and the sizes of its dimensions."""
        if not isinstance(value, self.kinds):
            raise ValueError(f"{where} is {_kind_of(value)}, not {' or '.join(kind.__name__ for kind in self.kinds)}")
        if self.same and isinstance(value, Record):
            theirs = _dims_of(value)
            for inner, name in self.same.items():
                if inner in theirs:
                    bind(dims, name, theirs[inner], f"{where} ({inner})")


class Record:
    """A class whose fields are checked by its ``_rules``: when it is made, if it is a dataclass."""

    _rules: ClassVar[Mapping[str, Rule]] = {}

    def __post_init__(self) -> None:
        _dims_of(self)

    def _agree(self, dims: Dims) -> None:
        """Check what the rules cannot say of shapes, and add dimensions that follow from others."""

    def _verify(self) -> None:
        """Check what the rules cannot say of contents."""


def _dims_of(held: Record) -> Dims:
    """Check types and shapes of all fields; return the size of each dimension."""
    dims: Dims = {}
    fields = vars(held)
    for name, rule in held._rules.items():
        rule.shape(fields.get(name), f"{type(held).__name__}.{name}", dims)
    held._agree(dims)
    return dims


def verify(held: Record) -> None:
    """Check the contents too, for objects that come from outside."""
    dims, fields = _dims_of(held), vars(held)
    for name, rule in held._rules.items():
        rule.content(fields.get(name), f"{type(held).__name__}.{name}", dims)
    held._verify()


def check_values(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise ``InputError`` for the first value that is not what its rule asks for."""
    for name, rule in rules.items():
        with as_input_errors():
            rule.shape(values[name], name, {})
            rule.content(values[name], name, {})
