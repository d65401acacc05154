"""Parameter-expanded EM, one pass over blocks of rows per iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from fusewise.subspace.model import Subspace, posterior
from fusewise.subspace.start import FLOOR, closed_form, grown
from fusewise.subspace.table import Array, Table, as_table, centered, column_means, row_squares


def fit_subspace(
    values: Any,
    mask: Any = None,
    rank: int = 1,
    *,
    dof: float | None = None,
    max_iter: int = 200,
    tol: float = 1e-6,
    start: Subspace | None = None,
) -> Subspace:
    """Maximise ``sum_i log N(x_i; mean, Q diag(variances) Q^H + noise I)`` over the observed entries.

    Complete tables have a closed form; others are fitted by parameter-expanded EM, one pass over blocks of rows per
    iteration, and the likelihood never falls.

    Parameters
    ----------
    values : (N, P) array or sparse matrix
        Real or complex. Entries where `mask` is False are ignored; the stored entries of a sparse matrix are the
        observed ones.
    mask : (N, P) bool array, optional
        True where observed; None for a complete (or a sparse) table.
    rank : int
        Dimension of the subspace, capped at ``min(N, P)``.
    dof : float, optional
        Degrees of freedom of a Student law for the rows, which bounds the pull of outlying ones. The default is
        Gaussian: a small cluster far away is signal here, not an outlier to be weighed down.
    max_iter, tol : int, float
        Stop after `max_iter` iterations, or when an iteration gains less than `tol` per observed entry.
    start : Subspace, optional
        A fit of the same or a lower rank to begin from.
    """
    table = as_table(values, mask)
    rank = min(rank, *table.values.shape)
    if table.complete and dof is None:
        return closed_form(table, rank)
    mean, variance, counts = column_means(table)
    floor = FLOOR * (variance or 1.0)
    if start is None:
        p = len(mean)
        start = Subspace(mean, np.zeros((p, 0), table.values.dtype), np.zeros(0), max(variance, floor))
    loadings, mean, noise = grown(table, start, rank), start.mean, start.noise
    entries = max(float(counts.sum()), 1.0)
    history: list[float] = []
    for _ in range(max_iter):
        sums = _expectation(table, mean, loadings, noise, dof)
        history.append(sums.log_likelihood)
        if len(history) > 1 and history[-1] - history[-2] < tol * entries:
            break
        mean, loadings, noise = _maximization(sums, mean, loadings, counts, floor)
    return normalized(mean, loadings, noise, tuple(history))


@dataclass
class _Sums:
    """What the M step needs of the rows, summed over them."""

    cross: Any = 0  # (P, r+1): sum over a column's rows of tau conj(z) y, with z = (v, 1)
    moments: Any = 0  # (P, (r+1)^2): sum of tau E[conj(z) z^T]
    energy: float = 0.0  # sum of tau |y|^2
    latent: Any = 0  # ((r+1)^2,): sum over all rows of tau E[conj(z) z^T]
    log_likelihood: float = 0.0


def _log_density(distance: Array, log_det: Array, counts: Array, dof: float | None, is_complex: bool) -> Array:
    """Log-density of each row from its Mahalanobis distance: Gaussian, or Student with `dof`."""
    half = 1.0 if is_complex else 0.5
    constant = np.log(np.pi) if is_complex else np.log(2 * np.pi)
    if dof is None:
        return np.asarray(-half * (counts * constant + log_det + distance))
    n = 2 * half * counts  # real dimensions
    kernel = gammaln((dof + n) / 2) - gammaln(dof / 2) - n / 2 * np.log(dof / 2)
    scaled = np.log1p(2 * half * distance / dof)
    return np.asarray(kernel - half * (counts * constant + log_det) - (dof + n) / 2 * scaled)


def _expectation(table: Table, mean: Array, loadings: Array, noise: float, dof: float | None) -> _Sums:
    """One pass over the rows: posterior moments of the coordinates, and the log-likelihood."""
    p, r = loadings.shape
    sums = _Sums()
    is_complex = np.iscomplexobj(loadings)
    for _, block, pattern in table.blocks(p + 3 * (r + 1) ** 2):
        y = centered(block, pattern, mean)
        inverse, v, log_det = posterior(y, pattern, loadings, noise)
        counts = np.asarray(pattern.sum(1)).ravel()
        squares = row_squares(y)
        explained = np.einsum("ik,ik->i", v.conj(), np.asarray(y @ loadings.conj())).real
        distance = np.maximum(squares - explained, 0.0) / noise
        log_det = log_det + (counts - r) * np.log(noise)
        sums.log_likelihood += float(_log_density(distance, log_det, counts, dof, is_complex).sum())
        tau = np.ones(len(v))
        if dof is not None:
            sides = 2.0 if is_complex else 1.0
            tau = (dof + sides * counts) / (dof + sides * distance)
        z = np.concatenate([v, np.ones((len(v), 1))], axis=1)
        second = (tau[:, None] * z.conj())[:, :, None] * z[:, None, :]
        second[:, :r, :r] += noise * inverse.conj()
        second = second.reshape(len(v), -1)
        sums.cross = sums.cross + np.asarray(y.T @ (tau[:, None] * z.conj()))
        sums.moments = sums.moments + np.asarray(pattern.T @ second)
        sums.latent = sums.latent + second.sum(0)
        sums.energy += float(tau @ squares)
    return sums


def _maximization(sums: _Sums, mean: Array, loadings: Array, counts: Array, floor: float) -> tuple[Array, Array, float]:
    """Regress every column on ``(v, 1)``; then give the latent mean and covariance back to the loadings.

    The second half is parameter-expanded EM (Liu, Rubin and Wu, 1998): the latent law is fitted too, and reduced to
    N(0, I). The likelihood rises at least as in EM, in far fewer iterations.
    """
    p, r = loadings.shape
    moments = np.asarray(sums.moments).reshape(p, r + 1, r + 1)
    seen = counts > 0
    solution = np.zeros((p, r + 1), loadings.dtype)
    if seen.any():
        solution[seen] = np.linalg.solve(moments[seen], sums.cross[seen][:, :, None])[:, :, 0]
    explained = float(np.vdot(sums.cross[seen], solution[seen]).real)
    noise = max((sums.energy - explained) / max(float(counts.sum()), 1.0), floor)
    latent = np.asarray(sums.latent).reshape(r + 1, r + 1).conj() / np.asarray(sums.latent)[-1].real
    shift = latent[:r, r]
    covariance = latent[:r, :r] - np.outer(shift, shift.conj())
    root = linalg.cholesky(covariance + FLOOR * np.eye(r), lower=True)
    slopes = solution[:, :r]
    return mean + solution[:, r] + slopes @ shift, slopes @ root, noise


def normalized(mean: Array, loadings: Array, noise: float, history: tuple[float, ...]) -> Subspace:
    """``loadings = basis diag(sqrt(variances)) R``: the rotation ``R`` of ``v ~ N(0, I)`` is immaterial."""
    basis, scales, _ = linalg.svd(loadings, full_matrices=False)
    return Subspace(mean, basis, scales**2, noise, history)
