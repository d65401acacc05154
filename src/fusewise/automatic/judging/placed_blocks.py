"""Blocks of rows placed in clusters that are known, by what they stand for, and the rows that these explain.

A row with a hint is *right* if the cluster of its block is its likeliest one, judged by its entries alone. Of two
results, let `more` rows be right only in the one, and `fewer` only in the other. By chance more - fewer has the
standard deviation sqrt(more + fewer), so that the one is *supported* if

    more - fewer > z sqrt(more + fewer)

(McNemar's test).
"""

from __future__ import annotations

import numpy as np

from fusewise.automatic.hints import FAR, Hints
from fusewise.automatic.judging.colouring import place
from fusewise.automatic.judging.settling import UNSATISFIED
from fusewise.automatic.models.mixture import probabilities
from fusewise.kernels.input_errors import InputError
from fusewise.kernels.types import Index, Labels, Mask, Real
from fusewise.kernels.words import counted

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
