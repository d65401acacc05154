"""Classes that declare what their fields must be, in terms of each other, and the one checker of all of them.

A class lists its fields in ``_rules``. A dimension named in several rules has the same size in all of them:

    _rules = {"means": Array("K", "r"), "spreads": Array("K", "r", "r"), "shares": Array("K", low=0)}

Types and shapes are checked whenever an object is made, which is cheap; contents (finite, within bounds) where it comes
from outside, as from a model file. Compiled loops check no bounds, so what they are given is checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fusewise.kernels.field_rules import Dims, Rule, bind, kind_of
from fusewise.kernels.input_errors import as_input_errors


@dataclass(frozen=True, init=False)
class Record(Rule):
    """An object of one of some classes. ``Record(Mixture, K="K", r="s")``: its r is the s of the object that has it."""

    kinds: tuple[type[Any], ...]
    same: Mapping[str, str]

    def __init__(self, *kinds: type[Any], **same: str) -> None:
        object.__setattr__(self, "kinds", kinds)
        object.__setattr__(self, "same", same)

    def shape(self, value: Any, where: str, dims: Dims) -> None:
        """Check the class, and the sizes of its dimensions."""
        if not isinstance(value, self.kinds):
            raise ValueError(f"{where} is {kind_of(value)}, not {' or '.join(kind.__name__ for kind in self.kinds)}")
        if self.same and isinstance(value, Checked):
            theirs = dims_of(value)
            for inner, name in self.same.items():
                if inner in theirs:
                    bind(dims, name, theirs[inner], f"{where} ({inner})")


class Checked:
    """A class whose fields are checked by its ``_rules``: when it is made, if it is a dataclass."""

    _rules: ClassVar[Mapping[str, Rule]] = {}

    def __post_init__(self) -> None:
        dims_of(self)

    def _agree(self, dims: Dims) -> None:
        """Check what the rules cannot say of shapes, and add dimensions that follow from others."""

    def _verify(self) -> None:
        """Check what the rules cannot say of contents."""


def dims_of(held: Checked) -> Dims:
    """Check types and shapes of all fields; return the size of each dimension."""
    dims: Dims = {}
    fields = vars(held)
    for name, rule in held._rules.items():
        rule.shape(fields.get(name), f"{type(held).__name__}.{name}", dims)
    held._agree(dims)
    return dims


def verify(held: Checked) -> None:
    """Check the contents too, for objects that come from outside."""
    dims, fields = dims_of(held), vars(held)
    for name, rule in held._rules.items():
        rule.content(fields.get(name), f"{type(held).__name__}.{name}", dims)
    held._verify()


def check_values(values: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Raise ``InputError`` for the first value that is not what its rule asks for."""
    for name, rule in rules.items():
        with as_input_errors():
            rule.shape(values[name], name, {})
            rule.content(values[name], name, {})
