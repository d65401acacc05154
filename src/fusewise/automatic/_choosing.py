"""The default method: rows are placed in coordinates, neighbours fuse along a tree, and the best partition is taken.

Rows are searched, all or a sample of them, by every proposal; once more with columns made symmetric if powers may
explain what was found; and all rows are given to the clusters of the better of the two.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic._choice import Choice
from fusewise.automatic._classes import ROWS
from fusewise.automatic._clusters import (
    SOFT_ROUNDS,
    AxisMixture,
    Clusters,
    Part,
    axes_complexity,
    better_explained,
    with_levels,
)
from fusewise.automatic._columns import ColumnMixture, LevelEvidence, columns_of_groups
from fusewise.automatic._comparison import Searched, assign, explained
from fusewise.automatic._cuts import MOST_CLUSTERS
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._hints import NO_HINTS, Hints, held, joined
from fusewise.automatic._intervals import sites_of
from fusewise.automatic._mixture import Mixture, describe, fit_groups, probabilities
from fusewise.automatic._nearby import near_components
from fusewise.automatic._rows import Rows, parts_of
from fusewise.automatic._sample import SampledSearch, first_rows
from fusewise.automatic._search import TreeSearch, across_gaps, by_every_proposal
from fusewise.automatic._units import Levels, Powers, is_number, units_of
from fusewise.automatic._valleys import linked, without_valley
from fusewise.kernels import Index, Labels, Real, small_products
from fusewise.observations import BoundedEntries, Entries, InMemory, Table
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace
from fusewise.support import counted

#: Standard errors by which a single cluster of skewed columns must be better than several of columns as they are. Of
#: simulated skewed columns without clusters, 300 rows or more, none has less than 4.5; tables with known classes that
#: powers would hide have 1 to 3 (in doubt the split is kept: of 100 rows, half of such tables are cut in two).
CLEARLY = 4.0

T = TypeVar("T")
#: The rows of a table that were searched, by number; the search; and its result.
SearchedRows = tuple[Index, TreeSearch, Searched]
#: What was searched, and the result so far.
Stage = tuple[SampledSearch, SearchedRows]


@small_products()
def choose(
    table: Table,
    *,
    levels: Levels = (),
    n_clusters: int | None = None,
    min_size: float | None = None,
    seed: int = 0,
    worth: float = 1.0,
    progress: Progress = silent,
    hints: Hints = NO_HINTS,
    weights: Real | None = None,
) -> Choice:
    """Cluster a table, choosing every parameter that is not given.

    Parameters
    ----------
    table : rows without observed entries are skipped.
    levels : the blocks of columns that hold the levels of a category, 1 or 0.
    n_clusters : the number of clusters, instead of choosing it.
    min_size : smallest cluster considered; None: 1.5% of the rows, at least 3.
    seed, progress : seed of the sample; called at each step.
    worth : rows that a row is worth when partitions are compared, if the table is part of a larger one.
    hints : rows that must be together, or apart.
    weights : how often each column counts; None: once.
    """
    first = first_rows(table, seed, hints)
    units, blocks = units_of(table, levels, first, weights)
    task = SampledSearch(
        table=table, units=units, levels=blocks, hints=hints, min_size=min_size, seed=seed, n_clusters=n_clusters,
        worth=worth, progress=progress, first=first,
    )  # fmt: skip
    task, (rows, search, found), stopped = _latest(_stages(task))
    mixture, clusters = clusters_of(search, found)
    clusters, limits = task.with_rare(clusters, len(rows), unsettled=found.unsettled)
    allowed = [each for each in found.candidates if not each.barred]
    chosen = sum(not each.barred for each in found.candidates[: found.chosen])
    return Choice(
        task.units, rows, found.placed.subspace, found.placed.rows.evidence, found.placed.tree,
        tuple(each.labels for each in allowed), tuple(each.mixture for each in allowed),
        tuple(each.criterion for each in allowed), chosen, mixture, clusters, stopped, limits,
    )  # fmt: skip


def _latest(stages: Iterator[Stage]) -> tuple[SampledSearch, SearchedRows, bool]:
    """The result of the last stage, or of the last one that was completed before Ctrl-C; and whether that came."""
    latest = None
    try:
        for stage in stages:
            latest = stage
    except KeyboardInterrupt:
        if latest is None:
            raise
        warnings.warn("interrupted: this is the best result so far", ConvergenceWarning, stacklevel=5)
        return *latest, True
    assert latest is not None
    return *latest, False


def _stages(task: SampledSearch) -> Iterator[Stage]:
    """What is known after each step of the search: each result takes the place of the one before it.

    A table is searched as it is; and once more with its columns made symmetric, if that may explain what was found.
    """
    for found in _in_sample(task):
        yield task, found
    rows, search, searched = found
    plain = _settled(task, found)
    yield task, plain
    bounded = task.units.scaled(task.table.take_seen(rows)) if isinstance(task.first, BoundedEntries) else None
    exact = bounded.exact if isinstance(bounded, BoundedEntries) else search.sample
    powers = _powers_in_question(exact, search, searched)
    if powers is None:
        return
    symmetric = replace(task, units=replace(task.units, powers=powers))
    other = _settled(symmetric, last(_in_sample(symmetric)))
    gain = other[2].criterion + _worth_of(powers, exact, search) - plain[2].criterion
    if isinstance(bounded, BoundedEntries):
        gain += _of_intervals(symmetric, other) - _of_intervals(task, plain)
    if gain > 0 and not _hides(other, plain):
        yield symmetric, other


def _in_sample(task: SampledSearch) -> Iterator[SearchedRows]:
    """Search a sample; with categories beside numbers, the numbers alone, and latent classes if these explain more."""
    rows, search = task.of()
    some = search.among_numbers()
    if some is None:
        yield from ((rows, search, found) for found in by_every_proposal(search))
        return
    which, numbers = some
    for found in by_every_proposal(numbers):
        yield rows[which], numbers, found
    classes = last(by_every_proposal(search))
    if _explain_more(classes, numbers, found):
        yield rows, search, classes


def last(stages: Iterator[T]) -> T:
    """The result of the last stage."""
    return deque(stages, maxlen=1)[0]


def _explain_more(classes: Searched, numbers: TreeSearch, found: Searched) -> bool:
    """Whether latent classes explain a table better than what its numbers lead to, and categories tell them apart."""
    likeliest = max(classes.candidates, key=lambda each: each.criterion)
    labels = []
    for each in (classes.best, likeliest):
        assert isinstance(each.mixture, ColumnMixture)
        own = each.mixture.log_densities(numbers.sample)[0].argmax(axis=1)
        labels.append(np.unique(own, return_inverse=True)[1])
    assert numbers.categories is not None
    told_apart = numbers.categories(labels[0]) > np.log(len(labels[0]))
    return told_apart and numbers.criterion_of(found.placed.rows, labels) > found.criterion


def _settled(task: SampledSearch, first: SearchedRows) -> SearchedRows:
    """The search, in a larger sample if need be; its clusters lie on one side of a gap each."""
    rows, search, found = task.enlarged(*first) if first[2].unsettled and not task.hints else first
    return rows, search, across_gaps(search, found)


def _powers_in_question(rows: InMemory, search: TreeSearch, found: Searched) -> Powers | None:
    """The powers that make columns of exact entries symmetric, if they alone gain more than the clusters found."""
    if search.hints or found.best.n_groups == 1:
        return None
    if not isinstance(rows, Entries) or search.sample is not search.wide or rows.dtype.kind == "c":
        return None
    if not is_number(rows.shape[1], search.levels).any():
        return None
    powers = Powers.of(rows, search.levels)
    return powers if powers.n_powers and powers.gain(rows) > found.gain else None


def _worth_of(powers: Powers, rows: InMemory, search: TreeSearch) -> float:
    """What powers add to a criterion, so that those with and without them compare: log |dz/dx| - (p/2) log N."""
    n = search.worth * rows.shape[0]
    slopes = search.worth * float(powers.log_slopes(rows).sum())
    return (slopes / (1 + n / ROWS) if search.for_classes else slopes) - 0.5 * powers.n_powers * float(np.log(n))


def _of_intervals(task: SampledSearch, searched: SearchedRows) -> float:
    """By what the log-probability of intervals, under the clusters found, exceeds the log-density of their sites.

    Sites of one scale have densities that those of another have not; the probabilities of intervals compare.
    """
    rows, search, found = searched
    clusters = clusters_of(search, found)[1]
    bounded = task.units.applied(task.table.take_seen(rows))
    assert isinstance(bounded, BoundedEntries)
    renewed = sites_of(clusters, bounded)
    of_sites, of_rows = (
        float(probabilities(clusters.log_densities(table)[0])[1].sum()) for table in (search.sample, renewed.entries)
    )
    return search.worth * (of_rows + float(renewed.log_scale.sum()) - of_sites)


def _hides(searched: SearchedRows, other: SearchedRows) -> bool:
    """Whether a search found one cluster, and is not clearly better by that than by the partition found otherwise.

    Clearly better is more than `CLEARLY` standard errors (see ``alternatives``).
    """
    rows, search, found = searched
    labels, one = other[2].best.labels, found.best.mixture
    if found.best.n_groups > 1 or not isinstance(one, Mixture) or len(rows) != len(labels):
        return False
    several = search.compared(found.placed.rows, [labels])[0]
    assert isinstance(several.mixture, Mixture)
    evidence = found.placed.rows.evidence
    error = np.sqrt(len(rows)) * np.std(explained(evidence, several.mixture) - explained(evidence, one))
    return bool(found.criterion - several.criterion <= CLEARLY * error)


def clusters_of(search: TreeSearch, found: Searched) -> tuple[Mixture, Clusters]:
    """The components that were chosen, along the axes, and the clusters as they are kept.

    Components without a valley between them are one cluster, unless the number of clusters was given.
    """
    subspace, rows, _ = found.placed
    best = found.best.mixture
    kept: Part
    if not isinstance(best, Mixture):
        densities = best.log_densities(search.sample)[0]
        away = held(densities, search.hints, search.n_clusters)
        occupied, labels = np.unique((densities + away).argmax(axis=1), return_inverse=True)
        mixture, kept = describe(rows, labels, search.worth), best.only(occupied)
        pairs: list[tuple[int, int]] = []
    elif best.n_components > MOST_CLUSTERS and not (search.told or search.hints):
        return _many_clusters(search, found, best)
    else:
        mixture = assign(rows, best, search.hints, search.n_clusters, search.categories)
        kept = _kept(search, subspace, rows, mixture)
        pairs = []
        if not search.told:
            labels = mixture.log_densities(rows.evidence)[0].argmax(axis=1)
            pairs = _without_valley(search, mixture, rows, labels, parts_of(rows, search.within(subspace).blur))
    if not search.hints:
        return mixture, Clusters.of(kept, linked(kept.n_components, pairs))
    densities = kept.log_densities(search.wide.take(search.wide_hints.rows))[0]
    price = float(np.log(search.wide.shape[0]))
    return mixture, Clusters.of(kept, joined(densities, search.wide_hints, price, pairs, search.n_clusters))


def _kept(search: TreeSearch, subspace: Subspace, rows: Rows, mixture: Mixture) -> Part:
    """The components of a mixture: along axes or with independent columns, and with levels beside these."""
    numbers, inner = search.wide_numbers, search.within(subspace)
    evidence = rows.evidence if numbers is search.sample else Evidence.of(inner, numbers)
    own = mixture.log_densities(evidence)[0]
    if search.categories is None:
        away = held(own, search.wide_hints, search.n_clusters)
        return better_explained(numbers, evidence, inner, mixture, search.worth, away)
    categories = search.categories if search.wide is search.sample else LevelEvidence(search.wide, search.levels)
    away = categories.log_shares(probabilities(own + categories.log_shares(probabilities(own)[0]))[0])
    kept = better_explained(numbers, evidence, inner, mixture, search.worth, away)
    return with_levels(kept, search.wide, search.levels, probabilities(kept.log_densities(numbers)[0] + away)[0])


def _without_valley(
    search: TreeSearch, mixture: Mixture, rows: Rows, labels: Index, parts: Index | None
) -> list[tuple[int, int]]:
    """Pairs of components, with their `labels`, without a valley between them, and which no category tells apart."""
    pairs = without_valley(mixture, rows.evidence, labels, parts)
    if search.categories is None or not pairs:
        return pairs
    labels = np.unique(labels, return_inverse=True)[1]
    apart = search.categories(labels) - float(np.log(len(labels)))
    alike = [np.unique(np.where(labels == a, b, labels), return_inverse=True)[1] for a, b in pairs]
    return [pair for pair, together in zip(pairs, alike, strict=True) if search.categories(together) >= apart]


def _many_clusters(search: TreeSearch, found: Searched, best: Mixture) -> tuple[Mixture, Clusters]:
    """The same for many components: rows belong to one each, and only those near a row are looked at."""
    subspace, rows, _ = found.placed
    search.progress(f"fitting {counted(best.n_components, 'component')}", 0)
    numbers, inner = search.wide_numbers, search.within(subspace)
    evidence = rows.evidence if numbers is search.sample else Evidence.of(inner, numbers)
    mixture, labels = refitted(rows, evidence, best)
    apart = columns_of_groups(numbers, labels, SOFT_ROUNDS)
    gain = search.worth * (apart.log_likelihood - mixture.fit)
    cost = apart.complexity - mixture.complexity - axes_complexity(numbers, inner)
    independent = gain > 0.5 * cost * np.log(search.worth * numbers.shape[0])
    kept = apart if independent else AxisMixture(inner, mixture)
    if search.categories is not None:
        kept = with_levels(kept, search.wide, search.levels, labels)
    own = labels if search.wide is search.sample else near_components(mixture, rows.evidence).labels
    pairs = _without_valley(search, mixture, rows, own, None)
    return mixture, Clusters.of(kept, linked(mixture.n_components, pairs))


def refitted(rows: Rows, evidence: Evidence, mixture: Mixture) -> tuple[Mixture, Labels]:
    """Assign rows to their likeliest component and fit components to their rows, a few times; and the labels.

    Components that lose all rows are left out. `evidence` is that of `rows`, or of more rows to fit components to.
    """
    labels: Index = np.zeros(0, np.intp)
    for _ in range(SOFT_ROUNDS):
        again = np.unique(near_components(mixture, evidence).labels, return_inverse=True)[1]
        if np.array_equal(again, labels):
            break
        labels = again
        within = np.einsum("k,kij->ij", mixture.shares, mixture.spreads)
        mixture = fit_groups(evidence, labels, within, rows.prior(int(labels.max()) + 1), mixture.family)
    return mixture, labels
