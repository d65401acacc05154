"""Proposals: other coordinates and other partitions, each judged by the one criterion.

A proposal takes a search and what has been found, and returns that or something better. Leaving one out of `PROPOSALS`
changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from fusewise.automatic._classes import by_independent_columns, kmeans_groups
from fusewise.automatic._comparison import Candidate, Placed, Searched, assign, best_of
from fusewise.automatic._criterion import criterion, foreseen
from fusewise.automatic._cuts import (
    FEWEST,
    MOST_CLUSTERS,
    allowed_nodes,
    best_cuts,
    candidate_nodes,
    grow,
    labels_of,
    partitions,
)
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import Mixture, probabilities
from fusewise.automatic._mixture_fit import FIRST_ROUNDS, describe
from fusewise.automatic._rows import Rows, cost_of_choice, informative_columns, parts_of
from fusewise.automatic._search import LARGEST_RANK, NEIGHBORS, RANK, TreeSearch
from fusewise.automatic._valleys import in_parts, linked, one_hump, without_valley
from fusewise.kernels import Index, Labels

#: If no direction stands out from the noise, a table of so many columns is searched in all of them.
MOST_COLUMNS = 20
#: Turns in which the groups of k-means are fitted and rows are assigned to them.
TURNS = 3
#: Many clusters are looked for among at least this many rows for each; with fewer than the second number of rows in
#: each group that is found, on average, more rows may show more groups.
ROWS_PER_CLUSTER, CROWDED = 6, 12
#: With so many rows, many clusters are looked for whatever few dimensions show.
MANY_ROWS = 5000
#: Densities computed to compare two partitions of an incomplete table: of all rows, or of as many as that allows.
MOST_DENSITIES = 20_000_000
#: Share of the well-known rows of a component that may lie beyond a gap.
BEYOND = 0.05
#: Most components that describe a part, and fewest rows of one for each dimension.
MOST_COMPONENTS, ROWS_EACH = 15, 3


def more_dimensions(search: TreeSearch, found: Searched) -> Searched:
    """All dimensions if these are few, or as many as the centres of the clusters that were found span.

    For latent classes coordinates are only where EM begins: others changed nothing on average over 53 tables.
    """
    columns = search.n_columns
    if search.for_classes:
        return found
    whole = columns <= min(MOST_COLUMNS if found.featureless else LARGEST_RANK, search.most)
    wanted = columns if whole else min(found.best.n_groups - 1, LARGEST_RANK, search.most)
    if wanted <= found.rank:
        return found
    try:
        other = search(wanted, start=found.placed.subspace)
    except FloatingPointError:  # the noise beside so many axes is too small to compute with
        return found
    crowded = found.best.n_groups > LARGEST_RANK  # where the first search ended
    return other if not whole or crowded or other.gain > found.gain else found


def independent_columns(search: TreeSearch, found: Searched) -> Searched:
    """Mixtures with independent columns, which begin with the partitions of the tree.

    Along axes, groups that differ where columns vary little are hidden by what varies more.
    """
    if search.for_classes or search.hints:
        return found
    starts = [each.labels for each in found.candidates if each.n_groups > 1]
    others = [by_independent_columns(search.numbers, labels, search.smallest) for labels in starts]
    rows = found.placed.rows
    others = [each for each in others if each.max() > 0 and not one_hump(describe(rows, each, rounds=FIRST_ROUNDS))]
    return search.with_others(found, others)


def kmeans(search: TreeSearch, found: Searched) -> Searched:
    """K-means in the same coordinates, if the number of clusters is given.

    The tree is greedy, and its partitions are nested: two groups that it has fused early are never parted again.
    """
    k, rows = search.n_clusters, found.placed.rows
    if k is None or k == 1 or search.for_classes or search.hints or len(rows.places) <= k:
        return found
    others: list[Labels] = []
    labels = kmeans_groups(rows.places, k)
    while len(np.unique(labels)) == k and len(others) <= TURNS:
        others.append(labels)  # where groups spread differently, k-means is only a start
        settled = assign(rows, describe(rows, labels, search.worth))
        labels = settled.log_densities(rows.evidence)[0].argmax(axis=1)
    return search.with_others(found, others)


def some_columns(search: TreeSearch, found: Searched) -> Searched:
    """The columns that may say something about clusters, if these are few and show more clusters.

    Gains are compared in nats over a single cluster, less the cost of having chosen the columns. There must be some: if
    the number of clusters was given, and no columns show that many, all columns are as good as others.
    """
    wide = search.wide.shape[1] > LARGEST_RANK and not search.levels and not search.hints
    columns = informative_columns(search.sample) if wide else None
    if columns is None:
        return found
    room = min(len(columns), LARGEST_RANK if len(columns) <= LARGEST_RANK else RANK, search.most)
    other = search(room, columns=columns)
    cost = cost_of_choice(len(columns), search.wide.shape[1])
    return other if other.gain - cost > max(found.gain, 0.0) else found


def many_clusters(search: TreeSearch, found: Searched) -> Searched:
    """The best of all partitions along the tree if that has many groups and explains more.

    Few dimensions may show nothing of many clusters: where all seems to be one, or the rows are many, they are looked
    for in as many dimensions as there may be.
    """
    n, room = search.sample.shape[0], min(LARGEST_RANK, search.most)
    if search.told or search.for_classes or search.hints or search.weighted or n < ROWS_PER_CLUSTER * MOST_CLUSTERS:
        return found
    sure = found.chosen > 0 and n < MANY_ROWS
    if sure and len(_cuts(search, found.placed)) <= MOST_CLUSTERS:
        return found
    placed = found.placed if found.rank >= room else search.place(room, start=found.placed.subspace)
    few = search.comparison(placed.rows)([found.best.labels])[0]
    many = cut_anywhere(search, placed, along_tree=True)
    if many.best.n_groups > MOST_CLUSTERS and many.criterion > few.criterion:
        return many
    # Many groups might win with four times the rows, if they explained each of them as well.
    later = [
        (foreseen(each.criterion, each.mixture, n, search.worth, times=4), each.n_groups)
        for each in (*many.candidates, few)
        if isinstance(each.mixture, Mixture)
    ]
    return replace(found, unsettled=max(later)[1] > MOST_CLUSTERS)


def _cuts(search: TreeSearch, placed: Placed) -> list[int]:
    """The nodes of the best of all partitions along a tree, by the fit of each group to its own rows."""
    allowed = allowed_nodes(placed.tree, min(search.smallest_of_many, FEWEST), search.copies)
    return best_cuts(placed.tree, placed.rows, allowed, lambda labels: describe(placed.rows, labels, search.worth))


def cut_anywhere(search: TreeSearch, placed: Placed | None = None, *, along_tree: bool = False) -> Searched:
    """Compare the best of all partitions along a tree, in as many dimensions as there may be, with one cluster.

    With `along_tree`, also those from the root down, each into half as many groups again.
    """
    placed = placed or search.place(min(LARGEST_RANK, search.most))
    tree, rows = placed.tree, placed.rows
    search.progress("cutting the merge tree", 0)
    found: dict[int, list[int]] = {}
    if along_tree:
        most = tree.n_points // ROWS_PER_CLUSTER
        every = candidate_nodes(tree, search.smallest_of_many, None, most, search.copies)
        numbers = (MOST_CLUSTERS * 1.5 ** np.arange(1, 20)).astype(int)
        found = {len(every[k - 1]): every[k - 1] for k in numbers if k <= len(every)}
    found |= {len(nodes): nodes for nodes in [_cuts(search, placed)] if len(nodes) > 1}
    candidates = []
    for labels in [
        np.zeros(tree.n_points, np.intp), *(labels_of(tree, found[number], rows.places) for number in sorted(found))
    ]:  # fmt: skip
        mixture = describe(rows, labels, search.worth)
        most = MOST_DENSITIES // mixture.n_components
        complete = search.sample.is_complete
        judged = criterion(rows.evidence, mixture, complete=complete, worth=search.worth, most_rows=most)
        candidates.append(Candidate(labels, mixture, judged))
    best = best_of(candidates)
    crowded = candidates[best].n_groups * CROWDED > tree.n_points
    return Searched(placed, tuple(candidates), best, unsettled=crowded)


def explains_more(search: TreeSearch, found: Searched, few: Searched) -> bool:
    """Whether a search explains its rows better than the groups that were found in fewer of them."""
    best = few.best.mixture
    assert isinstance(best, Mixture)
    densities = best.log_densities(Evidence.of(few.placed.subspace, search.sample))[0]
    labels = np.unique(densities.argmax(axis=1), return_inverse=True)[1]
    return found.criterion > search.criterion_of(found.placed.rows, [labels])


def across_gaps(search: TreeSearch, found: Searched) -> Searched:
    """A partition that has no component across a gap, if the one that was found has.

    A ring, a crescent or a spiral takes many components to describe, more than a criterion that charges for their
    overlap will pay for. If the rows that are known well show a gap (``parts_of``), each part is described by
    components of its own: of the partitions along its merge tree the one with the largest

        log L - H - (p/2) log N - (K - 1) log N,

    where p counts the parameters of all components, but K and the entropy H are those of the clusters that remain when
    components without a valley between them are joined (compare ``criterion``, where every component is a cluster).
    Other rows are in the component that explains them best.
    """
    rows = found.placed.rows
    if search.told or search.hints or not isinstance(found.best.mixture, Mixture):
        return found
    parts = parts_of(rows, search.within(found.placed.subspace).blur)
    if parts is None or _within(parts, found.best.labels):
        return found
    labels = np.full(len(parts), -1)
    for part in range(int(parts.max()) + 1):
        some, order = rows.some(np.flatnonzero(parts == part))
        labels[order] = labels.max() + 1 + _pieces(search, some)
    known, order = rows.some(np.flatnonzero(parts >= 0))
    placed = describe(known, labels[order], rounds=FIRST_ROUNDS).log_densities(rows.evidence)[0].argmax(axis=1)
    candidates = found.with_better(search.comparison(rows)([np.where(labels < 0, placed, labels)]), replacing=True)
    chosen = [each.n_groups for each in candidates].index(int(labels.max()) + 1)
    return replace(found, candidates=candidates, chosen=chosen)


def _within(parts: Index, labels: Labels) -> bool:
    """Whether each group of a partition is on one side of all gaps."""
    known = parts >= 0
    counts = in_parts(labels[known], parts[known], int(labels.max()) + 1)
    return bool((counts.max(axis=1) >= (1 - BEYOND) * counts.sum(axis=1)).all())


def _pieces(search: TreeSearch, rows: Rows) -> Labels:
    """The partition of a part that describes it best, with K and H after joining."""
    n, r = rows.places.shape

    def value(labels: Labels) -> float:
        mixture = assign(rows, describe(rows, labels, rounds=FIRST_ROUNDS))
        posterior, total = probabilities(mixture.log_densities(rows.evidence)[0])
        group = linked(mixture.n_components, without_valley(mixture, rows.evidence, parts=np.zeros(n, np.intp)))
        shares = posterior @ (group[:, None] == np.arange(group.max() + 1))
        entropy = -np.sum(shares * np.log(np.maximum(shares, 1e-300)))
        return float(total.sum() - entropy - (0.5 * mixture.complexity + group.max()) * np.log(n))

    tree = grow(rows, search.n_neighbors or NEIGHBORS)
    return max(partitions(tree, rows.places, ROWS_EACH * r, None, MOST_COMPONENTS), key=value)


#: Tried in this order, each on what the ones before have found; the last only where dimensions are not given.
PROPOSALS: tuple[Callable[[TreeSearch, Searched], Searched], ...] = (
    more_dimensions,
    independent_columns,
    kmeans,
    some_columns,
    many_clusters,
)
#: Those that keep the dimensions.
IN_PLACE = (independent_columns, kmeans)


def by_every_proposal(search: TreeSearch, rank: int | None) -> Iterator[Searched]:
    """The search in the dimensions that are given, or in few; then the same after each of the other proposals."""
    few = min(max(RANK, (search.n_clusters or 1) - 1), LARGEST_RANK, search.most)
    if rank is None:
        found = search(few, until=LARGEST_RANK + 1 if few < min(LARGEST_RANK, search.most) else None)
    else:
        found = search(min(rank, search.most))
    yield found
    for proposal in PROPOSALS if rank is None else IN_PLACE:
        found = proposal(search, found)
        yield found
