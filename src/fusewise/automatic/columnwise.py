"""Mixtures whose columns are independent within a component: the latent class model, on the observed entries.

A row of component k has entries x_ij with centre m_kj and variance s_kj, all scaled by one Student-t weight per row:

    p(x_i | k) = t_nu(x_i on I_i; m_k, diag(s_k)).

Missing values drop out of the product and cost only the information they would carry. If the columns of a cluster are
independent, this model describes a row better than a few common axes with one noise; if they are correlated it is much
worse. Complex columns are two real ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fusewise.automatic.mixture import log_tails, probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.types import Real, Values
from fusewise.observations import InMemory
from fusewise.observations.resolution import steps

#: Pseudo-entries that shrink a component's variance towards the common one, and its centre towards the column's mean.
VARIANCE_ENTRIES, CENTER_ENTRIES = 4.0, 1.0


@dataclass(frozen=True, eq=False)
class ColumnMixture:
    """Components m_k, s_k with shares pi_k.

    Attributes
    ----------
    centers : K x P, real or complex.
    means, variances : the same as real columns, K x P (2P where the table is complex), and the s_kj.
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

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, npt.NDArray[np.intp]]:
        """log pi_k + log p(x_i | k) and the squared distance of row i from m_k, both N x K; and the entries per row."""
        table = table.real()
        precision = 1 / self.variances
        distances = table.squares @ precision.T - 2 * (table.values @ (self.means * precision).T)
        distances = np.maximum(distances + table.seen @ (np.square(self.means) * precision).T, 0)
        normaliser = -0.5 * (table.seen @ np.log(2 * np.pi * self.variances).T)
        densities = normaliser + log_tails(distances, table.row_counts[:, None]) + np.log(self.shares)
        return densities, distances, table.row_counts

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the centres, weighted by their probabilities."""
        return posterior @ self.centers


def fit_columns(table: InMemory, posterior: Real, rounds: int) -> ColumnMixture:
    """Fit a mixture with independent columns, by a few rounds of EM from given probabilities of the components.

    Parameters
    ----------
    table : entries, columns on a common scale and centred.
    posterior : N x K, the initial probabilities.
    rounds : number of rounds; only a few, as in ``mixture.soften``.
    """
    real = table.real()
    values, seen, squares = real.values, real.seen, real.squares
    middle, whole = real.column_means, real.column_variances
    # Rounding to steps of d hides a variance of d²/12 (Sheppard). Without this floor, a yes/no column that is constant
    # within a cluster would have a variance of zero and dominate all others.
    floor = np.maximum(np.square(steps(real)) / 12, 1e-6 * whole + 1e-12)
    n_groups = posterior.shape[1]
    weights = np.ones_like(posterior)
    for _ in range(rounds):
        shares, weighted = posterior.mean(axis=0), posterior * weights
        # products have the table on the left, as it may be sparse
        mass, sums, energy = (seen.T @ weighted).T, (values.T @ weighted).T, (squares.T @ weighted).T
        means = (sums + CENTER_ENTRIES * middle) / (mass + CENTER_ENTRIES)
        scatter = np.maximum(energy - 2 * means * sums + np.square(means) * mass, 0)
        entries = (seen.T @ posterior).T
        common = scatter.sum(axis=0) + VARIANCE_ENTRIES * whole / n_groups
        common /= entries.sum(axis=0) + VARIANCE_ENTRIES
        variances = (scatter + VARIANCE_ENTRIES * common) / (entries + VARIANCE_ENTRIES)
        variances = np.maximum(variances, floor)
        own = float(np.mean(entries / (entries + VARIANCE_ENTRIES))) * (n_groups - 1)
        complexity = n_groups - 1 + (n_groups + 1 + own) * len(middle)
        found = ColumnMixture(_centers(means, table), means, variances, shares, -np.inf, complexity)
        densities, distances, seen_entries = found.log_densities(table)
        posterior, total = probabilities(densities)
        weights = (TAIL + seen_entries[:, None]) / (TAIL + distances)
    return ColumnMixture(found.centers, means, variances, shares, float(total.sum()), complexity)


def _centers(means: Real, table: InMemory) -> Values:
    p = table.shape[1]
    return means[:, :p] + 1j * means[:, p:] if means.shape[1] > p else means
