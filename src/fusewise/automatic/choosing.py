"""The default method: rows are placed in coordinates, neighbours fuse along a tree, and the best partition is taken.

A *proposal* is a set of coordinates in which a tree is grown, and partitions along it are compared by one criterion:
few axes and more of them (``TreeSearch.in_all_dimensions``), the rows that are known best, the columns alone that may
say something about clusters (``in_some_columns``), very many groups (``TreeSearch.with_many``), groups on either side
of a gap (``across_gaps``), and columns made symmetric (``_powers_in_question``).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from fusewise.automatic import sample
from fusewise.automatic.choice import Choice
from fusewise.automatic.clusters import Clusters
from fusewise.automatic.columns import ColumnMixture
from fusewise.automatic.comparison import Compared, Searched, assign, interrupted
from fusewise.automatic.criterion import ROWS, explained
from fusewise.automatic.cuts import grow, partitions
from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.automatic.mixture_fit import FIRST_ROUNDS, describe
from fusewise.automatic.rows import Rows, cost_of_choice, informative_columns, parts_of
from fusewise.automatic.search import LARGEST_RANK, NEIGHBORS, RANK, TreeSearch
from fusewise.automatic.units import Levels, Powers, is_number, units_of
from fusewise.automatic.valleys import in_parts, linked, without_valley
from fusewise.kernels import Index, Labels, small_products
from fusewise.observations import Entries, Table
from fusewise.progress import Progress, silent

#: Standard errors by which a single cluster of skewed columns must be better than several of columns as they are. Of
#: simulated skewed columns without clusters, 300 rows or more, none has less than 4.5; tables with known classes that
#: powers would hide have 1 to 3 (in doubt the split is kept: of 100 rows, half of such tables are cut in two).
CLEARLY = 4.0
#: Share of the well-known rows of a component that may lie beyond a gap.
BEYOND = 0.05
#: Most components that describe a part, and fewest rows of one for each dimension.
MOST_COMPONENTS, ROWS_EACH = 15, 3


def across_gaps(search: TreeSearch, found: Searched) -> Searched:
    """The search, with a partition that has no component across a gap if the one that was found has.

    A ring, a crescent or a spiral takes many components to describe, more than a criterion that charges for their
    overlap will pay for. If the rows that are known well show a gap (``parts_of``), each part is described by
    components of its own: of the partitions along its merge tree the one with the largest

        log L - H - (p/2) log N - (K - 1) log N,

    where p counts the parameters of all components, but K and the entropy H are those of the clusters that remain when
    components without a valley between them are joined (compare ``criterion``, where every component is a cluster).
    Other rows are in the component that explains them best.
    """
    best, rows = found.compared.mixtures[found.chosen], found.placed.rows
    if search.n_clusters is not None or search.hints or not isinstance(best, Mixture) or found.compared.interrupted:
        return found
    parts = parts_of(rows, search.within(found.placed.subspace).blur)
    if parts is None or _within(parts, found.partitions[found.chosen]):
        return found
    labels = _refined(search, rows, parts)
    one = search.comparison(rows)([labels], compare_all=True)
    return _with_partition(found, labels, one)


def _within(parts: Index, labels: Labels) -> bool:
    """Whether each group of a partition is on one side of all gaps."""
    known = parts >= 0
    counts = in_parts(labels[known], parts[known], int(labels.max()) + 1)
    return bool((counts.max(axis=1) >= (1 - BEYOND) * counts.sum(axis=1)).all())


def _refined(search: TreeSearch, rows: Rows, parts: Index) -> Labels:
    """Components of each part; a row that is not well known is in the one that explains it best."""
    labels = np.full(len(parts), -1)
    for part in range(int(parts.max()) + 1):
        some, order = rows.some(np.flatnonzero(parts == part))
        labels[order] = labels.max() + 1 + _pieces(search, some)
    known, order = rows.some(np.flatnonzero(parts >= 0))
    placed = describe(known, labels[order], rounds=FIRST_ROUNDS).log_densities(rows.evidence)[0].argmax(axis=1)
    return np.where(labels < 0, placed, labels)


def _pieces(search: TreeSearch, rows: Rows) -> Labels:
    """The partition of a part that describes it best; a component has at least `ROWS_EACH` rows for each dimension."""
    fewest = ROWS_EACH * rows.places.shape[1]
    candidates = partitions(grow(rows, search.n_neighbors or NEIGHBORS), rows.places, fewest, None, MOST_COMPONENTS)
    return max(candidates, key=partial(_joined_criterion, rows))


def _joined_criterion(rows: Rows, labels: Labels) -> float:
    """The criterion of a partition of well-known rows, with K and H after joining."""
    n = len(labels)
    mixture = assign(rows, describe(rows, labels, rounds=FIRST_ROUNDS))
    posterior, total = probabilities(mixture.log_densities(rows.evidence)[0])
    group = linked(mixture.n_components, without_valley(mixture, rows.evidence, parts=np.zeros(n, np.intp)))
    shares = posterior @ (group[:, None] == np.arange(group.max() + 1))
    entropy = -np.sum(shares * np.log(np.maximum(shares, 1e-300)))
    return float(total.sum() - entropy - (0.5 * mixture.complexity + group.max()) * np.log(n))


def _with_partition(found: Searched, labels: Labels, one: Compared) -> Searched:
    """The search with one more partition, which is chosen; it replaces another with as many groups."""
    compared, number = found.compared, one.mixtures[0].n_components
    numbers = [mixture.n_components for mixture in compared.mixtures]
    at, end = (int(np.searchsorted(numbers, number, side=side)) for side in ("left", "right"))
    partitions = [*found.partitions[:at], labels, *found.partitions[end:]]
    mixtures = (*compared.mixtures[:at], *one.mixtures, *compared.mixtures[end:])
    criteria = (*compared.criteria[:at], *one.criteria, *compared.criteria[end:])
    return Searched(found.placed, partitions, Compared(mixtures, criteria, compared.interrupted), at, found.unsettled)


def in_some_columns(search: TreeSearch, found: Searched) -> Searched:
    """The search, or one in the columns that may say something about clusters, if these are few and show more clusters.

    Gains are compared in nats over a single cluster, less the cost of having chosen the columns. There must be some: if
    the number of clusters was given, and no columns show that many, all columns are as good as others.
    """
    wide = search.wide.shape[1] > LARGEST_RANK and not search.levels and not search.hints
    columns = informative_columns(search.sample) if wide and not found.compared.interrupted else None
    if columns is None:
        return found
    try:
        room = min(len(columns), LARGEST_RANK if len(columns) <= LARGEST_RANK else RANK, search.most)
        other = search(room, columns=columns)
    except KeyboardInterrupt:
        return interrupted(found)
    cost = cost_of_choice(len(columns), search.wide.shape[1])
    return other if other.gain - cost > max(found.gain, 0.0) else found


#: The rows of a table that were searched, by number; the search; and its result.
SearchedRows = tuple[Index, TreeSearch, Searched]


@small_products()
def choose(
    table: Table,
    *,
    levels: Levels = (),
    n_clusters: int | None = None,
    rank: int | None = None,
    n_neighbors: int | None = None,
    min_size: float | None = None,
    seed: int = 0,
    worth: float = 1.0,
    progress: Progress = silent,
    hints: Hints = NO_HINTS,
    before: Choice | None = None,
) -> Choice:
    """Cluster a table, choosing every parameter that is not given.

    Columns are scaled to unit variance; rows are placed in a subspace, with the uncertainty due to missing values;
    neighbours are joined by a graph; l0 fusion along the graph gives a tree of nested partitions; each partition is
    described by a Student-t mixture on the observed entries (of a table with categories, by latent classes), and the
    one with the best `criterion` is chosen. K centres span K - 1 dimensions, so if more clusters are found than fit in
    the subspace, it is enlarged, once. A table with few columns is also searched in all its dimensions; the search that
    gains more over a single cluster is kept. Columns made symmetric are searched as well, and taken if the table is
    likelier by them. Finally every row is assigned to its likeliest cluster and the mixture is fitted again, or
    clusters with independent columns if these explain the entries better.

    With more than ``sample.SAMPLE`` rows a sample is used. It grows if nearly as many clusters are found as it can
    show, or if a large number would win with four times the rows. Axes, and the means of independent columns, may need
    more rows if most of the table is missing.

    Parameters
    ----------
    table : rows without observed entries are skipped.
    levels : the blocks of columns that hold the levels of a category, 1 or 0.
    n_clusters, rank, n_neighbors : numbers to use instead of choosing them.
    min_size : smallest cluster considered; None: 1.5% of the rows, at least 3.
    seed, progress : seed of the sample; called at each step.
    worth : rows that a row is worth when partitions are compared, if the table is part of a larger one.
    hints, before : rows that must be together, or apart; and the result without these hints.
    """
    known = hints.among(np.flatnonzero(table.row_counts > 0)) if hints else NO_HINTS
    first = table.take_seen(sample.samples(table, sample.SAMPLE, seed, known)[1])
    units, blocks = units_of(table, levels, first)
    task = sample.SampledSearch(
        table=table, units=units if before is None else before.units, levels=blocks, hints=hints, min_size=min_size,
        seed=seed, n_clusters=n_clusters, n_neighbors=n_neighbors, worth=worth, progress=progress, first=first,
    )  # fmt: skip
    task, (rows, search, found) = _searched(task, rank, before)
    mixture, clusters = search.clusters(found)
    clusters, met = _with_rare(task, found, clusters, len(rows))
    placed, partitions, compared, chosen, *_ = found.allowed
    return Choice(
        task.units, rows, placed.subspace, placed.rows.evidence, placed.tree, tuple(partitions), compared.mixtures,
        compared.criteria, chosen, mixture, clusters, compared.interrupted, met,
    )  # fmt: skip


def _searched(
    task: sample.SampledSearch, rank: int | None, before: Choice | None
) -> tuple[sample.SampledSearch, SearchedRows]:
    """Search a table, and its columns made symmetric if that may explain what was found; the likelier of the two."""
    first = _in_sample(task, rank)
    rows, search, found = first
    try:
        plain = _settled(task, first, before)
        powers = _powers_in_question(search, found)
        if powers is None:
            return task, plain
        symmetric = replace(task, units=replace(task.units, powers=powers))
        other = _settled(symmetric, _in_sample(symmetric, rank), before)
        taken = other[2].criterion + _worth_of(powers, search) > plain[2].criterion and not _hides(other, plain)
        return (symmetric, other) if taken else (task, plain)
    except KeyboardInterrupt:
        return task, (rows, search, interrupted(found))


def _worth_of(powers: Powers, search: TreeSearch) -> float:
    """What powers add to a criterion, so that those with and without them compare: log |dz/dx| - (p/2) log N."""
    n = search.worth * search.sample.shape[0]
    slopes = search.worth * float(powers.log_slopes(search.sample).sum())
    return (slopes / (1 + n / ROWS) if search.for_classes else slopes) - 0.5 * powers.n_powers * float(np.log(n))


def _hides(searched: SearchedRows, other: SearchedRows) -> bool:
    """Whether a search found one cluster, and is not clearly better by that than by the partition found otherwise.

    Clearly better is more than `CLEARLY` standard errors (see ``alternatives``).
    """
    rows, search, found = searched
    labels, one = other[2].partitions[other[2].chosen], found.compared.mixtures[found.chosen]
    if found.n_groups > 1 or not isinstance(one, Mixture) or len(rows) != len(labels):
        return False
    several = search.comparison(found.placed.rows)([labels], compare_all=True)
    split = several.mixtures[0]
    assert isinstance(split, Mixture)
    evidence = found.placed.rows.evidence
    error = np.sqrt(len(rows)) * np.std(explained(evidence, split) - explained(evidence, one))
    return bool(found.criterion - several.criteria[0] <= CLEARLY * error)


def _powers_in_question(search: TreeSearch, found: Searched) -> Powers | None:
    """The powers that make columns symmetric, if they alone gain more than the clusters that were found."""
    rows = search.sample
    if search.hints or found.compared.interrupted or found.n_groups == 1:
        return None
    if not isinstance(rows, Entries) or rows is not search.wide or rows.dtype.kind == "c":
        return None
    if not is_number(rows.shape[1], search.levels).any():
        return None
    powers = Powers.of(rows, search.levels)
    return powers if powers.n_powers and powers.gain(rows) > found.gain else None


def _in_sample(task: sample.SampledSearch, rank: int | None) -> SearchedRows:
    """Search a sample: in few dimensions and many, in some columns, and for many clusters."""
    rows, search = task.of(sample.SAMPLE)
    some = search.among_numbers()
    if some is None:
        return rows, search, _by_every_proposal(search, rank)
    which, numbers = some
    found = _by_every_proposal(numbers, rank)
    try:
        classes = search.in_all_dimensions(rank)
    except KeyboardInterrupt:
        return rows[which], numbers, interrupted(found)
    return (rows, search, classes) if _explain_more(classes, numbers, found) else (rows[which], numbers, found)


def _by_every_proposal(search: TreeSearch, rank: int | None) -> Searched:
    found = search.in_all_dimensions(rank)
    if rank is None:
        found = in_some_columns(search, found)
        if search.n_clusters is None and not search.for_classes:
            found = search.with_many(found)
    return found


def _explain_more(classes: Searched, numbers: TreeSearch, found: Searched) -> bool:
    """Whether latent classes explain a table better than what its numbers lead to, and categories tell them apart."""
    best = classes.chosen, int(np.argmax(classes.compared.criteria))
    labels = []
    for mixture in (classes.compared.mixtures[k] for k in best):
        assert isinstance(mixture, ColumnMixture)
        likeliest = mixture.log_densities(numbers.sample)[0].argmax(axis=1)
        labels.append(np.unique(likeliest, return_inverse=True)[1])
    assert numbers.categories is not None
    if numbers.categories(labels[0]) <= np.log(len(labels[0])):
        return False
    return max(numbers.comparison(found.placed.rows)(labels, compare_all=True).criteria) > found.criterion


def _settled(task: sample.SampledSearch, first: SearchedRows, before: Choice | None) -> SearchedRows:
    """The search, in a larger sample if need be; its clusters lie on one side of a gap each.

    Where these explain the table and the hints better, those found without hints.
    """
    rows, search, found = first
    if found.unsettled and not task.hints:
        rows, search, found = task.enlarged(rows, search, found)
    known = None if before is None else before.clusters
    return rows, search, across_gaps(search, search.or_as_before(found, known))


def _with_rare(
    task: sample.SampledSearch, found: Searched, clusters: Clusters, n_sampled: int
) -> tuple[Clusters, tuple[str, ...]]:
    """The clusters, and rare ones if the table is large; and the limits that were met."""
    met, n = [sample.of_shapes()] if task.units.powers is not None else [], task.table.n_seen
    if n <= sample.SAMPLE or task.n_clusters is not None or task.hints:
        return clusters, tuple(met)
    clusters, missed = task.with_rare(clusters, n_sampled)
    if found.unsettled:
        met.append(sample.of_sample(n_sampled, n, clusters.n_components))
    return clusters, (*met, *missed)
