"""Criterion for partitions of a table: a likelihood that penalises overlapping clusters, but not missing values.

The integrated classification likelihood (ICL) of a mixture is its likelihood less the entropy of the labels, so that
overlapping components are not worth their parameters. With missing values, much of that entropy is not due to overlap:
a row with two observed entries could belong to any cluster, however far apart the clusters are. So the entropy that is
subtracted is the one that would remain if the row were complete: coordinates are drawn given its entries, and the
entropy of the label given all coordinates is used.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from fusewise.automatic._columns import ColumnData, ColumnMixture
from fusewise.automatic._evidence import Evidence, LayeredEvidence, regular
from fusewise.automatic._mixture import TAIL, Mixture, probabilities
from fusewise.automatic._mixture_fit import enough_gain
from fusewise.automatic._units import is_number
from fusewise.kernels import Index, Real
from fusewise.observations import InMemory

#: Classes of a table with categories.
Classes = ColumnMixture

#: The entropy is averaged over this many draws of each row's coordinates, or fewer if there are many rows: a few
#: thousand draws in all are accurate enough.
DRAWS, DRAWN_ROWS = 4, 5000
#: Rows are not drawn whose labels have, given their entries, less entropy in all than this share of the gain at which
#: fits end.
CERTAIN = 0.25
#: Standard errors by which a partition that is nearly as good may fall short.
NEARLY = 2.0
#: Size of a sample in which a table is indistinguishable from a mixture whose columns are independent, see
#: ``class_criterion``.
ROWS = 3000


def criterion(
    evidence: Evidence, mixture: Mixture, *, complete: bool, worth: float = 1.0, most_rows: int | None = None
) -> float:
    """log-likelihood - entropy - (complexity / 2) log N - (K - 1) log N, larger is better.

    The last term is the cost of the cuts: each is chosen among the N - 1 joins of the tree, which takes log N nats to
    encode. Without it a uniform density, whose likelihood a cut does not change, would be cut by chance.

    Parameters
    ----------
    evidence, mixture : the rows, and the components fitted to a partition of them.
    complete : whether no entry is missing; then the classification likelihood is all that is needed.
    worth : rows of a table that a row is worth: less than 1 if some are copies of others (``copies.worth_of_rows``),
        more than 1 if the table is part of a larger one.
    most_rows : of more rows than that, if entries are missing, so many are looked at, and stand for all.
    """
    n, evidence = evidence.shape[0], evidence.judged
    known = (complete or mixture.n_components == 1) and not isinstance(evidence, LayeredEvidence)
    fit = mixture.fit if known else _sum_explained(evidence, mixture, most_rows or n)
    return _penalised(fit, mixture, n, worth, evidence.weight)


def _sum_explained(evidence: Evidence, mixture: Mixture, most_rows: int) -> float:
    n = evidence.shape[0]
    if n > most_rows:
        which = np.sort(np.random.default_rng(0).choice(n, most_rows, replace=False))
        evidence = evidence.grouped(np.zeros(most_rows, np.intp), 1, which).evidence
    return float(n * explained(evidence, mixture).mean())


def _penalised(fit: float, mixture: Mixture | ColumnMixture, n: int, worth: float, weight: float = 1.0) -> float:
    """fit - ((complexity / 2) + K - 1) log N, for n rows as if there were `worth` times as many.

    Parameters fitted to n rows raise their likelihood by half a nat each, by chance, which must not be multiplied. They
    count as often as their columns: `weight` times on average.
    """
    by_chance, cuts = 0.5 * weight * mixture.complexity, mixture.n_components - 1
    return worth * fit - max(worth - 1, 0.0) * by_chance - (by_chance + cuts) * float(np.log(worth * n))


def foreseen(judged: float, mixture: Mixture, n: int, worth: float, times: float) -> float:
    """The criterion that so many times the rows would have, if the same components explained each of them as well."""
    fit = judged - _penalised(0.0, mixture, n, worth)
    return _penalised(fit / worth, mixture, n, times * worth)


def explained(evidence: Evidence, mixture: Mixture) -> Real:
    """What each row adds to the criterion if entries are missing: log p(x_i) - E[H(label | v_i)]."""
    densities, _ = mixture.log_densities(evidence)
    posterior, total = probabilities(densities)
    unsure = _unsure(_entropies(densities, posterior, total))
    if len(unsure):
        total[unsure] -= _entropy_if_complete(evidence, mixture, posterior[unsure], unsure)
    return np.asarray(total)


def _unsure(entropies: Real) -> Index:
    """The rows to draw coordinates of, given the entropy of each label: the others add up to next to nothing.

    On average a label has no more entropy given all coordinates than it has given the observed entries.
    """
    below = np.sort(entropies)
    certain = int(np.searchsorted(np.cumsum(below), CERTAIN * enough_gain(len(below))))
    return np.flatnonzero(entropies >= below[certain]) if certain < len(below) else np.arange(0)


@lru_cache(maxsize=2)
def _draws(n: int, r: int) -> tuple[Real, Real]:
    """Uniform and normal numbers for each row: the same for every partition, so that chance does not decide."""
    rng, draws = np.random.default_rng(0), min(DRAWS, -(-DRAWN_ROWS // n))
    return rng.random((draws, n)), rng.standard_normal((r, draws, n))


def _entropy_if_complete(evidence: Evidence, mixture: Mixture, posterior: Real, rows: Index) -> Real:
    """E[H(label | v_i)], v_i drawn given the observed entries of row i: first its label, then its coordinates."""
    n, r = evidence.shape
    uniform, normal = _draws(n, r)
    draws, some = len(uniform), len(rows)
    labels = (posterior.cumsum(axis=1)[None] > uniform[:, rows, None]).argmax(axis=2).ravel()
    groups = evidence.grouped(labels, mixture.n_components, np.tile(rows, draws))
    noise = normal[:, :, rows].reshape(r, draws * some).take(groups.order, axis=1)
    entropies = np.empty(draws * some)
    entropies[groups.order] = _entropy(mixture, mixture.conditional(groups, noise))
    return np.asarray(entropies.reshape(draws, some).mean(axis=0))


def _entropy(mixture: Mixture, places: Real) -> Real:
    """H(label | v_i) at known coordinates."""
    r = places.shape[1]
    factors = np.linalg.cholesky(regular(mixture.spreads))
    undone = np.linalg.inv(factors)
    heights = np.log(mixture.shares) - np.log(np.einsum("krr->kr", factors)).sum(axis=1)
    distances = np.empty((mixture.n_components, len(places)))
    for k, (mean, turn) in enumerate(zip(mixture.means, undone, strict=True)):
        away = turn @ (places - mean).T
        np.einsum("ri,ri->i", away, away, out=distances[k])
    densities = heights - (TAIL + r) / 2 * np.log1p(distances.T / TAIL)
    return _entropies(densities, *probabilities(densities))


def _entropies(densities: Real, posterior: Real, total: Real) -> Real:
    """H(label) of each row, from log p(k, row) and the ``probabilities`` of these."""
    return np.asarray(np.einsum("ik,ik->i", posterior, total[:, None] - densities))


def class_criterion(table: InMemory | ColumnData, mixture: Classes, worth: float = 1.0) -> float:
    """The same for latent classes: w log-likelihood - level cost - (complexity / 2 + cuts) log N.

    w is 1 / (1 + N / ROWS). The entropy is not charged: the classes of categories overlap by nature. That the columns
    of a class are independent is an approximation, and with many rows every departure from it would be worth a class of
    its own; with w the likelihood speaks for classes that differ by more than a sample of `ROWS` rows could tell from
    the data (the coarsened posterior of Miller and Dunson, 2019). In a table with numbers
    each cut costs log N as well, as above; else cuts that are due to the shape of a column would pay.
    """
    n, rows = worth * table.shape[0], _judged_by(table, mixture)
    by_chance = 0.5 * rows.weight * mixture.complexity
    # less what is due to chance, as in `_penalised`
    fit = worth * float(probabilities(mixture.log_densities(rows)[0])[1].sum()) - max(worth - 1, 0.0) * by_chance
    cuts = mixture.n_components - 1 if has_numbers(mixture) else 0
    cost = (by_chance + cuts) * float(np.log(n)) + mixture.level_cost
    return fit / (1 + n / ROWS) - cost


def _judged_by(table: InMemory | ColumnData, mixture: Classes) -> ColumnData:
    return (table if isinstance(table, ColumnData) else ColumnData.of(table, mixture.levels)).judged


def has_numbers(classes: ColumnMixture) -> bool:
    """Whether the table has columns of numbers."""
    return bool(is_number(classes.centers.shape[1], classes.levels).any())


def class_explained(table: InMemory, mixture: Classes, worth: float = 1.0) -> Real:
    """What each row adds to ``class_criterion``."""
    total = probabilities(mixture.log_densities(_judged_by(table, mixture))[0])[1]
    return np.asarray(total / (1 + worth * len(total) / ROWS))
