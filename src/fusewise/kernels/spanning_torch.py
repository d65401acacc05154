"""Minimum spanning forest of a graph, in tensors: Borůvka's algorithm, all components at once."""

from __future__ import annotations

from fusewise.kernels.arrays import Array


def spanning_forest(n: int, first: Array, second: Array, lengths: Array) -> Array:
    """The edges of the minimum spanning forest of n points.

    In each round every component takes its shortest edge to another one (of edges of equal length the first in the
    order of sorting, so that there are no cycles), and components so linked become one: at most log2 n rounds.

    Parameters
    ----------
    n : number of points.
    first, second, lengths : ends and length of each edge.
    """
    import torch

    order = lengths.argsort(stable=True)
    a, b = first[order].long(), second[order].long()
    component = torch.arange(n, device=order.device)
    left = torch.arange(len(order), device=order.device)  # edges between components, by their place in the order
    chosen = [left[:0]]
    while True:
        one, other = component[a[left]], component[b[left]]
        apart = one != other
        left, one, other = left[apart], one[apart], other[apart]
        if not len(left):
            return order[torch.unique(torch.cat(chosen))]
        shortest = torch.full((n,), len(order), device=order.device)
        shortest.scatter_reduce_(0, torch.cat([one, other]), left.repeat(2), "amin")
        roots = (shortest < len(order)).nonzero()[:, 0]
        edge = shortest[roots]
        chosen.append(edge)
        component = _linked(roots, component[a[edge]] + component[b[edge]] - roots, n)[component]


def _linked(roots: Array, others: Array, n: int) -> Array:
    """The component of each of n points, where some are linked to one other each; the only cycles are of two points."""
    import torch

    parent = torch.arange(n, device=roots.device)
    parent[roots] = others
    mutual = roots[(parent[others] == roots) & (roots < others)]
    parent[mutual] = mutual
    while True:
        above = parent[parent]
        if torch.equal(above, parent):
            return parent
        parent = above
