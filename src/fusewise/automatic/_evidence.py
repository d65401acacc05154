"""Likelihood of each row's coordinates in a subspace, given its observed entries.

Rows with the same columns missing, and without errors, determine their coordinates equally well: work of order r³ is
done once for each pattern of missing values, and only r² for each row. Patterns and rows are the last axis of every
array: the innermost loops run over them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fusewise.automatic._units import layers, only_columns, row_keys
from fusewise.kernels import (
    SMALL,
    Index,
    Real,
    block_inverses,
    each_applied,
    few,
    in_ranges,
    pattern_distances,
    shifted_inverses,
)
from fusewise.observations import InMemory, SparseEntries
from fusewise.subspace import Subspace, precisions, pulls
from fusewise.support import Dims, Flag, Instance, NumberArray, PositionArray, Record, Several


class Marginal(NamedTuple):
    """Rows with coordinates mu + L s, where s ~ N(0, I) is integrated out; L and mu are those of the row's group.

    With m = L^-1 mu, B_i = I + L' A_i L and h_i = B_i^-1 L' b_i,

        log p(x_i | mu) = c_i - m' (I - B_i^-1) m / 2 + h_i' m,

    and given x_i, s has the covariance B_i^-1 and the mean h_i - (I - B_i^-1) m. `factor` and `undone` are the L and
    their inverses, r x r x K; `inverse` the B^-1 of each pattern, r x r x U; `target` the h_i, r x N; `constant` the
    c_i; `root` the lower triangular R^-1 with B = R R', r x r x U, or empty.
    """

    factor: Real
    undone: Real
    inverse: Real
    target: Real
    constant: Real
    root: Real


@dataclass(frozen=True, eq=False)
class Evidence(Record):
    """log p(x_i | v) = c_i - v' A_i v / 2 + b_i' v.

    Complex coordinates are represented by twice as many real ones.
    """

    precision: Real  # r x r x U, the A = Q_I' Q_I / noise (of each column) for each pattern of missing values
    pattern: Index  # the pattern of each row
    vector: Real  # r x N, the b_i = Q_I' (x_i - mean)_I / noise
    constant: Real  # the c_i
    places: Real  # r x N, the least-squares coordinates A_i^+ b_i
    dimensions: Index  # the number of directions each row determines (the rank of A_i)
    small: bool = False  # whether the rows are those of a table so small that no loops are compiled for it

    _rules: ClassVar = {
        "precision": NumberArray("r", "r", "U"),
        "pattern": PositionArray("N", below="U"),
        "vector": NumberArray("r", "N"),
        "constant": NumberArray("N"),
        "places": NumberArray("r", "N"),
        "dimensions": PositionArray("N", below="more than r"),
        "small": Flag(),
    }

    def _agree(self, dims: Dims) -> None:
        dims["more than r"] = dims["r"] + 1

    @classmethod
    def of(cls, subspace: Subspace, entries: InMemory) -> Evidence:
        """Compute the evidence of a table in a subspace; by layers, if its columns have weights."""
        whole = cls._once(subspace, entries)
        if entries.weights is None:
            return whole
        shares, kept = zip(*layers(entries.weights), strict=True)
        columns = [np.flatnonzero(each) for each in kept]
        parts = tuple(cls._once(subspace.of_columns(each), only_columns(entries, each)) for each in columns)
        return LayeredEvidence(**_fields(whole), layers=parts, shares=np.array(shares), sizes=np.mean(kept, axis=1))

    @classmethod
    def _once(cls, subspace: Subspace, entries: InMemory) -> Evidence:
        """The same, every column counting once."""
        noises = subspace.noises
        kinds, pattern = _patterns(entries, noises)
        precision = precisions(subspace, kinds)
        table = entries.standardised(np.arange(len(noises)), np.ones(len(noises)), subspace.mean)
        values, squares, spread = table.values, table.squares, table.seen @ np.log(2 * np.pi * noises)
        if table.variances is not None:
            weights = table.relative_precisions(noises)
            values, squares = weights * values, weights * squares
            spread = spread - np.log(np.where(weights > 0, weights, 1)).sum(axis=1)
        vector, misfit = pulls(subspace, values), np.asarray(squares @ (1 / noises)).ravel()
        constant = -0.5 * (spread + misfit)
        if np.iscomplexobj(precision) or np.iscomplexobj(vector):
            real, imaginary = precision.real, precision.imag
            precision = 2 * np.block([[real, -imaginary], [imaginary, real]])
            vector = 2 * np.concatenate([vector.real, vector.imag], axis=1)
            constant = -(table.seen @ np.log(np.pi * noises)) - misfit
        inverse, rank = _pseudo_inverses(precision)
        places = np.einsum("ikl,il->ki", inverse[pattern], vector)
        last = np.ascontiguousarray(precision.transpose(1, 2, 0))
        return cls(
            last, pattern, np.ascontiguousarray(vector.T), constant, places, rank[pattern], len(pattern) <= SMALL
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(N, r)."""
        r, n = self.vector.shape
        return n, r

    @property
    def weight(self) -> float:
        """How often a column counts on average."""
        return 1.0

    @property
    def judged(self) -> Evidence:
        """The evidence by which partitions are compared, in which no column counts more than once.

        A column that counts twice is its own best predictor, and each cut of it into two would seem to pay.
        """
        return self

    @property
    def heights(self) -> Real:
        """log p(x_i) if the coordinates are the least-squares ones."""
        return np.asarray(self.constant + 0.5 * np.einsum("ki,ki->i", self.vector, self.places))

    @property
    def plain(self) -> bool:
        """Whether NumPy works on these rows: they are few, and there are no compiled loops at hand."""
        return self.small and few(0)

    def turned(self, factor: Real) -> Evidence:
        """The same rows in coordinates s with v = L s, given L; every column counts once."""
        r = len(factor)
        half = (factor.T @ self.precision.reshape(r, -1)).reshape(r, r, -1)
        precision, vector, places = factor.T @ half, factor.T @ self.vector, np.linalg.solve(factor, self.places)
        return Evidence(precision, self.pattern, vector, self.constant, places, self.dimensions, self.small)

    def grouped(self, labels: Index, n_groups: int, rows: Index | None = None) -> Groups:
        """Sort rows (by default all) by group, and within a group by pattern of missing values."""
        rows = np.arange(len(labels)) if rows is None else rows
        key = labels * self.precision.shape[2] + self.pattern[rows]
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.diff(key, prepend=-1) != 0
        pattern = np.cumsum(first) - 1
        group, own = np.divmod(key[first], self.precision.shape[2])
        bounds = np.arange(n_groups + 1)
        rows = rows[order]
        precision = np.take(self.precision, own, axis=2)
        vector, places = (np.take(each, rows, axis=1) for each in (self.vector, self.places))  # in C order
        some = Evidence(precision, pattern, vector, self.constant[rows], places, self.dimensions[rows], self.small)
        labels = labels[order]
        return Groups(some, order, labels, labels.searchsorted(bounds), group, group.searchsorted(bounds))

    def of_rows(self, rows: Index) -> Evidence:
        """Some of the rows, in a given order."""
        taken = {name: getattr(self, name)[rows] for name in ("pattern", "constant", "dimensions")}
        return replace(self, vector=self.vector[:, rows], places=self.places[:, rows], **taken)

    @property
    def together(self) -> Groups:
        """All rows as one group, in their own order; not kept, as a cycle of the two would outlive its last use."""
        n, u = len(self.pattern), self.precision.shape[2]
        none, all_rows, all_patterns = np.zeros(n, np.intp), np.array([0, n]), np.array([0, u])
        return Groups(self, np.arange(n), none, all_rows, np.zeros(u, np.intp), all_patterns)

    @cached_property
    def uncertainty(self) -> tuple[Real, Real]:
        """C = (A + I / t)^-1 of each pattern, r x r x U, and log det C; t is too large to matter."""
        r = len(self.places)
        t = unknown_variance(float(np.square(self.places).mean()), float(np.abs(self.precision).max(initial=0)))
        inverse, log_det, _ = shifted_inverses(
            self.precision,
            np.sqrt(t) * np.eye(r)[:, :, None],
            np.array([0, self.precision.shape[2]]),
            False,
            self.plain,
        )
        return t * inverse, r * np.log(t) - log_det

    def seen_from(self, means: Real, spreads: Real) -> tuple[Real, Real]:
        """d_ki² and log p(x_i) + d_ki² / 2 of rows with coordinates N(mu_k, Sigma_k), K x N both.

        d_ki² = (v_i - mu_k)' (Sigma_k + C_i)^-1 (v_i - mu_k) with the least-squares v_i and their covariance C_i.
        """
        uncertainty, log_det = self.uncertainty
        distances, log_dets = pattern_distances(
            uncertainty, regular(spreads), self.pattern, self.places, means, self.plain
        )
        return distances, self.heights + 0.5 * (log_det - log_dets)[:, self.pattern]

    def each_applied(self, matrices: Real, vectors: Real, pattern: Index | None = None) -> Real:
        """The product of each vector (r x N) with the matrix (r x r x U) of its pattern, by default that of a row."""
        pattern = self.pattern if pattern is None else pattern
        if self.plain:
            return np.asarray(np.einsum("jkn,kn->jn", matrices[:, :, pattern], vectors))
        return np.asarray(each_applied(np.ascontiguousarray(matrices), pattern, vectors))

    def posterior(self, variances: Real) -> tuple[Real, Real]:
        """Mean (N x r) and covariance (N x r x r) of each row's coordinates, given the prior N(0, diag(variances))."""
        root = np.sqrt(variances)  # on both sides: a variance of zero gives a coordinate of zero
        system = root[:, None] * self.precision.transpose(2, 0, 1) * root
        covariances = (root[:, None] * np.linalg.inv(system + np.eye(len(root))) * root)[self.pattern]
        return np.einsum("ikl,li->ik", covariances, self.vector), covariances


@dataclass(frozen=True, eq=False)
class LayeredEvidence(Evidence):
    """Evidence of rows whose columns have weights: log p_w = sum_l d_l log p, over the evidence of layers (``layers``).

    The evidence of all columns, each counting once, is what components are fitted to, given the probabilities of rows.
    """

    layers: tuple[Evidence, ...] = ()
    shares: Real = field(default_factory=lambda: np.ones(0))  # the d_l
    sizes: Real = field(default_factory=lambda: np.ones(0))  # the share of the columns in each layer

    _rules: ClassVar = Evidence._rules | {
        "layers": Several(Instance(Evidence, N="N", r="r"), "L"),
        "shares": NumberArray("L", low=0),
        "sizes": NumberArray("L", low=0, high=1),
    }

    @property
    def weight(self) -> float:
        return float(self.shares @ self.sizes)

    @property
    def judged(self) -> Evidence:
        return replace(self, shares=np.diff(np.minimum(np.cumsum(self.shares), 1.0), prepend=0.0))

    def grouped(self, labels: Index, n_groups: int, rows: Index | None = None) -> Groups:
        groups = super().grouped(labels, n_groups, rows)
        which = groups.order if rows is None else rows[groups.order]
        some = tuple(each.of_rows(which) for each in self.layers)
        again = replace(self, **_fields(groups.evidence), layers=some)
        return replace(groups, evidence=again)


def _fields(evidence: Evidence) -> dict[str, Any]:
    return {each.name: getattr(evidence, each.name) for each in fields(Evidence)}


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows in K groups, in the order of the groups: their evidence, and the original position of each row.

    Then the group of each row, and where the rows of each group begin (and the last one's end); and the same for
    patterns, none of which belongs to two groups.
    """

    evidence: Evidence
    order: Index
    group: Index
    begin: Index
    pattern_group: Index
    pattern_begin: Index

    def turned(self, matrices: Real, vectors: Real) -> Real:
        """The product of each row's vector (r x N) with the matrix of its group (r x r x K)."""
        found = np.empty_like(vectors)
        for k, (begin, end) in enumerate(pairwise(self.begin)):
            found[:, begin:end] = matrices[:, :, k] @ vectors[:, begin:end]
        return found

    def marginal(self, spreads: Real, *, roots: bool = False) -> Marginal:
        """Likelihood of each row with its group's spread (K x r x r) integrated out; with the roots if `roots`."""
        evidence = self.evidence
        lower = np.linalg.cholesky(regular(spreads))
        factor, undone = (np.ascontiguousarray(each.transpose(1, 2, 0)) for each in (lower, np.linalg.inv(lower)))
        inverse, log_det, root = shifted_inverses(evidence.precision, factor, self.pattern_begin, roots, evidence.plain)
        seen = self.turned(factor.transpose(1, 0, 2), evidence.vector)
        target = evidence.each_applied(inverse, seen)
        constant = evidence.constant + 0.5 * (np.einsum("ki,ki->i", seen, target) - log_det[evidence.pattern])
        return Marginal(factor, undone, inverse, target, constant, root)


def unknown_variance(size: float, precision: float) -> float:
    """Variance along directions that are not determined, of rows with mean squares `size` and so precise entries.

    At most 1e12 times the one of a direction that is determined exactly but for the noise: a matrix has both, and its
    inverse has 16 digits less those of the ratio.
    """
    most = 1e12 / precision if precision else np.inf
    return min(1e8 * (size or 1.0), most)


def regular(spreads: Real) -> Real:
    """Add a tiny multiple of the identity, so that spreads have a Cholesky factor even without variation."""
    r = spreads.shape[-1]
    size = np.trace(spreads, axis1=-2, axis2=-1)[..., None, None] / r
    return np.asarray(spreads + (1e-10 * size + 1e-12) * np.eye(r))


def _patterns(table: InMemory, noises: Real) -> tuple[Any, Index]:
    """Patterns of missing values (U x P, the weights of entries), and the pattern of each row."""
    if isinstance(table, SparseEntries):  # rows with few entries hardly ever share a pattern
        return table.seen, np.arange(table.shape[0])
    packed = np.packbits(table.mask, axis=1)
    if table.variances is not None:  # nor do rows with errors
        own = np.where(table.variances.any(axis=1), np.arange(1, table.shape[0] + 1), 0)
        packed = np.hstack([packed, own[:, None].view(np.uint8)])
    _, first, pattern = np.unique(row_keys(packed), return_index=True, return_inverse=True)
    return (table.seen if table.variances is None else table.relative_precisions(noises))[first], pattern


def _pseudo_inverses(precision: Real) -> tuple[Real, Index]:
    """A^+ and the rank of each of U x r x r symmetric matrices.

    Directions are determined if their precision is more than a share of the largest.
    """
    share = 1e-6
    n, r, _ = precision.shape
    size = np.einsum("ukk->u", precision)
    inverses, ranks = block_inverses(precision, 1e-15 * size + 1e-100), np.full(n, r)
    # The smallest eigenvalue is at least 1 / |A^-1| and the largest at most the trace: most are regular for sure.
    sure = size**2 * np.einsum("ukl,ukl->u", inverses, inverses) < 0.01 * share**-2
    unsure = np.flatnonzero(~sure | (size <= 0))

    def invert(begin: int, end: int) -> None:
        which = unsure[begin:end]
        values, vectors = np.linalg.eigh(precision[which])
        known = values > share * np.maximum(values[:, -1:], np.finfo(float).tiny)
        inverse = np.where(known, 1 / np.where(known, values, 1), 0)
        inverses[which] = (vectors * inverse[:, None]) @ vectors.transpose(0, 2, 1)
        ranks[which] = known.sum(axis=1)

    in_ranges(len(unsure), 10 * r**3, invert)
    return inverses, ranks
