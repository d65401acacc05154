"""Groups cut in two across the tree, if the number of clusters is given.

The merge tree is greedy, and its partitions are nested: where it has fused two groups early, no partition along it
parts them again. So each group of the best partition into one group fewer is also cut in two by k-means, in coordinates
in which its own spread is I, where a cut across a long group gains no more than one across a round group. The criterion
takes the best of these partitions and the one along the tree.

Where groups overlap, the criterion prefers to cut off a few rows: the fewer, the less overlap. Such a group does not
*last*: it loses its rows once each is assigned to its likeliest component. If the best partition does not last, the
best of those that do takes its place; then groups are also cut by k-means in the coordinates as they are, since two
groups that overlap are longer in the direction in which they lie apart.

Not in tables of up to ``gaps.MOST_DIMENSIONS`` columns, where rows show the shape of groups: the tree follows curved
ones, and the criterion prefers pieces of them. Nor if the number is to be chosen: more ways to cut one group are more
ways to cut it by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from sklearn.cluster import KMeans

from fusewise.automatic.coordinates.gaps import MOST_DIMENSIONS
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.judging.comparing import Compared, assign
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.search.search_result import Searched, interrupted
from fusewise.automatic.search.searching import TreeSearch
from fusewise.kernels.types import Labels, Real

#: Groups of a partition into up to so many are cut: every cut is a fit of all components.
MOST_GROUPS = 15
#: Starts of k-means.
STARTS = 4
#: Axes along which a group varies less than this share of the largest are left out.
FLAT = 1e-9


def with_halves(search: TreeSearch, found: Searched) -> Searched:
    """The search, its last partition replaced by a better one of which two groups are halves of one, if there is.

    Better is one that lasts where the other does not, or else one with a larger criterion.
    """
    few = search.wide.shape[1] <= MOST_DIMENSIONS
    if search.n_clusters is None or few or search.levels or search.hints or found.compared.interrupted:
        return found
    before = found.compared.mixtures[found.chosen - 1]
    if found.chosen != search.n_clusters - 1 or not 0 < found.chosen <= MOST_GROUPS or not isinstance(before, Mixture):
        return found
    try:
        own = _judged(search, found, halves(found.placed.rows, before, search.smallest, _in_own_spread))
        best = max([found, *own], key=lambda each: each.criterion)
        if _lasts(search, best):
            return best
        plain = _judged(search, found, halves(found.placed.rows, before, search.smallest, _as_they_are))
        lasting = [each for each in (*own, *plain) if _lasts(search, each)]
        return max(lasting, key=lambda each: each.criterion, default=best)
    except KeyboardInterrupt:
        return interrupted(found)


def _judged(search: TreeSearch, found: Searched, cuts: Iterable[Labels]) -> list[Searched]:
    """The search, its last partition replaced by each of those cuts that have as many groups."""
    cuts = [cut for cut in cuts if cut.max() == found.chosen]
    if not cuts:
        return []
    compared = search.comparison(found.placed.rows)(cuts, compare_all=True)
    few, mixtures, criteria = found.partitions[:-1], found.compared.mixtures[:-1], found.compared.criteria[:-1]
    return [
        found._replace(
            partitions=[*few, cut], compared=Compared((*mixtures, mixture), (*criteria, criterion), interrupted=False)
        )
        for cut, mixture, criterion in zip(cuts, compared.mixtures, compared.criteria, strict=True)
    ]


def _lasts(search: TreeSearch, found: Searched) -> bool:
    """Whether no group becomes too small once each row is assigned to its likeliest component."""
    rows, mixture = found.placed.rows, found.compared.mixtures[found.chosen]
    assert isinstance(mixture, Mixture)
    labels = assign(rows, mixture).log_densities(rows.evidence)[0].argmax(axis=1)
    return bool(np.bincount(labels, minlength=mixture.n_components).min() >= search.smallest)


def halves(rows: Rows, mixture: Mixture, smallest: float, coordinates: Callable[[Real], Real]) -> Iterator[Labels]:
    """The likeliest components of the rows, one of them cut in two: each that is large enough in turn.

    Parameters
    ----------
    rows, mixture : the rows, and components of them.
    smallest : rows of the smallest half.
    coordinates : those in which k-means cuts a group, from its places.
    """
    labels = np.unique(mixture.log_densities(rows.evidence)[0].argmax(axis=1), return_inverse=True)[1]
    for group in range(int(labels.max()) + 1):
        inside = np.flatnonzero(labels == group)
        places = coordinates(rows.places[inside])
        if len(inside) < 2 * smallest or not places.shape[1]:
            continue
        half = KMeans(2, n_init=STARTS, random_state=0).fit_predict(places) == 1
        if min(half.sum(), (~half).sum()) >= smallest:
            cut = labels.copy()
            cut[inside[half]] = labels.max() + 1
            yield cut


def _as_they_are(places: Real) -> Real:
    """The coordinates that rows have in the subspace."""
    return places


def _in_own_spread(places: Real) -> Real:
    """Coordinates in which the spread of rows is I, without axes along which they do not vary."""
    axes, lengths, _ = np.linalg.svd(places - places.mean(axis=0), full_matrices=False)
    return np.asarray(axes[:, lengths > max(FLAT * lengths[0], FLAT * np.linalg.norm(places))] * np.sqrt(len(places)))
