"""Entries of which some are known only to lie between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Mask, Real, Values
from fusewise.observations._entries import Entries
from fusewise.support import NumberArray


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundedEntries(Entries):
    """Entries of which some that are not observed lie between bounds: low_ij <= x_ij <= high_ij.

    Statistics of rows and columns are those of all that is known; ``values`` and ``mask`` are of observed entries only.
    """

    low: Real  # N x P, -inf where there is no lower bound
    high: Real  # N x P, inf where there is no upper bound

    _arrays: ClassVar = (*Entries._arrays, "low", "high")
    _rules: ClassVar = Entries._rules | {
        "low": NumberArray("N", "P", finite=False),
        "high": NumberArray("N", "P", finite=False),
    }

    def _verify(self) -> None:
        super()._verify()
        if np.isnan(self.low).any() or np.isnan(self.high).any() or np.any(self.low > self.high):
            raise ValueError("BoundedEntries.low is not below BoundedEntries.high")
        if np.any(self.bounded & self.mask):
            raise ValueError("BoundedEntries has bounds of observed entries")

    @cached_property
    def bounded(self) -> Mask:
        """The entries with a bound."""
        return np.isfinite(self.low) | np.isfinite(self.high)

    @property
    def exact(self) -> Entries:
        """The observed entries alone."""
        return Entries(self.values, self.mask, self.feature_names, self.weights, self.variances)

    @property
    def known(self) -> Mask:
        return self.mask | self.bounded

    @property
    def inexact(self) -> Mask:
        return np.asarray(super().inexact | self.bounded.any(axis=0))

    @property
    def is_constant(self) -> Mask:
        return np.where(self.inexact, self.column_variances == 0, super().is_constant)

    @property
    def _bounds(self) -> tuple[Real, Real]:  # type: ignore[override]
        return self.low, self.high

    def only(self, kept: Mask) -> Self:
        return replace(
            super().only(kept), low=np.where(kept, self.low, -np.inf), high=np.where(kept, self.high, np.inf)
        )

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> BoundedEntries:
        found = super().standardised(columns, scale, middle)
        low, high = ((each[:, columns] - middle[columns]) / scale[columns] for each in (self.low, self.high))
        return BoundedEntries(found.values, found.mask, None, found.weights, found.variances, low=low, high=high)

    def within(self, values: Values) -> Values:
        """Values moved to the nearest that their bounds allow, where there are any."""
        return np.clip(values, self.low, self.high).astype(values.dtype)


def stacked(parts: Sequence[Entries]) -> Entries:
    """The rows of one or more tables with the same columns, one after another, with what is known of them."""

    def together(name: str, otherwise: float = 0.0) -> Any:
        found = [(part, getattr(part, name, None)) for part in parts]
        return np.concatenate([np.full(part.shape, otherwise) if each is None else each for part, each in found])

    variances = None if all(part.variances is None for part in parts) else together("variances")
    known: Any = together("values"), together("mask"), parts[0].feature_names, parts[0].weights, variances
    if not any(isinstance(part, BoundedEntries) for part in parts):
        return Entries(*known)
    return BoundedEntries(*known, low=together("low", -np.inf), high=together("high", np.inf))
