"""Latent classes of a table with categories: a mixture with independent columns for each number of classes.

EM finds the nearest optimum of many, so the start matters. Each number of classes has three starts: the partition along
the merge tree, the groups of k-means, and the classes found for one more, the two joined that differ least. Joining
goes from many classes to few, so that a class that is found once is kept as long as it is worth its parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic._columns import ColumnData, ColumnMixture, fit_columns
from fusewise.automatic._hints import NO_HINTS, Hints, held
from fusewise.automatic._mixture import enough_gain, probabilities
from fusewise.automatic._units import Levels, is_number
from fusewise.kernels import Labels, Real
from fusewise.observations import InMemory

#: Rounds of EM from each start, and at most from the better of them.
SHORT_ROUNDS, LONG_ROUNDS = 8, 20
#: The fewest classes are taken that gain this share of what is gained at most: columns of a class are never quite
#: independent, and further classes improve on that.
ENOUGH_GAINED = 0.8
#: Size of a sample in which a table is indistinguishable from a mixture whose columns are independent, see
#: ``class_criterion``.
ROWS = 3000

Judged = tuple[ColumnMixture, float]
Away = Real | float  # see ``hints.held``


def class_criterion(table: InMemory | ColumnData, mixture: ColumnMixture, worth: float = 1.0) -> float:
    """Criterion for latent classes: w log-likelihood - level cost - (complexity / 2 + cuts) log N.

    w is 1 / (1 + N / ROWS). The entropy is not charged: the classes of categories overlap by nature. That the columns
    of a class are independent is an approximation, and with many rows every departure from it would be worth a class of
    its own; with w the likelihood speaks for classes that differ by more than a sample of `ROWS` rows could tell from
    the data (the coarsened posterior of Miller and Dunson, 2019). In a table with numbers each cut costs log N as well;
    else cuts that are due to the shape of a column would pay.
    """
    data = _judged_by(table, mixture)
    n, by_chance = worth * data.shape[0], 0.5 * data.weight * mixture.complexity
    # less what is due to chance, as in `_penalised`
    fit = worth * class_explained(data, mixture, worth).sum() - max(worth - 1, 0.0) * by_chance / (1 + n / ROWS)
    cuts = mixture.n_components - 1 if data.numeric.any() else 0
    return float(fit - (by_chance + cuts) * np.log(n) - mixture.level_cost)


def class_explained(table: InMemory | ColumnData, mixture: ColumnMixture, worth: float = 1.0) -> Real:
    """What each row adds to ``class_criterion``."""
    total = probabilities(mixture.log_densities(_judged_by(table, mixture))[0])[1]
    return np.asarray(total / (1 + worth * len(total) / ROWS))


def _judged_by(table: InMemory | ColumnData, mixture: ColumnMixture) -> ColumnData:
    return (table if isinstance(table, ColumnData) else ColumnData.of(table, mixture.levels)).judged


def classes_of(
    table: InMemory,
    places: Real,
    candidates: list[Labels],
    levels: Levels,
    told: int | None,
    worth: float = 1.0,
    hints: Hints = NO_HINTS,
) -> Iterator[Judged]:
    """Mixture and criterion for each number of classes, from the most to one.

    Given the rows, standardised; their coordinates; partitions into 1, 2, ... groups; and the number of classes, if it
    is told: none of so many may be empty. `worth` is that of ``class_criterion``.
    """
    classes, rows = None, ColumnData.of(table, levels)
    for labels in reversed(candidates):
        n_groups = int(labels.max()) + 1
        hard = np.eye(n_groups)[labels]
        starts = [_softened(labels)]
        if n_groups == told and n_groups > 1 and not hints:
            starts.append(_softened(kmeans_groups(places, n_groups)))
        while classes is not None and classes.n_components > n_groups:
            joined = _joined(classes, rows)
            if joined.shape[1] == n_groups:
                starts.append(joined)
                break
            classes = fit_columns(rows, joined, 1, pseudo=1.0)
        held_starts = [(start, held(np.log(start), hints, told)) for start in starts]
        classes, criterion, away = _best(rows, held_starts, worth)
        likeliest = (classes.log_densities(rows)[0] + away).argmax(axis=1)
        if n_groups == told and len(np.unique(likeliest)) < n_groups:
            # A column that says little would be smoothed away, and with it the difference between classes.
            classes = fit_columns(rows, hard, 1, pseudo=1.0, away=away)
            criterion = class_criterion(rows, classes, worth)
        yield classes, criterion


def fewest(criteria: Sequence[float], share: float, barred: frozenset[int] = frozenset()) -> int:
    """The first that gains `share` of what the best gains over one class, of those that are not barred."""
    gains = np.subtract(criteria, criteria[0])
    gains[sorted(barred)] = -np.inf
    return int(np.argmax(gains >= min(share * gains.max(), gains.max())))


def by_independent_columns(table: InMemory, labels: Labels, smallest: float) -> Labels:
    """The likeliest components of the rows, in a mixture with independent columns that begins with a partition.

    Rows of components with fewer than `smallest` rows go to the likeliest of the others.
    """
    mixture = fit_columns(table, _softened(labels), LONG_ROUNDS)
    densities = mixture.log_densities(table)[0]
    kept = np.bincount(densities.argmax(axis=1), minlength=mixture.n_components) >= smallest
    likeliest = (densities[:, kept] if kept.any() else densities).argmax(axis=1)
    return np.asarray(np.unique(likeliest, return_inverse=True)[1])


def _softened(labels: Labels) -> Real:
    """Probabilities of the groups of a partition, a tenth of each row being shared among all groups."""
    k = int(labels.max()) + 1
    return np.asarray(0.1 / k + 0.9 * np.eye(k)[labels])


def kmeans_groups(places: Real, k: int) -> Labels:
    """Groups of k-means; fewer if so many rows differ less."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = KMeans(k, n_init=4, random_state=0).fit_predict(places)
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def _best(rows: ColumnData, starts: Sequence[tuple[Real, Away]], worth: float) -> tuple[ColumnMixture, float, Away]:
    """EM from the best of the starts, each with what is added to its log-densities: classes, criterion, and the latter.

    First with a fixed smoothing: to begin with no column tells much, and all might be taken for noise.
    """
    gain = enough_gain(rows.shape[0])
    fits = [(fit_columns(rows, start, SHORT_ROUNDS, (), gain, 1.0, away), away) for start, away in starts]
    first, away = max(fits, key=lambda each: each[0].log_likelihood)
    settled = _posterior(rows, first, away)
    each = [fit_columns(rows, settled, rounds, (), gain, away=away) for rounds in (1, LONG_ROUNDS)]
    judged = ((classes, class_criterion(rows, classes, worth)) for classes in each)
    return *max(judged, key=lambda pair: pair[1]), away


def _posterior(rows: ColumnData, classes: ColumnMixture, away: Away = 0.0) -> Real:
    return probabilities(classes.log_densities(rows)[0] + away)[0]


def _joined(classes: ColumnMixture, rows: ColumnData) -> Real:
    """The posterior with the two classes joined whose union loses least of the expected log-likelihood."""
    posterior = _posterior(rows, classes)
    seen = rows.real.column_counts / rows.shape[0]
    loss = joining_losses(classes, seen if rows.real.weights is None else rows.real.weights * seen)
    one, other = np.unravel_index(int(loss.argmin()), loss.shape)
    joined = np.delete(posterior, other, axis=1)
    joined[:, one - (one > other)] += posterior[:, other]
    return joined


def joining_losses(classes: ColumnMixture, seen: Real) -> Real:
    """Expected log-likelihood per row that is lost if classes k and l are described as one, K x K; inf if k = l.

    With H the entropy of a column in a class, which is -sum q log q for a category and log(s)/2 for a number:

        (pi_k + pi_l) H(union) - pi_k H(k) - pi_l H(l),    the same for the shares, and the sum over columns,

    each weighted by the fraction of rows in which it is `seen`.
    """
    shares, numeric = classes.shares, is_number(classes.means.shape[1], classes.levels)
    units = np.ones(len(numeric))
    for start, stop, *_ in classes.levels:
        units[start:stop] = classes.means[0, start:stop].sum()
    means, variances = classes.means / units, classes.variances

    def described(weight: Real, mean: Real, variance: Real) -> Real:
        entropy = np.where(numeric, 0.5 * np.log(variance), -mean * np.log(np.where(numeric, 1, mean)))
        return np.asarray(weight * (entropy @ seen - np.log(weight)))

    alone = described(shares, means, variances)
    losses = np.full((len(shares), len(shares)), np.inf)
    for k in range(len(shares) - 1):
        others = slice(k + 1, None)
        weight = shares[k] + shares[others]
        part = (shares[k] / weight)[:, None]
        middle = part * means[k] + (1 - part) * means[others]
        spread = part * variances[k] + (1 - part) * variances[others]
        spread = spread + part * (1 - part) * np.square(means[k] - means[others])
        losses[k, others] = described(weight, middle, spread) - alone[k] - alone[others]
    return losses
