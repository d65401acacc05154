"""Columns of a wide table that can say something about clusters, and axes in them alone.

If rows form clusters, a column in which the clusters differ depends on the other such columns, or has more than one
hump itself. A column that does neither is noise to a search for clusters, and many of them hide the few others: six
columns with clusters among two hundred do not stand out by their variance.

With n common entries, n r² of two independent columns is about chi-squared with one degree of freedom; the largest over
all P²/2 pairs is about 4 log P, and columns that exceed it are taken to depend on each other. A column has two humps if
two Gaussian distributions of equal variance have a larger likelihood than one, by more than log n for their two
further parameters and log P for the choice of the column.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.kernels.types import Index, Real
from fusewise.observations import Entries, InMemory
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace

#: Wider tables are not looked at by pairs of columns; and of each so many rows that products take no longer than this.
MOST_COLUMNS, MOST_PRODUCTS = 1000, 500_000_000
#: Shares of the lower of two humps to begin with, and rounds of EM.
SHARES, ROUNDS = (0.3, 0.5, 0.7), 20


def informative_columns(table: InMemory) -> Index | None:
    """The columns that depend on others or have two humps; None unless they are at least two and at most half of all.

    Parameters
    ----------
    table : standardised rows; None is returned for a sparse or a complex one.
    """
    if not isinstance(table, Entries) or table.dtype.kind == "c" or table.shape[1] > MOST_COLUMNS:
        return None
    n, p = table.shape
    rows = table.take(np.arange(0, n, -(-n * p * p // MOST_PRODUCTS)))
    informative = _dependence(rows) > 4 * np.log(p)
    if informative.sum() <= p / 2:
        rest = np.flatnonzero(~informative)
        informative[rest] = two_humps(rows.standardised(rest, np.ones(p), np.zeros(p))) > np.log(p)
    found = np.flatnonzero(informative)
    return found if 2 <= len(found) <= p / 2 else None


def cost_of_choice(n_chosen: int, n_columns: int) -> float:
    """log of the number of ways to choose so many columns."""
    return float(gammaln(n_columns + 1) - gammaln(n_chosen + 1) - gammaln(n_columns - n_chosen + 1))


def axes_in(table: InMemory, columns: Index, rank: int, progress: Progress = silent, *, tol: float = 1e-6) -> Subspace:
    """Axes of some columns (``fit_axes``); the others vary about their means, independently."""
    p = table.shape[1]
    inner = fit_axes(table.standardised(columns, np.ones(p), np.zeros(p)), rank, progress, tol=tol)
    return among_others(inner, table, columns)


def among_others(inner: Subspace, table: InMemory, columns: Index) -> Subspace:
    """Axes of some columns of a table as those of all: the others vary about their means, independently."""
    p = table.shape[1]
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


def two_humps(table: Entries) -> Real:
    """log-likelihood of two Gaussian distributions with one variance over that of one, less log n, for each column."""
    seen, counts = table.seen, np.maximum(table.column_counts, 1)
    x = np.where(table.mask, table.values - table.column_means, 0) / np.sqrt(np.maximum(table.column_variances, 1e-300))
    filled = np.where(table.mask, x, np.nan)
    gains = np.full(table.shape[1], -np.inf)
    for share in SHARES:
        means = np.nanquantile(filled, [share / 2, (1 + share) / 2], axis=0)
        shares: Real = np.repeat([[share], [1 - share]], table.shape[1], axis=1)
        variances = np.full(table.shape[1], 0.5)
        for _ in range(ROUNDS):
            away = np.square(x - means[:, None])
            densities = np.log(shares)[:, None] - 0.5 * (np.log(variances) + away / variances)
            total = np.logaddexp(*densities)
            parts = np.exp(densities - total) * seen
            sizes = parts.sum(axis=1) + 1e-9
            means, shares = (parts * x).sum(axis=1) / sizes, sizes / sizes.sum(axis=0)
            variances = np.maximum(np.sum(parts * np.square(x - means[:, None]), axis=(0, 1)) / counts, 1e-3)
        gains = np.maximum(gains, np.sum(total * seen, axis=0) + 0.5 * counts)
    return np.asarray(gains - np.log(counts))
