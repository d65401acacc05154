"""Which of three results a table with hints has.

1. The clusters found without hints, *corrected*: only rows with hints move to where they must be; if the conflicts need
   more clusters than there are, blocks that no cluster holds get one of their own.
2. Those found with hints. The search has used these, so that its criterion does not show whether its clusters are
   nearer to what the hints mean. The rows with hints do, each judged by its entries alone: it is taken where more of
   them are right (``judging.placed_blocks``).
3. The classes of known labels, taught to the clusters found without hints (``teaching``): taken where clearly more rows
   are right whose labels were left out, and more than by a search with hints that has not seen these either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fusewise.automatic.choice import Choice
from fusewise.automatic.hints import Hints
from fusewise.automatic.judging.placed_blocks import are_right, placed, supported
from fusewise.automatic.models.beside import Beside
from fusewise.automatic.models.columnwise import ColumnMixture, fit_columns
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.numbers_and_categories import NumbersAndCategories
from fusewise.automatic.search import limits
from fusewise.automatic.teaching import Lesson, densities_of, teach
from fusewise.kernels.types import Index, Mask
from fusewise.observations import Table

#: Standard deviations of chance for clusters found with hints: the usual level of 5%, one-sided.
Z = 1.645
#: The same for classes, which may move any row: a level of 0.5%.
SURE = 2.576


def better_supported(
    before: Choice,
    told: Choice,
    table: Table,
    hints: Hints,
    n_clusters: int | None = None,
    search: Callable[[Hints], Choice] | None = None,
    *,
    labels: bool = True,
) -> Choice:
    """The result that the rows with hints support, of those found without hints, with them, and taught by labels.

    Parameters
    ----------
    before, told : the results without hints and with them.
    table : the rows of both.
    hints : blocks and conflicts among its rows.
    n_clusters : the number of clusters, if it was given: then the result without hints is not an answer.
    search : the search with other hints. Without it, the one with hints is judged by labels that it has seen.
    labels : whether the hints are known labels: pairs of rows are not a sample of classes, and are not taught.
    """
    densities = densities_of(told, table, hints.rows)
    now = are_right(densities, hints, placed(densities, hints, told.sizes(table)))
    found = told if n_clusters is not None else _clusters(before, told, table, hints, now)
    try:
        possible = labels and n_clusters in (None, hints.n_blocks) and not found.interrupted
        lesson = teach(before, table, hints) if possible else None
        z = 0.0 if before.n_clusters == 1 else SURE  # a single cluster has nothing to lose
        if lesson is None or not supported(lesson.right, lesson.right_before, z):
            return found
        if found is told and lesson.right.mean() < now.mean() and not _better_unseen(lesson, search):
            return found
        said = limits.of_labels(int(lesson.right.sum()), int(lesson.right_before.sum()), len(lesson.right))
        return replace(lesson.choice(n_clusters), limits=(*before.limits, said))
    except KeyboardInterrupt:
        return replace(found, interrupted=True)


def _better_unseen(lesson: Lesson, search: Callable[[Hints], Choice] | None) -> bool:
    """Whether classes are right more often than a search with hints, both judged by labels they have not seen."""
    if search is None:
        return False
    right, found = lesson.against(search)
    return bool(right.sum() > found.sum())


def _clusters(before: Choice, told: Choice, table: Table, hints: Hints, now: Mask) -> Choice:
    """The clusters found with hints, if the rows with hints support them; else those found without, corrected.

    A single cluster has nothing to lose. Nor is the test asked if the hints need more clusters than there are, and so
    few rows are wrong that it could never decide. In both cases it is enough that more rows are right.

    Parameters
    ----------
    before, told, table, hints : as in `better_supported`.
    now : whether each row with hints is right in the clusters found with them.
    """
    densities = densities_of(before, table, hints.rows)
    cluster = placed(densities, hints, before.sizes(table))
    corrected = None if cluster is None else _with_own(before, table, hints, cluster)
    if cluster is None or corrected is None:
        return told
    right = are_right(densities, hints, cluster)
    lenient = before.n_clusters == 1 or (corrected.n_clusters > before.n_clusters and (~right).sum() <= Z**2)
    if supported(now, right, 0.0 if lenient else Z):
        return told
    return replace(corrected, interrupted=before.interrupted or told.interrupted)


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
    levels = parts.levels if isinstance(parts, ColumnMixture | NumbersAndCategories) else ()
    each = (number[:, None] == np.arange(len(kinds))).astype(float)
    rare = fit_columns(sample, each, 1, levels).only(np.flatnonzero(kinds >= n_known))
    excess = np.delete(rare.log_densities(sample)[0].max(axis=1) - densities.max(axis=1), where)
    least = 0.5 * np.exp(-np.clip(excess.max(initial=0.0), 0.0, 600.0))
    share = min(float(least), float((own >= n_known).sum()) / (table.n_seen + 1))
    return replace(before, clusters=Beside(before.clusters, rare, share))
