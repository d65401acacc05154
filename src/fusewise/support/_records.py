"""Classes that declare what their fields must be.

A class lists its fields in ``_rules``. A dimension named in several rules has the same size in all of them:

    _rules = {"means": NumberArray("K", "r"), "shares": NumberArray("K", low=0)}

Types and shapes, which are cheap to check, are checked whenever an object is made; the contents (``verify``) where it
comes from outside, as from a model file. Compiled loops check no bounds, so what they are given is checked here.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn

from fusewise.support._words import as_input_errors, counted

Dims = dict[str, int]


class Rule:
    """What one field must be; here plain values: None, booleans, numbers, text, and lists or dicts of these."""

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        """Raise ValueError for a wrong type or shape, and for wrong `contents` if asked to; add sizes to `dims`."""
        if isinstance(value, list | tuple | dict):
            for item in [*value, *value.values()] if isinstance(value, dict) else value:
                self.check(item, where, dims, contents)
        elif not (value is None or isinstance(value, bool | str | numbers.Number)):
            raise ValueError(f"{where} is {_kind_of(value)}, not plain values")


class NumberArray(Rule):
    """An array with named dimensions, of the kinds of dtypes in `kinds`; within the bounds, and finite unless said.

    `below` is a dimension that all entries are less than, as positions are.
    """

    def __init__(
        self,
        *dims: str,
        kinds: str = "f",
        low: float | None = None,
        high: float | None = None,
        below: str | None = None,
        finite: bool = True,
    ) -> None:
        self.dims, self.kinds, self.finite = dims, kinds, finite
        self.low, self.high, self.below = low, high, below

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        import numpy as np

        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.kinds:
            names = {"f": "real", "c": "complex", "i": "integer", "b": "true or false"}
            wanted = " or ".join(names[kind] for kind in self.kinds if kind in names)
            raise ValueError(f"{where} is {_kind_of(value)}, not an array of {wanted} numbers")
        if value.ndim != len(self.dims):
            raise ValueError(f"{where} has shape {value.shape}: it must have {counted(len(self.dims), 'dimension')}")
        for name, size in zip(self.dims, value.shape, strict=True):
            bind(dims, name, size, where)
        if not contents or not value.size or value.dtype.kind == "b":
            return
        if self.finite and not np.isfinite(value).all():
            raise ValueError(f"{where} has entries that are not finite")
        if self.low is not None and value.min() < self.low:
            raise ValueError(f"{where} has an entry {value.min()}, less than {self.low}")
        if self.high is not None and value.max() > self.high:
            raise ValueError(f"{where} has an entry {value.max()}, more than {self.high}")
        if self.below is not None and value.max() >= dims[self.below]:
            raise ValueError(f"{where} has an entry {value.max()}, but there are {dims[self.below]}")


#: Positions along a dimension: integers from 0 (or `low`) up to its size.
PositionArray = partial(NumberArray, kinds="iu", low=0)


class Sparse(Rule):
    """A matrix in compressed sparse rows, N x P; its indices are within bounds, its entries finite."""

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        import numpy as np
        from scipy import sparse

        if not isinstance(value, sparse.csr_matrix | sparse.csr_array) or value.dtype.kind not in "fc":
            raise ValueError(f"{where} is {_kind_of(value)}, not a sparse matrix of numbers")
        for name, size in zip("NP", value.shape, strict=True):
            bind(dims, name, size, where)
        if contents:
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
        return "a whole number" if self.whole or self.size else "a number"

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        kind: Any = numbers.Integral if self.whole or self.size else numbers.Real
        if isinstance(value, bool) or not isinstance(value, kind):
            _refuse(where, self, value)
        if self.size is not None:
            bind(dims, self.size, int(value), where)
        if contents and value < self.low:
            _refuse(where, f"at least {self.low:g}", value)
        if contents and self.finite and not math.isfinite(value):
            _refuse(where, "finite", value)


class Word(Rule):
    """Text: one of some words, or any."""

    def __init__(self, *known: str) -> None:
        self.known = known

    def __str__(self) -> str:
        return " or ".join(map(repr, self.known)) or "text"

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        if not isinstance(value, str) or (self.known and value not in self.known):
            _refuse(where, self, value)


class Flag(Rule):
    """True or False."""

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        import numpy as np

        if not isinstance(value, bool | np.bool_):
            _refuse(where, "True or False", value)


class Either(Rule):
    """What one of several rules asks for: the first whose type fits."""

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    def __str__(self) -> str:
        return " or ".join(map(str, self.rules))

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        for rule in self.rules:
            try:
                rule.check(value, where, {}, contents=False)
            except ValueError:
                continue
            rule.check(value, where, dims, contents)
            return
        _refuse(where, self, value)


@dataclass(frozen=True)
class Several(Rule):
    """A tuple (or an array of text), each item by the same rule; `count` names their number, `least` bounds it."""

    rule: Rule
    count: str | None = None
    least: int = 0

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        import numpy as np

        text = isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1
        if not (isinstance(value, tuple) or text) or len(value) < self.least:
            raise ValueError(f"{where} is {_kind_of(value)}, not a tuple of at least {self.least}")
        if self.count is not None:
            bind(dims, self.count, len(value), where)
        if contents or not isinstance(self.rule, Word):  # names of columns may be many
            for k, item in enumerate(value):
                self.rule.check(item, f"{where}[{k}]", dims, contents)


@dataclass(frozen=True)
class Maybe(Rule):
    """None, or what another rule asks for."""

    rule: Rule

    def __str__(self) -> str:
        return f"{self.rule} or None"

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        if value is None:
            return
        if isinstance(self.rule, Number | Word | Either):
            try:
                self.rule.check(value, where, {}, contents=False)
            except ValueError:
                _refuse(where, self, value)
        self.rule.check(value, where, dims, contents)


class Instance(Rule):
    """An object of one of some classes. ``Instance(Mixture, r="s")``: its r is the s of the object that has it."""

    def __init__(self, *kinds: type[Any], **same: str) -> None:
        self.kinds, self.same = kinds, same

    def check(self, value: Any, where: str, dims: Dims, contents: bool) -> None:
        if not isinstance(value, self.kinds):
            raise ValueError(f"{where} is {_kind_of(value)}, not {' or '.join(kind.__name__ for kind in self.kinds)}")
        if self.same and isinstance(value, Record):
            theirs = _checked(value, contents=False)
            for inner, name in self.same.items():
                if inner in theirs:
                    bind(dims, name, theirs[inner], f"{where} ({inner})")


class Record:
    """A class whose fields are checked by its ``_rules``: when it is made, if it is a dataclass."""

    _rules: ClassVar[Mapping[str, Rule]] = {}

    def __post_init__(self) -> None:
        _checked(self, contents=False)

    def _agree(self, dims: Dims) -> None:
        """Check what the rules cannot say of shapes, and add dimensions that follow from others."""

    def _verify(self) -> None:
        """Check what the rules cannot say of contents."""


def _checked(record: Record, contents: bool) -> Dims:
    """Check all fields; return the size of each dimension."""
    dims: Dims = {}
    fields = vars(record)
    for now in (False, True) if contents else (False,):  # contents are bounded by dimensions of other fields
        for name, rule in record._rules.items():
            rule.check(fields.get(name), f"{type(record).__name__}.{name}", dims, now)
        if not now:
            record._agree(dims)
    return dims


def verify(record: Record) -> None:
    """Check the contents too, for objects that come from outside."""
    _checked(record, contents=True)
    record._verify()


def check_values(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise ``InputError`` for the first value that is not what its rule asks for."""
    for name, rule in rules.items():
        with as_input_errors():
            rule.check(values[name], name, {}, contents=True)


def bind(dims: Dims, name: str, size: int, where: str) -> None:
    """Note the size of a dimension; raise if it is already known to be another. A digit is its own size."""
    known = int(name) if name.isdigit() else dims.setdefault(name, size)
    if known != size:
        raise ValueError(f"{where} has {size} along {name}, where {known} are expected")


def _refuse(where: str, what: object, value: Any) -> NoReturn:
    raise ValueError(f"{where} must be {what}, got {_kind_of(value)}")


def _kind_of(value: Any) -> str:
    """A value in a message: itself if it is short, or its type."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return repr(value)[:40] if value is None or isinstance(value, bool | str | numbers.Number) else type(value).__name__
