"""Mixtures whose columns are independent within a component: the latent class model, on the observed entries.

A row of component k has numbers x_ij with centre m_kj and variance s_kj, all scaled by one Student's weight per row,
and categories c_ij with the probabilities q_kj of their levels:

    p(x_i, c_i | k) = t_nu(x_i on I_i; m_k, diag(s_k)) prod_j q_kj(c_ij).

Missing values drop out of the product and cost only the information they would carry. If the columns of a cluster are
independent, this model describes a row better than a few common axes with one noise; if they are correlated it is much
worse. Complex columns are two real ones. A category is a block of columns, one for each level: a constant if the row
has that level, else zero. Its mean in a component is the probability of the level, times that constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fusewise.automatic.mixture import log_tails, probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.types import Index, Mask, Real, Values
from fusewise.observations import InMemory
from fusewise.observations.resolution import steps

#: Pseudo-entries that shrink a component's variance towards the common one, and its centre towards the column's mean.
VARIANCE_ENTRIES, CENTER_ENTRIES = 4.0, 1.0
#: Pseudo-entries that draw the shares of a component's levels to those of the whole column.
LEVEL_ENTRIES = 1.0

#: (start, stop) of each block of columns that holds the levels of one category.
Levels = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class ColumnMixture:
    """Components m_k, s_k with shares pi_k.

    Attributes
    ----------
    centers : K x P, real or complex.
    means, variances : the same as real columns, K x P (2P where the table is complex), and the s_kj.
    levels : (start, stop) of each block of columns that holds the levels of one category.
    shares : K.
    log_likelihood : log-likelihood of the observed entries of the table it was fitted to, summed over components.
    complexity : number of free parameters.
    """

    centers: Values
    means: Real
    variances: Real
    shares: Real
    log_likelihood: float
    complexity: float
    levels: Levels = ()

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Index]:
        """log pi_k + log p(x_i | k), and the squared distance of row i from m_k in its numbers, both N x K.

        Also the number of observed numbers of each row, N.
        """
        return self.densities_of(_Parts.of(table, self.levels))

    def densities_of(self, rows: _Parts) -> tuple[Real, Real, Index]:
        """``log_densities`` of rows whose numbers and levels have been taken apart."""
        means, variances = self.means[:, rows.numeric], self.variances[:, rows.numeric]
        precision = 1 / variances
        distances = rows.squares @ precision.T - 2 * (rows.numbers @ (means * precision).T)
        distances = np.maximum(distances + rows.seen @ (np.square(means) * precision).T, 0)
        normaliser = -0.5 * (rows.seen @ np.log(2 * np.pi * variances).T)
        densities = normaliser + log_tails(distances, rows.n_numbers[:, None]) + np.log(self.shares)
        if self.levels:
            densities = densities + rows.levels @ self._log_levels()[:, ~rows.numeric].T
        return densities, distances, rows.n_numbers

    def _log_levels(self) -> Real:
        """What a level adds to the log-density, by the value it has in the table; zero in the columns of numbers."""
        weights = np.zeros_like(self.means)
        for start, stop in self.levels:
            unit = self.means[:, start:stop].sum(axis=1, keepdims=True)  # the value of a level that a row has
            weights[:, start:stop] = np.log(self.means[:, start:stop] / unit) / unit
        return weights

    def occupied(self, table: InMemory, away: Real | float = 0.0) -> ColumnMixture:
        """The components that are the likeliest one of some row of the table, after adding `away`."""
        kept = np.unique((self.log_densities(table)[0] + away).argmax(axis=1))
        shares = self.shares[kept] / self.shares[kept].sum()
        return replace(
            self, centers=self.centers[kept], means=self.means[kept], variances=self.variances[kept], shares=shares
        )

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the centres, weighted by their probabilities."""
        return posterior @ self.centers


class _Parts(NamedTuple):
    """Rows of a table as real columns, the numbers and the levels of categories apart."""

    numeric: Mask
    numbers: Any
    seen: Any
    squares: Any
    n_numbers: Index
    levels: Any

    @classmethod
    def of(cls, table: InMemory, levels: Levels) -> _Parts:
        """The parts of a table; all of it is numbers where it has no levels."""
        real = table.real()
        numeric = is_number(real.shape[1], levels)
        if not levels:
            return cls(numeric, real.values, real.seen, real.squares, real.row_counts, real.values[:, :0])
        seen = real.seen[:, numeric]
        counts = np.asarray(seen.sum(axis=1)).ravel().astype(np.intp)
        return cls(numeric, real.values[:, numeric], seen, real.squares[:, numeric], counts, real.values[:, ~numeric])


def is_number(n_columns: int, levels: Levels) -> Mask:
    """Whether each column holds numbers, rather than a level of a category."""
    numeric = np.ones(n_columns, bool)
    for start, stop in levels:
        numeric[start:stop] = False
    return numeric


def fit_columns(
    table: InMemory,
    posterior: Real,
    rounds: int,
    levels: Levels = (),
    gain: float = -np.inf,
    away: Real | float = 0.0,
) -> ColumnMixture:
    """Fit a mixture with independent columns, by EM from given probabilities of the components.

    Parameters
    ----------
    table : entries, columns on a common scale and centred, but for levels.
    posterior : N x K, the initial probabilities.
    rounds : maximum number of rounds.
    levels : the blocks of columns that hold the levels of a category.
    gain : stop when a round raises the log-likelihood by less than this; by default all rounds are made.
    away : added to the log-densities: N x K, or 0 (``settling.held``).
    """
    real, rows = table.real(), _Parts.of(table, levels)
    numeric = rows.numeric
    middle, whole = real.column_means, real.column_variances
    # A value known to the nearest step d hides a variance of d²/12 (Sheppard). Without this floor, yes-or-no columns on
    # which a cluster agrees would have a variance of zero and decide everything.
    floor = np.maximum(np.square(steps(real)) / 12, 1e-6 * whole + 1e-12)
    means = np.repeat(middle[None], posterior.shape[1], axis=0)
    variances = np.ones_like(means)
    weights, before = np.ones_like(posterior), -np.inf
    for _ in range(rounds):
        weighted = posterior * weights
        # products with the table on the left, which may be sparse
        mass, sums, energy = ((part.T @ weighted).T for part in (rows.seen, rows.numbers, rows.squares))
        means[:, numeric] = (sums + CENTER_ENTRIES * middle[numeric]) / (mass + CENTER_ENTRIES)
        entries = (rows.seen.T @ posterior).T
        spread = _variances(means[:, numeric], mass, sums, energy, entries, whole[numeric])
        variances[:, numeric] = np.maximum(spread, floor[numeric])
        complexity = _complexity(entries)
        if levels:
            held = np.zeros_like(means)
            held[:, ~numeric] = (rows.levels.T @ posterior).T
            complexity += _fit_levels(means, held, middle, levels)
        shares = posterior.mean(axis=0)
        found = ColumnMixture(
            _centers(means, table), means.copy(), variances.copy(), shares, -np.inf, complexity, levels
        )
        densities, distances, n_numbers = found.densities_of(rows)
        posterior, total = probabilities(densities + away)
        weights = (TAIL + n_numbers[:, None]) / (TAIL + distances)
        if float(total.sum()) - before < gain:
            break
        before = float(total.sum())
    return replace(found, log_likelihood=float(total.sum()))


def _variances(means: Real, mass: Real, sums: Real, energy: Real, entries: Real, whole: Real) -> Real:
    """Of each column in each component, drawn towards the one common to all components."""
    scatter = np.maximum(energy - 2 * means * sums + np.square(means) * mass, 0)
    common = scatter.sum(axis=0) + VARIANCE_ENTRIES * whole / len(means)
    common /= entries.sum(axis=0) + VARIANCE_ENTRIES
    return np.asarray((scatter + VARIANCE_ENTRIES * common) / (entries + VARIANCE_ENTRIES))


def _complexity(entries: Real) -> float:
    """Free parameters of shares, centres and variances; of a variance the part that is a component's own."""
    n_groups, n_numbers = entries.shape
    own = float(np.mean(entries / (entries + VARIANCE_ENTRIES))) * (n_groups - 1) if n_numbers else 0.0
    return float(n_groups - 1 + (n_groups + 1 + own) * n_numbers)


def _fit_levels(means: Real, held: Real, middle: Real, levels: Levels) -> float:
    """Set the means of levels from their sums over the rows of each component; return the free probabilities.

    Those are the probabilities of levels that occur in a component, less one for each category.
    """
    free = 0.0
    for start, stop in levels:
        block = slice(start, stop)
        counts = held[:, block] / middle[block].sum()  # the sum over the levels is the value of a level that a row has
        shrunk = held[:, block] + LEVEL_ENTRIES * middle[block]
        means[:, block] = shrunk / (counts.sum(axis=1, keepdims=True) + LEVEL_ENTRIES)
        free += float(np.maximum(np.minimum(counts, 1).sum(axis=1) - 1, 0).sum())
    return free


def _centers(means: Real, table: InMemory) -> Values:
    p = table.shape[1]
    return means[:, :p] + 1j * means[:, p:] if means.shape[1] > p else means
