"""Mixtures whose columns are independent within a component: the latent class model, on the observed entries.

A row of component k has entries x_ij with centre m_kj and variance s_kj, all scaled by one Student's weight per row:

    p(x_i | k) = t_nu(x_i on I_i; m_k, diag(s_k)).

What is not seen drops out of the product, so holes cost nothing but the information they hide. Where the columns of a
cluster do go their own ways, this says more of a row than a few common axes with one noise can; where they move
together it says far less. Complex columns are two real ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fusewise.automatic.mixture import log_tails, probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.observations import InMemory
from fusewise.observations.entries import Real, Values
from fusewise.observations.resolution import steps

#: Pseudo-entries that draw a component's variance to the common one, and its centre to the column's mean.
VARIANCE_ENTRIES, CENTER_ENTRIES = 4.0, 1.0


@dataclass(frozen=True, eq=False)
class ColumnMixture:
    """Components m_k, s_k with shares pi_k.

    Attributes
    ----------
    centers : K x P, real or complex.
    means, variances : the same as real columns, K x P (2P where the table is complex), and the s_kj.
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

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, npt.NDArray[np.intp]]:
        """log pi_k + log p(x_i | k) and the squared distance of row i from m_k, both N x K; and the entries seen, N."""
        table = table.real()
        precision = 1 / self.variances
        distances = table.squares @ precision.T - 2 * (table.values @ (self.means * precision).T)
        distances = np.maximum(distances + table.seen @ (np.square(self.means) * precision).T, 0)
        normaliser = -0.5 * (table.seen @ np.log(2 * np.pi * self.variances).T)
        densities = normaliser + log_tails(distances, table.row_counts[:, None]) + np.log(self.shares)
        return densities, distances, table.row_counts

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the centres, weighed by their probabilities."""
        return posterior @ self.centers


def fit_columns(table: InMemory, posterior: Real, rounds: int) -> ColumnMixture:
    """A mixture with independent columns, by a few rounds of EM from given probabilities of the components.

    Parameters
    ----------
    table : entries, columns on one scale and about the origin.
    posterior : N x K, the probabilities to begin with.
    rounds : few, as in ``mixture.soften``.
    """
    real = table.real()
    values, seen, squares = real.values, real.seen, real.squares
    middle, whole = real.column_means, real.column_variances
    # A value known to the nearest step d hides a variance of d²/12 (Sheppard). Without this floor, yes-or-no columns on
    # which a cluster agrees would have a variance of zero and decide everything.
    floor = np.maximum(np.square(steps(real)) / 12, 1e-6 * whole + 1e-12)
    n_groups = posterior.shape[1]
    weights = np.ones_like(posterior)
    for _ in range(rounds):
        shares, weighted = posterior.mean(axis=0), posterior * weights
        # products with the table on the left, which may be sparse
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
