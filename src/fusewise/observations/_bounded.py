"""Entries that are half known: observed with an error, or known only to lie between two bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array

from fusewise.kernels import Index, Mask, Real, Values, column_moments
from fusewise.observations._checks import LARGEST
from fusewise.observations._entries import Entries, Table
from fusewise.support import InputError, NumberArray


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


def half_known(
    table: Table, error: Any = None, lower: Any = None, upper: Any = None, names: Sequence[str] | None = None
) -> Table:
    """A table whose entries have errors, or bounds where they are not observed.

    Parameters
    ----------
    table : real entries in memory.
    error : the standard error of each entry; infinite: the entry is missing. Not read where it is missing already.
    lower, upper : bounds of entries that are missing in the table; NaN, or infinite: there is none.
    names : of the columns, for messages; by default those of the table.

    Each is an array of the shape of the table, or one number per column; bounds per column hold for the missing
    entries.
    """
    if error is None and lower is None and upper is None:
        return table
    if not isinstance(table, Entries) or table.dtype.kind == "c":
        what = "complex" if table.dtype.kind == "c" else "too large to be held as an array"
        raise InputError(f"error, lower and upper are for tables of real numbers in memory, and this one is {what}")
    names = table.feature_names if names is None else names
    found = table if error is None else _with_errors(table, _numbers_like(error, "error", table)[0], names)
    return found if lower is None and upper is None else _with_bounds(found, lower, upper, names)


def _with_errors(table: Entries, error: Real, names: Sequence[str] | None) -> Entries:
    _refuse(table.mask & np.isnan(error), names, "the error of the observed entry at {where} is NaN: give a number")
    _refuse(table.mask & (error < 0), names, "the error at {where} is negative: give the standard error, at least 0")
    found = table.only(error < LARGEST)
    variances = np.where(found.mask, np.square(np.where(found.mask, error, 0)), 0)
    return replace(found, variances=variances) if variances.any() else found


def _with_bounds(table: Entries, lower: Any, upper: Any, names: Sequence[str] | None) -> Entries:
    ends = []
    for given, name, none in ((lower, "lower", -np.inf), (upper, "upper", np.inf)):
        if given is None:
            ends.append(np.full(table.shape, none))
            continue
        end, per_column = _numbers_like(given, name, table)
        end = np.where(np.isnan(end), none, end)
        if per_column:
            end = np.where(table.mask, none, end)
        _refuse(end == -none, names, f"{name} is {-none} at {{where}}: no value is beyond it")
        ends.append(np.where(np.abs(end) > LARGEST, none, end))
    low, high = ends
    _refuse(low > high, names, "lower is above upper at {where}: exchange them")
    outside = table.mask & ((table.values < low) | (table.values > high))
    _refuse(outside, names, "the observed entry at {where} is outside of its bounds: correct it, or set it to NaN")
    both = table.mask & (np.isfinite(low) | np.isfinite(high))
    _refuse(both, names, "the entry at {where} is observed and has bounds: set it to NaN, or its bounds to infinity")
    equal = low == high
    values, mask = np.where(equal, low, table.values).astype(table.dtype), table.mask | equal
    low, high = np.where(equal, -np.inf, low), np.where(equal, np.inf, high)
    found = replace(table, values=values, mask=mask)
    if not (np.isfinite(low) | np.isfinite(high)).any():
        return found
    return BoundedEntries(values, mask, table.feature_names, table.weights, table.variances, low=low, high=high)


def _numbers_like(given: Any, name: str, table: Entries) -> tuple[Real, bool]:
    """What is given of each entry, N x P, and whether it was given per column."""
    try:
        numbers = check_array(given, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, ensure_min_samples=0)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from error
    n, p = table.shape
    if numbers.shape not in ((n, p), (p,)):
        raise InputError(f"{name} has shape {numbers.shape}, but the table has {(n, p)}: one for each entry or column")
    return np.broadcast_to(numbers, (n, p)), numbers.ndim == 1


def _refuse(bad: Mask, names: Sequence[str] | None, what: str) -> None:
    """Raise ``InputError`` for the first entry that is bad, naming its row and column."""
    found = np.argwhere(bad)
    if len(found):
        row, column = found[0]
        name = "" if names is None else f" ({names[column]!r})"
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise InputError(what.format(where=f"row {row}, column {column}{name}") + more)
