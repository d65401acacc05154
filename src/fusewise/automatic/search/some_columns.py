"""The search in the columns alone that may say something about clusters, in wide tables.

Columns that neither depend on others nor have two humps say nothing, and enough of them hide clusters
(``informative_columns``).
"""

from __future__ import annotations

from fusewise.automatic.coordinates.informative_columns import cost_of_choice, informative_columns
from fusewise.automatic.search.search_result import Searched, interrupted
from fusewise.automatic.search.searching import LARGEST_RANK, RANK, TreeSearch


def in_some_columns(search: TreeSearch, found: Searched) -> Searched:
    """The search, or one in the columns that may say something about clusters, if these are few and show more clusters.

    Gains are compared in nats over a single cluster, less the cost of having chosen the columns. There must be some: if
    the number of clusters was given, and no columns show that many, all columns are as good as others.
    """
    wide = search.wide.shape[1] > LARGEST_RANK and not search.levels and not search.hints
    columns = informative_columns(search.sample) if wide and not found.compared.interrupted else None
    if columns is None:
        return found
    try:
        room = min(len(columns), LARGEST_RANK if len(columns) <= LARGEST_RANK else RANK, search.most)
        other = search.by_best_known(search(room, columns=columns))
    except KeyboardInterrupt:
        return interrupted(found)
    cost = cost_of_choice(len(columns), search.wide.shape[1])
    return other if other.gain - cost > max(found.gain, 0.0) else found
