"""Which points are nearest by place: exactly, by a tree; nearly so, by lists, where points and dimensions are many.

In ten dimensions a tree visits a good part of its leaves for every point. faiss sorts the points into lists around
centres and looks into the lists whose centres are nearest. It is used if it is installed (``fusewise[neighbors]``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fusewise.observations.entries import Real
from fusewise.pairs.distances import Index

#: Up to so many points, or so many dimensions, a tree is fast enough.
MANY, FEW = 50_000, 4

#: Lists, in units of the square root of the number of points; those looked into; points by which their centres are
#: found, for each list. Of the 46 nearest of a million points in ten dimensions 99.7% are found, in an eighth of the
#: tree's time (``benchmarks/neighbors.py``).
LISTS, PROBED, TRAINED = 4, 40, 40

#: Points and how many to their nearest, themselves among them; -1 where fewer were found.
Search = Callable[[Real, int], Index]


def nearest_places(places: Real, tree: Any) -> Search:
    """How to look for the nearest of some places (N x r), of which `tree` is the cKDTree."""
    n, r = places.shape
    return (by_lists(places) if n > MANY and r > FEW else None) or (
        lambda points, count: np.asarray(tree.query(points, count)[1])
    )


def by_lists(places: Real) -> Search | None:
    """A search by faiss; None where it is not installed."""
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
        faiss.omp_set_num_threads(1)  # of the calling thread; there is one for each core already
        return np.asarray(index.search(np.ascontiguousarray(points - middle, np.float32), count)[1])

    return search
