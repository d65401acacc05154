"""How one column is encoded as features, and what features stand for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from fusewise.kernels import Floats
from fusewise.support.records import Checked, Number, Rule, Several, Word
from fusewise.tables.frames import entries_of, numbers_of

#: The pooled level, as it is shown.
OTHER = "(other)"


@dataclass(frozen=True)
class ColumnCode(Checked):
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

    @cached_property
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
        if self.places:
            closest = np.abs(values - np.array(self.places)).argmin(axis=1)
            return [self.levels[k] for k in closest]
        known = len(self.levels) - (self.levels[-1:] == (OTHER,))  # nobody wrote "(other)"
        return [self.levels[k] for k in values[:, :known].argmax(axis=1)]

    def by_distance(self, column: Any, *, standardize: bool) -> ColumnCode:
        """The same column for an algorithm that knows only distances.

        An ordered column and one of two levels become one feature: levels that are numbers are used as such, others as
        0, 1, 2, ... Numbers are standardised using the observed values, and the features of a category together to
        variance 1, so that a column has the same weight whatever its number of levels.
        """
        code = self
        if self.kind == "ordered" or len(self.levels) == 2:
            numbers = self.kind == "ordered" and all(_is_number(level) for level in self.levels)
            places = map(float, self.levels) if numbers else map(float, range(len(self.levels)))
            code = replace(self, places=tuple(places))
        if not standardize:
            return code
        values = code._values(column, {})
        seen = values[~np.isnan(values[:, 0])]  # features of a column are missing together
        if not len(seen):
            return code
        away = seen - seen.mean(axis=0)
        largest = float(np.abs(away).max()) or 1.0  # so that squares do not overflow
        spread = largest * math.sqrt(np.square(away / largest).sum() / len(seen))
        return replace(code, shifts=tuple(seen.mean(axis=0).tolist()), scale=spread or 1.0)

    def _values(self, column: Any, unseen: dict[str, list[str]]) -> Floats:
        """The features before they are shifted and scaled, N x 1 or N x levels."""
        if self.kind == "number":
            return numbers_of(column, self.name)[:, None]
        codes = self._positions(entries_of(column), unseen)
        of_level = np.array(self.places)[:, None] if self.places else np.eye(max(len(self.levels), 1))
        return np.asarray(np.vstack([of_level, np.full(of_level.shape[1], np.nan)])[codes])

    def _positions(self, entries: Iterable[Any], unseen: dict[str, list[str]]) -> list[int]:
        """The level of each entry; -1 if it is missing or not known."""
        known = {level: k for k, level in enumerate(self.levels)}
        pooled = known.pop(OTHER, None) if self.levels[-1:] == (OTHER,) else None
        codes = []
        for entry in entries:
            place = -1 if entry is None else known.get(plain(entry), pooled)
            if place is None:
                others = unseen.setdefault(self.name, [])
                if str(entry) not in others:
                    others.append(str(entry))
            codes.append(-1 if place is None else place)
        return codes


def plain(entry: Any) -> Any:
    """A value of NumPy as one of Python."""
    return entry.item() if isinstance(entry, np.generic) else entry


def _is_number(level: Any) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)
