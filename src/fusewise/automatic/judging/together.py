"""The valleys of a table judged together: whether the rows show more of them than chance does.

A pair of components is judged by what the rows between them say (``between``). But a cut through one group is made
where its rows are scarce by chance, and of many cuts some are; while many shallow valleys, none of which is certain,
are not all due to chance. The rows' evidence for a valley between components a and b is

    E_ab = max_b l(b) - l(1) >= 0   (``Valley.best``, in nats).

For clusters of several components it is the least of all pairs, as one way without a valley makes them one; and for a
set of clusters it is that of the easiest way to connect all of them, E = min over spanning trees of sum E_ab. Valleys
that chance has made have a depth each, which cannot be negative, so 2 E of q valleys is about chi-bar-squared, and
chance explains in 95% of cases

    E <= x(q),   sum_k C(q, k) 2^-q P(chi2_k > 2 x(q)) = 0.05.

* The valleys between the clusters of a table, or of a part of it with a gap around it, have to be shown, E > x(q), or
  its clusters are one. The choice of the cut among N and its direction are paid for by the criterion, as long as the
  components are groups. If long ones that point to each other were joined, they are pieces of a group that the mixture
  does not describe, and what it has gained by them says nothing about a valley: the odds of those joins (``Valley``)
  are a price too, E > min(sum of odds, log N). Rows whose coordinates are not known (in a few dimensions of a wide
  table, where noise blurs them) show nothing, and valleys among them are left.
* The q joins of a cluster in r dimensions are undone if the rows reject them together: if E exceeds what q depths and
  the r - 1 angles of a direction explain, 1/2 chi2_{q + r - 1}(0.95). Not on a line, where any two components point to
  each other and so are joined by their odds.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import binom, chi2

from fusewise.automatic.judging.between import Between, Valley
from fusewise.kernels.types import Index, Real

#: Probability that chance shows valleys where there are none.
CHANCE = 0.05
#: Share of the rows of two components that have to be known for the rows to show that there is no valley.
ENOUGH_KNOWN = 0.25

Pair = tuple[int, int]


def by_chance(valleys: int) -> float:
    """x(q), the evidence for q valleys that chance exceeds with the probability `CHANCE`."""
    k = np.arange(1, valleys + 1)
    weights = binom.pmf(k, valleys, 0.5)
    return 0.5 * float(brentq(lambda twice: float(weights @ chi2.sf(twice, k)) - CHANCE, 0, chi2.isf(CHANCE, valleys)))


def settled(between: Between, pairs: list[Pair], group: Index, part: Index) -> list[Pair]:
    """The pairs of components to join, after those of each cluster and each part have been judged together.

    Parameters
    ----------
    between : the valleys between components.
    pairs, group : pairs without a valley, each judged by itself, and the clusters that they link.
    part : the part of each component (``gaps.parts``).
    """
    n, r = between.evidence.shape
    alone, now, odds = len(group), group.copy(), np.zeros(int(part.max()) + 1)
    for cluster in range(int(group.max()) + 1):
        inside = np.flatnonzero(group == cluster)
        joins, total = easiest(_evidence_of(between, [pair for pair in pairs if group[pair[0]] == cluster], len(group)))
        if joins and r > 1 and total > 0.5 * float(chi2.isf(CHANCE, len(joins) + r - 1)):
            now[inside] = alone + inside
        else:
            odds[part[inside[0]]] += sum(between(*join).odds for join in joins)
    kept = [(k, other) for k, other in pairs if now[k] == now[other]]
    for each in np.unique(part):
        clusters = [np.flatnonzero((now == cluster) & (part == each)) for cluster in np.unique(now[part == each])]
        if len(clusters) > 1:
            price = max(by_chance(len(clusters) - 1), min(float(odds[each]), float(np.log(n))))
            kept += not_shown(between, clusters, price)
    return kept


def _evidence_of(between: Between, pairs: list[Pair], n: int) -> Real:
    """Evidence for a valley between each of some pairs of n components, n x n; infinite for other pairs."""
    evidence = np.full((n, n), np.inf)
    for pair in pairs:
        evidence[pair] = between(*pair).best
    return evidence


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
