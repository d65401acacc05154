"""Where the default works: varying columns on one scale, and the axes along which they vary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fusewise.automatic.columnwise import Levels
from fusewise.automatic.evidence import Evidence, Index
from fusewise.observations import InMemory, Table
from fusewise.observations.entries import Real, Values
from fusewise.observations.resolution import blur
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace, fit_subspace

#: Least noise, as a part of the mean variance along an axis.
NOISE_FLOOR = 1e-6


def varying_columns(table: Table) -> tuple[Index, Real]:
    """The columns that vary (all, if none does), and the standard deviation of each column, 1 for the others."""
    deviations = np.sqrt(table.column_variances)
    # A constant that is no exact binary fraction varies in its last digits: that is rounding, not data.
    rounding = 100 * float(np.finfo(table.dtype).eps) * np.abs(table.column_means)
    columns = np.flatnonzero(deviations > rounding)
    scale = np.ones(len(deviations))
    scale[columns] = deviations[columns]
    return (columns if len(columns) else np.arange(len(deviations))), scale


def units(table: Table, levels: Levels) -> tuple[Index, Real, Values, Levels]:
    """The columns that vary, the scale and the origin of each, and the blocks of levels among the varying columns.

    Numbers have their standard deviation and mean; the levels of a category share one scale, by which the category as
    a whole has the variance of one number, and are not centred.
    """
    columns, scale = varying_columns(table)
    middle = table.column_means.copy()
    blocks = []
    for start, stop in levels:
        inside = columns[(columns >= start) & (columns < stop)]
        if len(inside):
            scale[inside] = np.sqrt(table.column_variances[inside].sum())
            middle[inside] = 0
            first = int(np.searchsorted(columns, inside[0]))
            blocks.append((first, first + len(inside)))
    return columns, scale, middle, tuple(blocks)


def fit_axes(table: InMemory, rank: int, progress: Progress = silent, *, tol: float = 1e-6) -> Subspace:
    """A subspace of at most the given rank; where that is the whole space, all of it, turned to the principal axes.

    Axes along which nothing varies are left out, and the noise is kept from vanishing against the variances: an exact
    fit would know every place to the last digit. Columns measured in steps are blurred by these. `tol` is that of
    ``fit_subspace``.
    """
    p = table.shape[1]
    if rank < p:
        fitted = fit_subspace(table, rank=rank, tol=tol, progress=progress)
    else:
        inner = fit_subspace(table, rank=max(p - 1, 1), tol=tol, progress=progress)
        covariance = (inner.basis * inner.variances) @ inner.basis.conj().T + inner.noise * np.eye(p)
        variances, basis = np.linalg.eigh(covariance)
        fitted = replace(inner, basis=np.ascontiguousarray(basis[:, ::-1]), variances=np.maximum(variances[::-1], 0))
        # An entry is its coordinates here, but for a noise too small to matter.
        fitted = replace(fitted, noise=0.01 * float(fitted.variances[_alive(fitted.variances)].min()))
    alive = _alive(fitted.variances)
    variances = fitted.variances[alive]
    noise = max(fitted.noise, NOISE_FLOOR * float(variances.mean()), 1e-12)
    own = None if table.dtype.kind == "c" else blur(table)
    return replace(fitted, basis=fitted.basis[:, alive], variances=variances, noise=noise, blur=own)


def _alive(variances: Real) -> npt.NDArray[np.bool_]:
    """Axes along which something varies; the first, if none does."""
    alive = variances > 1e-8 * float(variances.max(initial=0))
    return alive if alive.any() else np.arange(len(variances)) == 0


def prior_variances(subspace: Subspace, evidence: Evidence) -> Real:
    """Variance of each real coordinate."""
    if evidence.shape[1] == subspace.rank:
        return subspace.variances
    return np.concatenate([subspace.variances, subspace.variances]) / 2
