"""Entries of a table, some of them hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]  # float32, float64, complex64 or complex128
Mask = npt.NDArray[np.bool_]
Real = npt.NDArray[np.floating[Any]]

#: Entries looked at in one go: a table may be so large that a copy of it matters.
BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class Entries:
    """x_i seen on the index set I_i: A_i = S_i selects the observed entries of a row. The paper's observation model.

    Parameters
    ----------
    values : N x P array, real or complex, zero where hidden.
    mask : N x P booleans, True where observed.
    feature_names : names of the columns, where the table had them.
    """

    values: Values
    mask: Mask
    feature_names: tuple[str, ...] | None = field(default=None)

    separable = True

    @property
    def shape(self) -> tuple[int, int]:
        """(N, P)."""
        n, p = self.values.shape
        return n, p

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.values.dtype

    @property
    def n_stored(self) -> int:
        """Numbers held in memory."""
        return int(self.values.size)

    @property
    def target(self) -> Values:
        """A_i' b_i: the observed values, zero where hidden."""
        return self.values

    @cached_property
    def seen(self) -> Real:
        """The mask as numbers of the values' precision."""
        return self.mask.astype(self.values.real.dtype)

    @cached_property
    def row_counts(self) -> npt.NDArray[np.intp]:
        """Observed entries in each row."""
        return np.asarray(self.mask.sum(axis=1))

    @cached_property
    def column_counts(self) -> npt.NDArray[np.intp]:
        """Observed entries in each column."""
        return np.asarray(self.mask.sum(axis=0))

    @property
    def is_complete(self) -> bool:
        """Whether nothing is hidden."""
        return bool(self.mask.all())

    @property
    def observed_fraction(self) -> float:
        """p0: observed entries over all entries."""
        return float(self.mask.mean())

    @cached_property
    def column_means(self) -> Values:
        """Mean of the observed entries of each column (0 where there is none)."""
        means = self.values.sum(axis=0, dtype=wide(self.dtype)) / np.maximum(self.column_counts, 1)
        return np.asarray(means, dtype=self.dtype)

    @cached_property
    def column_variances(self) -> Real:
        """Mean square of the deviations of each column from its mean."""
        squares = np.zeros(self.shape[1])
        step = max(1, BLOCK_ENTRIES // self.shape[1])
        for rows in (slice(begin, begin + step) for begin in range(0, self.shape[0], step)):
            deviations = np.where(self.mask[rows], self.values[rows] - self.column_means, 0)
            squares += np.square(np.abs(deviations), dtype=float).sum(axis=0)
        return squares / np.maximum(self.column_counts, 1)

    @cached_property
    def centred(self) -> Values:
        """S_i (x_i - mean): deviations from the column means, zero where hidden."""
        return np.where(self.mask, self.values - self.column_means, 0)

    @cached_property
    def spread(self) -> float:
        """Root-mean-square distance of a whole row from the mean row: the unit in which lengths are judged."""
        return float(np.sqrt(self.column_variances.sum()))

    @property
    def squares(self) -> Real:
        """|x|², zero where hidden."""
        return np.square(np.abs(self.values))

    def columns(self) -> Iterator[Values]:
        """The observed entries of each column."""
        return (self.values[self.mask[:, j], j] for j in range(self.shape[1]))

    def fill(self, values: npt.ArrayLike) -> Values:
        """S_i x_i + (I - S_i) m: the table with its holes filled from `values` (a row, or a whole table)."""
        return np.where(self.mask, self.values, np.asarray(values, dtype=self.values.dtype))

    def take(self, rows: npt.NDArray[Any] | slice) -> Entries:
        """Some of the rows."""
        return Entries(self.values[rows], self.mask[rows], self.feature_names)

    def parts(self) -> Iterator[Entries]:
        """The table piece by piece, as it fits in memory: all of it."""
        yield self

    def dense(self) -> Entries:
        """The table as it is."""
        return self

    def standardised(self, columns: npt.NDArray[np.intp], scale: Real, middle: Values) -> Entries:
        """(x - middle) / scale in some columns (in double precision: tables may be singles, likelihoods should not)."""
        mask = self.mask[:, columns]
        values = (self.values[:, columns].astype(wide(self.dtype)) - middle[columns]) / scale[columns]
        return Entries(np.where(mask, values, 0), mask)

    def real(self) -> Entries:
        """A complex column as two real ones: all real parts, then all imaginary ones. Real tables as they are."""
        if not np.iscomplexobj(self.values):
            return self
        return Entries(np.concatenate([self.values.real, self.values.imag], axis=1), np.tile(self.mask, 2))

    def residual(self, centers: Values) -> Values:
        """S_i (u_i - x_i), zero where hidden."""
        return np.where(self.mask, centers - self.values, 0)

    def misfit(self, centers: Values) -> float:
        """sum_i ||S_i (u_i - x_i)||²."""
        return float(np.square(np.abs(self.residual(centers)), dtype=float).sum())

    def normal(self, centers: Values) -> Values:
        """S_i u_i."""
        return centers * self.seen

    def solve(self, anchors: Values, pull: Real) -> Values:
        """argmin_u ||S_i(u - x_i)||² + t_i ||u - v_i||²: a weighted mean where observed, the anchor where hidden."""
        pull = pull[:, None]
        return np.where(self.mask, (self.values + pull * anchors) / (1 + pull), anchors)

    @cached_property
    def _range(self) -> tuple[Values, Values]:
        """Least and largest observed entry of each column (real and imaginary parts apart), 0 where there is none."""
        n, p = self.shape
        parts = 2 if np.iscomplexobj(self.values) else 1
        low, high = np.full(parts * p, np.inf), np.full(parts * p, -np.inf)
        step = max(1, BLOCK_ENTRIES // p)
        for rows in (slice(begin, begin + step) for begin in range(0, n, step)):
            view = np.ascontiguousarray(self.values[rows]).view(self.values.real.dtype)
            seen = np.repeat(self.mask[rows], parts, axis=1)
            low = np.minimum(low, view.min(axis=0, initial=np.inf, where=seen))
            high = np.maximum(high, view.max(axis=0, initial=-np.inf, where=seen))
        empty = low > high
        dtype = self.values.real.dtype
        return np.where(empty, 0, low).astype(dtype), np.where(empty, 0, high).astype(dtype)

    @property
    def is_constant(self) -> npt.NDArray[np.bool_]:
        """Whether each column has the same value wherever it was observed."""
        low, high = self._range
        return np.asarray((low == high).reshape(self.shape[1], -1).all(axis=1))

    def confine(self, centers: Values) -> Values:
        """Centres clipped to the range of the observed entries of each column.

        The range is convex and holds every observation, so clipping brings no centre further from its data and no two
        centres further apart: the objective cannot rise. What it stops is the drift of entries nothing holds.
        """
        low, high = self._range
        parts = np.ascontiguousarray(centers).view(centers.real.dtype)
        return np.asarray(np.clip(parts, low, high)).view(centers.dtype)

    def preconditioner(self, pull: Real) -> Callable[[Values], Values]:
        """(S_i + t_i I)^-1, as a function of the right-hand sides."""
        system = self.seen + pull[:, None]
        system[system <= 0] = 1
        return lambda right: right / system


def wide(dtype: np.dtype[Any]) -> type[np.floating[Any]] | type[np.complexfloating[Any, Any]]:
    """Double precision, real or complex."""
    return np.complex128 if dtype.kind == "c" else np.float64
