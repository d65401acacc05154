"""The axes along which the columns of a table vary, once they are on a common scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.kernels.types import Real
from fusewise.observations import InMemory
from fusewise.observations.resolution import blur
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace, fit_subspace

#: Smallest noise, as a share of the mean variance along an axis.
NOISE_FLOOR = 1e-6


def fit_axes(
    table: InMemory, rank: int, progress: Progress = silent, *, tol: float = 1e-6, start: Subspace | None = None
) -> Subspace:
    """Fit a subspace of at most the given rank; if that is the whole space, return it along its principal axes.

    Axes without variation are dropped, and the noise is kept from vanishing relative to the variances, as it would in
    an exact fit. Columns recorded in steps are blurred by the step. `tol` and `start` are those of
    ``fit_subspace``.
    """
    p = table.shape[1]
    if rank < p:
        fitted = fit_subspace(table, rank=rank, tol=tol, start=start, progress=progress)
    else:
        inner = fit_subspace(table, rank=max(p - 1, 1), tol=tol, start=start, progress=progress)
        covariance = (inner.basis * inner.variances) @ inner.basis.conj().T + inner.noise * np.eye(p)
        variances, basis = np.linalg.eigh(covariance)
        fitted = replace(inner, basis=np.ascontiguousarray(basis[:, ::-1]), variances=np.maximum(variances[::-1], 0))
        # With all dimensions, the entries are the coordinates, except for negligible noise.
        fitted = replace(fitted, noise=0.01 * float(fitted.variances[_varying_axes(fitted.variances)].min()))
    varying = _varying_axes(fitted.variances)
    variances = fitted.variances[varying]
    noise = max(fitted.noise, NOISE_FLOOR * float(variances.mean()), 1e-12)
    own = None if table.dtype.kind == "c" else blur(table)
    return replace(fitted, basis=fitted.basis[:, varying], variances=variances, noise=noise, blur=own)


def _varying_axes(variances: Real) -> npt.NDArray[np.bool_]:
    """Axes with variation; the first, if there is none."""
    varying = variances > 1e-8 * float(variances.max(initial=0))
    return varying if varying.any() else np.arange(len(variances)) == 0


def axes_through(subspace: Subspace, points: Real, least: int) -> Subspace:
    """The directions in a subspace along which some points of it differ, at least so many; the others become noise.

    With S = B' diag(variances) B along these directions B, the variance that the others lose is shared by all that is
    left of the columns: noise' = noise + (sum(variances) - tr S) / (P - q), where q is the number of directions.
    """
    q = max(least, len(points) - 1)
    spanned = points - points.mean(axis=0)
    # A small share of the axes: where the points span too few directions, those follow that vary most.
    others = 1e-6 * float(np.linalg.norm(spanned)) * np.diag(np.sqrt(subspace.variances / subspace.variances.max()))
    directions = np.linalg.svd(np.vstack([spanned, others]))[2][:q].T
    along = (directions.T * subspace.variances) @ directions
    columns = int(subspace.basis.any(axis=1).sum())
    lost = float(subspace.variances.sum() - np.trace(along)) / (columns - q)
    variances, turn = np.linalg.eigh(along)
    basis = subspace.basis @ directions @ turn[:, ::-1]
    floor = NOISE_FLOOR * float(variances[-1])
    return replace(
        subspace,
        basis=np.ascontiguousarray(basis),
        variances=np.maximum(variances[::-1] - lost, floor),
        noise=subspace.noise + lost,
    )


def prior_variances(subspace: Subspace, evidence: Evidence) -> Real:
    """Variance of each real coordinate."""
    if evidence.shape[1] == subspace.rank:
        return subspace.variances
    return np.concatenate([subspace.variances, subspace.variances]) / 2
