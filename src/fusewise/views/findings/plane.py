"""The plane of the map: the first two principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA

from fusewise.kernels.types import Real


@dataclass(frozen=True, eq=False)
class Plane:
    """y = ((x / unit) - mean) A', the two directions in which the rows vary most.

    Attributes
    ----------
    unit : P, unit of length in each column.
    mean : P, in those units.
    axes : 2 x P, orthonormal rows (a row of zeros where there is no second direction).
    shares : 2, fraction of the variance along each axis.
    """

    unit: Real
    mean: Real
    axes: Real
    shares: Real

    def project(self, rows: Real) -> Real:
        """Project rows of the table onto the plane."""
        return np.asarray((rows / self.unit - self.mean) @ self.axes.T)


def fit_plane(rows: Real, unit: Real) -> Plane:
    """Fit the plane to a complete table. The largest loading of each axis is positive, so that pictures do not flip."""
    n, p = rows.shape
    axes, shares = np.zeros((2, p)), np.zeros(2)
    scaled = rows / unit
    mean = scaled.mean(axis=0)
    if n > 1 and np.ptp(scaled, axis=0).max() > 0:
        found = PCA(min(2, n, p), random_state=0).fit(scaled)
        signs = np.sign(found.components_[np.arange(found.n_components_), np.abs(found.components_).argmax(axis=1)])
        axes[: found.n_components_] = found.components_ * signs[:, None]
        shares[: found.n_components_] = found.explained_variance_ratio_
    return Plane(unit, mean, axes, shares)
