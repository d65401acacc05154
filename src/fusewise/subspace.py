"""Low-rank coordinates of incomplete points: probabilistic PCA on the observed entries.

``x_i = mean + Q v_i + e_i`` with ``v_i ~ N(0, diag(variances))``, ``e_i ~ N(0, noise I)`` and orthonormal ``Q``.
K centres lie in a (K-1)-dimensional affine subspace, so fusing the coordinates ``v_i`` instead of the rows
lowers the within-cluster energy from ``P * noise`` to ``rank * noise`` and keeps the distances between centres.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import svds
from scipy.special import gammaln

__all__ = ["Subspace", "choose_rank", "coordinates", "fit_subspace", "information", "reconstruct"]

Array = NDArray[Any]
BLOCK_ENTRIES = 4_000_000  # floats held at once per block of rows: 32 MB, within the last-level cache of a server
DENSE_EIGEN = 500  # up to this side an exact eigendecomposition costs less than a Lanczos iteration
FLOOR = 1e-12  # the noise never falls below this part of the mean variance: a constant table has none


@dataclass(frozen=True)
class Subspace:
    """``x = mean + basis @ v + noise``, the coordinates ``v`` in the units of the data.

    ``basis`` has orthonormal columns: distances between coordinates are distances in the ambient space.

    Attributes
    ----------
    mean : (P,) array
    basis : (P, rank) array
        Orthonormal columns, by falling variance.
    variances : (rank,) array
        Prior variance of each coordinate.
    noise : float
        Variance of an entry about the subspace.
    history : tuple of float
        Log-likelihood of the observed entries at each EM iteration (one value for the closed form).
    """

    mean: Array
    basis: Array
    variances: Array
    noise: float
    history: tuple[float, ...] = field(default=(), repr=False)

    @property
    def rank(self) -> int:
        """Dimension of the subspace."""
        return int(self.basis.shape[1])

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the observed entries of the table the subspace was fitted to."""
        return self.history[-1] if self.history else float("nan")


def _is_sparse(values: Any) -> bool:
    return bool(sparse.issparse(values))


@dataclass(frozen=True)
class _Table:
    """Values with their holes: a dense array and a boolean mask (None: complete), or a CSR matrix."""

    values: Any
    mask: Any

    def blocks(self, width: int) -> Iterator[tuple[slice, Any, Any]]:
        """Row blocks ``(rows, values, pattern)`` with at most `width` floats of work space per row."""
        step = max(1, BLOCK_ENTRIES // max(width, 1))
        for start in range(0, self.values.shape[0], step):
            rows = slice(start, start + step)
            block = self.values[rows]
            if self.mask is not None:
                pattern = self.mask[rows].astype(float)
            elif _is_sparse(block):
                pattern = sparse.csr_matrix((np.ones(block.nnz), block.indices, block.indptr), block.shape)
            else:
                pattern = np.ones(block.shape)
            yield rows, block, pattern

    @property
    def complete(self) -> bool:
        """Whether no entry is hidden."""
        return not _is_sparse(self.values) and (self.mask is None or bool(np.all(self.mask)))

    def rows_at(self, rows: Array) -> _Table:
        """The table restricted to the given rows."""
        return _Table(self.values[rows], None if self.mask is None else self.mask[rows])


def _table(values: Any, mask: Any) -> _Table:
    if _is_sparse(values):
        if mask is not None:
            raise ValueError("a sparse table carries its own mask: its stored entries; pass mask=None")
        return _Table(sparse.csr_matrix(values), None)
    values = np.asarray(values)
    values = values if values.dtype.kind == "c" else values.astype(float, copy=False)
    if mask is None:
        return _Table(values, None)
    mask = np.asarray(mask, dtype=bool)
    return _Table(np.where(mask, values, 0), mask)


def _centered(block: Any, pattern: Any, mean: Array) -> Any:
    """``pattern * (block - mean)``, zero at the hidden entries."""
    if _is_sparse(block):
        return sparse.csr_matrix((block.data - mean[block.indices], block.indices, block.indptr), block.shape)
    return (block - mean) * pattern


def _squares(block: Any) -> Array:
    """Row sums of ``|x|^2``."""
    if _is_sparse(block):
        return np.asarray(abs(block).power(2).sum(1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", block.conj(), block).real)


def _means(table: _Table) -> tuple[Array, float, Array]:
    """Column means, mean variance of the observed entries, and observed entries per column."""
    total: Any = 0
    counts: Any = 0
    for _, block, pattern in table.blocks(table.values.shape[1]):
        total = total + np.asarray(block.sum(0)).ravel()
        counts = counts + np.asarray(pattern.sum(0)).ravel()
    mean = total / np.maximum(counts, 1)
    energy = sum(float(_squares(_centered(b, d, mean)).sum()) for _, b, d in table.blocks(table.values.shape[1]))
    return mean, energy / max(float(counts.sum()), 1.0), counts


def _normalized(mean: Array, loadings: Array, noise: float, history: tuple[float, ...]) -> Subspace:
    """``loadings = basis diag(sqrt(variances)) R``: the rotation ``R`` of ``v ~ N(0, I)`` is immaterial."""
    basis, scales, _ = linalg.svd(loadings, full_matrices=False)
    return Subspace(mean, basis, scales**2, noise, history)


def _closed_form(table: _Table, rank: int) -> Subspace:
    """Maximum likelihood on complete data (Tipping and Bishop, 1999).

    The basis is the leading eigenvectors of the covariance, ``noise`` the mean of the other eigenvalues,
    ``variances`` the leading eigenvalues less the noise.
    """
    values = table.values
    n, p = values.shape
    mean = values.mean(0)
    centered = values - mean
    if p <= n:
        eigenvalues, vectors = linalg.eigh(centered.conj().T @ centered / n)
        basis = vectors[:, ::-1][:, :rank].conj()
    else:
        eigenvalues, vectors = linalg.eigh(centered @ centered.conj().T / n)
        basis = linalg.qr(centered.T @ vectors[:, ::-1][:, :rank].conj(), mode="economic")[0]
    eigenvalues = np.maximum(eigenvalues[::-1], 0.0)
    total = float(np.vdot(centered, centered).real) / n
    noise = max((total - eigenvalues[:rank].sum()) / max(p - rank, 1), FLOOR * (total / p or 1.0))
    variances = np.maximum(eigenvalues[:rank] - noise, 0.0)
    terms = np.log(variances + noise).sum() + (p - rank) * np.log(noise) + p
    factor, constant = (1.0, np.log(np.pi)) if np.iscomplexobj(values) else (0.5, np.log(2 * np.pi))
    return Subspace(mean, basis, variances, noise, (float(-factor * n * (p * constant + terms)),))


def _residual(table: _Table, subspace: Subspace) -> Any:
    """The observed entries less their reconstruction, with zeros in the holes."""
    blocks = []
    for _, block, pattern in table.blocks(table.values.shape[1]):
        y = _centered(block, pattern, subspace.mean)
        if subspace.rank:
            v = _posterior(y, pattern, subspace.basis * np.sqrt(subspace.variances), subspace.noise)[1]
            fitted = (v * np.sqrt(subspace.variances)) @ subspace.basis.T
            y = y - (pattern.multiply(fitted).tocsr() if _is_sparse(y) else pattern * fitted)
        blocks.append(y)
    return sparse.vstack(blocks, format="csr") if _is_sparse(blocks[0]) else np.concatenate(blocks)


def _leading(filled: Any, k: int) -> Array:
    """The `k` leading right singular vectors, as columns."""
    n, p = filled.shape
    if min(n, p) > DENSE_EIGEN and k < min(n, p) - 1:
        return np.asarray(svds(filled, k=k, v0=np.ones(min(n, p)), return_singular_vectors=True)[2].T)
    dense = filled.toarray() if _is_sparse(filled) else filled
    if p <= n:
        return np.asarray(linalg.eigh(dense.conj().T @ dense, subset_by_index=[p - k, p - 1])[1].conj())
    left = linalg.eigh(dense @ dense.conj().T, subset_by_index=[n - k, n - 1])[1]
    return np.asarray(linalg.qr(dense.T @ left.conj(), mode="economic")[0])


def _grown(table: _Table, start: Subspace, rank: int) -> Array:
    """Loadings of `start`, with further columns along the leading directions of its residual."""
    loadings = start.basis * np.sqrt(start.variances)
    if start.rank >= rank:
        return np.asarray(loadings[:, :rank])
    fresh = _leading(_residual(table, start), rank - start.rank)
    # A new direction starts with the variance of the noise: the least that can be told from it.
    return np.concatenate([loadings, fresh * np.sqrt(start.noise)], axis=1)


@dataclass
class _Sums:
    """What the M step needs of the rows, summed over them."""

    cross: Any = 0  # (P, r+1): sum over a column's rows of tau conj(z) y, with z = (v, 1)
    moments: Any = 0  # (P, (r+1)^2): sum of tau E[conj(z) z^T]
    energy: float = 0.0  # sum of tau |y|^2
    latent: Any = 0  # ((r+1)^2,): sum over all rows of tau E[conj(z) z^T]
    log_likelihood: float = 0.0


def _posterior(y: Any, pattern: Any, loadings: Array, noise: float) -> tuple[Array, Array, Array]:
    """``M_i = W_I^H W_I + noise I``: returns ``M_i^-1``, ``m_i = M_i^-1 W_I^H y_i`` and ``log det M_i``."""
    r = loadings.shape[1]
    outer = (loadings.conj()[:, :, None] * loadings[:, None, :]).reshape(-1, r * r)
    system = np.asarray(pattern @ outer).reshape(-1, r, r) + noise * np.eye(r)
    inverse = np.linalg.inv(system)
    right = np.asarray(y @ loadings.conj())
    means = np.einsum("ikl,il->ik", inverse, right)
    return inverse, means, np.linalg.slogdet(system)[1]


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


def _expectation(table: _Table, mean: Array, loadings: Array, noise: float, dof: float | None) -> _Sums:
    """One pass over the rows: posterior moments of the coordinates, and the log-likelihood."""
    p, r = loadings.shape
    sums = _Sums()
    is_complex = np.iscomplexobj(loadings)
    for _, block, pattern in table.blocks(p + 3 * (r + 1) ** 2):
        y = _centered(block, pattern, mean)
        inverse, v, log_det = _posterior(y, pattern, loadings, noise)
        counts = np.asarray(pattern.sum(1)).ravel()
        squares = _squares(y)
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
    table = _table(values, mask)
    rank = min(rank, *table.values.shape)
    if table.complete and dof is None:
        return _closed_form(table, rank)
    mean, variance, counts = _means(table)
    floor = FLOOR * (variance or 1.0)
    if start is None:
        p = len(mean)
        start = Subspace(mean, np.zeros((p, 0), table.values.dtype), np.zeros(0), max(variance, floor))
    loadings, mean, noise = _grown(table, start, rank), start.mean, start.noise
    entries = max(float(counts.sum()), 1.0)
    history: list[float] = []
    for _ in range(max_iter):
        sums = _expectation(table, mean, loadings, noise, dof)
        history.append(sums.log_likelihood)
        if len(history) > 1 and history[-1] - history[-2] < tol * entries:
            break
        mean, loadings, noise = _maximization(sums, mean, loadings, counts, floor)
    return _normalized(mean, loadings, noise, tuple(history))


def information(subspace: Subspace, values: Any, mask: Any = None) -> tuple[Array, Array]:
    """``precision_i = Q_I^H Q_I / noise`` and ``vector_i = Q_I^H (x_i - mean)_I / noise``, without the prior.

    What the observed entries of a row say of its coordinates: ``|S_i(Q u + mean - x_i)|^2 / noise`` is
    ``u^H precision u - 2 Re(vector^H u)`` up to a constant. Shapes (N, r, r) and (N, r).
    """
    table = _table(values, mask)
    n, r = table.values.shape[0], subspace.rank
    basis = subspace.basis
    outer = (basis.conj()[:, :, None] * basis[:, None, :]).reshape(-1, r * r)
    precision = np.empty((n, r * r), basis.dtype)
    vector = np.empty((n, r), np.result_type(basis, table.values))
    for rows, block, pattern in table.blocks(basis.shape[0] + r * r):
        precision[rows] = pattern @ outer
        vector[rows] = _centered(block, pattern, subspace.mean) @ basis.conj()
    return precision.reshape(n, r, r) / subspace.noise, vector / subspace.noise


def coordinates(subspace: Subspace, values: Any, mask: Any = None) -> tuple[Array, Array]:
    """``S_i = (Q_I^H Q_I / noise + diag(1/variances))^-1`` and ``v_i = S_i Q_I^H (x_i - mean)_I / noise``.

    Posterior mean (N, r) and covariance (N, r, r) of every row's coordinates; a row with nothing observed has the
    prior's.
    """
    precision, vector = information(subspace, values, mask)
    scales = np.sqrt(subspace.variances)  # kept on both sides: a variance of zero is a coordinate of zero
    system = scales[:, None] * precision * scales + np.eye(subspace.rank)
    covariance = scales[:, None] * np.linalg.inv(system) * scales
    return np.einsum("ikl,il->ik", covariance, vector), covariance


def reconstruct(subspace: Subspace, v: Array) -> Array:
    """``mean + Q v``: rows of coordinates, in the ambient space."""
    return np.asarray(subspace.mean + v @ subspace.basis.T)


def choose_rank(
    values: Any,
    mask: Any = None,
    max_rank: int = 20,
    *,
    random_state: int | np.random.Generator | None = None,
    hidden: float = 0.1,
    max_rows: int = 2000,
) -> int:
    """The rank that best predicts a part of the observed entries, hidden from the fit.

    Ranks are tried upwards, each from the fit before it, until three in turn have not lowered the squared error.

    Parameters
    ----------
    values, mask : array or sparse matrix, bool array
        The table, as in `fit_subspace`.
    max_rank : int
        Largest rank tried; never above ``min(N, P) - 1``, which already spans every covariance.
    random_state : int or Generator, optional
        Draws the hidden entries, and the rows used when there are more than `max_rows`.
    hidden : float
        Part of the observed entries to predict.
    max_rows : int
        Rows the choice is made on: the error of the criterion falls with them, its cost rises.
    """
    rng = np.random.default_rng(random_state)
    table = _table(values, mask)
    if table.values.shape[0] > max_rows:
        table = table.rows_at(np.sort(rng.choice(table.values.shape[0], max_rows, replace=False)))
    train, rows, columns, truth = _split(table, hidden, rng)
    best_rank, best_error = 1, np.inf
    fit: Subspace | None = None
    for rank in range(1, max(1, min(max_rank, *np.subtract(table.values.shape, 1))) + 1):
        fit = fit_subspace(train.values, train.mask, rank, max_iter=30, tol=1e-4, start=fit)
        v = coordinates(fit, train.values, train.mask)[0]
        fitted = fit.mean[columns] + np.einsum("ik,ik->i", v[rows], fit.basis[columns])
        error = float(np.sum(np.abs(truth - fitted) ** 2))
        if error < best_error:
            best_rank, best_error = rank, error
        elif rank >= best_rank + 3:
            break
    return best_rank


def _split(table: _Table, hidden: float, rng: np.random.Generator) -> tuple[_Table, Array, Array, Array]:
    """Hide a part of the observed entries: the table left, and the rows, columns and values of the hidden ones."""
    if _is_sparse(table.values):
        entries = table.values.tocoo()
        out = rng.random(entries.nnz) < hidden
        kept = (entries.data[~out], (entries.row[~out], entries.col[~out]))
        left = _Table(sparse.csr_matrix(kept, table.values.shape), None)
        return left, entries.row[out], entries.col[out], entries.data[out]
    mask = np.ones(table.values.shape, bool) if table.mask is None else table.mask
    out = mask & (rng.random(mask.shape) < hidden)
    rows, columns = np.nonzero(out)
    return _Table(np.where(out, 0, table.values), mask & ~out), rows, columns, table.values[rows, columns]
