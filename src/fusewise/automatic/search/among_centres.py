"""The number of clusters, confirmed in the dimensions that their centres span.

K centres span K - 1 dimensions. In all others the clusters have one mean, and only the shapes of the components tell
them apart: a skewed or heavy-tailed group is cut for its shape there, and a cluster whose centre is apart in few
dimensions is missed, as a component pays for its place in all. So the search is repeated in the K - 1 dimensions in
which the centres of the K groups differ. If it finds another number, no larger than these dimensions can hold, the
two searches are compared by the share of their gain over one cluster that they lose by the other's number. The second
number is taken if the first search loses little by it, and the second much by the first.
"""

from __future__ import annotations

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

    Tables with so few columns that all of their dimensions are searched anyway are left alone: there the centres may
    differ where the columns vary together, and the line through them is not the direction that separates them.
    """
    while search.wide.shape[1] > RANK and _is_wide(found):
        try:
            other = _repeated(search, found)
        except KeyboardInterrupt:
            return interrupted(found)
        if not _confirms_another(other, found):
            break
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


def _confirms_another(other: Searched, found: Searched) -> bool:
    """Whether the second search has another number of clusters, by which the first loses little."""
    if other.compared.interrupted or other.n_groups == 1 or other.n_groups > other.rank + 1:
        return False
    if other.n_groups == found.n_groups:
        return False
    lost, won = 1 - _share(found, other.n_groups), 1 - _share(other, found.n_groups)
    return lost <= MUCH < won


def _share(searched: Searched, number: int) -> float:
    """The share of the gain over one cluster that another number of clusters has; 0 if it was not compared."""
    gains = [
        criterion - searched.compared.criteria[0]
        for mixture, criterion in zip(searched.compared.mixtures, searched.compared.criteria, strict=True)
        if mixture.n_components == number
    ]
    return max(gains, default=0.0) / searched.gain
