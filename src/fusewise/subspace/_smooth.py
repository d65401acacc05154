"""Imputation of a table without clusters, from a subspace with shrunk loadings, fitted by variational Bayes:

    x_ij = m_j + w_j' v_i + e_ij,   v_i ~ N(0, I),   w_jk ~ N(0, a_k),   m_j ~ N(m, b),   e_ij ~ N(0, noise).

A column observed in three rows does not determine six loadings: it is shrunk towards the other columns, the more so the
more alike these are. Axes the table does not support vanish (a_k tends to zero). Intended for imputing tables with few
observed entries (Ilin and Raiko, 2010); for clustering, where a weak axis may separate clusters, use ``fit_subspace``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fusewise.kernels import Index, Real, Values
from fusewise.observations import Entries, row_blocks, varying_columns
from fusewise.subspace._em import fit_subspace, normalized
from fusewise.subspace._projection import Subspace, coordinates, reconstruct
from fusewise.support import Dims, Instance, NumberArray, PositionArray, Record

#: Rows processed at a time.
BLOCK = 8192
#: Smallest variance of a loading, and smallest noise, relative to the variance of the entries.
FLOOR = 1e-10


def fit_shrunk_subspace(entries: Entries, rank: int, *, max_iter: int = 200, tol: float = 1e-5) -> Subspace:
    """Alternate between q(v_i), q(w_j), q(m_j) and the variances a, b, noise until the noise converges.

    Each round ends by absorbing the coordinates' mean and covariance into the loadings, and by rotating the axes to
    the principal ones of the loadings (parameter expansion), which leaves the model unchanged and saves many rounds.

    The columns are real and on comparable scales. `rank` is the largest number of axes; fewer remain if fewer are
    supported. `tol` is the relative change of the noise at which the rounds end.
    """
    n, p = entries.shape
    rank = min(rank, n, p)
    begin = fit_subspace(entries, rank, max_iter=5)
    counts = entries.column_counts.astype(float)
    mean, loadings = begin.mean.copy(), begin.basis * np.sqrt(begin.variances)
    size = max(float(np.square(entries.centred).sum() / counts.sum()), np.finfo(float).tiny)
    noise = max(begin.noise, FLOOR * size)
    doubt = np.zeros((p, rank, rank))  # covariance of q(w_j)
    loading_variance = np.maximum(np.square(loadings).mean(axis=0), FLOOR * size)
    middle, mean_variance = mean.mean(), max(float(mean.var()), FLOOR * size)
    for _ in range(max_iter):
        before = noise
        sums = _expectation(entries, mean, loadings, doubt, noise)
        doubt = np.linalg.inv(sums.second / noise + np.diag(1 / loading_variance))
        loadings = np.einsum("jkl,jl->jk", doubt, sums.cross) / noise
        residual_sums = sums.total - np.einsum("jk,jk->j", loadings, sums.first)
        squares = sums.energy - 2 * float(np.einsum("jk,jk->", loadings, sums.cross))
        squares += float(np.einsum("jk,jkl,jl->", loadings, sums.second, loadings))
        squares += float(np.einsum("jkl,jkl->", doubt, sums.second))
        mean_doubt = 1 / (counts / noise + 1 / mean_variance)
        step = mean_doubt * (residual_sums / noise + (middle - mean) / mean_variance)
        squares += float((counts * (np.square(step) + mean_doubt) - 2 * step * residual_sums).sum())
        mean = mean + step
        noise = max(squares / counts.sum(), FLOOR * size)
        middle, mean_variance = mean.mean(), max(float(mean.var() + mean_doubt.mean()), FLOOR * size)
        shift = sums.places / n
        covariance = sums.latent / n - np.outer(shift, shift)
        root = np.linalg.cholesky(covariance + FLOOR * np.eye(rank))
        mean = mean + loadings @ shift
        loadings, doubt = loadings @ root, root.T @ doubt @ root
        strength, axes = np.linalg.eigh(loadings.T @ loadings + doubt.sum(axis=0))
        loadings, doubt = loadings @ axes[:, ::-1], axes[:, ::-1].T @ doubt @ axes[:, ::-1]
        loading_variance = np.maximum(strength[::-1] / p, FLOOR * size)
        if abs(np.log(noise / before)) < tol:
            break
    return normalized(mean, loadings, noise, ())


@dataclass
class _RowSums:
    """Sums that a round needs, over the rows that have a column observed, or over all."""

    total: Any = 0.0  # (P,): sum of y_ij
    energy: float = 0.0  # sum of y_ij²
    first: Any = 0.0  # (P, r): sum of E[v_i]
    cross: Any = 0.0  # (P, r): sum of y_ij E[v_i]
    second: Any = 0.0  # (P, r, r): sum of E[v_i v_i']
    places: Any = 0.0  # (r,): sum of E[v_i] over all rows
    latent: Any = 0.0  # (r, r): sum of E[v_i v_i'] over all rows


def _expectation(entries: Entries, mean: Real, loadings: Real, doubt: Real, noise: float) -> _RowSums:
    """One pass over the rows: q(v_i), given the loadings and their uncertainty."""
    p, r = loadings.shape
    outer = (loadings[:, :, None] * loadings[:, None, :] + doubt).reshape(p, -1)
    sums = _RowSums()
    for rows in row_blocks(entries.shape[0], 1, BLOCK):
        mask = entries.mask[rows].astype(float)
        y = (entries.values[rows] - mean) * mask
        covariances = np.linalg.inv((mask @ outer).reshape(-1, r, r) / noise + np.eye(r))
        v = np.einsum("ikl,il->ik", covariances, y @ loadings) / noise
        second = covariances + v[:, :, None] * v[:, None, :]
        sums.total += y.sum(axis=0)
        sums.energy += float(np.square(y).sum())
        sums.first += mask.T @ v
        sums.cross += y.T @ v
        sums.second += (mask.T @ second.reshape(len(v), -1)).reshape(p, r, r)
        sums.places += v.sum(axis=0)
        sums.latent += second.sum(axis=0)
    return sums


@dataclass(frozen=True, eq=False)
class Smooth(Record):
    """A shrunk subspace of the columns, each in units of its standard deviation; a complex column is two real ones.

    Columns are not centred, so that those with similar means (ratings, for example) can be shrunk towards each other.
    """

    columns: Index  # those that vary
    scale: Real  # the standard deviation of each column
    middle: Values  # the mean of each column
    subspace: Subspace  # of the varying columns

    _rules: ClassVar = {
        "columns": PositionArray("V", below="P"),
        "scale": NumberArray("P", low=0),
        "middle": NumberArray("P", kinds="fc"),
        "subspace": Instance(Subspace, P="Q"),
    }

    def _agree(self, dims: Dims) -> None:
        if dims["Q"] not in (dims["V"], 2 * dims["V"]):
            raise ValueError(f"Smooth.subspace has {dims['Q']} columns for {dims['V']} of the table")

    @classmethod
    def of(cls, entries: Entries) -> Smooth:
        columns, scale = varying_columns(entries)
        return cls(columns, scale, entries.column_means, fit_shrunk_subspace(_scaled(entries, columns, scale), 6))

    def completed(self, entries: Entries) -> Values:
        """E[row | its entries]; the mean for a row without observed entries."""
        table = _scaled(entries, self.columns, self.scale)
        return self._in_units(reconstruct(self.subspace, coordinates(self.subspace, table)[0]), entries)

    def drawn(self, entries: Entries, scale: Real, seed: int) -> Values:
        """Rows drawn given their entries: the coordinates, and noise about the subspace, times `scale` (P).

        But not to vary more than if nothing of a row were known.
        """
        random = np.random.default_rng(seed)
        v, covariances = coordinates(self.subspace, _scaled(entries, self.columns, self.scale))
        values, axes = np.linalg.eigh(covariances)
        away = np.einsum("ijk,ik->ij", axes, np.sqrt(np.maximum(values, 0)) * random.standard_normal(v.shape))
        noise = with_noise(away @ self.subspace.basis.T, self.subspace.noises, random)
        basis, noises = self.subspace.basis, self.subspace.noises
        known = np.einsum("jk,ikl,jl->ij", basis, covariances, basis) + noises
        most = np.sqrt((np.square(basis) @ self.subspace.variances + noises) / known)
        each = np.minimum(np.resize(scale[self.columns], noise.shape[1]), most)
        return self._in_units(reconstruct(self.subspace, v) + each * noise, entries)

    def _in_units(self, found: Real, entries: Entries) -> Values:
        """Convert scaled rows of the varying columns to rows of the table."""
        p = len(self.columns)
        whole = np.repeat(self.middle[None], entries.shape[0], axis=0)
        parts = found[:, :p] + 1j * found[:, p:] if found.shape[1] > p else found
        whole[:, self.columns] = parts * self.scale[self.columns]
        return whole


def _scaled(entries: Entries, columns: Index, scale: Real) -> Entries:
    """Varying columns in units of their standard deviation, as real numbers in double precision."""
    return entries.standardised(columns, scale, np.zeros(len(scale))).real()


def with_noise(rows: Values, variances: Real, random: np.random.Generator) -> Values:
    """Add independent normal noise of given variances of the columns, shared by the two parts of complex ones."""
    noise = random.standard_normal(rows.shape)
    if np.iscomplexobj(rows):
        noise = (noise + 1j * random.standard_normal(rows.shape)) / np.sqrt(2)
    return np.asarray(rows + np.sqrt(variances) * noise)
