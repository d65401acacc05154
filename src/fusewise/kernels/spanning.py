"""The minimum spanning tree of points, without an array of all their distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels.compiling import compiled
from fusewise.kernels.types import Index, Real


def spanning_tree(points: Real) -> tuple[Index, Index, Real]:
    """Ends and lengths of the N - 1 edges of the minimum spanning tree of N points (Prim's algorithm).

    Cut at a length, it gives the groups of single linkage at that height. O(N² P) time, O(N) memory.
    """
    first, second, squares = _prim(np.ascontiguousarray(points))
    return first, second, np.sqrt(squares)


@compiled(shapes=("N P",))
def _prim(points: Any) -> Any:
    n, p = points.shape
    first, second = np.empty(max(n - 1, 0), np.intp), np.empty(max(n - 1, 0), np.intp)
    squares = np.empty(max(n - 1, 0), points.dtype)
    outside = np.arange(1, n)  # points not yet in the tree, in the first `left` places
    nearest = np.zeros(n, np.intp)  # for each of them, the nearest point of the tree
    shortest = np.full(n, np.inf, points.dtype)
    last = 0
    for left in range(n - 1, 0, -1):
        best = 0
        for place in range(left):
            j = outside[place]
            square = points.dtype.type(0)
            for q in range(p):
                difference = points[last, q] - points[j, q]
                square += difference * difference
            if square < shortest[j]:
                shortest[j], nearest[j] = square, last
            if shortest[j] < shortest[outside[best]]:
                best = place
        last = outside[best]
        outside[best] = outside[left - 1]
        edge = n - 1 - left
        first[edge], second[edge], squares[edge] = nearest[last], last, shortest[last]
    return first, second, squares
