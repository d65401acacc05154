"""The search along those axes alone that stand out from chance.

Axes have variances even if no columns are related: the largest of the directions there are, by chance. Which of them
are more than that is told by a table of the same columns without relations (``permuted``). Axis k stands out if

    variance_k / noise  >  MARGIN max_j variance'_j / noise'

with the axes and the noise of the permuted table on the right (parallel analysis: Horn, 1965, with the noise that each
fit leaves). A component pays for its place along every axis, so axes of mere noise hide clusters. If some axes
stand out and others do not, those that do are also searched alone. This search is taken if it gains more over a single
cluster, by log N at least: a second search is one more way to cut a group by chance, and costs as much as a cut.
"""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.axes import fit_axes
from fusewise.automatic.coordinates.permuted import permuted
from fusewise.automatic.search.among_centres import FEWEST
from fusewise.automatic.search.halving import with_halves
from fusewise.automatic.search.search_result import Searched, interrupted
from fusewise.automatic.search.searching import TreeSearch
from fusewise.observations import Entries
from fusewise.subspace import Subspace

#: The largest variance differs from one permutation to another, mostly by less than this factor: its standard deviation
#: is 3% of the mean in a table of 200 x 200 entries, 7% in 300 x 30, 11% in 100 x 20 and 18% in 150 x 8.
MARGIN = 1.3
#: EM of the permuted table ends at this gain per entry: no more is needed of its axes than the largest variance.
TOL = 1e-5


def along_distinct_axes(search: TreeSearch, found: Searched) -> Searched:
    """The search, or one along those of its axes that stand out, if that gains enough over a single cluster.

    Not if all dimensions of the table were searched, or some columns alone, if the axes that stand out are too few for
    the number of clusters that was given, or if axes were fitted to more rows than are searched, as in a nearly empty
    table.
    """
    sample, needed = search.sample, max(FEWEST, (search.n_clusters or 1) - 1)
    axes = found.placed.subspace
    if search.levels or search.hints or found.compared.interrupted or not needed < axes.rank < sample.shape[1]:
        return found
    if not isinstance(sample, Entries) or sample is not search.wide or sample.dtype.kind == "c":
        return found
    if not axes.basis.any(axis=1).all():
        return found
    try:
        distinct = n_distinct(sample, axes)
        if not 0 < distinct < axes.rank or max(distinct, FEWEST) < needed:
            return found
        other = with_halves(search, search.by_best_known(search(max(distinct, FEWEST))))
    except KeyboardInterrupt:
        return interrupted(found)
    return other if other.gain - np.log(sample.shape[0]) > found.gain else found


def n_distinct(table: Entries, axes: Subspace) -> int:
    """How many axes stand out from chance.

    Parameters
    ----------
    table : the rows that the axes were fitted to.
    axes : fewer than there are columns.
    """
    chance = fit_axes(permuted(table, np.random.default_rng(0)), axes.rank, tol=TOL)
    return int(np.count_nonzero(axes.variances / axes.noise > MARGIN * chance.variances.max() / chance.noise))
