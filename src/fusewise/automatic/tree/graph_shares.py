"""Shares of a graph between which there is no edge, and the order of what happens in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from fusewise.kernels.types import Index, Real

#: The most shares of a graph. Their number does not depend on that of the threads, nor then does the order of ties.
SHARES = 16


def shares_of(n: int, ends: Index) -> list[tuple[Index, Index]]:
    """The points and the edges of each share, ascending; shares are as equal as the parts of the graph allow.

    Parameters
    ----------
    n : number of points.
    ends : E x 2, the points that each edge joins.
    """
    first, second = ends.astype(np.int32).T  # SciPy before 1.12 refuses others
    graph = sparse.csr_matrix((np.ones(len(ends), np.int8), (first, second)), (n, n))
    n_parts, part = connected_components(graph, directed=False)
    sizes = np.bincount(part, minlength=n_parts)
    # The largest part that is left goes to the smallest share so far.
    loads = [(0, k) for k in range(min(SHARES, n_parts))]
    heapify(loads)
    share = np.zeros(n_parts, np.intp)
    for largest in np.argsort(-sizes, kind="stable").tolist():
        load, share[largest] = loads[0]
        heapreplace(loads, (load + int(sizes[largest]), int(share[largest])))
    of_point = share[part]
    of_edge = of_point[ends[:, 0]]
    return [(np.flatnonzero(of_point == k), np.flatnonzero(of_edge == k)) for k in range(len(loads))]


def merged_order(prices: Sequence[Real]) -> Index:
    """The order of the joins of several paths if the one with the smallest next price always goes on.

    Joins are numbered path by path. A join waits for all before it in its path, so it comes when the largest price so
    far in its path would.
    """
    waited = [np.maximum.accumulate(path) if len(path) else path for path in prices]
    return np.argsort(np.concatenate(waited), kind="stable")
