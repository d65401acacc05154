"""Latent classes of a table with categories: a mixture with independent columns for each number of classes.

EM finds the nearest optimum of many, so the start matters. Each number of classes has two starts: the partition along
the merge tree, and the classes found for one more, the two joined that differ least. Joining goes from many classes to
few, so that a class that is found once is kept as long as it is worth its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fusewise.automatic.columnwise import ColumnMixture, Levels, fit_columns, is_number
from fusewise.automatic.criterion import class_criterion
from fusewise.automatic.mixture import enough_gain, probabilities
from fusewise.kernels.types import Labels, Real
from fusewise.observations import InMemory

#: EM starts from a partition with this part of each row shared among all groups.
DOUBT = 0.1
#: Rounds of EM from each start; and at most from the better of them, with fixed smoothing and with that of each column.
SHORT_ROUNDS, LONG_ROUNDS = 8, 50

#: A table with numbers has the fewest classes that gain this share of what is gained at most: numbers follow no simple
#: law, and further classes improve on its shape.
ENOUGH_GAINED = 0.9

Judged = tuple[ColumnMixture, float]


def classes_of(
    table: InMemory, candidates: list[Labels], levels: Levels, told: int | None, worth: float = 1.0
) -> Iterator[Judged]:
    """Mixture and criterion for each number of classes, from the most to one.

    Parameters
    ----------
    table : the rows, standardised.
    candidates : partitions into 1, 2, ... groups.
    levels : the blocks of columns that hold the levels of a category.
    told : the number of classes, if it is given: none of so many may be empty.
    worth : that of ``class_criterion``.
    """
    joined = None
    for labels in reversed(candidates):
        n_groups = int(labels.max()) + 1
        hard = np.eye(n_groups)[labels]
        starts = [DOUBT / n_groups + (1 - DOUBT) * hard, *([] if joined is None else [joined])]
        classes, criterion = _best(table, starts, levels, worth)
        if n_groups == told and _n_occupied(table, classes) < n_groups:
            classes, criterion = _judged(table, hard, 1, levels, worth)
        yield classes, criterion
        joined = _joined(_posterior(table, classes), classes, table) if n_groups > 1 else None


def fewest(criteria: Sequence[float], share: float) -> int:
    """The first that gains `share` of what the best gains over one class."""
    gains = np.subtract(criteria, criteria[0])
    return int(np.argmax(gains >= share * gains.max()))


def _best(table: InMemory, starts: Sequence[Real], levels: Levels, worth: float) -> Judged:
    """EM from the best of the starts.

    First with a fixed smoothing: to begin with no column tells much, and all might be taken for noise.
    """

    def fitted(start: Real, rounds: int) -> ColumnMixture:
        return fit_columns(table, start, rounds, levels, enough_gain(table.shape[0]), pseudo=1.0)

    first = max((fitted(start, SHORT_ROUNDS) for start in starts), key=lambda classes: classes.log_likelihood)
    settled = _posterior(table, fitted(_posterior(table, first), LONG_ROUNDS))
    fits = (_judged(table, settled, rounds, levels, worth) for rounds in (1, LONG_ROUNDS))
    return max(fits, key=lambda judged: judged[1])


def _judged(table: InMemory, start: Real, rounds: int, levels: Levels, worth: float) -> Judged:
    classes = fit_columns(table, start, rounds, levels, enough_gain(table.shape[0]))
    return classes, class_criterion(table, classes, worth)


def _posterior(table: InMemory, classes: ColumnMixture) -> Real:
    return probabilities(classes.log_densities(table)[0])[0]


def _n_occupied(table: InMemory, classes: ColumnMixture) -> int:
    return len(np.unique(classes.log_densities(table)[0].argmax(axis=1)))


def _joined(posterior: Real, classes: ColumnMixture, table: InMemory) -> Real:
    """The posterior with the two classes joined whose union loses least of the expected log-likelihood."""
    loss = joining_losses(classes, table.real().column_counts / table.shape[0])
    one, other = np.unravel_index(int(loss.argmin()), loss.shape)
    joined = np.delete(posterior, other, axis=1)
    joined[:, one - (one > other)] += posterior[:, other]
    return joined


def joining_losses(classes: ColumnMixture, seen: Real) -> Real:
    """Expected log-likelihood per row that is lost if classes k and l are described as one, K x K; inf if k = l.

    With H the entropy of a column in a class, which is -sum q log q for a category and log(s)/2 for a number:

        (pi_k + pi_l) H(union) - pi_k H(k) - pi_l H(l),    the same for the shares, and the sum over columns.

    Parameters
    ----------
    classes : the components.
    seen : the fraction of rows in which each column is observed.
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
