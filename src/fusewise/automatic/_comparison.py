"""What partitions of the rows are compared by: the mixtures that describe them, and their criteria.

The integrated classification likelihood (ICL) of a mixture is its likelihood less the entropy of the labels, so that
overlapping components are not worth their parameters. With missing values, much of that entropy is not due to overlap:
a row with two observed entries could belong to any cluster, however far apart the clusters are. So the entropy that is
subtracted is the one that would remain if the row were complete: coordinates are drawn given its entries, and the
entropy of the label given all coordinates is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fusewise.automatic._clusters import SOFT_ROUNDS
from fusewise.automatic._columns import ColumnMixture, LevelEvidence
from fusewise.automatic._evidence import Evidence, LayeredEvidence, regular
from fusewise.automatic._hints import NO_HINTS, Hints, held
from fusewise.automatic._mixture import (
    TAIL,
    Mixture,
    enough_gain,
    fit_groups,
    probabilities,
    soften,
)
from fusewise.automatic._rows import Rows
from fusewise.automatic._tree import MergeTree
from fusewise.kernels import Index, Labels, Real
from fusewise.subspace import Subspace

#: The entropy is averaged over this many draws of each row's coordinates, or fewer if there are many rows: a few
#: thousand draws in all are accurate enough.
DRAWS, DRAWN_ROWS = 4, 5000
#: Rows are not drawn whose labels have, given their entries, less entropy in all than this share of the gain at which
#: fits end.
CERTAIN = 0.25
#: Standard errors by which a partition that is nearly as good may fall short.
NEARLY = 2.0


def criterion(
    evidence: Evidence, mixture: Mixture, *, complete: bool, worth: float = 1.0, most_rows: int | None = None
) -> float:
    """log-likelihood - entropy - (complexity / 2) log N - (K - 1) log N, larger is better.

    The last term is the cost of the cuts: each is chosen among the N - 1 joins of the tree, which takes log N nats to
    encode. Without it a uniform density, whose likelihood a cut does not change, would be cut by chance.

    If the table is `complete`, the classification likelihood is all that is needed. `worth` are the rows that a row is
    worth: less than 1 if some are copies of others (``worth_of_rows``), more than 1 if the table is part of a larger
    one. If entries are missing in more than `most_rows` rows, so many are looked at, and stand for all.
    """
    n, evidence = evidence.shape[0], evidence.judged
    if (complete or mixture.n_components == 1) and not isinstance(evidence, LayeredEvidence):
        return _penalised(mixture.fit, mixture, n, worth)
    some = evidence
    if most_rows is not None and n > most_rows:
        which = np.sort(np.random.default_rng(0).choice(n, most_rows, replace=False))
        some = evidence.grouped(np.zeros(most_rows, np.intp), 1, which).evidence
    return _penalised(float(n * explained(some, mixture).mean()), mixture, n, worth, evidence.weight)


def _penalised(fit: float, mixture: Mixture, n: int, worth: float, weight: float = 1.0) -> float:
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


class Placed(NamedTuple):
    """Rows placed in a subspace, and their merge tree."""

    subspace: Subspace
    rows: Rows
    tree: MergeTree


class Candidate(NamedTuple):
    """A partition, the mixture fitted to it, and its criterion; whether it breaks hints."""

    labels: Labels
    mixture: Mixture | ColumnMixture
    criterion: float
    barred: bool = False

    @property
    def n_groups(self) -> int:
        """K."""
        return self.mixture.n_components


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search has found.

    Attributes
    ----------
    placed : where the rows are.
    candidates : the partitions compared, in order of their number of groups.
    chosen : the position of the best.
    unsettled : whether more rows may show more clusters.
    """

    placed: Placed
    candidates: tuple[Candidate, ...]
    chosen: int
    unsettled: bool = False

    @property
    def best(self) -> Candidate:
        """The chosen candidate."""
        return self.candidates[self.chosen]

    @property
    def gain(self) -> float:
        """How much better the chosen partition explains the entries than a single cluster."""
        return self.best.criterion - self.candidates[0].criterion

    @property
    def criterion(self) -> float:
        """The criterion of the chosen partition; minus infinity if hints bar all of them."""
        return -np.inf if self.best.barred else self.best.criterion

    def with_better(self, others: Iterable[Candidate], *, replacing: bool = False) -> tuple[Candidate, ...]:
        """The candidates, for each number of groups the one with the larger criterion, or else the other one."""
        table = {each.n_groups: each for each in self.candidates}
        for each in others:
            known = table.get(each.n_groups)
            if replacing or known is None or each.criterion > known.criterion:
                table[each.n_groups] = each
        return tuple(table[number] for number in sorted(table))


def best_of(candidates: Sequence[Candidate]) -> int:
    """The position of the candidate with the largest criterion that breaks no hint."""
    allowed = [k for k, each in enumerate(candidates) if not each.barred]
    return max(allowed, key=lambda k: candidates[k].criterion, default=0)


def assign(
    rows: Rows,
    mixture: Mixture,
    hints: Hints = NO_HINTS,
    n_clusters: int | None = None,
    categories: LevelEvidence | None = None,
) -> Mixture:
    """Assign rows to their likeliest component, then run a few rounds of soft EM, unless that empties a component.

    Rows with hints are only in components of the cluster of their block; categories beside the numbers count as well.
    """
    if mixture.n_components == 1:
        return mixture
    evidence, prior = rows.evidence, rows.prior(mixture.n_components)
    densities = mixture.log_densities(evidence)[0]
    away = held(densities, hints, n_clusters)
    if categories is not None:
        away = categories.log_shares(probabilities(densities)[0])
    labels = (densities + away).argmax(axis=1)
    if len(np.unique(labels)) == mixture.n_components:
        mixture = fit_groups(evidence, labels, rows.within(labels), prior, mixture.family)
    shared = soften(evidence, mixture, prior, SOFT_ROUNDS, away)
    left = np.unique((shared.log_densities(evidence)[0] + away).argmax(axis=1))
    return shared if len(left) == shared.n_components else mixture
