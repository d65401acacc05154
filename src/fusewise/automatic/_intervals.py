"""Entries in intervals as normal observations, by expectation propagation (Minka, 2001).

Given the clusters and the other entries of its row, an entry x_ij that is known to lie between bounds has about the
distribution N(c, d), over all components, and within the bounds the moments of that distribution truncated. A *site* is
the normal observation y of x_ij, with error variance v, that has the same effect:

    N(x; c, d) N(y; x, v) ~ a normal density with the moments of N(x; c, d) given low <= x <= high.

c and d depend on the sites of the row's other entries, so sites are renewed a few times, a step of `STEP` each on
1/v and y/v. All that follows sees entries with errors only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import truncnorm

from fusewise.automatic._clusters import AxisMixture, Clusters, Part
from fusewise.automatic._evidence import regular
from fusewise.automatic._mixture import Mixture, log_tails, probabilities
from fusewise.automatic._rows import fit_axes
from fusewise.kernels import Index, Real, Truncated, sites, truncated
from fusewise.observations import BoundedEntries, Entries

#: Rounds in which the sites of a row are renewed, and the share of the way that each goes after the first.
RENEWALS, STEP = 6, 0.7
#: Components with a smaller probability for a row are left out of what is expected of its entries.
LEFT_OUT = 1e-6
#: Fits of axes to the sites that the axes before led to.
FITS = 2


@dataclass(frozen=True, eq=False)
class Sites:
    """Entries in intervals, as normal observations.

    Attributes
    ----------
    entries : the table with them.
    where : row and column of each.
    bounds : the bounds of each.
    mean, variance : c and d of each.
    given : the moments of N(c, d) within the bounds.
    log_scale : N, what the log-density of the sites of a row falls short of the log-probability of its intervals.
    """

    entries: Entries
    where: tuple[Index, Index]
    bounds: tuple[Real, Real]
    mean: Real
    variance: Real
    given: Truncated
    log_scale: Real

    def drawn(self, random: np.random.Generator) -> Real:
        """Draws of the entries from N(c, d) within their bounds."""
        spread = np.sqrt(self.variance)
        ends = ((end - self.mean) / spread for end in self.bounds)
        return np.asarray(truncnorm.rvs(*ends, loc=self.mean, scale=spread, random_state=random))


def sites_of(clusters: Clusters, table: BoundedEntries) -> Sites:
    """The sites of a table, on the scale of the clusters."""
    row, column = np.nonzero(table.bounded)
    where = row, column
    low, high = table.low[where], table.high[where]
    if not len(row):
        return Sites(table.exact, where, (low, high), low, low, Truncated(low, low, low), np.zeros(table.shape[0]))
    touched, at = np.unique(row, return_inverse=True)
    some = table.exact.take(touched)
    y: Real = np.zeros(len(row))
    v: Real = np.full(len(row), np.inf)
    for step in (1.0, *(RENEWALS - 1) * (STEP,)):
        entries = _with_sites(some, (at, column), y, v)
        mean, variance = _expected(clusters, entries, at, column, y, v)
        given = truncated(mean, variance, low, high)
        y, v = _moved(y, v, *sites(mean, variance, given), step)
    scale = given.log_mass + 0.5 * np.where(
        np.isfinite(v), np.log(2 * np.pi * (variance + v)) + np.square(y - mean) / (variance + v), 0
    )
    entries = _with_sites(table.exact, where, y, v)
    scales = np.asarray(np.bincount(row, scale, table.shape[0]), float)
    return Sites(entries, where, (low, high), mean, variance, given, scales)


def sites_along_axes(table: BoundedEntries, rank: int) -> Entries:
    """The sites of a standardised table under one normal distribution, whose axes are fitted to them."""
    row, column = np.nonzero(table.bounded)
    where = row, column
    mean, variance = table.column_means[column], np.maximum(table.column_variances, 1e-12)[column]
    known = sites(mean, variance, truncated(mean, variance, table.low[where], table.high[where]))
    entries = _with_sites(table.exact, where, *known)
    for _ in range(FITS):
        subspace = fit_axes(entries, rank)
        r = subspace.rank
        one = Mixture(np.zeros((1, r)), np.diag(subspace.variances)[None], np.ones(1), "full", 0.0, 0.0)
        entries = sites_of(Clusters.of(AxisMixture(subspace, one)), table).entries
    return entries


def _with_sites(table: Entries, where: tuple[Index, Index], y: Real, v: Real) -> Entries:
    """The observed entries, and the sites that say something."""
    says = np.isfinite(v)
    at = where[0][says], where[1][says]
    values, mask = table.values.copy(), table.mask.copy()
    variances = np.zeros(table.shape) if table.variances is None else table.variances.copy()
    values[at], mask[at], variances[at] = y[says], True, v[says]
    return replace(table, values=values, mask=mask, variances=variances)


def _moved(y: Real, v: Real, new_y: Real, new_v: Real, step: float) -> tuple[Real, Real]:
    """Part of the way to new sites, on 1/v and y/v."""
    precision = (1 - step) / v + step / new_v
    says = precision > 0
    pull = (1 - step) * y / v + step * new_y / new_v
    precision = np.where(says, precision, 1)
    return np.where(says, pull / precision, new_y), np.where(says, 1 / precision, np.inf)


def _expected(clusters: Clusters, entries: Entries, at: Index, column: Index, y: Real, v: Real) -> tuple[Real, Real]:
    """The c and d of each entry in an interval, over all components, without its own site."""
    densities, squares, dimensions = clusters.component_densities(entries)
    densities = densities - log_tails(squares, dimensions[:, None]) - 0.5 * squares  # as of normal components
    shares = probabilities(densities)[0]
    means, variances = np.zeros((2, len(at), densities.shape[1]))
    begin = 0
    for part in clusters.parts:
        for k in range(part.n_components):
            near = np.flatnonzero((shares[:, begin + k] > LEFT_OUT)[at])
            if not len(near):  # a component far from every row with an interval
                continue
            means[near, begin + k], variances[near, begin + k] = _by_component(
                part, k, entries, at[near], column[near], y[near], v[near]
            )
        begin += part.n_components
    total = variances + v[:, None]
    own = np.where(np.isfinite(v)[:, None], 0.5 * (np.log(total) + np.square(y[:, None] - means) / total), 0)
    weights = probabilities(np.where(variances > 0, densities[at] + own, -np.inf))[0]
    mean = (weights * means).sum(axis=1)
    return mean, (weights * (variances + np.square(means - mean[:, None]))).sum(axis=1)


def _by_component(
    part: Part, k: int, entries: Entries, at: Index, column: Index, y: Real, v: Real
) -> tuple[Real, Real]:
    """The mean and variance of each entry in a component, given the other entries of its row."""
    if not isinstance(part, AxisMixture):
        return part.means[k, column], part.variances[k, column]
    rows, own = np.unique(at, return_inverse=True)
    if part.numbers is not None:
        column = np.searchsorted(part.numbers, column)
    subspace, evidence = part.subspace, part.evidence(entries.take(rows))
    prior = np.linalg.inv(regular(part.mixture.spreads[k]))
    precision = evidence.precision.transpose(2, 0, 1)[evidence.pattern]
    covariances = np.linalg.inv(precision + prior)
    places = np.einsum("irs,is->ir", covariances, evidence.vector.T + prior @ part.mixture.means[k])
    q, noise = subspace.basis, subspace.noises[column]
    fitted = (places @ q.T)[own, column]
    doubt = (covariances.reshape(len(rows), -1) @ (q[:, :, None] * q[:, None, :]).reshape(len(q), -1).T)[own, column]
    # without the entry's own site, an observation of q' coordinates with the variance noise + v
    share = doubt / (noise + v)
    left = np.maximum(1 - share, 1e-9)
    site = np.where(np.isfinite(v), y - subspace.mean[column], 0)
    return subspace.mean[column] + (fitted - share * site) / left, doubt / left + noise
