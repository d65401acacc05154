"""Powers by which skewed columns become symmetric, one for each column (Box and Cox, 1964; Yeo and Johnson, 2000)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import boxcox1p, inv_boxcox1p
from sklearn.preprocessing import PowerTransformer

from fusewise.kernels.checked import Checked
from fusewise.kernels.field_rules import Array
from fusewise.kernels.types import Real
from fusewise.observations import Entries, InMemory

#: No value is further away than this, in standard deviations: an outlier is one, however far it is.
FAR = 1e6


@dataclass(frozen=True, eq=False)
class Powers(Checked):
    """A power for each column.

        t = a x + b,    y = ((1 + t)^e - 1) / e,  or log(1 + t) if e = 0,    z = c y + d

    The rows to which it is fitted have 0 <= t <= T. Beyond these, y goes on along its tangents: a power below zero has
    an upper bound, and no value would be an outlier.

    Attributes
    ----------
    exponents, last : V, the e and the T.
    before, after : 2 x V, the a and b, and the c and d.
    """

    exponents: Real
    last: Real
    before: Real
    after: Real

    _rules: ClassVar = {
        "exponents": Array("V"),
        "last": Array("V", low=0),
        "before": Array("2", "V"),
        "after": Array("2", "V"),
    }

    def _verify(self) -> None:
        if not (self.before[0].all() and self.after[0].all()):
            raise ValueError("Powers has a column that is multiplied by zero")

    @classmethod
    def of(cls, table: Entries) -> Powers:
        """The powers after which columns are as near to a normal distribution as any power makes them.

        Observed values then have mean 0 and variance 1.
        """
        fitted = [_fitted(column.astype(float)) for column in table.columns()]
        exponents, last, before, after = (np.array(part, dtype=float) for part in zip(*fitted, strict=True))
        return cls(exponents, last, np.ascontiguousarray(before.T), np.ascontiguousarray(after.T))

    @property
    def slopes(self) -> Real:
        """V, the slope of y at T; at 0 it is 1."""
        return np.asarray((1 + self.last) ** (self.exponents - 1))

    def applied(self, table: InMemory) -> Entries:
        """The z of a table of x."""
        rows = table.dense()
        t = self.before[0] * rows.values + self.before[1]
        below, above = np.minimum(t, 0), np.maximum(t - self.last, 0)
        y = boxcox1p(np.clip(t, 0, self.last), self.exponents) + below + self.slopes * above
        z = np.clip(self.after[0] * y + self.after[1], -FAR, FAR)
        return Entries(np.where(rows.mask, z, 0), rows.mask, rows.feature_names)

    def undone(self, rows: Real) -> Real:
        """The x of some z, confined to the range of the rows that the powers were fitted to."""
        y = np.clip((rows - self.after[1]) / self.after[0], 0, boxcox1p(self.last, self.exponents))
        return np.asarray((np.clip(inv_boxcox1p(y, self.exponents), 0, self.last) - self.before[1]) / self.before[0])


def _fitted(values: Real) -> tuple[float, float, tuple[float, float], tuple[float, float]]:
    """Exponent, T, a and b, c and d of the observed values of one column; if no power is found, that of 1.

    Powers depend on the origin and the unit. Values are counted from the end of the short tail, in units of the
    distance to the median, or of the standard deviation, where half of the values lie at that end.
    """
    if not len(values):
        return 1.0, 0.0, (1.0, 0.0), (1.0, 0.0)
    long_tail = -1.0 if values.mean() < np.median(values) else 1.0
    counted = long_tail * values
    end = float(counted.min())
    counted -= end
    unit = float(np.median(counted) or counted.std() or 1.0)
    t = counted / unit
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # powers tried on the way may overflow
        try:
            exponent = float(PowerTransformer(standardize=False).fit(t[:, None]).lambdas_[0])
        except (RuntimeError, ValueError):
            exponent = 1.0
        exponent = exponent if np.isfinite(boxcox1p(t, exponent)).all() else 1.0
    y = boxcox1p(t, exponent)
    c = long_tail / (float(y.std()) or 1.0)
    return exponent, float(t.max()), (long_tail / unit, -end / unit), (c, -c * float(y.mean()))
