"""Entries of which some are known only to lie between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.kernels import Index, Mask, Real, Values, column_moments
from fusewise.observations._entries import Entries
from fusewise.support import NumberArray


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundedEntries(Entries):
    """Entries of which some that are not observed lie between bounds: low_ij <= x_ij <= high_ij.

    Statistics of rows and columns are those of all that is known; ``values`` and ``mask`` are of observed entries only.
    """

    low: Real  # N x P, -inf where there is no lower bound
    high: Real  # N x P, inf where there is no upper bound

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

    def moments(self, counts: Index | None = None) -> tuple[Real, Real]:
        often = np.ones(self.shape[0]) if counts is None else counts.astype(float)
        variances = np.zeros(self.shape) if self.variances is None else self.variances
        return column_moments(self.values, self.known, variances, often, self.low, self.high)

    def take(self, rows: npt.NDArray[Any] | slice) -> BoundedEntries:
        variances = None if self.variances is None else self.variances[rows]
        low, high = self.low[rows], self.high[rows]
        return replace(self, values=self.values[rows], mask=self.mask[rows], variances=variances, low=low, high=high)

    def only(self, kept: Mask) -> BoundedEntries:
        some = super().only(kept)
        low, high = np.where(kept, self.low, -np.inf), np.where(kept, self.high, np.inf)
        return replace(self, values=some.values, mask=some.mask, variances=some.variances, low=low, high=high)

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> BoundedEntries:
        found = super().standardised(columns, scale, middle)
        low, high = ((each[:, columns] - middle[columns]) / scale[columns] for each in (self.low, self.high))
        return BoundedEntries(found.values, found.mask, None, found.weights, found.variances, low=low, high=high)

    def within(self, values: Values) -> Values:
        """Values moved to the nearest that their bounds allow, where there are any."""
        return np.clip(values, self.low, self.high).astype(values.dtype)


def stacked(parts: Sequence[Entries]) -> Entries:
    """The rows of one or more tables with the same columns, one after another, with what is known of them."""

    def together(name: str, otherwise: float) -> Real:
        found = (getattr(part, name, None) for part in parts)
        return np.concatenate(
            [np.full(part.shape, otherwise) if each is None else each for part, each in zip(parts, found, strict=True)]
        )

    first, exact = parts[0], all(part.variances is None for part in parts)
    rows = replace(
        first.exact if isinstance(first, BoundedEntries) else first,
        values=np.concatenate([part.values for part in parts]),
        mask=np.concatenate([part.mask for part in parts]),
        variances=None if exact else together("variances", 0.0),
    )
    if not any(isinstance(part, BoundedEntries) for part in parts):
        return rows
    ends = {"low": together("low", -np.inf), "high": together("high", np.inf)}
    return BoundedEntries(rows.values, rows.mask, rows.feature_names, rows.weights, rows.variances, **ends)
