"""The plane of the map: the first two principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from fusewise.automatic.units import Units
from fusewise.kernels import Real
from fusewise.observations import Entries


@dataclass(frozen=True, eq=False)
class Plane:
    """y = ((x / unit) - mean) A', the two directions in which the rows vary most.

    If columns were made symmetric, these take the place of x / unit.

    Attributes
    ----------
    unit : P, unit of length in each column.
    mean : P, in those units.
    axes : 2 x P, orthonormal rows (a row of zeros where there is no second direction).
    shares : 2, fraction of the variance along each axis.
    units : those of the clusters, if columns were made symmetric.
    """

    unit: Real
    mean: Real
    axes: Real
    shares: Real
    units: Units | None = None

    def project(self, rows: Real) -> Real:
        """Project rows of the table onto the plane."""
        return np.asarray((scaled(rows, self.unit, self.units) - self.mean) @ self.axes.T)

    @property
    def of_what(self) -> str:
        """What the components are those of, as in "first principal component of columns made symmetric"."""
        return "" if self.units is None else " of columns made symmetric"


def scaled(rows: Real, unit: Real, units: Units | None) -> Real:
    """Complete rows in the units of the plane."""
    if units is None:
        return rows / unit
    return np.asarray(units.applied(Entries(rows, np.ones(rows.shape, bool))).values)


def fit_plane(rows: Real, unit: Real, units: Units | None = None) -> Plane:
    """Fit the plane to a complete table. The largest loading of each axis is positive, so that pictures do not flip."""
    z = scaled(rows, unit, units)
    n, p = z.shape
    axes, shares = np.zeros((2, p)), np.zeros(2)
    mean = z.mean(axis=0)
    if n > 1 and np.ptp(z, axis=0).max() > 0:
        found = PCA(min(2, n, p), random_state=0).fit(z)
        signs = np.sign(found.components_[np.arange(found.n_components_), np.abs(found.components_).argmax(axis=1)])
        axes[: found.n_components_] = found.components_ * signs[:, None]
        shares[: found.n_components_] = found.explained_variance_ratio_
    return Plane(unit, mean, axes, shares, units)
