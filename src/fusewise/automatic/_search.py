"""A search: rows are placed in coordinates, fuse along a tree, and partitions along it are compared.

Proposals are other coordinates and other partitions, each judged by the one criterion: functions that take a search and
what has been found, and return that or something better. Leaving one out of `PROPOSALS` changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb, log
from typing import NamedTuple

import numpy as np

from fusewise.automatic._classes import ENOUGH_GAINED, by_independent_columns, classes_of, fewest, kmeans_groups
from fusewise.automatic._columns import LevelEvidence
from fusewise.automatic._comparison import Candidate, Placed, Searched, assign, best_of, criterion, foreseen
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
from fusewise.automatic._hints import NO_HINTS, Hints, log_odds
from fusewise.automatic._mixture import (
    FIRST_ROUNDS,
    ROUNDS,
    Mixture,
    PartitionFit,
    describe,
    probabilities,
    threads_of_fits,
)
from fusewise.automatic._rows import (
    Rows,
    axes_in,
    fit_axes,
    informative_columns,
    parts_of,
    prior_variances,
)
from fusewise.automatic._units import Levels, is_number, only_columns
from fusewise.automatic._valleys import in_parts, linked, one_hump, without_valley
from fusewise.kernels import Index, Labels, Real, in_threads
from fusewise.observations import InMemory
from fusewise.progress import Progress
from fusewise.subspace import Subspace
from fusewise.support import counted

#: Dimensions searched first, and at most. A table with no more columns than the latter is also searched in all its
#: dimensions.
RANK, LARGEST_RANK = 6, 12
#: All dimensions of so many columns are searched if no axis has twice the variance of the others, and if inverting a
#: matrix for each pattern of missing values takes no more than so many products.
MOST_ALIKE, MOST_INVERTED = 50, 100_000_000
#: Numbers of classes up to this one are all compared; of larger ones some.
EVERY = 12
#: The comparison ends when the criterion has not improved for this many numbers of clusters.
PATIENCE = 8
#: EM of axes ends at this gain per entry; at the larger one where many rows are needed to fit a nearly empty table.
TOL, WIDE_TOL = 1e-6, 1e-4


class Comparing(NamedTuple):
    """A partition whose mixture is not fitted in full yet, and its candidate so far."""

    fit: PartitionFit
    candidate: Candidate


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """A search for clusters.

    Attributes
    ----------
    wide, sample : rows on one scale, to fit columns to and to find clusters in: the same, or a part of them.
    levels : the blocks of columns that hold the levels of a category.
    smallest, smallest_of_many : rows of the smallest cluster considered, among few clusters and among many.
    fewest : the same for the cuts of single branches of the tree, which may be of any number.
    n_clusters : the number of clusters, instead of choosing it.
    progress : told of each step.
    worth : different rows of the whole table that a row is worth (see ``criterion``).
    hints, wide_hints : what is known of the rows of `sample` and `wide`.
    copies : the part that each row of `sample` is of a different row; None if all differ.
    columns : those in which axes are fitted, the numbers beside categories; None: all, or classes are searched for.
    categories : what the categories beside these numbers say about a partition.
    """

    wide: InMemory
    sample: InMemory
    levels: Levels
    smallest: float
    smallest_of_many: float
    n_clusters: int | None
    progress: Progress
    worth: float = 1.0
    hints: Hints = NO_HINTS
    wide_hints: Hints = NO_HINTS
    copies: Real | None = None
    columns: Index | None = None
    categories: LevelEvidence | None = None
    fewest: float = FEWEST

    @property
    def for_classes(self) -> bool:
        """Whether latent classes are searched for."""
        return bool(self.levels) and self.columns is None

    @property
    def told(self) -> bool:
        """Whether the number of clusters is given."""
        return self.n_clusters is not None

    @property
    def n_columns(self) -> int:
        """How many columns axes are fitted in."""
        return self.wide.shape[1] if self.columns is None else len(self.columns)

    @property
    def most(self) -> int:
        """The largest possible number of dimensions."""
        return min(self.n_columns, self.sample.shape[0] - 1)

    @property
    def numbers(self) -> InMemory:
        """The sample in the columns in which axes are fitted."""
        return self.sample if self.columns is None else only_columns(self.sample, self.columns)

    @property
    def wide_numbers(self) -> InMemory:
        """The rows that columns are fitted to in these columns."""
        return self.wide if self.columns is None else only_columns(self.wide, self.columns)

    def among_numbers(self) -> tuple[Index, TreeSearch] | None:
        """The search led by the numbers of a table that also has categories, and which rows of the sample it is in.

        None if the table has no categories, or hardly any numbers.
        """
        numbers = np.flatnonzero(is_number(self.wide.shape[1], self.levels))
        if not self.levels or not len(numbers) or self.hints:
            return None
        which, wide = (np.flatnonzero(only_columns(rows, numbers).row_counts) for rows in (self.sample, self.wide))
        if len(which) < 2:
            return None
        sample = self.sample if len(which) == self.sample.shape[0] else self.sample.take(which)
        return which, replace(
            self,
            wide=sample if self.wide is self.sample else self.wide.take(wide),
            sample=sample,
            copies=None if self.copies is None else self.copies[which],
            columns=numbers,
            categories=LevelEvidence(sample, self.levels),
        )

    def place(self, rank: int, columns: Index | None = None) -> Placed:
        """Place the rows in a subspace, of some columns or all, and fuse them along their neighbours."""
        tol = TOL if self.wide is self.sample else WIDE_TOL
        columns = self.columns if columns is None else columns
        if columns is None:
            subspace = fit_axes(self.wide, rank, self.progress, tol=tol)
        else:
            subspace = axes_in(self.wide, columns, rank, self.progress, tol=tol)
        evidence = Evidence.of(subspace, self.sample)
        rows = Rows.of(evidence, prior_variances(subspace, evidence))
        size = f"{counted(len(rows.places), 'row')} in {counted(subspace.rank, 'dimension')}"
        self.progress(f"merge tree of {size}", 0)
        return Placed(subspace, rows, grow(rows))

    def __call__(self, rank: int, until: int | None = None, columns: Index | None = None) -> Searched:
        """Compare the partitions along the tree in a subspace, or the classes that they lead to.

        With `until`, not beyond that number of groups.
        """
        placed = self.place(rank, columns)
        if self.for_classes:
            return self._classes(placed)
        places, told = placed.rows.places, self.n_clusters
        along = partitions(placed.tree, places, self.smallest, told, copies=self.copies, hints=self.hints)
        return self.result(placed, self.compared(placed.rows, along, compare_all=self.told, until=until))

    def result(self, placed: Placed, candidates: Sequence[Candidate]) -> Searched:
        """What is chosen of some candidates: the best, or that with the number of groups that was asked for."""
        chosen = best_of(candidates)
        if self.told and not self.hints:
            chosen = max(k for k, each in enumerate(candidates) if each.n_groups <= (self.n_clusters or 1))
        elif self.for_classes and not self.told:
            barred = frozenset(k for k, each in enumerate(candidates) if each.barred)
            chosen = fewest([each.criterion for each in candidates], ENOUGH_GAINED, barred)
        return Searched(placed, tuple(candidates), chosen)

    def with_others(self, found: Searched, partitions: Sequence[Labels]) -> Searched:
        """The search with more partitions of the same rows: of each number of groups the better one is kept."""
        partitions = sorted((labels for labels in partitions if labels.max() > 0), key=lambda labels: int(labels.max()))
        if not partitions:
            return found
        return self.result(found.placed, found.with_better(self.compared(found.placed.rows, partitions)))

    def compared(
        self, rows: Rows, partitions: Sequence[Labels], *, compare_all: bool = True, until: int | None = None
    ) -> tuple[Candidate, ...]:
        """Compare partitions in order of their number of groups: all, or until the criterion stops improving.

        First by a few rounds of EM, then those that may be the best in full. With `until`, also stop once a partition
        with that many groups is the best so far.
        """

        def begun(labels: Labels) -> Comparing:
            return self._advanced(PartitionFit(rows, labels, self.worth), FIRST_ROUNDS)

        found: list[Comparing] = []
        most = threads_of_fits(*rows.evidence.shape)
        for each in in_threads(begun, partitions, most=most):
            found.append(each)
            best = best_of([one.candidate for one in found])
            self.progress("comparing partitions", len(found), len(partitions), objective=-each.candidate.criterion)
            enough = until is not None and found[best].candidate.n_groups >= until
            fails = found[best].candidate.barred  # all of them: hints may need more groups
            if not compare_all and not fails and (enough or len(found) - 1 - best >= PATIENCE):
                break
        self._settle(found, most)
        return tuple(each.candidate for each in found)

    def _settle(self, found: list[Comparing], most: int) -> None:
        """Fit in full one group, with which others are compared, the best, and all that may still be better."""
        wanted = {k for k, each in enumerate(found) if each.candidate.n_groups in (1, self.n_clusters)}
        while True:
            now = [each.candidate for each in found]
            best = best_of(now)
            reaching = {k for k, each in enumerate(found) if now[k].criterion + each.fit.left >= now[best].criterion}
            # First the best alone: others may then be out of reach.
            wanted |= reaching if found[best].fit.done else reaching & {best}
            waiting = [k for k in sorted(wanted) if not found[k].fit.done]
            if not waiting:
                return
            finished = in_threads(lambda k: self._advanced(found[k].fit, ROUNDS), waiting, most=most)
            for k, each in zip(waiting, finished, strict=True):
                found[k] = each

    def _advanced(self, fit: PartitionFit, rounds: int) -> Comparing:
        fit.advance(rounds)
        evidence, mixture, worth = fit.rows.evidence, fit.mixture, self.worth
        judged = criterion(evidence, mixture, complete=self.sample.is_complete, worth=worth)
        if self.categories is not None:
            judged += worth * self.categories(fit.labels)
        odds: float | None = 0.0
        if self.hints:
            odds = log_odds(mixture.log_densities(evidence)[0], self.hints, worth, self.n_clusters)
        return Comparing(fit, Candidate(fit.labels, mixture, judged + (odds or 0.0), barred=odds is None))

    def criterion_of(self, rows: Rows, partitions: Sequence[Labels]) -> float:
        """The largest criterion of some partitions of the sample."""
        return max(each.criterion for each in self.compared(rows, partitions))

    def _classes(self, placed: Placed) -> Searched:
        """Compare the latent classes that the partitions along the tree lead to."""
        told, places, hints = self.n_clusters, placed.rows.places, self.hints
        most = max(MOST_CLUSTERS, 0 if told is None else told + 10)
        along = partitions(placed.tree, places, self.smallest, None, most, hints=hints)
        if told is not None and int(along[-1].max()) + 1 < told:
            along = partitions(placed.tree, places, self.smallest, told, hints=hints)
        spaced = ((along[-1].max() + 1) * 0.8 ** np.arange(20)).astype(int)  # beyond `EVERY`, each a quarter larger
        along = [each for each in along if (k := each.max() + 1) <= EVERY or k in spaced or k == told]
        found, candidates = classes_of(self.sample, places, along, self.levels, told, self.worth, hints), []
        for labels, (mixture, value) in zip(reversed(along), found, strict=True):
            odds = log_odds(mixture.log_densities(self.sample)[0], hints, self.worth, told) if hints else 0.0
            candidates.append(Candidate(labels, mixture, value + (odds or 0.0), barred=odds is None))
            self.progress("comparing classes", len(candidates), len(along), objective=-value)
        return self.result(placed, candidates[::-1])

    def within(self, subspace: Subspace) -> Subspace:
        """The subspace of the columns in which axes are fitted."""
        return subspace if self.columns is None else subspace.of_columns(self.columns)


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
    """All dimensions if these are few; else as many as the centres of the clusters that were found span.

    For latent classes coordinates are only where EM begins: others changed nothing on average over 53 tables.
    """
    columns = search.n_columns
    if search.for_classes:
        return found
    whole = columns <= min(LARGEST_RANK, search.most)
    wanted = columns if whole else min(found.best.n_groups - 1, LARGEST_RANK, search.most)
    if wanted <= found.placed.subspace.rank:
        return found
    try:
        other = search(wanted)
    except FloatingPointError:  # the noise beside so many axes is too small to compute with
        return found
    crowded = found.best.n_groups > LARGEST_RANK  # where the first search ended
    return other if not whole or crowded or other.gain > found.gain else found


def axes_alike(search: TreeSearch, found: Searched) -> Searched:
    """All dimensions of more columns, by the tree and by k-means, if no axis stands out.

    Columns such as the scores of a principal component analysis are uncorrelated: brought to one variance, any axes are
    as good as others, and a few of them show nothing.
    """
    subspace, columns = found.placed.subspace, search.n_columns
    n_rows, work = search.sample.shape[0], columns**3 * found.placed.rows.evidence.precision.shape[2]
    if not LARGEST_RANK < columns <= min(MOST_ALIKE, n_rows // 2) or work > MOST_INVERTED:
        return found  # with hardly more rows than columns noise would be cut
    if search.for_classes or search.hints or subspace.variances.max() >= subspace.noise:
        return found
    other = search(columns)
    numbers = [search.n_clusters] if search.n_clusters else range(2, MOST_CLUSTERS + 1)
    groups = [kmeans_groups(other.placed.rows.places, k) for k in numbers if k < len(other.placed.rows.places)]
    smallest = 1 if search.told else search.smallest
    other = search.with_others(other, [each for each in groups if np.bincount(each).min() >= smallest])
    return other if other.gain > found.gain else found


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
    labels = kmeans_groups(rows.places, k)
    # where groups spread differently, k-means is only a start
    settled = assign(rows, describe(rows, labels, search.worth)).log_densities(rows.evidence)[0].argmax(axis=1)
    return search.with_others(found, [each for each in (labels, settled) if len(np.unique(each)) == k])


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
    cost = log(comb(search.wide.shape[1], len(columns)))
    return other if other.gain - cost > max(found.gain, 0.0) else found


def many_clusters(search: TreeSearch, found: Searched) -> Searched:
    """The best of all partitions along the tree if that has many groups and explains more.

    Few dimensions may show nothing of many clusters: where all seems to be one, or the rows are many, they are looked
    for in as many dimensions as there may be.
    """
    n, room, weighted = search.sample.shape[0], min(LARGEST_RANK, search.most), search.wide.weights is not None
    if search.told or search.for_classes or search.hints or weighted or n < ROWS_PER_CLUSTER * MOST_CLUSTERS:
        return found
    sure = found.chosen > 0 and n < MANY_ROWS
    if sure and len(_cuts(search, found.placed)) <= MOST_CLUSTERS:
        return found
    placed = found.placed if found.placed.subspace.rank >= room else search.place(room)
    few = search.compared(placed.rows, [found.best.labels])[0]
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
    allowed = allowed_nodes(placed.tree, min(search.smallest_of_many, search.fewest), search.copies)
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
    Other rows are in the component that explains them best. Many small clusters are left as they are.
    """
    rows, many = found.placed.rows, found.best.n_groups > MOST_CLUSTERS
    if many or search.told or search.hints or not isinstance(found.best.mixture, Mixture):
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
    candidates = found.with_better(search.compared(rows, [np.where(labels < 0, placed, labels)]), replacing=True)
    chosen = [each.n_groups for each in candidates].index(int(labels.max()) + 1)
    return replace(found, candidates=candidates, chosen=chosen)


def _within(parts: Index, labels: Labels) -> bool:
    """Whether each group of a partition is on one side of all gaps."""
    counts = in_parts(labels, parts, int(labels.max()) + 1)
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

    tree = grow(rows)
    return max(partitions(tree, rows.places, ROWS_EACH * r, None, MOST_COMPONENTS), key=value)


#: Tried in this order, each on what the ones before have found.
PROPOSALS: tuple[Callable[[TreeSearch, Searched], Searched], ...] = (
    more_dimensions,
    axes_alike,
    independent_columns,
    kmeans,
    some_columns,
    many_clusters,
)


def by_every_proposal(search: TreeSearch) -> Iterator[Searched]:
    """The search in few dimensions; then the same after each of the other proposals."""
    few = min(max(RANK, (search.n_clusters or 1) - 1), LARGEST_RANK, search.most)
    found = search(few, until=LARGEST_RANK + 1 if few < min(LARGEST_RANK, search.most) else None)
    yield found
    for proposal in PROPOSALS:
        found = proposal(search, found)
        yield found
