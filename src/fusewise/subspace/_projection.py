"""The subspace model, and the posterior of the coordinates of rows with missing values.

Rows are handled in blocks, in double precision, zero where missing. On a device the matrices of all rows are held as
one tensor for each entry (``factorised``), so that sums over the rows are products of matrices with the pattern of
observed entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from fusewise.kernels import (
    Array,
    Values,
    beside,
    block_inverses,
    block_products,
    device_memory,
    factorised,
    in_threads,
    squares_of,
    to_host,
)
from fusewise.observations import Entries, InMemory, row_blocks, wide
from fusewise.support import Maybe, Number, NumberArray, Record, Several

#: Floats in a block of rows (32 MB, within the last-level cache of a server), and rows in it: a block for each core.
BLOCK_ENTRIES, BLOCK_ROWS = 4_000_000, 2048


def is_sparse(values: Any) -> bool:
    return bool(sparse.issparse(values))


def row_slices(table: InMemory, width: int) -> list[slice]:
    """Slices that divide the rows into blocks, with `width` floats of work space per row besides its entries."""
    n, p = table.shape
    most = max(BLOCK_ROWS, 2 * p)  # of a sparse table, sums for every column would cost more than a block's rows
    return row_blocks(n, width + 2 * (table.n_stored // max(n, 1) + 1), BLOCK_ENTRIES, most)


def block(table: InMemory, rows: slice, noise: Values | float) -> tuple[Any, Any]:
    """``(values, pattern)`` of some rows: the entries, zero where missing; and 1 where observed, 0 where missing.

    An entry that was observed with an error counts less than 1, see ``Entries.weights``.
    """
    some = table.take(rows)
    return some.values.astype(wide(table.dtype), copy=False), some.relative_precisions(noise).astype(float, copy=False)


def centered(values: Any, pattern: Any, mean: Values) -> Any:
    """``pattern * (values - mean)``, zero at the missing entries."""
    if is_sparse(values):
        return sparse.csr_matrix((values.data - mean[values.indices], values.indices, values.indptr), values.shape)
    return (values - mean) * pattern


def row_squares(values: Any) -> Values:
    """Row sums of ``|x|^2``."""
    if is_sparse(values):
        return np.asarray(abs(values).power(2).sum(1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", values.conj(), values).real)


@dataclass(frozen=True)
class Subspace(Record):
    """``x = mean + basis @ v + noise``, with coordinates ``v`` in the units of the data.

    ``basis`` has orthonormal columns, by decreasing variance: distances between coordinates are distances in the
    ambient space.

    `noise` is the variance of an entry around the subspace, `variances` are the prior ones of the coordinates, and
    `history` is the log-likelihood of the observed entries at each EM iteration (one value for the closed form).
    `blur` is the variance that the resolution of each column adds to the noise of its entries.
    """

    mean: Values
    basis: Values
    variances: Values
    noise: float
    history: tuple[float, ...] = field(default=(), repr=False)
    blur: Values | None = None

    _rules: ClassVar = {
        "mean": NumberArray("P", kinds="fc"),
        "basis": NumberArray("P", "r", kinds="fc"),
        "variances": NumberArray("r", low=0),
        "noise": Number(low=0),
        "history": Several(Number(finite=False)),
        "blur": Maybe(NumberArray("P", low=0)),
    }

    @property
    def rank(self) -> int:
        return int(self.basis.shape[1])

    @property
    def noises(self) -> Values:
        """Variance of an entry of each column around the subspace, (P,)."""
        return np.full(len(self.mean), self.noise) + (0 if self.blur is None else self.blur)

    def of_columns(self, columns: Any) -> Subspace:
        """The part in some columns, which need not be orthonormal."""
        blur = None if self.blur is None else self.blur[columns]
        return replace(self, mean=self.mean[columns], basis=self.basis[columns], blur=blur)

    @property
    def log_likelihood(self) -> float:
        return self.history[-1] if self.history else float("nan")


def precisions(subspace: Subspace, seen: Any) -> Values:
    """``Q_I^H Q_I / noise`` for each row of a pattern (its weights, see ``block``), with each column's noise."""
    r, basis = subspace.rank, subspace.basis
    weighed = basis.conj() / subspace.noises[:, None]
    return np.asarray(seen @ (weighed[:, :, None] * basis[:, None, :]).reshape(-1, r * r)).reshape(-1, r, r)


def pulls(subspace: Subspace, deviations: Any) -> Values:
    """``Q_I^H (x_i - mean)_I / noise`` of deviations ``x_i - mean``, times the weights of the entries."""
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
        values, pattern = block(table, rows, subspace.noises)
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
    return coordinates_of(subspace, *information(subspace, table))


def coordinates_of(subspace: Subspace, precision: Array, vector: Array) -> tuple[Array, Array]:
    """``coordinates`` from ``information``, in NumPy arrays or tensors."""
    scales = beside(np.sqrt(subspace.variances), vector)  # on both sides: a variance of zero gives a coordinate of zero
    ones = beside(np.ones(len(vector)), vector)
    covariance = block_inverses(scales[:, None] * precision * scales, ones)
    covariance *= scales[:, None]
    covariance *= scales
    return block_products(covariance, vector), covariance


def reconstruct(subspace: Subspace, v: Values) -> Values:
    """``mean + Q v``: coordinates as rows in the ambient space."""
    return np.asarray(subspace.mean + v @ subspace.basis.T)


#: Numbers of work space for a block of rows.
BLOCK = 2**28


@dataclass(frozen=True)
class Sums:
    """Sums over rows with z = (v, 1), which the M step of EM needs."""

    cross: Values  # (P, r+1): sum of conj(z) y over the rows of a column
    moments: Values  # (P, (r+1)^2): sum of E[conj(z) z^T] over the rows of a column
    latent: Values  # ((r+1)^2,): the same over all rows
    energy: float  # sum of |y|^2
    log_likelihood: float

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class SumsWithErrors(Sums):
    """The same where entries have errors, each entry times its weight k; and sums with the squares of the weights.

    Given the coordinates, the noise of an entry with the residual d has the mean k d and the variance (1 - k) noise.
    """

    squared_cross: Values  # (P, r+1): sum of k^2 z y
    squared_moments: Values  # (P, (r+1)^2): sum of k^2 E[z z']
    squared_energy: float  # sum of k^2 y^2
    left: float  # sum of (1 - k) noise


def whole(lower: Values, r: int) -> Values:
    """From the entries of lower triangles, in rows of r + 1, to those of the Hermitian matrices."""
    a, b = np.divmod(np.arange((r + 1) ** 2), r + 1)
    first, second = np.maximum(a, b), np.minimum(a, b)
    entries = np.asarray(lower[first * (first + 1) // 2 + second])
    entries[a < b] = entries[a < b].conj()
    return entries


@dataclass(frozen=True, eq=False)
class RowsOnDevice:
    """A real table whose blocks of rows are processed on a torch device.

    The values and mask of ``Entries`` are on the device if they fit into half of its memory, else on the host.
    """

    values: Array
    mask: Array
    device: Any

    @classmethod
    def of(cls, table: Entries, device: Any) -> RowsOnDevice:
        import torch

        values, mask = (torch.from_numpy(np.ascontiguousarray(part)) for part in (table.values, table.mask))
        if 2 * (values.nbytes + mask.nbytes) < device_memory(device):
            values, mask = values.to(device), mask.to(device)
        return cls(values, mask, device)

    def blocks(self, width: int) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of rows: which they are, their values, and 1 where observed, 0 where missing, in double precision.

        A row takes `width` numbers of work space besides its entries.
        """
        n, p = self.values.shape
        for rows in row_blocks(n, width + 4 * p, BLOCK):
            yield rows, self.values[rows].to(self.device).double(), self.mask[rows].to(self.device).double()

    def expected(self, mean: Values, loadings: Values, noise: float) -> Sums:
        """The sums of one pass of EM."""
        import torch

        r = loadings.shape[1]
        centre, weights = (torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in (mean, loadings))
        rows, columns = np.tril_indices(r)
        outer = (weights[:, rows] * weights[:, columns]).T.contiguous()
        found: list[tuple[Array, ...]] = []
        for _, values, pattern in self.blocks(5 * (r + 1) ** 2):
            y = (values - centre).mul_(pattern)
            second, log_density, squares = _posterior(y, pattern, weights, outer, noise)
            cross = y.T @ second[-r - 1 :].T  # the last row of z z' is z
            found.append((cross, second @ pattern, second.sum(1), squares.sum(), log_density.sum()))
        cross, moments, latent, energy, log_likelihood = (to_host(sum(parts)) for parts in zip(*found, strict=True))
        return Sums(cross, whole(moments, r).T, whole(latent, r), float(energy), float(log_likelihood))

    def information(self, subspace: Subspace) -> tuple[Array, Array, Array]:
        """`precision_i`, `vector_i` (see ``information``) and ``|x_i - mean|²`` on the entries."""
        import torch

        n, r = len(self.values), subspace.rank
        parts = (subspace.mean, subspace.basis, subspace.noises)
        mean, basis, noises = (torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in parts)
        weighed = basis / noises[:, None]
        outer = (weighed[:, :, None] * basis[:, None, :]).reshape(-1, r * r)
        precision, vector = basis.new_empty((n, r, r)), basis.new_empty((n, r))
        squares = basis.new_empty(n)
        for rows, values, pattern in self.blocks(r * r):
            y = (values - mean).mul_(pattern)
            precision[rows] = (pattern @ outer).reshape(-1, r, r)
            vector[rows], squares[rows] = y @ weighed, y.square().sum(1)
        return precision, vector, squares


def _posterior(y: Array, pattern: Array, weights: Array, outer: Array, noise: float) -> tuple[Array, Array, Array]:
    """E[z z'] of each row (T x N), the log-density and |y|²."""
    import torch

    r = weights.shape[1]
    right = list((y @ weights).T.contiguous())
    factor = factorised(outer @ pattern.T, noise)
    lower = factor.inverse()
    v = [sum((lower[max(a, b)][min(a, b)] * right[b] for b in range(1, r)), lower[a][0] * right[0]) for a in range(r)]
    counts, squares = pattern.sum(1), y.square().sum(1)
    distance = (squares - squares_of(factor.whitened(right))).clip(0) / noise
    log_det = factor.log_det + (counts - r) * math.log(noise)
    second = [v[a] * v[b] + noise * lower[a][b] for a in range(r) for b in range(a + 1)]
    log_density = -0.5 * (counts * math.log(2 * math.pi) + log_det + distance)
    return torch.stack([*second, *v, torch.ones_like(squares)]), log_density, squares
