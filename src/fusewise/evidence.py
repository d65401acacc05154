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

#: Cells worked on at once.
LANES = 8


class Cells(NamedTuple):
    """Rows of one group with one pattern of holes, gathered.

    Attributes
    ----------
    of : N, the cell of each row.
    pattern, group : of each cell.
    order, begin : the rows, cell by cell, and where each cell begins among them (and the last one ends).
    rows : the rows of each group.
    """

    of: Index
    pattern: Index
    group: Index
    order: Index
    begin: Index
    rows: list[Index]


class Marginal(NamedTuple):
    """log p(x_i | mu) = c_i - mu' G_i mu / 2 + h_i' mu, the coordinates v ~ N(mu, Sigma) integrated out.

    Attributes
    ----------
    gram : one for each cell, the G = (A^-1 + Sigma)^-1.
    target, constant : one for each row, the h_i = G_i A_i^-1 b_i and the c_i.
    root : one for each cell, W with W' W = (A + Sigma^-1)^-1, the covariance of v given the entries; or empty.
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
        kinds, of, counts = np.unique(key, return_inverse=True, return_counts=True)
        order, begin = np.argsort(key, kind="stable"), np.append(0, counts.cumsum())
        group = kinds // len(self.precision)
        ends = np.append(0, np.bincount(labels, minlength=n_groups).cumsum())
        rows = [order[ends[k] : ends[k + 1]] for k in range(n_groups)]
        return Cells(of, kinds % len(self.precision), group, order, begin, rows)

    @cached_property
    def together(self) -> Cells:
        """All rows as one group."""
        return self.cells(np.zeros(self.shape[0], np.intp), 1)

    def marginal(self, cells: Cells, spreads: Real, *, roots: bool = False) -> Marginal:
        """The likelihood of each row with its group's spread (K x r x r) integrated out; `roots` only if asked for."""
        factors = np.linalg.cholesky(regular(spreads))
        where = cells.pattern, cells.group, cells.order, cells.begin
        return Marginal(*_marginal(self.precision, factors, *where, self.vector, self.constant, roots))


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
def _marginal(
    precision: Any,
    factors: Any,
    patterns: Any,
    groups: Any,
    order: Any,
    begin: Any,
    vector: Any,
    constant: Any,
    roots: bool,
) -> Any:
    """With Sigma = L L', B = I + L' A L = R R' and y = R^-1 L' b.

    G = A - (R^-1 L' A)' (R^-1 L' A) and W = R^-1 L' of each cell; h = b - (R^-1 L' A)' y and c + |y|² / 2 - log det R
    of each row. So many cells at once as a processor adds numbers at once: the innermost loops run over them.
    """
    n, r = len(patterns), precision.shape[1]
    gram, root = np.empty((n, r, r)), np.empty((n if roots else 0, r, r))
    target, base, y = np.empty_like(vector), np.empty(len(vector)), np.empty(r)
    a, f, w, p = np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, r, LANES)), np.empty((r, r, LANES))
    lower, s = np.empty((r, r, LANES)), np.empty(LANES)
    for start in range(0, n, LANES):
        for c in range(LANES):
            at = min(start + c, n - 1)
            for i in range(r):
                for j in range(r):
                    a[i, j, c] = precision[patterns[at], i, j]
                    f[i, j, c] = factors[groups[at], i, j]
        for i in range(r):  # L' A and L'
            for j in range(r):
                for c in range(LANES):
                    w[i, j, c] = 0.0
                    p[i, j, c] = f[j, i, c]
                for k in range(i, r):
                    for c in range(LANES):
                        w[i, j, c] += f[k, i, c] * a[k, j, c]
        for i in range(r):  # R
            for j in range(i + 1):
                for c in range(LANES):
                    s[c] = 1.0 if i == j else 0.0
                for k in range(j, r):
                    for c in range(LANES):
                        s[c] += w[i, k, c] * f[k, j, c]
                for k in range(j):
                    for c in range(LANES):
                        s[c] -= lower[i, k, c] * lower[j, k, c]
                for c in range(LANES):
                    lower[i, j, c] = np.sqrt(s[c]) if i == j else s[c] / lower[j, j, c]
        for i in range(r):  # R^-1 L' A and R^-1 L', in place
            for j in range(r):
                for k in range(i):
                    for c in range(LANES):
                        w[i, j, c] -= lower[i, k, c] * w[k, j, c]
                        p[i, j, c] -= lower[i, k, c] * p[k, j, c]
                for c in range(LANES):
                    w[i, j, c] /= lower[i, i, c]
                    p[i, j, c] /= lower[i, i, c]
        for i in range(r):
            for j in range(i + 1):
                for k in range(r):
                    for c in range(LANES):
                        a[i, j, c] -= w[k, i, c] * w[k, j, c]
        for c in range(min(LANES, n - start)):
            log_det = 0.0
            for i in range(r):
                log_det += np.log(lower[i, i, c])
                for j in range(r):
                    gram[start + c, i, j] = a[max(i, j), min(i, j), c]
                    if roots:
                        root[start + c, i, j] = p[i, j, c]
            for at in range(begin[start + c], begin[start + c + 1]):
                row = order[at]
                square = 0.0
                for i in range(r):
                    y[i] = 0.0
                    for j in range(r):
                        y[i] += p[i, j, c] * vector[row, j]
                    square += y[i] * y[i]
                for j in range(r):
                    target[row, j] = vector[row, j]
                    for i in range(r):
                        target[row, j] -= w[i, j, c] * y[i]
                base[row] = constant[row] - log_det + 0.5 * square
    return gram, target, base, root
