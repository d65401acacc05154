"""Components of a mixture joined into clusters, and rows with hints placed in them.

Components are joined, and each block of rows that must be together is placed in a cluster, so that

    log p(hints | X) = sum_b log P(all rows of block b are in its cluster | X) - (unions) log N

is largest, blocks in conflict in different clusters. The same is added to the criterion of a partition, which then
is one of the table and the hints together.

Blocks of rows placed in clusters that are known, by what they stand for, and the rows that these explain.

A row with a hint is *right* if the cluster of its block is its likeliest one, judged by its entries alone. Of two
results, let `more` rows be right only in the one, and `fewer` only in the other. By chance more - fewer has the
standard deviation sqrt(more + fewer), so that the one is *supported* if

    more - fewer > z sqrt(more + fewer)

(McNemar's test).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fusewise.automatic.hints import FAR, Hints, place
from fusewise.automatic.mixture import probabilities
from fusewise.kernels import Index, Labels, Mask, Real
from fusewise.support import InputError, counted

#: Probability that a row with a hint lies where rows of another cluster do.
STRAY = 0.01
UNSATISFIED = "could not keep apart all rows of cannot_link in {}: give fewer pairs, or a larger n_clusters"


class Settled(NamedTuple):
    """Components joined into clusters, and blocks placed in them.

    Attributes
    ----------
    group : the cluster of each component.
    cluster : the cluster of each block.
    value : sum_b log p(rows of b in its cluster) - (unions) log N.
    """

    group: Index
    cluster: Index
    value: float


def settle(
    densities: Real, hints: Hints, price: float, n_clusters: int | None = None, *, exactly: bool = False
) -> Settled | None:
    """Join components into clusters and place each block in one, so that the hints are likeliest.

    Components are joined greedily, those first that gain most: a block whose rows prefer two of them says that these
    are one cluster, unless it is likelier that some of the rows are strays: each lies anywhere in the table with
    probability `STRAY`, so that no single row decides. None if the conflicts need
    more clusters than there are components.

    Parameters
    ----------
    densities : log p(x_i, k) of the rows with hints, in the order of ``hints.rows``.
    hints : blocks and conflicts.
    price : cost of joining two components, in nats.
    n_clusters : the smallest number of clusters.
    exactly : whether components are joined until there are no more than that, at whatever loss.
    """
    anywhere = np.logaddexp.reduce(densities, axis=1, keepdims=True) + np.log(STRAY)
    group, columns = np.arange(densities.shape[1]), densities
    scores = hints.sums(np.logaddexp(columns, anywhere))
    cluster = place(scores, hints.conflicts)
    if cluster is None:
        return None
    blocks = np.arange(hints.n_blocks)
    value = float(scores[blocks, cluster].sum())
    while columns.shape[1] > (n_clusters or 1):
        best, found = -np.inf if exactly else value + price, None
        for a, b in combinations(range(columns.shape[1]), 2) if exactly else _shared(columns, hints):
            both = np.delete(columns, b, axis=1)
            both[:, a] = np.logaddexp(columns[:, a], columns[:, b])
            summed = np.delete(scores, b, axis=1)
            summed[:, a] = hints.sums(np.logaddexp(both[:, a : a + 1], anywhere))[:, 0]
            placed = place(summed, hints.conflicts)
            if placed is not None and (total := float(summed[blocks, placed].sum())) > best:
                best, found = total, (a, b, both, summed, placed)
        if found is None:
            break
        a, b, columns, scores, cluster = found
        group = np.where(group == b, a, group)
        group = np.where(group > b, group - 1, group)
        value = best
    unions = densities.shape[1] - columns.shape[1]
    return Settled(group, cluster, value - unions * price)


def _shared(columns: Real, hints: Hints) -> Iterator[tuple[int, int]]:
    """Pairs of clusters a < b that are each the likeliest for some row of one block."""
    likeliest = np.zeros((hints.n_blocks, columns.shape[1]))
    likeliest[hints.block, columns.argmax(axis=1)] = 1
    together = np.triu(likeliest.T @ likeliest, 1)
    for a, b in np.argwhere(together > 0):
        yield int(a), int(b)


def held(densities: Real, hints: Hints, n_clusters: int | None) -> Real | float:
    """N x K, zero where a row may be in a component and `FAR` where its block is in another cluster; 0 without hints.

    Parameters
    ----------
    densities : log p(x_i, k), N x K.
    hints : blocks and conflicts.
    n_clusters : the number of clusters, if it was given.
    """
    settled = settle(densities[hints.rows], hints, float(np.log(len(densities))), n_clusters) if hints else None
    if settled is None:
        return 0.0
    away = np.zeros(densities.shape)
    away[hints.rows] = np.where(settled.cluster[hints.block][:, None] == settled.group, 0.0, FAR)
    return away


def log_odds(densities: Real, hints: Hints, worth: float, n_clusters: int | None) -> float | None:
    """log p(hints | X) of the components of a mixture; None if they cannot hold, or not in `n_clusters` clusters.

    Strays matter to which components are joined, but not here: a partition has to explain every row with a hint.

    Parameters
    ----------
    densities : log p(x_i, k), N x K.
    hints : blocks and conflicts.
    worth : how many rows a row is worth (as in ``criterion``).
    n_clusters : the number of clusters, if it was given.
    """
    price, densities = float(np.log(worth * len(densities))) / worth, densities[hints.rows]
    settled = settle(densities, hints, price, n_clusters)
    if settled is None or (n_clusters is not None and settled.group.max() + 1 != n_clusters):
        return None
    own = np.where(settled.cluster[hints.block][:, None] == settled.group, densities, -np.inf)
    odds = np.logaddexp.reduce(own, axis=1) - np.logaddexp.reduce(densities, axis=1)
    return worth * (float(odds.sum()) - price * (len(settled.group) - int(settled.group.max()) - 1))


def joined(densities: Real, hints: Hints, price: float, pairs: list[tuple[int, int]], n_clusters: int | None) -> Index:
    """The cluster of each component.

    Parameters
    ----------
    densities, hints, price, n_clusters : as in `settle`.
    pairs : components to be joined as well, in this order, where no blocks in conflict are in their clusters.
    """
    settled = settle(densities, hints, price, n_clusters, exactly=n_clusters is not None)
    if settled is None:
        raise InputError(UNSATISFIED.format(counted(densities.shape[1], "cluster")))
    group, cluster = settled.group, settled.cluster
    for a, b in pairs:
        one, other = group[a], group[b]
        if one != other and not hints.apart[np.ix_(cluster == one, cluster == other)].any():
            group, cluster = (np.where(each == other, one, each) for each in (group, cluster))
    return np.asarray(np.unique(group, return_inverse=True)[1])


def coloured(hints: Hints, places: Real, nodes: list[Index], n_clusters: int) -> Hints:
    """Hints in which blocks in conflict have been united into `n_clusters` at most: those that lie near each other.

    Parameters
    ----------
    hints : blocks and conflicts.
    places : coordinates of the rows.
    nodes : the rows of groups, more than `n_clusters`; the largest of them are where the blocks are drawn to.
    n_clusters : number of clusters.
    """
    largest = sorted(nodes, key=len, reverse=True)[:n_clusters]
    centres = np.array([places[rows].mean(axis=0) for rows in largest])
    scores = -hints.sums(np.square(places[hints.rows, None] - centres).sum(axis=2))
    cluster = place(scores, hints.conflicts)
    if cluster is None:
        raise InputError(UNSATISFIED.format(counted(n_clusters, "cluster")))
    alone = ~hints.apart.any(axis=0)
    united = np.where(alone, n_clusters + np.arange(hints.n_blocks), cluster)[hints.block]
    order = np.argsort(united, kind="stable")
    kinds, block = np.unique(united[order], return_inverse=True)
    number = np.searchsorted(kinds, cluster)
    conflicts = np.unique(np.sort(number[hints.conflicts], axis=1), axis=0)
    return Hints(hints.rows[order], block, conflicts)


#: Clusters worth the same to within so many pairs of rows are told apart by their likelihood.
TIE = 1e-3
#: Where more clusters are needed, a block gets one of its own if fewer rows of it than this are expected in each other.
HARDLY_ANY = 0.5
#: Most clusters that are added.
MOST_NEW = 25


def worth(densities: Real, hints: Hints, sizes: Real) -> Real:
    """What it is worth to place block b in cluster k, M x K: the more, the more rows like its own are there.

    Blocks that are all in conflict with each other are classes, of which the rows with hints are a sample. Of the N_k
    rows of cluster k about N_k e_bk / (1 + e_k) are of class b, where e_bk of its rows with hints are expected there,
    and e_k of all rows with hints. Then

        n_b N_k e_bk / (1 + e_k)

    pairs of rows of one class are together if the n_b rows of the block are placed in k. Other blocks say nothing of
    further rows: they are worth the e_bk rows themselves.

    Parameters
    ----------
    densities : log p(x_i, k) of the rows with hints, in the order of ``hints.rows``.
    hints : blocks and conflicts.
    sizes : N_k.
    """
    expected = hints.sums(probabilities(densities)[0])
    if not hints.are_classes:
        return expected
    return np.asarray(np.bincount(hints.block)[:, None] * expected * (sizes / (1.0 + expected.sum(axis=0))))


def obeyed(densities: Real, hints: Hints, sizes: Real) -> tuple[Labels, Real]:
    """The cluster of each row with hints, and its posterior: that of its block, without clusters it must not be in.

    Classes are placed where they are worth most, and their posterior is in proportion to it; other blocks are placed
    where they are likeliest.

    Parameters
    ----------
    densities, hints, sizes : as in `worth`.
    """
    scores = hints.sums(densities)
    if hints.are_classes:
        below = scores - scores.max(axis=1, keepdims=True)
        scores = worth(densities, hints, sizes) - TIE * below / min(below.min(), -1.0)
    cluster = place(scores, hints.conflicts)
    if cluster is None:
        raise InputError(UNSATISFIED.format(counted(densities.shape[1], "cluster")))
    taken = np.zeros(scores.shape, bool)
    for one, other in (hints.conflicts.T, hints.conflicts.T[::-1]):
        taken[one, cluster[other]] = True
    if hints.are_classes:
        posterior = np.where(taken, 0.0, np.maximum(scores, 0.0))
        posterior[np.arange(hints.n_blocks), cluster] += np.finfo(float).tiny  # where it is worth nothing anywhere
        posterior /= posterior.sum(axis=1, keepdims=True)
    else:
        posterior, _ = probabilities(np.where(taken, scores.min(axis=1, keepdims=True) + FAR, scores))
    return cluster[hints.block], posterior[hints.block]


def supported(now: Mask, right: Mask, z: float) -> bool:
    """Whether more - fewer > z sqrt(more + fewer), with the rows right in one result (`now`) and in the other."""
    more, fewer = int((now & ~right).sum()), int((right & ~now).sum())
    return more - fewer > z * float(np.sqrt(more + fewer))


def placed(densities: Real, hints: Hints, sizes: Real) -> Index | None:
    """The cluster of each block, K and above for new ones where the K do not suffice; None if too many are needed.

    Parameters
    ----------
    densities : log p(x_i, k) of the rows with hints, in the order of ``hints.rows``.
    hints : blocks and conflicts.
    sizes : N_k.
    """
    scores = worth(densities, hints, sizes)
    found = place(scores, hints.conflicts)
    if found is not None:
        return found
    new = np.full(hints.n_blocks, HARDLY_ANY)
    if hints.are_classes:  # in pairs of rows, as `worth`, with the usual number of rows for each row with a hint
        new *= np.bincount(hints.block) * sizes.sum() / len(hints.rows)
    return place(np.column_stack([scores, *[new] * min(hints.n_blocks, MOST_NEW)]), hints.conflicts)


def are_right(densities: Real, hints: Hints, cluster: Index | None) -> Mask:
    """Whether the likeliest cluster of each row with hints is that of its block; of no row if blocks have none."""
    if cluster is None:
        return np.zeros(len(densities), bool)
    return np.asarray(densities.argmax(axis=1) == cluster[hints.block])
