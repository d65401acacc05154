"""Where the default works: varying columns on one scale, and the axes along which they vary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fusewise.evidence import Evidence, Index
from fusewise.observations import Entries
from fusewise.observations.entries import Real, Values
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace, fit_subspace

#: Least noise, as a part of the mean variance along an axis.
NOISE_FLOOR = 1e-6
#: Rows taken at a time.
BLOCK = 65536


def varying_columns(entries: Entries) -> tuple[Index, Real]:
    """The columns that vary (all, if none does), and the standard deviation of each column, 1 for the others."""
    squares = np.zeros(entries.shape[1])
    for begin in range(0, entries.shape[0], BLOCK):
        rows = slice(begin, begin + BLOCK)
        deviations = np.where(entries.mask[rows], entries.values[rows] - entries.column_means, 0)
        squares += np.square(np.abs(deviations), dtype=float).sum(axis=0)
    deviations = np.sqrt(squares / np.maximum(entries.column_counts, 1))
    # A constant that is no exact binary fraction varies in its last digits: that is rounding, not data.
    rounding = 100 * float(np.finfo(entries.values.dtype).eps) * np.abs(entries.column_means)
    columns = np.flatnonzero(deviations > rounding)
    scale = np.ones(len(deviations))
    scale[columns] = deviations[columns]
    return (columns if len(columns) else np.arange(len(deviations))), scale


def standardised(entries: Entries, columns: Index, scale: Real, middle: Values) -> Entries:
    """(x - mean) / scale in some columns (in double precision: tables may be singles, likelihoods should not)."""
    wide = np.complex128 if np.iscomplexobj(entries.values) else np.float64
    mask = entries.mask[:, columns]
    values = (entries.values[:, columns].astype(wide) - middle[columns]) / scale[columns]
    return Entries(np.where(mask, values, 0), mask)


def fit_axes(table: Entries, rank: int, progress: Progress = silent) -> Subspace:
    """A subspace of at most the given rank; where that is the whole space, all of it, turned to the principal axes.

    Axes along which nothing varies are left out, and the noise is kept from vanishing against the variances: an exact
    fit would know every place to the last digit.
    """
    p = table.shape[1]
    if rank < p:
        fitted = fit_subspace(table.values, table.mask, rank, progress=progress)
    else:
        inner = fit_subspace(table.values, table.mask, max(p - 1, 1), progress=progress)
        covariance = (inner.basis * inner.variances) @ inner.basis.conj().T + inner.noise * np.eye(p)
        variances, basis = np.linalg.eigh(covariance)
        fitted = replace(inner, basis=np.ascontiguousarray(basis[:, ::-1]), variances=np.maximum(variances[::-1], 0))
        # An entry is its coordinates here, but for a noise too small to matter.
        fitted = replace(fitted, noise=0.01 * float(fitted.variances[_alive(fitted.variances)].min()))
    alive = _alive(fitted.variances)
    variances = fitted.variances[alive]
    noise = max(fitted.noise, NOISE_FLOOR * float(variances.mean()), 1e-12)
    return replace(fitted, basis=fitted.basis[:, alive], variances=variances, noise=noise)


def _alive(variances: Real) -> npt.NDArray[np.bool_]:
    """Axes along which something varies; the first, if none does."""
    alive = variances > 1e-8 * float(variances.max(initial=0))
    return alive if alive.any() else np.arange(len(variances)) == 0


def prior_variances(subspace: Subspace, evidence: Evidence) -> Real:
    """Variance of each real coordinate."""
    if evidence.shape[1] == subspace.rank:
        return subspace.variances
    return np.concatenate([subspace.variances, subspace.variances]) / 2
