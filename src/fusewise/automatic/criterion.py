"""Criterion for partitions of a table: a likelihood that penalises overlapping clusters, but not missing values.

The integrated classification likelihood (ICL) of a mixture is its likelihood less the entropy of the labels, so that
overlapping components are not worth their parameters. With missing values, much of that entropy is not due to overlap:
a row with two observed entries could belong to any cluster, however far apart the clusters are. So the entropy that is
subtracted is the one that would remain if the row were complete: coordinates are drawn given its entries, and the
entropy of the label given all coordinates is used.
"""

from __future__ import annotations

import numpy as np

from fusewise.automatic.columnwise import ColumnMixture, is_number
from fusewise.automatic.evidence import Evidence, regular
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.types import Real
from fusewise.observations import InMemory

#: The entropy is averaged over this many draws of each row's coordinates, or fewer if there are many rows: a few
#: thousand draws in all are accurate enough.
DRAWS, ENOUGH = 4, 5000


def criterion(evidence: Evidence, mixture: Mixture, *, complete: bool, copies: float = 1.0) -> float:
    """log-likelihood - entropy - (complexity / 2) log N - (K - 1) log N, larger is better.

    The last term is the cost of the cuts: each is chosen among the N - 1 joins of the tree, which takes log N nats to
    encode. Without it a uniform density, whose likelihood a cut does not change, would be cut by chance.

    Parameters
    ----------
    evidence, mixture : the rows, and the components fitted to a partition of them.
    complete : whether no entry is missing; then the classification likelihood is all that is needed.
    copies : how many rows of a table each row stands for.
    """
    fit = mixture.fit if complete or mixture.n_components == 1 else float(explained(evidence, mixture).sum())
    return _penalised(fit, mixture, evidence.shape[0], copies)


def _penalised(fit: float, mixture: Mixture | ColumnMixture, n: int, copies: float) -> float:
    """fit - ((complexity / 2) + K - 1) log N, for n rows or as if there were `copies` times as many.

    Parameters fitted to n rows raise their likelihood by half a nat each, by chance, which must not be multiplied.
    """
    by_chance, cuts = 0.5 * mixture.complexity, mixture.n_components - 1
    return copies * fit - (copies - 1) * by_chance - (by_chance + cuts) * float(np.log(copies * n))


def explained(evidence: Evidence, mixture: Mixture) -> Real:
    """What each row adds to the criterion if entries are missing: log p(x_i) - E[H(label | v_i)]."""
    rng = np.random.default_rng(0)  # the same draws for every partition, so that chance does not decide
    densities, _ = mixture.log_densities(evidence)
    posterior, total = probabilities(densities)
    return np.asarray(total - _entropy_if_complete(evidence, mixture, posterior, rng))


def _entropy_if_complete(evidence: Evidence, mixture: Mixture, posterior: Real, rng: np.random.Generator) -> Real:
    """E[H(label | v_i)], v_i drawn given the observed entries of row i: first its label, then its coordinates."""
    n, r = evidence.shape
    draws = min(DRAWS, -(-ENOUGH // n))
    labels = (posterior.cumsum(axis=1)[None] > rng.random((draws, n, 1))).argmax(axis=2).ravel()
    groups = evidence.grouped(labels, mixture.n_components, np.tile(np.arange(n), draws))
    entropies = np.empty(draws * n)
    entropies[groups.order] = _entropy(mixture, mixture.conditional(groups, rng.standard_normal((r, draws * n))))
    return np.asarray(entropies.reshape(draws, n).mean(axis=0))


def _entropy(mixture: Mixture, places: Real) -> Real:
    """H(label | v_i) at known coordinates."""
    r = places.shape[1]
    scores = np.empty((len(places), mixture.n_components))
    for k in range(mixture.n_components):
        factor = np.linalg.cholesky(regular(mixture.spreads[k]))
        distance = np.square((places - mixture.means[k]) @ np.linalg.inv(factor).T).sum(axis=1)
        size = np.log(np.diag(factor)).sum()
        scores[:, k] = np.log(mixture.shares[k]) - size - (TAIL + r) / 2 * np.log1p(distance / TAIL)
    certain, _ = probabilities(scores)
    return np.asarray(-np.sum(certain * np.log(certain), axis=1))


def class_criterion(table: InMemory, mixture: ColumnMixture, *, copies: float = 1.0) -> float:
    """The same for a table with categories, described by independent columns.

    The entropy is charged where there are numbers, whose components may overlap because a cluster is no Student's;
    the probabilities of levels have no shape that could be wrong, and classes of categories overlap by nature.
    """
    return _penalised(float(class_explained(table, mixture).sum()), mixture, table.shape[0], copies)


def class_explained(table: InMemory, mixture: ColumnMixture) -> Real:
    """What each row adds to ``class_criterion``."""
    posterior, total = probabilities(mixture.log_densities(table)[0])
    numbers = is_number(mixture.means.shape[1], mixture.levels).any()
    return np.asarray(total + np.sum(posterior * np.log(posterior), axis=1) if numbers else total)
