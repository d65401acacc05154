"""Nearest points by position: exact with a tree; approximate with inverted lists for many points and dimensions.

In ten dimensions a tree visits a large part of its leaves for every point. faiss sorts the points into lists around
centres and searches the lists with the nearest centres. It is used if it is installed (``fusewise[neighbors]``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fusewise.kernels.types import Index, Real

#: Up to this many points, or this many dimensions, a tree is fast enough.
MANY_POINTS, FEW_DIMENSIONS = 50_000, 4

#: Number of lists, in units of the square root of the number of points; lists searched; points per list used to find
#: the centres. Of the 46 nearest of a million points in ten dimensions 99.7% are found, in an eighth of the time of the
#: tree (``benchmarks/neighbors.py``).
LISTS, PROBED, TRAINED = 4, 40, 40

#: From points and a number k to the k nearest of each, including itself; -1 if fewer were found.
NeighborSearch = Callable[[Real, int], Index]


def nearest_places(places: Real, tree: Any) -> NeighborSearch:
    """Return the search function for some positions (N x r), of which `tree` is the cKDTree."""
    n, r = places.shape
    return (by_lists(places) if n > MANY_POINTS and r > FEW_DIMENSIONS else None) or (
        lambda points, count: np.asarray(tree.query(points, count)[1])
    )


def by_lists(places: Real) -> NeighborSearch | None:
    """Return a search by faiss; None if it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    n, r = places.shape
    middle = places.mean(axis=0)
    single = np.ascontiguousarray(places - middle, np.float32)
    n_lists = int(LISTS * np.sqrt(n))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(r), r, n_lists)
    index.train(single[:: max(1, n // (TRAINED * n_lists))])
    index.add(single)
    index.nprobe = PROBED

    def search(points: Real, count: int) -> Index:
        faiss.omp_set_num_threads(1)  # per calling thread, of which there is one for each core
        return np.asarray(index.search(np.ascontiguousarray(points - middle, np.float32), count)[1])

    return search
