"""The number of clusters, confirmed in the dimensions that their centres span.

K centres span K - 1 dimensions. In all others the clusters have one mean, and only the shapes of the components tell
them apart: a skewed or heavy-tailed group is cut for its shape there, and a cluster whose centre is apart in few
dimensions is missed, as a component pays for its place in all. So the search is repeated in the K - 1 dimensions in
which the centres of the K groups differ. If it finds another number, no larger than these dimensions can hold, that
number is taken if the first search loses little by it, as a share of its gain over one cluster; a larger number only
if the second search would also lose much by the first.
"""

from __future__ import annotations

from dataclasses import replace

from fusewise.automatic.coordinates.axes import axes_through
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.search.search_result import Searched, interrupted
from fusewise.automatic.search.searching import RANK, TreeSearch

#: Fewest dimensions searched: the spreads of two clusters say more about them than the line through their centres.
FEWEST = 2
#: The share of the gain over one cluster that is much to lose. True clusters that the second search misses, as they
#: differ in their spread, have more than a quarter of the gain.
MUCH = 0.2


def among_centres(search: TreeSearch, found: Searched) -> Searched:
    """The search, repeated in the dimensions that the centres span, as long as that leads to another number.

    Tables with so few columns that all of their dimensions are searched anyway are left alone, and so are searches in
    so few columns: there the centres may differ where the columns vary together, and the line through them is not the
    direction that separates them.
    """
    while found.placed.subspace.basis.any(axis=1).sum() > RANK and _is_wide(found):
        try:
            other = _repeated(search, found)
            if other.compared.interrupted:  # which it has said
                return found._replace(compared=replace(found.compared, interrupted=True))
            if not _confirms_another(search, other, found):
                break
        except KeyboardInterrupt:
            return interrupted(found)
        found = other
    return found


def _is_wide(found: Searched) -> bool:
    """Whether several clusters span fewer dimensions than were searched; not if coordinates are complex."""
    if found.compared.interrupted or found.rank != found.placed.rows.evidence.shape[1]:
        return False
    return found.n_groups > 1 and found.rank > max(FEWEST, found.n_groups - 1)


def _repeated(search: TreeSearch, found: Searched) -> Searched:
    mixture = found.compared.mixtures[found.chosen]
    assert isinstance(mixture, Mixture)  # as there are no levels
    subspace = axes_through(found.placed.subspace, mixture.means, FEWEST)
    return search.by_best_known(search.along(search.placed_in(subspace), until=subspace.rank + 2))


def _confirms_another(search: TreeSearch, other: Searched, found: Searched) -> bool:
    """Whether the second search has another number of clusters, by which the first loses little.

    A larger number must also be clearly better in the second search: if in doubt, there are fewer clusters.
    """
    if other.n_groups == 1 or other.n_groups > other.rank + 1:
        return False
    if other.n_groups == found.n_groups or _lost(search, found, other.n_groups) > MUCH:
        return False
    return other.n_groups < found.n_groups or _lost(search, other, found.n_groups) > MUCH


def _lost(search: TreeSearch, searched: Searched, number: int) -> float:
    """The share of the gain over one cluster that a search loses by another number of clusters."""
    numbers = [mixture.n_components for mixture in searched.compared.mixtures]
    if number not in numbers:
        return 1.0
    # Numbers that were out of reach have not been fitted in full.
    partition = searched.partitions[numbers.index(number)]
    criterion = search.comparison(searched.placed.rows)([partition], compare_all=True).criteria[0]
    return (searched.criterion - criterion) / searched.gain
