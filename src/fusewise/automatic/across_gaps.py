"""Groups on either side of a gap, where the partition that was found has components across it.

A ring, a crescent or a spiral takes many components to describe, more than a criterion that charges for their overlap
will pay for. If the rows that are known well show a gap (``gaps.parts``), each part is described by components of its
own: of the partitions along its merge tree the one with the largest

    log L - H - (p/2) log N - (K - 1) log N,

where p counts the parameters of all components, but K and the entropy H are those of the clusters that remain when
components without a valley between them are joined (compare ``criterion``, where every component is a cluster). Other
rows are in the component that explains them best.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fusewise.automatic import gaps
from fusewise.automatic.comparison import Compared, Searched, assign
from fusewise.automatic.cuts import grow, partitions
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.automatic.mixture_fit import FIRST_ROUNDS, describe
from fusewise.automatic.rows import Rows
from fusewise.automatic.search import NEIGHBORS, TreeSearch
from fusewise.automatic.valleys import in_parts, linked, without_valley
from fusewise.kernels.types import Index, Labels

#: Share of the well-known rows of a component that may lie beyond a gap.
BEYOND = 0.05
#: Most components that describe a part, and fewest rows of one for each dimension.
MOST_COMPONENTS, ROWS_EACH = 15, 3


def across_gaps(search: TreeSearch, found: Searched) -> Searched:
    """The search, with a partition that has no component across a gap if the one that was found has."""
    best, rows = found.compared.mixtures[found.chosen], found.placed.rows
    if search.n_clusters is not None or search.hints or not isinstance(best, Mixture) or found.compared.interrupted:
        return found
    parts = gaps.parts(rows, found.placed.subspace.blur)
    if parts is None or _within(parts, found.partitions[found.chosen]):
        return found
    labels = _refined(search, rows, parts)
    one = search.comparison(rows)([labels], compare_all=True)
    return with_partition(found, labels, one)


def _within(parts: Index, labels: Labels) -> bool:
    """Whether each group of a partition is on one side of all gaps."""
    known = parts >= 0
    counts = in_parts(labels[known], parts[known], int(labels.max()) + 1)
    return bool((counts.max(axis=1) >= (1 - BEYOND) * counts.sum(axis=1)).all())


def _refined(search: TreeSearch, rows: Rows, parts: Index) -> Labels:
    """Components of each part; a row that is not well known is in the one that explains it best."""
    labels = np.full(len(parts), -1)
    for part in range(int(parts.max()) + 1):
        some, order = rows.some(np.flatnonzero(parts == part))
        labels[order] = labels.max() + 1 + _pieces(search, some)
    known, order = rows.some(np.flatnonzero(parts >= 0))
    placed = describe(known, labels[order], rounds=FIRST_ROUNDS).log_densities(rows.evidence)[0].argmax(axis=1)
    return np.where(labels < 0, placed, labels)


def _pieces(search: TreeSearch, rows: Rows) -> Labels:
    """The partition of a part that describes it best; a component has at least `ROWS_EACH` rows for each dimension."""
    fewest = ROWS_EACH * rows.places.shape[1]
    candidates = partitions(grow(rows, search.n_neighbors or NEIGHBORS), rows.places, fewest, None, MOST_COMPONENTS)
    return max(candidates, key=partial(_joined_criterion, rows))


def _joined_criterion(rows: Rows, labels: Labels) -> float:
    """The criterion of a partition of well-known rows, with K and H after joining."""
    n = len(labels)
    mixture = assign(rows, describe(rows, labels, rounds=FIRST_ROUNDS))
    posterior, total = probabilities(mixture.log_densities(rows.evidence)[0])
    group = linked(mixture.n_components, without_valley(mixture, rows.evidence, parts=np.zeros(n, np.intp)))
    shares = posterior @ (group[:, None] == np.arange(group.max() + 1))
    entropy = -np.sum(shares * np.log(np.maximum(shares, 1e-300)))
    return float(total.sum() - entropy - (0.5 * mixture.complexity + group.max()) * np.log(n))


def with_partition(found: Searched, labels: Labels, one: Compared) -> Searched:
    """The search with one more partition, which is chosen; it replaces another with as many groups."""
    compared, number = found.compared, one.mixtures[0].n_components
    numbers = [mixture.n_components for mixture in compared.mixtures]
    at, end = (int(np.searchsorted(numbers, number, side=side)) for side in ("left", "right"))
    partitions = [*found.partitions[:at], labels, *found.partitions[end:]]
    mixtures = (*compared.mixtures[:at], *one.mixtures, *compared.mixtures[end:])
    criteria = (*compared.criteria[:at], *one.criteria, *compared.criteria[end:])
    return Searched(found.placed, partitions, Compared(mixtures, criteria, compared.interrupted), at, found.unsettled)
