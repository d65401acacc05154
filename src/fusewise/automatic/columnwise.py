"""Mixtures whose columns are independent within a component: the latent class model, on the observed entries.

A row of component k has numbers x_ij with centre m_kj and variance s_kj, all scaled by one Student's weight per row,
and categories c_ij with the probabilities q_kj of their levels:

    p(x_i, c_i | k) = t_nu(x_i on I_i; m_k, diag(s_k)) prod_j q_kj(c_ij).

What is not observed drops out of the product, so a missing entry costs nothing but the information it hides. Where the
columns of a cluster vary independently, this says more of a row than a few common axes with one noise can; where they
vary together it says far less. A complex column is two real ones. A category is a block of columns, one for each level,
with one value where a row has that level and zero elsewhere; its mean in a component is the probability of the level.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fusewise.automatic.mixture import log_tails, probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.observations import InMemory
from fusewise.observations.entries import Real, Values
from fusewise.observations.resolution import steps

#: Pseudo-entries that draw a component's variance to the common one, and its centre to the column's mean.
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
    log_likelihood : of the observed entries of the table it was fitted to, all components considered.
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

    def log_densities(self, table: InMemory) -> tuple[Real, Real, npt.NDArray[np.intp]]:
        """log pi_k + log p(x_i | k) and the squared distance of row i from m_k in its numbers, both N x K.

        And how many numbers of each row were observed, N.
        """
        table = table.real()
        numeric = is_number(len(self.means[0]), self.levels)
        precision = numeric / self.variances
        distances = table.squares @ precision.T - 2 * (table.values @ (self.means * precision).T)
        distances = np.maximum(distances + table.seen @ (np.square(self.means) * precision).T, 0)
        normaliser = -0.5 * (table.seen @ (numeric * np.log(2 * np.pi * self.variances)).T)
        n_numbers = table.row_counts if numeric.all() else (table.seen @ numeric.astype(float)).astype(np.intp)
        densities = normaliser + log_tails(distances, n_numbers[:, None]) + np.log(self.shares)
        if self.levels:
            densities = densities + table.values @ self._log_levels().T
        return densities, distances, n_numbers

    def _log_levels(self) -> Real:
        """What a level adds to the log-density, by the value it has in the table; zero in the columns of numbers."""
        weights = np.zeros_like(self.means)
        for start, stop in self.levels:
            unit = self.means[:, start:stop].sum(axis=1, keepdims=True)  # the value of a level that a row has
            weights[:, start:stop] = np.log(self.means[:, start:stop] / unit) / unit
        return weights

    def occupied(self, table: InMemory) -> ColumnMixture:
        """The components that are the likeliest one of some row of the table."""
        kept = np.unique(self.log_densities(table)[0].argmax(axis=1))
        shares = self.shares[kept] / self.shares[kept].sum()
        return replace(
            self, centers=self.centers[kept], means=self.means[kept], variances=self.variances[kept], shares=shares
        )

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the centres, weighed by their probabilities."""
        return posterior @ self.centers


def is_number(n_columns: int, levels: Levels) -> npt.NDArray[np.bool_]:
    """Whether each column holds numbers, rather than a level of a category."""
    numeric = np.ones(n_columns, bool)
    for start, stop in levels:
        numeric[start:stop] = False
    return numeric


def fit_columns(
    table: InMemory, posterior: Real, rounds: int, levels: Levels = (), gain: float = -np.inf
) -> ColumnMixture:
    """A mixture with independent columns, by EM from given probabilities of the components.

    Parameters
    ----------
    table : entries, columns on one scale and about the origin; a level that a row has is a positive constant.
    posterior : N x K, the probabilities to begin with.
    rounds : at most so many.
    levels : the blocks of columns that hold the levels of a category.
    gain : rounds end when the log-likelihood rises by less than this part of it; by default all of them are made.
    """
    real = table.real()
    values, seen, squares = real.values, real.seen, real.squares
    middle, whole = real.column_means, real.column_variances
    # A value known to the nearest step d hides a variance of d²/12 (Sheppard). Without this floor, yes-or-no columns on
    # which a cluster agrees would have a variance of zero and decide everything.
    floor = np.maximum(np.square(steps(real)) / 12, 1e-6 * whole + 1e-12)
    numeric = is_number(len(middle), levels)
    weights, before = np.ones_like(posterior), -np.inf
    for _ in range(rounds):
        shares, weighted = posterior.mean(axis=0), posterior * weights
        # products with the table on the left, which may be sparse
        mass, sums, energy = (seen.T @ weighted).T, (values.T @ weighted).T, (squares.T @ weighted).T
        means = (sums + CENTER_ENTRIES * middle) / (mass + CENTER_ENTRIES)
        entries = (seen.T @ posterior).T
        variances = np.maximum(_variances(means, mass, sums, energy, entries, whole), floor)
        complexity = _complexity(entries[:, numeric])
        if levels:
            counts = (values.T @ posterior).T
            means[:, ~numeric] = ((counts + LEVEL_ENTRIES * middle) / (entries + LEVEL_ENTRIES))[:, ~numeric]
            complexity += _n_levels(counts, middle, levels)
        found = ColumnMixture(_centers(means, table), means, variances, shares, -np.inf, complexity, levels)
        densities, distances, n_numbers = found.log_densities(table)
        posterior, total = probabilities(densities)
        weights = (TAIL + n_numbers[:, None]) / (TAIL + distances)
        if total.sum() - before < gain * abs(total.sum()):
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


def _n_levels(counts: Real, middle: Real, levels: Levels) -> float:
    """Free probabilities of levels: those of levels that occur in a component, less one for each category."""
    free = 0.0
    for start, stop in levels:
        unit = middle[start:stop].sum()  # the value of a level that a row has
        free += float(np.maximum(np.minimum(counts[:, start:stop] / unit, 1).sum(axis=1) - 1, 0).sum())
    return free


def _centers(means: Real, table: InMemory) -> Values:
    p = table.shape[1]
    return means[:, :p] + 1j * means[:, p:] if means.shape[1] > p else means
