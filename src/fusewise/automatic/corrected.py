"""The clusters found without hints, corrected so that they obey, and when those found with hints take their place.

The search with hints has used them, so that its criterion does not show whether its clusters are nearer to what the
hints mean. The rows with hints do, each judged by its entries alone: blocks are placed where they are worth most
(``settling.worth``), those in conflict in different clusters, and a row is *right* if the cluster of its block is its
likeliest one. Of the rows that are right in one of the two results but not in the other, let `more` be right with hints
and `fewer` without. By chance more - fewer has the standard deviation sqrt(more + fewer), so the clusters found with
hints are taken if

    more - fewer > Z sqrt(more + fewer)

(McNemar's test). Otherwise the clusters found without hints stay, and only the rows with hints move to where they must
be; if the conflicts need more clusters than there are, blocks that no cluster holds get one of their own.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fusewise.automatic.choice import Choice
from fusewise.automatic.hints import Hints
from fusewise.automatic.judging.colouring import place
from fusewise.automatic.judging.settling import worth
from fusewise.automatic.models.beside import Beside
from fusewise.automatic.models.clusters import Joined
from fusewise.automatic.models.columnwise import ColumnMixture, fit_columns
from fusewise.kernels.types import Index, Mask, Real
from fusewise.observations import Table

#: Standard deviations of chance: the usual level of 5%, one-sided.
Z = 1.645
#: Where more clusters are needed, a block gets one of its own if fewer rows of it than this are expected in each other.
HARDLY_ANY = 0.5
#: Most clusters that are added.
MOST_NEW = 25


def better_supported(before: Choice, told: Choice, table: Table, hints: Hints) -> Choice:
    """The clusters found with hints, if the rows with hints support them; else those found without, corrected.

    A single cluster has nothing to lose. Nor is the test asked if the hints need more clusters than there are, and so
    few rows are wrong that it could never decide. In both cases it is enough that more rows are right.

    Parameters
    ----------
    before, told : the results without hints and with them.
    table : the rows of both.
    hints : blocks and conflicts among its rows.
    """
    densities, with_hints = (_densities(choice, table, hints) for choice in (before, told))
    cluster = placed(densities, hints, before.sizes(table))
    corrected = None if cluster is None else _with_own(before, table, hints, cluster)
    if cluster is None or corrected is None:
        return told
    right = are_right(densities, hints, cluster)
    now = are_right(with_hints, hints, placed(with_hints, hints, told.sizes(table)))
    lenient = before.n_clusters == 1 or (corrected.n_clusters > before.n_clusters and (~right).sum() <= Z**2)
    if supported(now, right, 0.0 if lenient else Z):
        return told
    return replace(corrected, interrupted=before.interrupted or told.interrupted)


def _densities(choice: Choice, table: Table, hints: Hints) -> Real:
    """Log p(x_i, k) of the rows with hints, in the order of ``hints.rows``."""
    rows = np.sort(hints.rows)
    densities = choice.clusters.log_densities(choice.units.applied(table.take(rows)))[0]
    return np.asarray(densities[np.searchsorted(rows, hints.rows)])


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


def _with_own(before: Choice, table: Table, hints: Hints, cluster: Index) -> Choice | None:
    """The result without hints, with a cluster for each block that needs one of its own; None if there can be none.

    New clusters have independent columns, and variances drawn towards those common to all clusters. Nothing is known
    of other rows that they may have, so their share is so small that none of the rows searched moves to them.
    """
    n_known, own = before.n_clusters, cluster[hints.block]
    if not (own >= n_known).any():
        return before
    if isinstance(before.clusters, Beside):
        return None
    rows = np.union1d(np.flatnonzero(table.row_counts > 0)[before.rows], hints.rows)
    where = np.searchsorted(rows, hints.rows)
    sample = before.units.applied(table.take(rows))
    densities = before.clusters.log_densities(sample)[0]
    labels = densities.argmax(axis=1)
    labels[where] = own
    kinds, number = np.unique(labels, return_inverse=True)
    parts = before.clusters.parts if isinstance(before.clusters, Joined) else before.clusters
    levels = parts.levels if isinstance(parts, ColumnMixture) else ()
    each = (number[:, None] == np.arange(len(kinds))).astype(float)
    rare = fit_columns(sample, each, 1, levels).only(np.flatnonzero(kinds >= n_known))
    excess = np.delete(rare.log_densities(sample)[0].max(axis=1) - densities.max(axis=1), where)
    least = 0.5 * np.exp(-np.clip(excess.max(initial=0.0), 0.0, 600.0))
    share = min(float(least), float((own >= n_known).sum()) / (table.n_seen + 1))
    return replace(before, clusters=Beside(before.clusters, rare, share))
