"""Where EM begins: the closed form on complete tables, leading directions of the residual otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import svds

from fusewise.subspace.model import Subspace, posterior
from fusewise.subspace.table import Array, Table, centered, is_sparse

#: Up to this side an exact eigendecomposition costs less than a Lanczos iteration.
DENSE_EIGEN = 500

#: The noise never falls below this part of the mean variance: a constant table has none.
FLOOR = 1e-12


def closed_form(table: Table, rank: int) -> Subspace:
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


def residual(table: Table, subspace: Subspace) -> Any:
    """The observed entries less their reconstruction, with zeros in the holes."""
    blocks = []
    for _, block, pattern in table.blocks(table.values.shape[1]):
        y = centered(block, pattern, subspace.mean)
        if subspace.rank:
            v = posterior(y, pattern, subspace.basis * np.sqrt(subspace.variances), subspace.noise)[1]
            fitted = (v * np.sqrt(subspace.variances)) @ subspace.basis.T
            y = y - (pattern.multiply(fitted).tocsr() if is_sparse(y) else pattern * fitted)
        blocks.append(y)
    return sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)


def _leading(filled: Any, k: int) -> Array:
    """The `k` leading right singular vectors, as columns."""
    n, p = filled.shape
    if min(n, p) > DENSE_EIGEN and k < min(n, p) - 1:
        return np.asarray(svds(filled, k=k, v0=np.ones(min(n, p)), return_singular_vectors=True)[2].T)
    dense = filled.toarray() if is_sparse(filled) else filled
    if p <= n:
        return np.asarray(linalg.eigh(dense.conj().T @ dense, subset_by_index=[p - k, p - 1])[1].conj())
    left = linalg.eigh(dense @ dense.conj().T, subset_by_index=[n - k, n - 1])[1]
    return np.asarray(linalg.qr(dense.T @ left.conj(), mode="economic")[0])


def grown(table: Table, start: Subspace, rank: int) -> Array:
    """Loadings of `start`, with further columns along the leading directions of its residual."""
    loadings = start.basis * np.sqrt(start.variances)
    if start.rank >= rank:
        return np.asarray(loadings[:, :rank])
    fresh = _leading(residual(table, start), rank - start.rank)
    # A new direction starts with the variance of the noise: the least that can be told from it.
    return np.concatenate([loadings, fresh * np.sqrt(start.noise)], axis=1)
