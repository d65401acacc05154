"""Rows placed in a subspace; which columns are worth axes of their own, and which rows a gap parts from others.

If rows form clusters, a column in which the clusters differ depends on the other such columns. A column that does not
is noise to a search for clusters, and many of them hide the few others: six columns with clusters among two hundred do
not stand out by their variance. With n common entries, n r² of two independent columns is about chi-squared with one
degree of freedom; the largest over all P²/2 pairs is about 4 log P, and columns that exceed it are taken to depend on
each other.

Two groups of rows have a gap between them, whatever their shape, if no row of one is among the k nearest neighbours of
a row of the other. On a line where rows have the same density everywhere, the spacings between them are independent and
exponential, and a given spacing is such a gap if it exceeds the sum of the k spacings on either side:

    P_k = 2 sum_{j<k} C(k - 1 + j, j) 3^-(k + j) 2^-(k - j)

(a race between the spacing, which ends at rate 1, and the sums on either side, which pass a spacing at rate 1 each). So
with the smallest k for which N P_k is at most `CHANCE`, a line of N rows is parted by chance with this probability. In
more dimensions a gap has to be empty along its whole length, and chance makes fewer of them; a line is the worst case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import comb

from fusewise.automatic._evidence import Evidence
from fusewise.automatic._units import only_columns
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import Entries, InMemory, blur, group_means
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace, fit_subspace


def fit_axes(table: InMemory, rank: int, progress: Progress = silent, *, tol: float = 1e-6) -> Subspace:
    """Fit a subspace of at most the given rank; if that is the whole space, return it along its principal axes.

    Axes without variation are dropped, and the noise is kept from vanishing relative to the variances, as it would in
    an exact fit. Columns recorded in steps are blurred by the step.
    """
    p = table.shape[1]
    if rank < p:
        fitted = fit_subspace(table, rank=rank, tol=tol, progress=progress)
    else:
        inner = fit_subspace(table, rank=max(p - 1, 1), tol=tol, progress=progress)
        covariance = (inner.basis * inner.variances) @ inner.basis.conj().T + inner.noise * np.eye(p)
        variances, basis = np.linalg.eigh(covariance)
        fitted = replace(inner, basis=np.ascontiguousarray(basis[:, ::-1]), variances=np.maximum(variances[::-1], 0))
        # With all dimensions, the entries are the coordinates, except for negligible noise. (With a hundredth of the
        # variance, clusters narrower than a tenth of the table were blurred, and 150 of them were taken for 15.)
        fitted = replace(fitted, noise=1e-4 * float(fitted.variances[_varying_axes(fitted.variances)].min()))
    varying = _varying_axes(fitted.variances)
    variances = fitted.variances[varying]
    noise = max(fitted.noise, 1e-6 * float(variances.mean()), 1e-12)
    own = None if table.dtype.kind == "c" else blur(table)
    found = replace(fitted, basis=fitted.basis[:, varying], variances=variances, noise=noise, blur=own)
    return found if table.weights is None or rank >= p else _with_own_noises(found, table)


def _with_own_noises(subspace: Subspace, table: InMemory) -> Subspace:
    """The subspace with a noise of each column: columns that count more are longer, but known no better."""
    explained = np.square(np.abs(subspace.basis)) @ subspace.variances
    left = np.maximum(table.column_variances - explained, 0.01 * table.column_variances + 1e-12)
    noise = float(left.min())
    return replace(subspace, noise=noise, blur=left - noise + (0.0 if subspace.blur is None else subspace.blur))


def _varying_axes(variances: Real) -> npt.NDArray[np.bool_]:
    """Axes with variation; the first, if there is none."""
    varying = variances > 1e-8 * float(variances.max(initial=0))
    return varying if varying.any() else np.arange(len(variances)) == 0


def prior_variances(subspace: Subspace, evidence: Evidence) -> Real:
    """Variance of each real coordinate."""
    if evidence.shape[1] == subspace.rank:
        return subspace.variances
    return np.concatenate([subspace.variances, subspace.variances]) / 2


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in a subspace: the evidence on their coordinates, and the posterior of these.

    That has the mean `places`, N x r, and the `covariances`, N x r x r; `variances`, r, are those over all rows.
    """

    evidence: Evidence
    places: Real
    covariances: Real
    variances: Real

    @classmethod
    def of(cls, evidence: Evidence, variances: Real) -> Rows:
        """Compute the posterior of coordinates with prior N(0, diag(variances))."""
        return cls(evidence, *evidence.posterior(variances), variances)

    def within(self, labels: Labels) -> Real:
        """Spread around the means of groups, including the uncertainty of each row."""
        deviations = self.places - group_means(self.places, labels)[labels]
        return np.asarray((deviations.T @ deviations + self.covariances.sum(axis=0)) / len(deviations))

    def some(self, which: Index) -> tuple[Rows, Index]:
        """Some of the rows, and the order they are in; variances stay those of all rows."""
        groups = self.evidence.grouped(np.zeros(len(which), np.intp), 1, which)
        order = which[groups.order]
        return Rows(groups.evidence, self.places[order], self.covariances[order], self.variances), order

    def prior(self, n_groups: int) -> Real:
        """Approximate spread of each of K groups that together fill the space."""
        return np.asarray(np.diag(self.variances) / n_groups ** (2 / len(self.variances)))


def informative_columns(table: InMemory) -> Index | None:
    """The columns that depend on others; None unless they are at least two and at most half of all.

    Nor are they looked for in a sparse, a complex or a very wide table, by pairs of columns; and in a large one only in
    so many rows that products take no time to speak of.
    """
    if not isinstance(table, Entries) or table.dtype.kind == "c" or table.shape[1] > 1000:
        return None
    n, p = table.shape
    rows = table.take(np.arange(0, n, -(-n * p * p // 500_000_000)))
    found = np.flatnonzero(_dependence(rows) > 4 * np.log(p))
    return found if 2 <= len(found) <= p / 2 else None


def axes_in(table: InMemory, columns: Index, rank: int, progress: Progress = silent, *, tol: float = 1e-6) -> Subspace:
    """Axes of some columns (``fit_axes``); the others vary about their means, independently."""
    p = table.shape[1]
    inner = fit_axes(only_columns(table, columns), rank, progress, tol=tol)
    mean, basis, noise = table.column_means.copy(), np.zeros((p, inner.rank)), table.column_variances - inner.noise
    mean[columns], basis[columns], noise[columns] = inner.mean, inner.basis, inner.noises - inner.noise
    return Subspace(mean, basis, inner.variances, inner.noise, inner.history, np.maximum(noise, 0))


def _dependence(table: Entries) -> Real:
    """The largest n r² of each column with another."""
    centred = np.where(table.mask, table.values - table.column_means, 0)
    common, squares = table.seen.T @ table.seen, np.square(centred).T @ table.seen
    products = np.square(centred.T @ centred) / np.maximum(squares * squares.T, np.finfo(float).tiny)
    np.fill_diagonal(products, 0)
    return np.asarray((common * products).max(axis=0))


#: Probability that chance parts the rows of a line, or shows valleys where there are none.
CHANCE = 0.05
#: A row is well known if its entries leave at most this share of a variance.
WELL_KNOWN = 0.1
#: Gaps are looked for in two dimensions up to this many: on a line there are no shapes, and in more they need more rows
#: than most tables have.
MOST_DIMENSIONS = 3
#: Share of the rows in the smallest cluster, and of the well-known rows in the smallest part.
SMALLEST_SHARE = 0.015


def parts_of(rows: Rows, blur: Real | None) -> Index | None:
    """The part of each well-known row, 0, 1, ...; -1 for other rows. None if no gap is found.

    A part has at least `SMALLEST_SHARE` of these rows; those of smaller ones are in the part of the nearest row. `blur`
    are the variances added for columns recorded in steps.
    """
    if not 1 < rows.places.shape[1] <= MOST_DIMENSIONS:
        return None
    left = np.einsum("irr->ir", rows.covariances)
    known = np.flatnonzero((left <= WELL_KNOWN * rows.variances).all(axis=1))
    if not len(known):
        return None
    found = _connected(rows.places[known], 0.0 if blur is None else 2 * float(np.sqrt(blur.max(initial=0))))
    large = np.flatnonzero(np.bincount(found) >= SMALLEST_SHARE * len(known))
    if len(large) < 2:
        return None
    inside, outside = (np.flatnonzero(np.isin(found, large) == which) for which in (True, False))
    nearest = np.asarray(cKDTree(rows.places[known[inside]]).query(rows.places[known[outside]])[1], np.intp)
    found[outside] = found[inside[nearest]]
    labels = np.full(len(rows.places), -1)
    labels[known] = np.searchsorted(large, found)
    return labels


def _connected(places: Real, step: float) -> Index:
    """Connected parts of the graph of nearest neighbours; one part if a step may look like a gap."""
    different, which = np.unique(places, axis=0, return_inverse=True)
    n = len(different)
    k = enough_neighbors(n)
    if n < 2 * (k + 1):  # too few rows on either side of any gap
        return np.zeros(len(places), np.intp)
    distances, neighbors = (np.asarray(each) for each in cKDTree(different).query(different, k + 1))
    if np.mean(distances[:, -1] < step) > 0.01:  # the steps of a column look like gaps
        return np.zeros(len(places), np.intp)
    edges = np.repeat(np.arange(n), k), neighbors[:, 1:].ravel()
    # Not a coo_array, whose positions of 64 bits SciPy 1.11 answers with no parts.
    graph = coo_matrix((np.ones(n * k), edges), shape=(n, n))
    return np.asarray(np.asarray(connected_components(graph, directed=False)[1], np.intp)[which.ravel()], np.intp)


def enough_neighbors(n: int) -> int:
    """The smallest k for which chance parts a line of n rows with a probability of at most `CHANCE`."""
    k = 1
    while n * chance_of_gap(k) > CHANCE:
        k += 1
    return k


@cache
def chance_of_gap(k: int) -> float:
    """P_k, the probability that a spacing exceeds the sum of the k spacings on either side of it."""
    j = np.arange(k)
    return float(2 * np.sum(comb(k - 1 + j, j) * 3.0 ** -(k + j) * 2.0 ** -(k - j)))
