"""The search for clusters in a subspace: a merge tree, and the partition along it that explains the table best."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.classes import (
    ENOUGH_GAINED,
    Judged,
    by_independent_columns,
    classes_of,
    fewest,
    kmeans_groups,
    known_so_far,
)
from fusewise.automatic.clusters import (
    SOFT_ROUNDS,
    AxisMixture,
    Clusters,
    Part,
    axes_complexity,
    better_explained,
    with_levels,
)
from fusewise.automatic.columns import LevelEvidence, columns_of_groups, only_columns
from fusewise.automatic.comparison import Compared, Comparison, Placed, Searched, assign, interrupted
from fusewise.automatic.criterion import criterion, foreseen
from fusewise.automatic.cuts import (
    MOST_CLUSTERS,
    allowed_nodes,
    best_cuts,
    candidate_nodes,
    grow,
    labels_of,
    partitions,
)
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.automatic.mixture_fit import FIRST_ROUNDS, describe, fit_groups
from fusewise.automatic.nearby import near_components
from fusewise.automatic.rows import Rows, axes_in, fit_axes, parts_of, prior_variances, subspace_of
from fusewise.automatic.settling import coloured, held, joined, log_odds
from fusewise.automatic.tree import MergeTree
from fusewise.automatic.units import Levels, is_number
from fusewise.automatic.valleys import linked, one_hump, without_valley
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import InMemory
from fusewise.progress import Progress
from fusewise.subspace import Subspace
from fusewise.support import counted

#: Initial dimension of the subspace, and the largest one, for many clusters. A table with no more columns than the
#: latter is also searched in all its dimensions; if no direction stands out from the noise, so is one with up to
#: MOST_COLUMNS columns.
RANK, LARGEST_RANK, MOST_COLUMNS = 6, 12, 20
#: Many clusters are looked for among at least this many rows for each; with fewer than the second number of rows in
#: each group that is found, on average, more rows may show more groups.
FEWEST_OF_MANY, CROWDED = 6, 12
#: Rows of the smallest of many clusters.
FEWEST = 5.0
#: With so many rows, many clusters are looked for whatever few dimensions show.
MANY_ROWS = 5000
#: Densities computed to compare two partitions of an incomplete table: of all rows, or of as many as that allows.
MOST_DENSITIES = 20_000_000
#: Turns in which the groups of k-means are fitted and rows are assigned to them.
TURNS = 3
#: Neighbours of each point.
NEIGHBORS = 15
#: EM of axes ends at this gain per entry; at the larger one where many rows are needed to fit a nearly empty table.
TOL, WIDE_TOL = 1e-6, 1e-4


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """A search for clusters.

    Attributes
    ----------
    wide, sample : rows on one scale, to fit columns to and to find clusters in: the same, or a part of them.
    levels : the blocks of columns that hold the levels of a category.
    smallest, smallest_of_many : rows of the smallest cluster considered, among few clusters and among many.
    n_clusters, n_neighbors : numbers to use instead of choosing them.
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
    n_neighbors: int | None
    progress: Progress
    worth: float = 1.0
    hints: Hints = NO_HINTS
    wide_hints: Hints = NO_HINTS
    copies: Real | None = None
    columns: Index | None = None
    categories: LevelEvidence | None = None

    @property
    def for_classes(self) -> bool:
        """Whether latent classes are searched for."""
        return bool(self.levels) and self.columns is None

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

    @property
    def n_columns(self) -> int:
        """How many columns axes are fitted in."""
        return self.wide.shape[1] if self.columns is None else len(self.columns)

    @property
    def most(self) -> int:
        """The largest possible number of dimensions."""
        return min(self.n_columns, self.sample.shape[0] - 1)

    def place(self, rank: int, columns: Index | None = None, start: Subspace | None = None) -> Placed:
        """Place the rows in a subspace, of some columns or all, and fuse them along their neighbours.

        `start` is a subspace of fewer dimensions that was fitted to the same rows: EM may begin with it.
        """
        tol = TOL if self.wide is self.sample else WIDE_TOL
        columns = self.columns if columns is None else columns
        if columns is None:
            if start is not None and (self.wide is not self.sample or not start.basis.any(axis=1).all()):
                start = None  # a sample of so many rows is the better start, and axes of some columns a bad one
            subspace = fit_axes(self.wide, rank, self.progress, tol=tol, start=start)
        else:
            subspace = axes_in(self.wide, columns, rank, self.progress, tol=tol)
        return self.placed_in(subspace)

    def placed_in(self, subspace: Subspace) -> Placed:
        """Place the rows in a given subspace, and fuse them along their neighbours."""
        evidence = Evidence.of(subspace, self.sample)
        rows = Rows.of(evidence, prior_variances(subspace, evidence))
        size = f"{counted(len(rows.places), 'row')} in {counted(subspace.rank, 'dimension')}"
        self.progress(f"merge tree of {size}", 0)
        return Placed(subspace, rows, self._tree(rows))

    def _tree(self, rows: Rows) -> MergeTree:
        """The merge tree; where conflicts leave more groups than asked for, they are first settled in that number."""
        neighbors = self.n_neighbors or NEIGHBORS
        tree = grow(rows, neighbors, self.hints)
        if self.n_clusters is None or tree.forced < self.n_clusters:
            return tree
        parts = [tree.members(node) for node in tree.partitions(1, 1)[0]]
        return grow(rows, neighbors, coloured(self.hints, rows.places, parts, self.n_clusters))

    def __call__(
        self, rank: int, until: int | None = None, columns: Index | None = None, start: Subspace | None = None
    ) -> Searched:
        """Compare the partitions along the tree in a subspace; with `until`, not beyond that number of groups.

        The subspace is one of all columns, or of some; its fit may begin with one of fewer dimensions.

        With conflicts, those along the tree that would be without them are compared as well: hints may part groups at
        odd places.
        """
        placed = self.place(rank, columns, start)
        found = self.along(placed, until)
        if not len(self.hints.conflicts) or found.compared.interrupted:
            return found
        try:
            free = placed._replace(tree=grow(placed.rows, self.n_neighbors or NEIGHBORS))
            return self._better_of(found, self.along(free, until))
        except KeyboardInterrupt:
            return interrupted(found)

    def by_other_ways(self, found: Searched) -> Searched:
        """The search, with partitions that do not follow the tree of all rows as well."""
        return self.by_kmeans(self.by_columns(found))

    def by_kmeans(self, found: Searched) -> Searched:
        """The search, if the number of clusters is given with those of k-means as well.

        The tree is greedy, and its partitions are nested: two groups that it has fused early are never parted again.
        """
        k, places = self.n_clusters, found.placed.rows.places
        if k is None or k == 1 or self.for_classes or self.hints or found.compared.interrupted or len(places) <= k:
            return found
        try:
            others: list[Labels] = []
            labels = kmeans_groups(places, k)
            while len(np.unique(labels)) == k and len(others) <= TURNS:
                others.append(labels)  # where groups spread differently, k-means is only a start
                settled = assign(found.placed.rows, describe(found.placed.rows, labels, self.worth))
                labels = settled.log_densities(found.placed.rows.evidence)[0].argmax(axis=1)
            return self._better_of(found, self._compared(found.placed, others, None)) if others else found
        except KeyboardInterrupt:
            return interrupted(found)

    def by_columns(self, found: Searched) -> Searched:
        """The search, with partitions by mixtures with independent columns as well, which begin with those of the tree.

        Along axes, groups that differ where columns vary little are hidden by what varies more.
        """
        if self.for_classes or self.hints or found.compared.interrupted:
            return found
        numbers = self.sample if self.columns is None else only_columns(self.sample, self.columns)
        try:
            starts = [labels for labels in found.partitions if labels.max() > 0]
            others = [by_independent_columns(numbers, labels, self.smallest) for labels in starts]
            others = sorted((labels for labels in others if labels.max() > 0), key=lambda labels: int(labels.max()))
            rows = found.placed.rows
            others = [labels for labels in others if not one_hump(describe(rows, labels, rounds=FIRST_ROUNDS))]
            return self._better_of(found, self._compared(found.placed, others, None)) if others else found
        except KeyboardInterrupt:
            return interrupted(found)

    def along(self, placed: Placed, until: int | None) -> Searched:
        """Compare the partitions along one tree, or the classes that they lead to."""
        if self.for_classes:
            return self._classes(placed)
        candidates = partitions(
            placed.tree, placed.rows.places, self.smallest, self.n_clusters, copies=self.copies, hints=self.hints
        )
        return self._compared(placed, candidates, until)

    def _compared(
        self, placed: Placed, candidates: list[Labels], until: int | None, rival: float = -np.inf
    ) -> Searched:
        told = self.n_clusters is not None
        compared = self.comparison(placed.rows)(candidates, compare_all=told, until=until, rival=rival)
        return Searched(placed, candidates[: len(compared.criteria)], compared, self._best(compared))

    def _best(self, compared: Compared) -> int:
        return compared.best if self.n_clusters is None or self.hints else len(compared.criteria) - 1

    def _better_of(self, one: Searched, other: Searched) -> Searched:
        """For each number of groups, the partition of two searches that explains the table better.

        With hints the better search: groups are joined by them, so that their number says little.
        """
        if self.hints:
            return max(one, other, key=lambda each: each.criterion)
        kept = list(zip(one.partitions, one.compared.mixtures, one.compared.criteria, strict=True))
        for each in zip(other.partitions, other.compared.mixtures, other.compared.criteria, strict=True):
            number = each[1].n_components
            if number == len(kept) + 1:
                kept.append(each)
            elif number <= len(kept) and each[2] > kept[number - 1][2]:
                kept[number - 1] = each
        labels, mixtures, criteria = zip(*kept, strict=True)
        compared = Compared(mixtures, criteria, other.compared.interrupted)
        return Searched(one.placed, list(labels), compared, self._best(compared))

    def comparison(self, rows: Rows) -> Comparison:
        """Compares partitions of the sample."""
        return Comparison(
            rows, self.sample, self.worth, self.hints, self.n_clusters, self.progress, self.categories
        )  # fmt: skip

    def _classes(self, placed: Placed) -> Searched:
        """Compare the latent classes that the partitions along the tree lead to."""
        told, places, hints = self.n_clusters, placed.rows.places, self.hints
        most = max(MOST_CLUSTERS, 0 if told is None else told + 10)
        candidates = partitions(placed.tree, places, self.smallest, None, most, hints=hints)
        if told is not None and int(candidates[-1].max()) + 1 < told:
            candidates = partitions(placed.tree, places, self.smallest, told, hints=hints)
        candidates, judged, stopped = self._judged(places, candidates)
        compared = Compared((), (), stopped)
        for mixture, value in judged:
            odds = log_odds(mixture.log_densities(self.sample)[0], hints, self.worth, told) if hints else 0.0
            compared = compared.with_one(mixture, value, odds)
        if told is None:
            chosen = fewest(compared.criteria, ENOUGH_GAINED, compared.barred)
        else:
            numbers_of = [mixture.n_components for mixture in compared.mixtures]
            chosen = compared.best if hints else numbers_of.index(told)
        return Searched(placed, candidates, compared, chosen)

    def _judged(self, places: Real, candidates: list[Labels]) -> tuple[list[Labels], list[Judged], bool]:
        """Candidates, the classes they lead to, and whether Ctrl-C ended the comparison; then those known so far."""
        asked = self.levels, self.n_clusters, self.worth, self.hints
        judged: list[Judged] = []
        try:
            for classes in classes_of(self.sample, places, candidates, *asked):
                judged.append(classes)
                self.progress("comparing classes", len(judged), len(candidates), objective=-classes[1])
        except KeyboardInterrupt:
            if not judged:
                raise
            some = counted(len(judged), "number")
            warnings.warn(
                f"interrupted: this is the best of {some} of classes compared", ConvergenceWarning, stacklevel=6
            )
            return *known_so_far(self.sample, candidates, judged, *asked), True
        return candidates, judged[::-1], False

    def in_all_dimensions(self, rank: int | None) -> Searched:
        """The search in as many dimensions as asked for; else in as many as the clusters that are found need."""
        if rank is not None:
            return self.by_other_ways(self(min(rank, self.most)))
        room = min(max(RANK, (self.n_clusters or 1) - 1), LARGEST_RANK, self.most)
        found = self(room, until=LARGEST_RANK + 1 if room < min(LARGEST_RANK, self.most) else None)
        columns = self.n_columns
        whole = columns <= min(MOST_COLUMNS if found.featureless else LARGEST_RANK, self.most)
        wanted = columns if whole else min(found.n_groups - 1, LARGEST_RANK, self.most)
        if found.compared.interrupted or wanted <= found.rank:
            return self.by_other_ways(found)
        try:
            other = self.by_other_ways(self(wanted, start=found.placed.subspace))
        except KeyboardInterrupt:
            return interrupted(found)
        except FloatingPointError:  # the noise beside so many axes is too small to compute with
            return self.by_other_ways(found)
        crowded = found.n_groups > LARGEST_RANK  # where the first search ended
        if not whole or crowded or other.gain > found.gain:
            return other
        if other.compared.interrupted:
            return found._replace(compared=replace(found.compared, interrupted=True))
        return self.by_other_ways(found)

    def with_many(self, found: Searched) -> Searched:
        """The search, or the best of all partitions along the tree if that has many groups and explains more.

        Few dimensions may show nothing of many clusters: where all seems to be one, or the rows are many, they are
        looked for in as many dimensions as there may be.
        """
        n, room = self.sample.shape[0], min(LARGEST_RANK, self.most)
        if found.compared.interrupted or n < FEWEST_OF_MANY * MOST_CLUSTERS or self.hints:
            return found
        try:
            sure = found.chosen > 0 and n < MANY_ROWS
            if sure and len(self._cuts(found.placed)) <= MOST_CLUSTERS:
                return found
            placed = found.placed if found.rank >= room else self.place(room, start=found.placed.subspace)
            few = self.comparison(placed.rows)([found.partitions[found.chosen]], compare_all=True)
            many = self.cut_anywhere(placed, along_tree=True)
            if many.n_groups > MOST_CLUSTERS and many.criterion > few.criteria[0]:
                return many
            return found._replace(unsettled=self._may_win(many, few))
        except KeyboardInterrupt:
            return interrupted(found)

    def _cuts(self, placed: Placed) -> list[int]:
        """The nodes of the best of all partitions along a tree, by the fit of each group to its own rows."""
        allowed = allowed_nodes(placed.tree, min(self.smallest_of_many, FEWEST), self.copies)
        return best_cuts(placed.tree, placed.rows, allowed, lambda labels: describe(placed.rows, labels, self.worth))

    def cut_anywhere(self, placed: Placed | None = None, *, along_tree: bool = False) -> Searched:
        """Compare the best of all partitions along a tree, in as many dimensions as there may be, with one cluster.

        With `along_tree`, also those into growing numbers of groups from the root down.
        """
        placed = placed or self.place(min(LARGEST_RANK, self.most))
        tree, rows = placed.tree, placed.rows
        self.progress("cutting the merge tree", 0)
        found = {len(nodes): nodes for nodes in (self._ladder(tree) if along_tree else [])}
        found |= {len(nodes): nodes for nodes in [self._cuts(placed)] if len(nodes) > 1}
        partitions = [np.zeros(tree.n_points, np.intp)]
        partitions += [labels_of(tree, found[number], rows.places) for number in sorted(found)]
        compared = Compared((), (), interrupted=False)
        for labels in partitions:
            mixture = describe(rows, labels, self.worth)
            most = MOST_DENSITIES // mixture.n_components
            complete = self.sample.is_complete
            judged = criterion(rows.evidence, mixture, complete=complete, worth=self.worth, most_rows=most)
            compared = compared.with_one(mixture, judged, 0.0)
        best = compared.best
        crowded = compared.mixtures[best].n_components * CROWDED > tree.n_points
        return Searched(placed, partitions, compared, best, unsettled=crowded)

    def _ladder(self, tree: MergeTree) -> list[list[int]]:
        """Partitions from the root down into more than `MOST_CLUSTERS` groups, each with half as many again."""
        most = tree.n_points // FEWEST_OF_MANY
        every = candidate_nodes(tree, self.smallest_of_many, None, most, self.copies)
        numbers = MOST_CLUSTERS * 1.5 ** np.arange(1, 20)
        return [every[int(k) - 1] for k in numbers if int(k) <= len(every)]

    def _may_win(self, many: Searched, few: Compared) -> bool:
        """Whether many groups would win with four times the rows, if they explained each of them as well."""
        n, later = self.sample.shape[0], []
        for mixture, judged in zip(
            (*many.compared.mixtures, *few.mixtures), (*many.compared.criteria, *few.criteria), strict=True
        ):
            assert isinstance(mixture, Mixture)
            later.append((foreseen(judged, mixture, n, self.worth, times=4), mixture.n_components))
        return max(later)[1] > MOST_CLUSTERS

    def explains_more(self, found: Searched, few: Searched) -> bool:
        """Whether a search explains its rows better than the groups that were found in fewer of them."""
        best = few.compared.mixtures[few.chosen]
        assert isinstance(best, Mixture)
        densities = best.log_densities(Evidence.of(few.placed.subspace, self.sample))[0]
        labels = np.unique(densities.argmax(axis=1), return_inverse=True)[1]
        return found.criterion > self.comparison(found.placed.rows)([labels], compare_all=True).criteria[0]

    def or_as_before(self, found: Searched, before: Clusters | None) -> Searched:
        """The search, with the clusters found without hints if these explain the table and the hints better.

        Both are judged in the dimensions of the search, of which hints may have changed the number.
        """
        if before is None or self.for_classes:
            return found
        labels = np.unique(before.component_densities(self.sample)[0].argmax(axis=1), return_inverse=True)[1]
        one = self.comparison(found.placed.rows)([labels], compare_all=True)
        if one.barred or one.criteria[0] <= found.criterion:
            return found
        few, known = found.allowed if np.isfinite(found.criterion) else found, one.mixtures[0].n_components
        numbers = [mixture.n_components for mixture in few.compared.mixtures]
        at, end = np.searchsorted(numbers, known), np.searchsorted(numbers, known, side="right")
        mixtures = (*few.compared.mixtures[:at], *one.mixtures, *few.compared.mixtures[end:])
        criteria = (*few.compared.criteria[:at], *one.criteria, *few.compared.criteria[end:])
        partitions = [*few.partitions[:at], labels, *few.partitions[end:]]
        return Searched(few.placed, partitions, Compared(mixtures, criteria, few.compared.interrupted), int(at))

    def clusters(self, found: Searched) -> tuple[Mixture, Clusters]:
        """The components that were chosen, along the axes, and the clusters as they are kept.

        Components without a valley between them are one cluster, unless the number of clusters was given.
        """
        subspace, rows, _ = found.placed
        best, told = found.compared.mixtures[found.chosen], self.n_clusters is not None
        kept: Part
        many = best.n_components > MOST_CLUSTERS and not (told or self.hints or self.categories)
        if isinstance(best, Mixture) and many:
            return self._many_clusters(found, best)
        if not isinstance(best, Mixture):
            densities = best.log_densities(self.sample)[0]
            away = held(densities, self.hints, self.n_clusters)
            labels = np.unique((densities + away).argmax(axis=1), return_inverse=True)[1]
            mixture, kept = describe(rows, labels, self.worth), best.occupied(self.sample, away)
            pairs = []
        else:
            mixture = assign(rows, best, self.hints, self.n_clusters, self.categories)
            kept = self._kept(subspace, rows, mixture)
            pairs = [] if told else self._without_valley(mixture, rows, self.within(subspace).blur)
        group = self._joined_by_hints(kept, pairs) if self.hints else linked(kept.n_components, pairs)
        return mixture, Clusters.of(kept, group)

    def within(self, subspace: Subspace) -> Subspace:
        """The subspace of the columns in which axes are fitted."""
        return subspace if self.columns is None else subspace_of(subspace, self.columns)

    def _kept(self, subspace: Subspace, rows: Rows, mixture: Mixture) -> Part:
        """The components of a mixture: along axes or with independent columns, and with levels beside these."""
        if self.categories is None or self.columns is None:
            evidence = rows.evidence if self.wide is self.sample else Evidence.of(subspace, self.wide)
            away = held(mixture.log_densities(evidence)[0], self.wide_hints, self.n_clusters)
            return better_explained(self.wide, evidence, subspace, mixture, self.worth, away)
        numbers, inner = only_columns(self.wide, self.columns), self.within(subspace)
        evidence = Evidence.of(inner, numbers)
        categories = self.categories if self.wide is self.sample else LevelEvidence(self.wide, self.levels)
        own = mixture.log_densities(evidence)[0]
        away = categories.log_shares(probabilities(own + categories.log_shares(probabilities(own)[0]))[0])
        kept = better_explained(numbers, evidence, inner, mixture, self.worth, away)
        return with_levels(kept, self.wide, self.levels, probabilities(kept.log_densities(numbers)[0] + away)[0])

    def _without_valley(self, mixture: Mixture, rows: Rows, blur: Real | None) -> list[tuple[int, int]]:
        """Pairs of components without a valley between them, and which no category tells apart."""
        pairs = without_valley(mixture, rows.evidence, parts=parts_of(rows, blur))
        if self.categories is None or not pairs:
            return pairs
        labels = np.unique(mixture.log_densities(rows.evidence)[0].argmax(axis=1), return_inverse=True)[1]
        apart = self.categories(labels)
        alike = [self.categories(np.unique(np.where(labels == a, b, labels), return_inverse=True)[1]) for a, b in pairs]
        price = float(np.log(len(labels)))
        return [pair for pair, joined in zip(pairs, alike, strict=True) if joined >= apart - price]

    def _joined_by_hints(self, kept: Part, pairs: list[tuple[int, int]]) -> Index:
        """The cluster of each component: hints join some; of `pairs`, those are joined that hints do not keep apart."""
        densities = kept.log_densities(self.wide.take(self.wide_hints.rows))[0]
        price = float(np.log(self.wide.shape[0]))
        return joined(densities, self.wide_hints, price, pairs, self.n_clusters)

    def _many_clusters(self, found: Searched, best: Mixture) -> tuple[Mixture, Clusters]:
        """The same for many components: rows belong to one each, and only those near a row are looked at."""
        subspace, rows, _ = found.placed
        self.progress(f"fitting {counted(best.n_components, 'component')}", 0)
        evidence = rows.evidence if self.wide is self.sample else Evidence.of(subspace, self.wide)
        mixture, labels = refitted(rows, evidence, best)
        apart = columns_of_groups(self.wide, labels, SOFT_ROUNDS)
        gain = self.worth * (apart.log_likelihood - mixture.fit)
        cost = apart.complexity - mixture.complexity - axes_complexity(self.wide, subspace)
        independent = gain > 0.5 * cost * np.log(self.worth * self.wide.shape[0])
        own = labels if self.wide is self.sample else near_components(mixture, rows.evidence).labels
        group = linked(mixture.n_components, without_valley(mixture, rows.evidence, own))
        return mixture, Clusters.of(apart if independent else AxisMixture(subspace, mixture), group)


def refitted(rows: Rows, evidence: Evidence, mixture: Mixture) -> tuple[Mixture, Labels]:
    """Assign rows to their likeliest component and fit components to their rows, a few times; and the labels.

    Parameters
    ----------
    rows : the rows of the sample.
    evidence : of these, or of more rows that components are fitted to.
    mixture : the components; those that lose all rows are left out.
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
