"""Groups as the components of a mixture, judged on the observed entries alone.

A row of component k has coordinates v ~ t_nu(mu_k, Sigma_k) in the subspace, and its observed entries are those
coordinates seen through Q with noise. Student's tails (few degrees of freedom) let a component have a skirt without
asking for a second component to explain it. Two families of spreads: ``"scale"``, Sigma_k = tau_k Sigma, one shape in
several sizes; and ``"full"``, each its own, drawn towards the common one by r + 2 pseudo-rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
from scipy.special import gammaln

from fusewise.evidence import Cells, Evidence, Index, Marginal, regular
from fusewise.observations.entries import Real

#: Degrees of freedom of the components: heavy tails, with a finite variance.
TAIL = 5.0

#: At most so many rounds of EM, in which centres, spreads and row weights settle while the labels are held; they end
#: when the fit gains less than so many nats (for every thousand rows, where there are more). Partitions can only be
#: compared by fits that have settled.
ROUNDS = 15
GAIN = 0.2
#: The steps of the spreads grow from round to round, up to so many times EM's own.
STRIDE = 3.0


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components mu_k, Sigma_k with shares pi_k, and how well they explain the rows they were fitted to.

    Attributes
    ----------
    means, spreads, shares : K x r, K x r x r, K.
    family : "scale" or "full".
    fit : classification log-likelihood of the labels the components were fitted to.
    complexity : number of free parameters.
    """

    means: Real
    spreads: Real
    shares: Real
    family: str
    fit: float
    complexity: float

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, evidence: Evidence) -> tuple[Real, Real]:
        """log pi_k + log p(x_i | k), N x K; and the squared distance of each row from each mean, in spreads."""
        densities = np.empty((evidence.shape[0], self.n_components))
        distances = np.empty_like(densities)
        for k in range(self.n_components):
            marginal = evidence.marginal(evidence.together, self.spreads[k : k + 1])
            density, distance, _ = _student(evidence, evidence.together, marginal, self.means[k : k + 1])
            densities[:, k], distances[:, k] = density, distance
        return densities + np.log(self.shares), distances

    def conditional(self, evidence: Evidence, cells: Cells) -> tuple[Real, Real]:
        """Mean of the coordinates of each row; and, for each cell, W with their covariance W' W.

        Given the row's entries, and that it belongs to the component that is its group.
        """
        marginal = evidence.marginal(cells, self.spreads, roots=True)
        pull = marginal.target - np.einsum("ckl,cl->ck", marginal.gram, self.means[cells.group])[cells.of]
        moved = np.empty_like(pull)
        for k, rows in enumerate(cells.rows):
            moved[rows] = self.means[k] + pull[rows] @ self.spreads[k]
        return moved, marginal.root


def fit_groups(evidence: Evidence, labels: Index, spread: Real, prior: Real, family: str) -> Mixture:
    """Centres and spreads of given groups, by EM on the observed entries with the labels held.

    Parameters
    ----------
    evidence : of the rows.
    labels : 0 .. K-1, none empty.
    spread : a first guess at the spread within groups.
    prior : the spread that r + 2 pseudo-rows add, so that a small group has one too.
    family : "scale" or "full".
    """
    n, r = evidence.shape
    sizes = np.bincount(labels).astype(float)
    cells = evidence.cells(labels, len(sizes))
    spreads = np.repeat(spread[None], len(sizes), axis=0)
    weights, ones, before = np.ones(n), np.ones(n), -np.inf
    step, stride = (spreads, spread), 1.0
    for _ in range(ROUNDS):
        marginal = evidence.marginal(cells, spreads)
        means = _means(cells, marginal, weights)
        density, distance, pull = _student(evidence, cells, marginal, means)
        fit = float(density.sum() + sizes @ np.log(sizes / n))
        if fit < before and stride > 1:  # too far: back to where EM itself would have gone
            (spreads, spread), stride = step, 1.0
            continue
        if fit > before:  # the prior may pull the last steps down a little
            settled = Mixture(means, spreads, sizes / n, family, fit, _complexity(sizes, r, family))
        if fit - before < GAIN * max(1.0, n / 1000):
            break
        before = fit
        weights = (TAIL + evidence.dimensions) / (TAIL + distance)
        scatters = _scatters(cells, marginal, ones, weights, pull, spreads)
        step = _spreads(scatters, sizes, spread, prior, family)
        spreads, spread = _further(spreads, step[0], stride), _further(spread, step[1], stride)
        stride = min(1.5 * stride, STRIDE)
    return settled


def _further(old: Real, new: Real, stride: float) -> Real:
    """old^1/2 (old^-1/2 new old^-1/2)^stride old^1/2: the step from one spread to another, lengthened.

    EM creeps where the rows of a group hardly spread but for their noise; steps that grow until they fail do not.
    """
    if stride == 1:
        return new
    root = np.linalg.cholesky(regular(old))
    inverse = np.linalg.inv(root)
    ratios, axes = np.linalg.eigh(inverse @ new @ np.swapaxes(inverse, -1, -2))
    turned = root @ axes
    lengths = np.clip(ratios, 1e-3, 1e3) ** stride
    return np.asarray((turned * lengths[..., None, :]) @ np.swapaxes(turned, -1, -2))


def soften(evidence: Evidence, mixture: Mixture, prior: Real, rounds: int) -> Mixture:
    """A few rounds of EM on the observed entries in which rows may be shared between components.

    Few: EM run to its end is free to leave the partition it came from, and does so on tables whose clusters are no
    Student's.
    """
    cells = evidence.together
    for _ in range(rounds):
        densities, distances = mixture.log_densities(evidence)
        posterior, _ = probabilities(densities)
        sizes = posterior.sum(axis=0)
        if sizes.min() < 1:
            break
        means, scatters = np.empty_like(mixture.means), np.empty_like(mixture.spreads)
        for k in range(mixture.n_components):
            spread = mixture.spreads[k : k + 1]
            marginal = evidence.marginal(cells, spread)
            weights = (TAIL + evidence.dimensions) / (TAIL + distances[:, k])
            means[k : k + 1] = _means(cells, marginal, posterior[:, k] * weights)
            pull = _student(evidence, cells, marginal, means[k : k + 1])[2]
            scatters[k] = _scatters(cells, marginal, posterior[:, k], weights, pull, spread)[0]
        spreads, _ = _spreads(scatters, sizes, scatters.sum(axis=0) / sizes.sum(), prior, mixture.family)
        mixture = replace(mixture, means=means, spreads=spreads, shares=sizes / sizes.sum())
    return mixture


def probabilities(densities: Real) -> tuple[Real, Real]:
    """p(k | row) from the logarithms of p(k, row), and log p(row).

    Never quite zero: numbers too small to be normal would slow every product down a hundredfold.
    """
    total = np.logaddexp.reduce(densities, axis=1)
    return np.exp(np.maximum(densities - total[:, None], -100.0)), total


def _student(evidence: Evidence, cells: Cells, marginal: Marginal, means: Real) -> tuple[Real, Real, Real]:
    """Log-density of each row under t_nu(mu_k, Sigma_k) of its group k, its squared distance, and h_i - G_i mu_k."""
    own = means[cells.group]
    moved = np.einsum("ckl,cl->ck", marginal.gram, own)
    pull = marginal.target - moved[cells.of]
    rows = own[cells.of]
    distance = np.maximum(np.einsum("ik,ik->i", pull, evidence.places - rows), 0)
    gaussian = marginal.constant + np.einsum("ik,ik->i", marginal.target, rows)
    gaussian -= 0.5 * np.einsum("ck,ck->c", moved, own)[cells.of]
    return gaussian + 0.5 * distance + log_tails(distance, evidence.dimensions), distance, pull


def log_tails(distance: Real, dimensions: Index) -> Real:
    """log t_nu - log of the Gaussian's normaliser: what stands for -distance/2 where tails are Student's."""
    lead = gammaln((TAIL + dimensions) / 2) - gammaln(TAIL / 2) - dimensions / 2 * np.log(TAIL / 2)
    return np.asarray(lead - (TAIL + dimensions) / 2 * np.log1p(distance / TAIL))


def _means(cells: Cells, marginal: Marginal, weights: Real) -> Real:
    """argmax over mu_k of sum_i w_i log p(x_i | mu_k), for each group."""
    per_cell = np.bincount(cells.of, weights, minlength=len(cells.group))
    system = _sums(len(cells.rows), cells.group, per_cell, marginal.gram)
    diagonal = np.einsum("gkk->gk", system)  # a view
    # Relative to each direction's own size: one that is known all but exactly must not hold the others back.
    diagonal *= 1 + 1e-8
    diagonal += np.finfo(float).tiny
    right = np.array([weights[rows] @ marginal.target[rows] for rows in cells.rows])
    return np.asarray(np.linalg.solve(system, right[:, :, None])[:, :, 0])


def _scatters(cells: Cells, marginal: Marginal, shares: Real, weights: Real, pull: Real, spreads: Real) -> Real:
    """sum_i p_i E[w_i (v_i - mu)(v_i - mu)'] for each group: how far rows are known to be, and may be."""
    per_cell = np.bincount(cells.of, shares, minlength=len(cells.group))
    known = np.array([(pull[i] * (shares * weights)[i, None]).T @ pull[i] for i in cells.rows])
    known -= _sums(len(cells.rows), cells.group, per_cell, marginal.gram)
    sizes = np.array([shares[i].sum() for i in cells.rows])
    return np.asarray(sizes[:, None, None] * spreads + spreads @ known @ spreads)


@numba.njit(cache=True, nogil=True)
def _sums(n_groups: int, groups: Any, weights: Any, gram: Any) -> Any:
    """sum_c w_c G_c over the cells of each group."""
    r = gram.shape[1]
    total = np.zeros((n_groups, r, r))
    for c in range(len(groups)):
        g, w = groups[c], weights[c]
        for i in range(r):
            for j in range(r):
                total[g, i, j] += w * gram[c, i, j]
    return total


def _spreads(scatters: Real, sizes: Real, shape: Real, prior: Real, family: str) -> tuple[Real, Real]:
    """Spreads of the groups, and the common one."""
    r, n = len(prior), sizes.sum()
    pseudo = r + 2.0
    if family == "scale":
        size = (np.einsum("kl,jlk->j", np.linalg.inv(regular(shape)), scatters) + pseudo) / (r * sizes + pseudo)
        common = ((scatters / size[:, None, None]).sum(axis=0) + pseudo * prior) / (n + pseudo)
        return size[:, None, None] * common, common
    common = (scatters.sum(axis=0) + pseudo * prior) / (n + pseudo)
    return (scatters + pseudo * common) / (sizes + pseudo)[:, None, None], common


def _complexity(sizes: Real, r: int, family: str) -> float:
    """Free parameters; a spread drawn towards the common one counts for the part that is its own."""
    n_groups, shape = len(sizes), r * (r + 1) / 2
    own = 1.0 if family == "scale" else float(np.mean(sizes / (sizes + r + 2.0))) * shape
    return n_groups - 1 + n_groups * r + shape + (n_groups - 1) * own
