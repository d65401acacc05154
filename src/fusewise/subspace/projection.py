"""The subspace model, and the posterior of the coordinates of rows with missing values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fusewise.kernels import small_matrices
from fusewise.kernels.checked import Checked
from fusewise.kernels import field_rules
from fusewise.kernels.field_rules import Maybe, Number, Several
from fusewise.kernels.threads import in_threads
from fusewise.kernels.types import Values
from fusewise.observations import InMemory
from fusewise.observations.entries import wide
from fusewise.subspace.rows import block, centered, row_slices


@dataclass(frozen=True)
class Subspace(Checked):
    """``x = mean + basis @ v + noise``, with coordinates ``v`` in the units of the data.

    ``basis`` has orthonormal columns: distances between coordinates are distances in the ambient space.

    Attributes
    ----------
    mean : (P,) array
    basis : (P, rank) array
        Orthonormal columns, by decreasing variance.
    variances : (rank,) array
        Prior variance of each coordinate.
    noise : float
        Variance of an entry around the subspace.
    history : tuple of float
        Log-likelihood of the observed entries at each EM iteration (one value for the closed form).
    blur : (P,) array, optional
        Variance that the resolution of each column adds to the noise of its entries.
    """

    mean: Values
    basis: Values
    variances: Values
    noise: float
    history: tuple[float, ...] = field(default=(), repr=False)
    blur: Values | None = None

    _rules: ClassVar = {
        "mean": field_rules.Array("P", kinds="fc"),
        "basis": field_rules.Array("P", "r", kinds="fc"),
        "variances": field_rules.Array("r", low=0),
        "noise": Number(low=0),
        "history": Several(Number(finite=False)),
        "blur": Maybe(field_rules.Array("P", low=0)),
    }

    @property
    def rank(self) -> int:
        """Dimension of the subspace."""
        return int(self.basis.shape[1])

    @property
    def noises(self) -> Values:
        """Variance of an entry of each column around the subspace, (P,)."""
        return np.full(len(self.mean), self.noise) + (0 if self.blur is None else self.blur)

    @property
    def log_likelihood(self) -> float:
        """Log-likelihood of the observed entries of the table the subspace was fitted to."""
        return self.history[-1] if self.history else float("nan")


def posterior(y: Any, pattern: Any, loadings: Values, noise: float) -> tuple[Values, Values, Values]:
    """``M_i = W_I^H W_I + noise I``: returns ``M_i^-1``, ``m_i = M_i^-1 W_I^H y_i`` and ``log det M_i``."""
    r = loadings.shape[1]
    outer = (loadings.conj()[:, :, None] * loadings[:, None, :]).reshape(-1, r * r)
    grams = np.asarray(pattern @ outer).reshape(-1, r, r)
    inverse, log_det = small_matrices.block_inverses(grams, np.full(len(grams), noise))
    right = np.asarray(y @ loadings.conj())
    return inverse, np.einsum("ikl,il->ik", inverse, right), log_det


def precisions(subspace: Subspace, seen: Any) -> Values:
    """``Q_I^H Q_I / noise`` for each row of a pattern (1 where observed, 0 where missing), with each column's noise."""
    r, basis = subspace.rank, subspace.basis
    weighed = basis.conj() / subspace.noises[:, None]
    return np.asarray(seen @ (weighed[:, :, None] * basis[:, None, :]).reshape(-1, r * r)).reshape(-1, r, r)


def pulls(subspace: Subspace, deviations: Any) -> Values:
    """``Q_I^H (x_i - mean)_I / noise`` of deviations ``x_i - mean``, zero where missing."""
    return np.asarray(deviations @ (subspace.basis.conj() / subspace.noises[:, None]))


def information(subspace: Subspace, table: InMemory) -> tuple[Values, Values]:
    """``precision_i = Q_I^H Q_I / noise`` and ``vector_i = Q_I^H (x_i - mean)_I / noise``, without the prior.

    The misfit ``|S_i(Q u + mean - x_i)|^2 / noise`` of a row's entries, with the noise of each column, is
    ``u^H precision u - 2 Re(vector^H u)`` up to a constant. Shapes (N, r, r) and (N, r).
    """
    n, r = table.shape[0], subspace.rank
    precision = np.empty((n, r, r), subspace.basis.dtype)
    vector = np.empty((n, r), np.result_type(subspace.basis, wide(table.dtype)))

    def work(rows: slice) -> None:
        values, pattern = block(table, rows)
        precision[rows] = precisions(subspace, pattern)
        vector[rows] = pulls(subspace, centered(values, pattern, subspace.mean))

    for _ in in_threads(work, row_slices(table, r * r)):
        pass
    return precision, vector


def coordinates(subspace: Subspace, table: InMemory) -> tuple[Values, Values]:
    """``S_i = (Q_I^H Q_I / noise + diag(1/variances))^-1`` and ``v_i = S_i Q_I^H (x_i - mean)_I / noise``.

    Posterior mean (N, r) and covariance (N, r, r) of every row's coordinates; those of the prior for a row
    without observed entries.
    """
    precision, vector = information(subspace, table)
    scales = np.sqrt(subspace.variances)  # on both sides: a variance of zero gives a coordinate of zero
    inverse, _ = small_matrices.block_inverses(scales[:, None] * precision * scales, np.ones(len(vector)))
    covariance = scales[:, None] * inverse * scales
    return small_matrices.block_products(covariance, vector), covariance


def reconstruct(subspace: Subspace, v: Values) -> Values:
    """``mean + Q v``: coordinates as rows in the ambient space."""
    return np.asarray(subspace.mean + v @ subspace.basis.T)
