"""Starting point of EM: the closed form for complete tables, leading directions of the residual otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from fusewise.kernels.types import Values
from fusewise.observations import Entries, InMemory
from fusewise.observations.entries import wide
from fusewise.subspace.projection import Subspace, posterior
from fusewise.subspace.rows import block, centered, is_sparse, row_slices

#: Up to this size an exact eigendecomposition is cheapest; beyond it, this many rounds of subspace iteration are used,
#: with this many extra directions.
DENSE_EIGEN, ROUNDS, SPARE = 500, 6, 8

#: Smallest noise, as a share of the mean variance: a constant table has no noise.
FLOOR = 1e-12


def closed_form(table: Entries, rank: int) -> Subspace:
    """Maximum likelihood on complete data (Tipping and Bishop, 1999).

    The basis is the leading eigenvectors of the covariance, ``noise`` the mean of the other eigenvalues,
    ``variances`` the leading eigenvalues less the noise.
    """
    n, p = table.shape
    mean = table.values.mean(axis=0, dtype=wide(table.dtype))
    if p <= n:
        covariance = np.zeros((p, p), mean.dtype)
        for rows in row_slices(table, p):
            y = table.values[rows] - mean
            covariance += y.conj().T @ y / n
        eigenvalues, vectors = linalg.eigh(covariance)
        basis = vectors[:, ::-1][:, :rank].conj()
    else:
        y = table.values - mean
        eigenvalues, vectors = linalg.eigh(y @ y.conj().T / n)
        basis = linalg.qr(y.T @ vectors[:, ::-1][:, :rank].conj(), mode="economic")[0]
    total = float(eigenvalues.sum())
    eigenvalues = np.maximum(eigenvalues[::-1], 0.0)
    noise = max((total - eigenvalues[:rank].sum()) / max(p - rank, 1), FLOOR * (total / p or 1.0))
    variances = np.maximum(eigenvalues[:rank] - noise, 0.0)
    terms = np.log(variances + noise).sum() + (p - rank) * np.log(noise) + p
    factor, constant = (1.0, np.log(np.pi)) if table.dtype.kind == "c" else (0.5, np.log(2 * np.pi))
    return Subspace(mean, basis, variances, noise, (float(-factor * n * (p * constant + terms)),))


def residual(table: InMemory, subspace: Subspace) -> Any:
    """The observed entries less their reconstruction, zero where missing."""
    blocks = []
    loadings = subspace.basis * np.sqrt(subspace.variances)
    for rows in row_slices(table, subspace.rank**2):
        values, pattern = block(table, rows)
        y = centered(values, pattern, subspace.mean)
        if subspace.rank:
            v = posterior(y, pattern, loadings, subspace.noise)[1]
            if is_sparse(y):
                row = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))
                y.data -= np.einsum("ek,ek->e", v[row], loadings[y.indices])
            else:
                y -= pattern * (v @ loadings.T)
        blocks.append(y)
    return sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)


def _leading(filled: Any, k: int) -> Values:
    """The `k` leading right singular vectors, as columns: exact for small sides, else by a few rounds of iteration."""
    n, p = filled.shape
    if min(n, p) > DENSE_EIGEN and k + SPARE < min(n, p):
        directions = np.random.default_rng(0).standard_normal((p, k + SPARE))
        for _ in range(ROUNDS):  # EM separates singular values that are too close for these rounds
            directions = linalg.qr(filled.conj().T @ (filled @ directions), mode="economic")[0]
        left = np.asarray(filled @ directions)
        return np.asarray(directions @ linalg.eigh(left.conj().T @ left)[1][:, : -k - 1 : -1]).conj()
    dense = filled.toarray() if is_sparse(filled) else filled
    if p <= n:
        return np.asarray(linalg.eigh(dense.conj().T @ dense, subset_by_index=[p - k, p - 1])[1].conj())
    left = linalg.eigh(dense @ dense.conj().T, subset_by_index=[n - k, n - 1])[1]
    return np.asarray(linalg.qr(dense.T @ left.conj(), mode="economic")[0])


def grown(table: InMemory, start: Subspace, rank: int) -> Values:
    """Loadings of `start`, with further columns along the leading directions of its residual."""
    loadings = start.basis * np.sqrt(start.variances)
    if start.rank >= rank:
        return np.asarray(loadings[:, :rank])
    fresh = _leading(residual(table, start), rank - start.rank)
    # A new direction starts with the variance of the noise, the smallest that can be distinguished from it.
    return np.concatenate([loadings, fresh * np.sqrt(start.noise)], axis=1)
