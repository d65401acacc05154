"""The valleys of a table judged together: whether the rows show more of them than chance does.

A pair of components is judged by what the rows between them say (``between``). But a cut through one group is made
where its rows are scarce by chance, and of many cuts some are; while many shallow valleys, none of which is certain,
are not all due to chance. The rows' evidence for a valley between components a and b is

    E_ab = max_b l(b) - l(1) >= 0   (``Valley.best``, in nats).

For clusters of several components it is the least of all pairs, as one way without a valley makes them one; and for a
set of clusters it is that of the easiest way to connect all of them, E = min over spanning trees of sum E_ab. Of q
valleys that chance alone has made, 2 E is about chi-squared: each has a depth, and together they have the direction of
the cut, r - 1 angles. So chance explains, in 95% of cases,

    E <= x(q) = 1/2 chi2_{q + r - 1}(0.95).

* The q joins of a cluster are undone if the rows reject them together, E > x(q).
* The valleys that are left between the clusters of a table, or of a part of it with a gap around it, have to be shown:
  otherwise its clusters are one. Where every component is a cluster of its own, E > x(q) shows them: that there are
  such groups is what the criterion says, which has charged log N for each cut. Where components had to be joined, they
  are pieces of groups that the mixture does not describe, and what it has gained by them says nothing about a valley;
  so the rows alone have to pay for the choice of the cut among N, E > max(x(q), log N). Rows whose coordinates are not
  known (in a few dimensions of a wide table, where noise blurs them) show nothing, and valleys among them are left.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import chi2

from fusewise.automatic.judging.between import Between, Valley
from fusewise.kernels.types import Index, Mask, Real

#: Probability that chance shows valleys where there are none.
CHANCE = 0.05
#: Share of the rows of two components that have to be known for the rows to show that there is no valley.
ENOUGH_KNOWN = 0.25

Pair = tuple[int, int]


def by_chance(valleys: int, r: int) -> float:
    """x(q), the evidence for q valleys in r dimensions that chance exceeds with the probability `CHANCE`."""
    return 0.5 * float(chi2.isf(CHANCE, valleys + r - 1))


def settled(between: Between, pairs: list[Pair], group: Index, part: Index) -> list[Pair]:
    """The pairs of components to join, after those of each cluster and each part have been judged together.

    Parameters
    ----------
    between : the valleys between components.
    pairs, group : pairs without a valley, each judged by itself, and the clusters that they link.
    part : the part of each component (``gaps.parts``).
    """
    n, r = between.evidence.shape
    rejected = [cluster for cluster in range(int(group.max()) + 1) if _rejected(between, pairs, group == cluster, r)]
    now = np.where(np.isin(group, rejected), len(group) + np.arange(len(group)), group)
    kept = [(k, other) for k, other in pairs if now[k] == now[other]]
    for each in np.unique(part):
        inside = np.flatnonzero(part == each)
        clusters = [inside[now[inside] == cluster] for cluster in np.unique(now[inside])]
        if len(clusters) > 1:
            price = by_chance(len(clusters) - 1, r)
            if len(clusters) < len(inside):
                price = max(price, float(np.log(n)))
            kept += not_shown(between, clusters, price)
    return kept


def _rejected(between: Between, pairs: list[Pair], inside: Mask, r: int) -> bool:
    """Whether the rows reject the joins of a cluster together."""
    joins = int(inside.sum()) - 1
    if not joins:
        return False
    evidence = np.full((len(inside), len(inside)), np.inf)
    for pair in pairs:
        if inside[pair[0]]:
            evidence[pair] = between(*pair).best
    return easiest(evidence)[1] > by_chance(joins, r)


def not_shown(between: Between, clusters: list[Index], price: float) -> list[Pair]:
    """Pairs that link all clusters, if the rows' evidence for the valleys between them is at most `price`; else none.

    The least evidence of a cluster is that of an edge of the spanning tree, and an edge has two ends, so half the sum
    over some clusters is a lower bound: where valleys are deep, few clusters are looked at.
    """
    m = len(clusters)
    evidence, at = np.full((m, m), np.inf), {}
    bound = 0.0
    for a in range(m):
        for b in range(a + 1, m):
            found = min((_shown(between(k, other)), (int(k), int(other))) for k in clusters[a] for other in clusters[b])
            evidence[a, b] = evidence[b, a] = found[0]
            at[a, b] = found[1]
        bound += evidence[a].min() / 2
        if bound > price:
            return []
    edges, total = easiest(evidence)
    shown = len(edges) < m - 1 or total > price
    return [] if shown else [at[min(edge), max(edge)] for edge in edges]


def _shown(valley: Valley) -> float:
    """The evidence for a valley, without limit if too few rows are known to speak against it."""
    return valley.best if valley.known >= ENOUGH_KNOWN else float(np.inf)


def easiest(evidence: Real) -> tuple[list[Pair], float]:
    """The edges of the spanning tree with the least evidence, and their sum; infinite entries are no edges."""
    tree = minimum_spanning_tree(np.where(np.isfinite(evidence), 1 + evidence, 0)).tocoo()  # 0 stands for no edge
    return list(zip(tree.row.tolist(), tree.col.tolist(), strict=True)), float((tree.data - 1).sum())
