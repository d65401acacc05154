"""The rises of the fidelity along all edges of a graph before anything has fused, several at once and in threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.kernels.compiling import compiled
from fusewise.kernels.lanes import accumulate, factorise
from fusewise.kernels.threads import in_ranges
from fusewise.kernels.types import Index, Real

#: Edges worked on at once: their matrices fit in the nearest cache.
LANES = 32


def first_roots(gram: Real, target: Real, ends: Index) -> Real:
    """Square roots of ``fusion_price.rise`` of each edge, whose ends have the centres G^-1 h.

    Most of what the greedy path computes are these: an edge has a new price only where a centre has moved far.

    Parameters
    ----------
    gram, target : N x r x r and N x r, G and h of each point.
    ends : E x 2, the points that each edge joins.
    """
    n_edges, r = len(ends), target.shape[1]
    centre = np.linalg.solve(gram, target[:, :, None])[:, :, 0]
    roots = np.empty(n_edges)
    in_ranges(n_edges, r**3, lambda first, last: _roots_in_lanes(gram, centre, ends, roots, first, last))
    return roots


@compiled(shapes=("N r r", "N r", "E 2", "E", "", ""))
def _roots_in_lanes(gram: Any, centre: Any, ends: Any, roots: Any, first: int, last: int) -> None:
    """d' G_a (G_a + G_b)^-1 G_b d with d = u_a - u_b, by the Cholesky factors of the sums."""
    r = gram.shape[1]
    lower, pivot, away = np.empty((r, r, LANES)), np.empty((r, LANES)), np.empty(r)
    one, other = np.empty((r, LANES)), np.empty((r, LANES))
    for start in range(first, last, LANES):
        n = min(LANES, last - start)
        for c in range(n):
            here, there = gram[ends[start + c, 0]], gram[ends[start + c, 1]]
            from_here, from_there = centre[ends[start + c, 0]], centre[ends[start + c, 1]]
            for i in range(r):
                away[i] = from_here[i] - from_there[i]
            for i in range(r):
                s, t, a, b = 0.0, 0.0, here[i], there[i]
                for k in range(r):
                    s += a[k] * away[k]
                    t += b[k] * away[k]
                one[i, c], other[i, c] = s, t
                for j in range(i + 1):
                    lower[i, j, c] = a[j] + b[j]
        factorise(lower, pivot, 0.0, n)
        total = roots[start : start + n]
        for i in range(r):
            scale, s, t = pivot[i], one[i], other[i]
            accumulate(s, -1.0, lower[i], one, 0, i, n)
            accumulate(t, -1.0, lower[i], other, 0, i, n)
            for c in range(n):
                s[c] *= scale[c]
                t[c] *= scale[c]
                total[c] = s[c] * t[c] + (total[c] if i else 0.0)
        for c in range(n):
            total[c] = np.sqrt(max(total[c], 0.0))
