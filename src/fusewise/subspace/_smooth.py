"""Imputation of a table without clusters, from a subspace with shrunk loadings, fitted by variational Bayes:

    x_ij = m_j + w_j' v_i + e_ij,   v_i ~ N(0, I),   w_jk ~ N(0, a_k),   m_j ~ N(m, b),   e_ij ~ N(0, noise).

A column observed in three rows does not determine six loadings: it is shrunk towards the other columns, the more so the
more alike these are. Axes the table does not support vanish (a_k tends to zero). Intended for imputing tables with few
observed entries (Ilin and Raiko, 2010); for clustering, where a weak axis may separate clusters, use ``fit_subspace``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.kernels import Index, Real, Values
from fusewise.observations import Entries, varying_columns
from fusewise.subspace._em import fit_subspace, normalized, pass_over
from fusewise.subspace._projection import Subspace, coordinates, reconstruct
from fusewise.support import Dims, Instance, NumberArray, PositionArray, Record

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
    begin, table = fit_subspace(entries, rank, max_iter=5), replace(entries, variances=None)  # errors count as noise
    counts = entries.column_counts.astype(float)
    mean, loadings = begin.mean.copy(), begin.basis * np.sqrt(begin.variances)
    size = max(float(np.square(entries.centred).sum() / counts.sum()), np.finfo(float).tiny)
    noise = max(begin.noise, FLOOR * size)
    doubt: Real = np.zeros((p, rank, rank))  # covariance of q(w_j)
    loading_variance = np.maximum(np.square(loadings).mean(axis=0), FLOOR * size)
    middle, mean_variance = mean.mean(), max(float(mean.var()), FLOOR * size)
    for _ in range(max_iter):
        before = noise
        sums = pass_over(table, mean, loadings, noise, doubt)
        moments, latent = sums.moments.reshape(p, rank + 1, rank + 1), sums.latent.reshape(rank + 1, rank + 1) / n
        cross, second = sums.cross[:, :rank], moments[:, :rank, :rank]
        doubt = np.linalg.inv(second / noise + np.diag(1 / loading_variance))
        loadings = np.einsum("jkl,jl->jk", doubt, cross) / noise
        residual_sums = sums.cross[:, rank] - np.einsum("jk,jk->j", loadings, moments[:, rank, :rank])
        squares = sums.energy - 2 * float(np.einsum("jk,jk->", loadings, cross))
        squares += float(np.einsum("jk,jkl,jl->", loadings, second, loadings))
        squares += float(np.einsum("jkl,jkl->", doubt, second))
        mean_doubt = 1 / (counts / noise + 1 / mean_variance)
        step = mean_doubt * (residual_sums / noise + (middle - mean) / mean_variance)
        squares += float((counts * (np.square(step) + mean_doubt) - 2 * step * residual_sums).sum())
        mean = mean + step
        noise = max(squares / counts.sum(), FLOOR * size)
        middle, mean_variance = mean.mean(), max(float(mean.var() + mean_doubt.mean()), FLOOR * size)
        shift = latent[rank, :rank]
        covariance = latent[:rank, :rank] - np.outer(shift, shift)
        root = np.linalg.cholesky(covariance + FLOOR * np.eye(rank))
        mean = mean + loadings @ shift
        loadings, doubt = loadings @ root, root.T @ doubt @ root
        strength, axes = np.linalg.eigh(loadings.T @ loadings + doubt.sum(axis=0))
        loadings, doubt = loadings @ axes[:, ::-1], axes[:, ::-1].T @ doubt @ axes[:, ::-1]
        loading_variance = np.maximum(strength[::-1] / p, FLOOR * size)
        if abs(np.log(noise / before)) < tol:
            break
    return normalized(mean, loadings, noise, ())


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
