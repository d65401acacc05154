"""What the observed entries of each row say of its coordinates in a subspace.

Rows with holes in the same columns know their coordinates equally well, so what costs r³ is done once for each pattern
of holes (and each group with a spread of its own), and only r² for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from fusewise.observations import Entries
from fusewise.observations.entries import Mask, Real
from fusewise.subspace import Subspace, information

Index = npt.NDArray[np.intp]


class Cells(NamedTuple):
    """Rows of one group with one pattern of holes, gathered.

    Attributes
    ----------
    of : N, the cell of each row.
    pattern, group : of each cell.
    rows : the rows of each group.
    """

    of: Index
    pattern: Index
    group: Index
    rows: list[Index]


class Marginal(NamedTuple):
    """log p(x_i | mu) = c_i - mu' G_i mu / 2 + h_i' mu, the coordinates v ~ N(mu, Sigma) integrated out.

    Attributes
    ----------
    gram : one for each cell, the G = (A^-1 + Sigma)^-1.
    target, constant : one for each row, the h_i = G_i A_i^-1 b_i and the c_i.
    root : one for each cell, W with W' W = (A + Sigma^-1)^-1, the covariance of v given the entries.
    """

    gram: Real
    target: Real
    constant: Real
    root: Real


@dataclass(frozen=True, eq=False)
class Evidence:
    """log p(x_i | v) = c_i - v' A_i v / 2 + b_i' v.

    Complex coordinates come as twice as many real ones.

    Attributes
    ----------
    precision : one for each pattern of holes, the A = Q_I' Q_I / noise.
    pattern : N, the pattern of each row.
    vector : N x r, the b_i = Q_I' (x_i - mean)_I / noise.
    constant : N, the c_i.
    """

    precision: Real
    pattern: Index
    vector: Real
    constant: Real

    @classmethod
    def of(cls, subspace: Subspace, entries: Entries) -> Evidence:
        """The evidence of a table, seen through a subspace."""
        first, pattern = _patterns(entries.mask)
        precision, _ = information(subspace, entries.values[first], entries.mask[first])
        deviations = np.where(entries.mask, entries.values - subspace.mean, 0)
        vector = deviations @ subspace.basis.conj() / subspace.noise
        misfit = np.square(np.abs(deviations)).sum(axis=1) / subspace.noise
        if np.iscomplexobj(precision) or np.iscomplexobj(vector):
            real, imaginary = precision.real, precision.imag
            blocks = np.block([[real, -imaginary], [imaginary, real]])
            constant = -entries.row_counts * np.log(np.pi * subspace.noise) - misfit
            return cls(2 * blocks, pattern, 2 * np.concatenate([vector.real, vector.imag], axis=1), constant)
        constant = -0.5 * (entries.row_counts * np.log(2 * np.pi * subspace.noise) + misfit)
        return cls(precision, pattern, vector, constant)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, r)."""
        n, r = self.vector.shape
        return n, r

    @cached_property
    def _known(self) -> tuple[Real, Index]:
        """A^+ and the rank of A, for each pattern."""
        values, vectors = np.linalg.eigh(self.precision)
        known = values > 1e-6 * np.maximum(values[:, -1:], np.finfo(float).tiny)
        inverse = np.where(known, 1 / np.where(known, values, 1), 0)
        return np.einsum("ukl,ul,uml->ukm", vectors, inverse, vectors), known.sum(axis=1)

    @cached_property
    def places(self) -> Real:
        """A_i^+ b_i: the least-squares coordinates of each row."""
        return np.asarray(np.einsum("ikl,il->ik", self._known[0][self.pattern], self.vector))

    @cached_property
    def dimensions(self) -> Index:
        """The number of directions each row has seen (the rank of A_i)."""
        return self._known[1][self.pattern]

    def posterior(self, variances: Real) -> tuple[Real, Real]:
        """Mean and covariance of each row's coordinates where these are N(0, diag(variances)) beforehand."""
        root = np.sqrt(variances)  # kept on both sides: a variance of zero is a coordinate of zero
        system = root[:, None] * self.precision * root + np.eye(len(root))
        covariances = (root[:, None] * np.linalg.inv(system) * root)[self.pattern]
        return np.einsum("ikl,il->ik", covariances, self.vector), covariances

    def cells(self, labels: Index, n_groups: int) -> Cells:
        """Rows gathered by group and pattern."""
        key = labels * len(self.precision) + self.pattern
        kinds, of = np.unique(key, return_inverse=True)
        rows = [np.flatnonzero(labels == k) for k in range(n_groups)]
        return Cells(of, kinds % len(self.precision), kinds // len(self.precision), rows)

    @cached_property
    def together(self) -> Cells:
        """All rows as one group."""
        return self.cells(np.zeros(self.shape[0], np.intp), 1)

    def marginal(self, cells: Cells, spreads: Real) -> Marginal:
        """The likelihood of each row with its group's spread (K x r x r) integrated out."""
        factors = np.linalg.cholesky(regular(spreads))
        gram, whole, part, log_det = _by_cell(self.precision, factors, cells.pattern, cells.group)
        target, constant = _by_row(whole, part, log_det, cells.of, self.vector, self.constant)
        return Marginal(gram, target, constant, part)


def regular(spreads: Real) -> Real:
    """Spreads with a touch of the identity, so that they have a Cholesky factor even where nothing varies."""
    r = spreads.shape[-1]
    size = np.trace(spreads, axis1=-2, axis2=-1)[..., None, None] / r
    return np.asarray(spreads + (1e-10 * size + 1e-12) * np.eye(r))


def _patterns(mask: Mask) -> tuple[Index, Index]:
    """A row of each pattern of holes, and the pattern of each row."""
    packed = np.ascontiguousarray(np.packbits(mask, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, pattern = np.unique(keys, return_index=True, return_inverse=True)
    return first, pattern


@numba.njit(cache=True, nogil=True)
def _by_cell(precision: Any, factors: Any, patterns: Any, groups: Any) -> Any:
    """With Sigma = L L' and B = I + L' A L = R R': G = A - A L B^-1 L' A; and R^-1 L', R^-1 L' A, log det R.

    Row by row, so that the innermost loops run along memory.
    """
    n, r = len(patterns), precision.shape[1]
    gram, whole, part, log_det = np.empty((n, r, r)), np.empty((n, r, r)), np.zeros((n, r, r)), np.zeros(n)
    lower = np.empty((r, r))
    for c in range(n):
        a, factor, w, p, g = precision[patterns[c]], factors[groups[c]], whole[c], part[c], gram[c]
        for i in range(r):  # L' A and L'
            for j in range(r):
                w[i, j] = 0.0
                p[i, j] = factor[j, i]
            for k in range(i, r):
                f = factor[k, i]
                for j in range(r):
                    w[i, j] += f * a[k, j]
        for i in range(r):  # R
            for j in range(i + 1):
                s = 1.0 if i == j else 0.0
                for k in range(j, r):
                    s += w[i, k] * factor[k, j]
                for k in range(j):
                    s -= lower[i, k] * lower[j, k]
                lower[i, j] = np.sqrt(s) if i == j else s / lower[j, j]
            log_det[c] += np.log(lower[i, i])
        for i in range(r):  # R^-1 L' A and R^-1 L', in place
            for k in range(i):
                f = lower[i, k]
                for j in range(r):
                    w[i, j] -= f * w[k, j]
                    p[i, j] -= f * p[k, j]
            f = 1.0 / lower[i, i]
            for j in range(r):
                w[i, j] *= f
                p[i, j] *= f
        for i in range(r):
            for j in range(r):
                g[i, j] = a[i, j]
        for k in range(r):
            for i in range(r):
                f = w[k, i]
                for j in range(r):
                    g[i, j] -= f * w[k, j]
    return gram, whole, part, log_det


@numba.njit(cache=True, nogil=True)
def _by_row(whole: Any, part: Any, log_det: Any, cells: Any, vector: Any, constant: Any) -> Any:
    """h = b - (R^-1 L' A)' y and c + |y|² / 2 - log det R, with y = R^-1 L' b."""
    n, r = vector.shape
    target, base, y = np.empty((n, r)), np.empty(n), np.empty(r)
    for i in range(n):
        c = cells[i]
        square = 0.0
        for k in range(r):
            s = 0.0
            for j in range(r):
                s += part[c, k, j] * vector[i, j]
            y[k] = s
            square += s * s
        for k in range(r):
            s = vector[i, k]
            for j in range(r):
                s -= whole[c, j, k] * y[j]
            target[i, k] = s
        base[i] = constant[i] - log_det[c] + 0.5 * square
    return target, base
