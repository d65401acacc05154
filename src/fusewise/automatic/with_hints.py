"""Which of two results a table with hints has.

1. The clusters found without hints, *corrected*: only rows with hints move to where they must be; if the conflicts need
   more clusters than there are, blocks that no cluster holds get one of their own.
2. Those found with hints. The search has used these, so that its criterion does not show whether its clusters are
   nearer to what the hints mean. The rows with hints do, each judged by its entries alone: it is taken where more of
   them are right (``settling.supported``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fusewise.automatic.choice import Choice
from fusewise.automatic.columns import fit_columns
from fusewise.automatic.hints import Hints
from fusewise.automatic.settling import are_right, placed, supported
from fusewise.kernels import Index, Real
from fusewise.observations import Table

#: Standard deviations of chance for clusters found with hints: the usual level of 5%, one-sided.
Z = 1.645


def better_supported(before: Choice, told: Choice, table: Table, hints: Hints, n_clusters: int | None = None) -> Choice:
    """The result that the rows with hints support, of those found without hints and with them.

    A single cluster has nothing to lose by hints. Nor is the test asked if the hints need more clusters than there are,
    and so few rows are wrong that it could never decide. In both cases it is enough that more rows are right.

    Parameters
    ----------
    before, told : the results without hints and with them.
    table : the rows of both.
    hints : blocks and conflicts among its rows.
    n_clusters : the number of clusters, if it was given: then the result without hints is not an answer.
    """
    densities = _densities_of(before, table, hints.rows)
    cluster = placed(densities, hints, before.sizes(table))
    corrected = None if cluster is None or n_clusters is not None else _with_own(before, table, hints, cluster)
    if corrected is None:
        return told
    others = _densities_of(told, table, hints.rows)
    now = are_right(others, hints, placed(others, hints, told.sizes(table)))
    right = are_right(densities, hints, cluster)
    lenient = before.n_clusters == 1 or (corrected.n_clusters > before.n_clusters and (~right).sum() <= Z**2)
    if supported(now, right, 0.0 if lenient else Z):
        return told
    return replace(corrected, interrupted=before.interrupted or told.interrupted)


def _densities_of(choice: Choice, table: Table, rows: Index) -> Real:
    """Log p(x_i, k) of some rows, in any order."""
    order = np.sort(rows)
    densities = choice.clusters.log_densities(choice.units.applied(table.take(order)))[0]
    return np.asarray(densities[np.searchsorted(order, rows)])


def _with_own(before: Choice, table: Table, hints: Hints, cluster: Index) -> Choice | None:
    """The result without hints, with a cluster for each block that needs one of its own; None if there can be none.

    New clusters have independent columns, and variances drawn towards those common to all clusters. Nothing is known
    of other rows that they may have, so their share is so small that none of the rows searched moves to them.
    """
    n_known, own = before.n_clusters, cluster[hints.block]
    if not (own >= n_known).any():
        return before
    if len(before.clusters.parts) > 1:
        return None
    rows = np.union1d(np.flatnonzero(table.row_counts > 0)[before.rows], hints.rows)
    where = np.searchsorted(rows, hints.rows)
    sample = before.units.applied(table.take(rows))
    densities = before.clusters.log_densities(sample)[0]
    labels = densities.argmax(axis=1)
    labels[where] = own
    kinds, number = np.unique(labels, return_inverse=True)
    each = (number[:, None] == np.arange(len(kinds))).astype(float)
    rare = fit_columns(sample, each, 1, before.clusters.parts[0].levels).only(np.flatnonzero(kinds >= n_known))
    excess = np.delete(rare.log_densities(sample)[0].max(axis=1) - densities.max(axis=1), where)
    least = 0.5 * np.exp(-np.clip(excess.max(initial=0.0), 0.0, 600.0))
    share = min(float(least), float((own >= n_known).sum()) / (table.n_seen + 1))
    return replace(before, clusters=before.clusters.beside(rare, share))
