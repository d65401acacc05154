"""How well a partition explains a table: a likelihood that charges for doubt, but not for holes.

The integrated classification likelihood (ICL) of a mixture is its likelihood less the entropy of the labels, so that
overlapping components are not worth their parameters. With holes, much of that entropy is not overlap but ignorance: a
row seen in two entries could belong anywhere, however far apart the clusters are. So the entropy charged is the one
that would be left if the row were complete: coordinates are drawn from what its entries allow, and the entropy of the
label given whole coordinates is taken.
"""

from __future__ import annotations

import numpy as np

from fusewise.mixture import TAIL, Evidence, Mixture
from fusewise.observations.entries import Real


def criterion(evidence: Evidence, mixture: Mixture, *, complete: bool) -> float:
    """log-likelihood - entropy - (complexity / 2) log N - (K - 1) log N, larger is better.

    The last term pays for the cuts: each was chosen among the N - 1 joins of the tree, which takes log N nats to say.
    Without it a uniform density, which a cut neither helps nor hurts, would be cut by chance.

    Parameters
    ----------
    evidence, mixture : the rows, and the components fitted to a partition of them.
    complete : whether no entry is hidden; then the classification likelihood says it all.
    """
    penalty = (0.5 * mixture.complexity + mixture.n_components - 1) * float(np.log(evidence.shape[0]))
    if complete or mixture.n_components == 1:
        return mixture.fit - penalty
    rng = np.random.default_rng(0)  # the same draws for every partition, so that chance does not decide between them
    densities, _ = mixture.log_densities(evidence)
    total = np.logaddexp.reduce(densities, axis=1)
    posterior = np.exp(densities - total[:, None])
    return float(total.sum()) - _entropy_if_complete(evidence, mixture, posterior, rng) - penalty


def _entropy_if_complete(evidence: Evidence, mixture: Mixture, posterior: Real, rng: np.random.Generator) -> float:
    """sum_i H(label | v_i), v_i drawn given the observed entries of row i."""
    drawn = _draw(evidence, mixture, posterior, rng)
    r = evidence.shape[1]
    scores = np.empty_like(posterior)
    for k in range(mixture.n_components):
        spread = mixture.spreads[k]
        factor = np.linalg.cholesky(spread + 1e-10 * np.trace(spread) * np.eye(r))
        distance = np.square(np.linalg.solve(factor, (drawn - mixture.means[k]).T)).sum(axis=0)
        size = np.log(np.diag(factor)).sum()
        scores[:, k] = np.log(mixture.shares[k]) - size - (TAIL + r) / 2 * np.log1p(distance / TAIL)
    certain = np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])
    return -float(np.sum(certain * np.log(np.maximum(certain, np.finfo(float).tiny))))


def _draw(evidence: Evidence, mixture: Mixture, posterior: Real, rng: np.random.Generator) -> Real:
    """A label from its posterior, then coordinates given that label and the entries observed."""
    n, r = evidence.shape
    labels = (posterior.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    drawn = np.empty((n, r))
    for k in np.unique(labels):
        rows = np.flatnonzero(labels == k)
        mean, covariance = conditional(evidence.take(rows), mixture, k)
        values, vectors = np.linalg.eigh(covariance)
        normal = np.sqrt(np.maximum(values, 0)) * rng.standard_normal((len(rows), r))
        drawn[rows] = mean + np.einsum("ikl,il->ik", vectors, normal)
    return drawn


def conditional(evidence: Evidence, mixture: Mixture, k: int) -> tuple[Real, Real]:
    """Mean and covariance of the coordinates of each row, given its entries and that it belongs to component k."""
    spread, mean = mixture.spreads[k], mixture.means[k]
    gram, target, _ = evidence.marginal(spread)
    return mean + (target - gram @ mean) @ spread, spread - spread @ gram @ spread
