"""The search for clusters in a subspace: a merge tree, and the partition along it that explains the table best."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.axes import fit_axes, prior_variances
from fusewise.automatic.candidates import (
    MOST_CLUSTERS,
    PATIENCE,
    Compared,
    Rows,
    assign,
    candidate_nodes,
    compare,
    describe,
    from_best_known,
    grow,
    labels_of,
    partitions,
)
from fusewise.automatic.classes import ENOUGH_GAINED, classes_of, fewest
from fusewise.automatic.clusters import Clusters, Joined, better_explained
from fusewise.automatic.columnwise import Levels, is_number
from fusewise.automatic.copies import shares_of_copies, worth_of_rows
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.merge_tree import MergeTree
from fusewise.automatic.mixture import Mixture
from fusewise.automatic.settling import coloured, held, joined, log_odds
from fusewise.automatic.valleys import linked, without_valley
from fusewise.kernels.types import Index, Labels, Real
from fusewise.kernels.words import counted
from fusewise.observations import InMemory
from fusewise.progress import Progress
from fusewise.subspace import Subspace

#: Initial dimension of the subspace, and the largest one, for many clusters. A table with no more columns than the
#: latter is also searched in all its dimensions; if no direction stands out from the noise, so is one with up to
#: MOST_COLUMNS columns.
RANK, LARGEST_RANK, MOST_COLUMNS = 6, 12, 20
#: Neighbours of each point.
NEIGHBORS = 15
#: EM of axes ends at this gain per entry; at the larger one where many rows are needed to fit a nearly empty table.
TOL, WIDE_TOL = 1e-6, 1e-4
#: Up to so many clusters are compared among so many rows, with at least so many rows each on average; first at numbers
#: that grow by this factor, then around the best of them.
MANY, MANY_AMONG, ROWS_EACH, LADDER = 150, 5000, 6, 1.41
#: If more than this share of the largest number of clusters is found, there may be more.
NEAR_THE_END = 0.7


class Placed(NamedTuple):
    """Rows placed in a subspace, and their merge tree."""

    subspace: Subspace
    rows: Rows
    tree: MergeTree


class Searched(NamedTuple):
    """The result of a search: the partitions that were compared, in order of the number of groups, and the best."""

    placed: Placed
    partitions: list[Labels]
    compared: Compared
    chosen: int
    unsettled: bool = False  # more rows may show more clusters

    @property
    def gain(self) -> float:
        """How much better the chosen partition explains the entries than a single cluster."""
        return self.compared.criteria[self.chosen] - self.compared.criteria[0]

    @property
    def criterion(self) -> float:
        """The criterion of the chosen partition; minus infinity if hints bar all of them."""
        barred = self.chosen in self.compared.barred
        return -np.inf if barred else self.compared.criteria[self.chosen]

    @property
    def allowed(self) -> Searched:
        """The same without the partitions that break hints."""
        kept = [k for k in range(len(self.partitions)) if k not in self.compared.barred]
        mixtures = tuple(self.compared.mixtures[k] for k in kept)
        criteria = tuple(self.compared.criteria[k] for k in kept)
        compared = Compared(mixtures, criteria, self.compared.interrupted)
        return Searched(self.placed, [self.partitions[k] for k in kept], compared, kept.index(self.chosen))

    @property
    def n_groups(self) -> int:
        """Groups of the chosen partition."""
        return int(self.partitions[self.chosen].max()) + 1

    @property
    def rank(self) -> int:
        """Dimensions searched."""
        return self.placed.subspace.rank

    @property
    def featureless(self) -> bool:
        """Whether rows vary less along the axes than about them: other axes would have done as well."""
        return bool(self.placed.rows.variances.mean() < self.placed.subspace.noises.mean())


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
    stands_for : how many rows of a larger table each row stands for.
    hints, wide_hints : what is known of the rows of `sample` and `wide`.
    """

    wide: InMemory
    sample: InMemory
    levels: Levels
    smallest: float
    smallest_of_many: float
    n_clusters: int | None
    n_neighbors: int | None
    progress: Progress
    stands_for: float = 1.0
    hints: Hints = NO_HINTS
    wide_hints: Hints = NO_HINTS

    @cached_property
    def copies(self) -> Real | None:
        """The part that each row is of a different row; None if all differ."""
        return shares_of_copies(self.sample)

    @property
    def worth(self) -> float:
        """How many different rows of the whole table a row is worth."""
        return self.stands_for * worth_of_rows(self.copies)

    @property
    def most(self) -> int:
        """The largest possible number of dimensions."""
        return min(self.wide.shape[1], self.sample.shape[0] - 1)

    def place(self, rank: int) -> Placed:
        """Place the rows in a subspace and fuse them along their neighbours."""
        tol = TOL if self.wide is self.sample else WIDE_TOL
        subspace = fit_axes(self.wide, rank, self.progress, tol=tol)
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

    def __call__(self, rank: int, until: int | None = None) -> Searched:
        """Compare the partitions along the tree in a subspace; with `until`, not beyond that number of groups.

        With conflicts, those along the tree that would be without them are compared as well: hints may part groups at
        odd places. If entries are missing, so are those along the tree of the rows that are known best.
        """
        placed = self.place(rank)
        found = self._along(placed, until)
        neighbors = self.n_neighbors or NEIGHBORS
        crowded = until is not None and found.n_groups >= until  # to be searched again, in more dimensions
        try:
            if len(self.hints.conflicts) and not found.compared.interrupted:
                free = placed._replace(tree=grow(placed.rows, neighbors))
                found = self._better_of(found, self._along(free, until))
            if self.levels or self.sample.is_complete or found.compared.interrupted or crowded:
                return found
            most = found.n_groups + PATIENCE
            others = from_best_known(placed.rows, self.smallest, self.n_clusters, neighbors, most, self.copies)
            return self._better_of(found, self._compared(placed, others, until)) if others else found
        except KeyboardInterrupt:
            return _interrupted(found)

    def _along(self, placed: Placed, until: int | None) -> Searched:
        """Compare the partitions along one tree, or the classes that they lead to."""
        if self.levels:
            return self._classes(placed)
        candidates = partitions(
            placed.tree, placed.rows.places, self.smallest, self.n_clusters, copies=self.copies, hints=self.hints
        )
        return self._compared(placed, candidates, until)

    def _compared(self, placed: Placed, candidates: list[Labels], until: int | None) -> Searched:
        told = self.n_clusters is not None
        compared = self.compare(placed.rows, candidates, compare_all=told, until=until)
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

    def compare(self, rows: Rows, candidates: list[Labels], *, compare_all: bool, until: int | None = None) -> Compared:
        """Compare partitions of the sample (see ``candidates.compare``)."""
        return compare(
            rows,
            self.sample,
            candidates,
            compare_all=compare_all,
            until=until,
            worth=self.worth,
            progress=self.progress,
            hints=self.hints,
            n_clusters=self.n_clusters,
        )

    def _classes(self, placed: Placed) -> Searched:
        """Compare the latent classes that the partitions along the tree lead to."""
        told, places, hints = self.n_clusters, placed.rows.places, self.hints
        most = max(MOST_CLUSTERS, 0 if told is None else told + 10)
        candidates = partitions(placed.tree, places, self.smallest, None, most, hints=hints)
        if told is not None and int(candidates[-1].max()) + 1 < told:
            candidates = partitions(placed.tree, places, self.smallest, told, hints=hints)
        judged = []
        for classes in classes_of(self.sample, candidates, self.levels, told, self.worth, hints):
            judged.append(classes)
            self.progress("comparing classes", len(judged), len(candidates), objective=-classes[1])
        compared = Compared((), (), interrupted=False)
        for mixture, criterion in judged[::-1]:
            odds = log_odds(mixture.log_densities(self.sample)[0], hints, self.worth, told) if hints else 0.0
            compared = compared.with_one(mixture, criterion, odds)
        numbers = is_number(self.sample.real().shape[1], self.levels).any()
        if told is None:
            chosen = fewest(compared.criteria, ENOUGH_GAINED if numbers else 1.0, compared.barred)
        else:
            chosen = compared.best if hints else told - 1
        return Searched(placed, candidates, compared, chosen)

    def in_all_dimensions(self, rank: int | None) -> Searched:
        """The search in as many dimensions as asked for; else in as many as the clusters that are found need."""
        if rank is not None:
            return self(min(rank, self.most))
        room = min(max(RANK, (self.n_clusters or 1) - 1), LARGEST_RANK, self.most)
        found = self(room, until=LARGEST_RANK + 1 if room < min(LARGEST_RANK, self.most) else None)
        columns = self.wide.shape[1]
        whole = columns <= min(MOST_COLUMNS if found.featureless else LARGEST_RANK, self.most)
        wanted = columns if whole else min(found.n_groups - 1, LARGEST_RANK, self.most)
        if found.compared.interrupted or wanted <= found.rank:
            return found
        try:
            other = self(wanted)
        except KeyboardInterrupt:
            return _interrupted(found)
        crowded = found.n_groups > LARGEST_RANK  # where the first search ended
        return other if not whole or crowded or other.gain > found.gain else found

    def or_as_before(self, found: Searched, before: Clusters | None) -> Searched:
        """The search, with the clusters found without hints if these explain the table and the hints better.

        Both are judged in the dimensions of the search, of which hints may have changed the number.
        """
        if before is None or self.levels:
            return found
        parts = before.parts if isinstance(before, Joined) else before
        labels = np.unique(parts.log_densities(self.sample)[0].argmax(axis=1), return_inverse=True)[1]
        one = self.compare(found.placed.rows, [labels], compare_all=True)
        if one.barred or one.criteria[0] <= found.criterion:
            return found
        few, known = found.allowed if np.isfinite(found.criterion) else found, one.mixtures[0].n_components
        numbers = [mixture.n_components for mixture in few.compared.mixtures]
        at, end = np.searchsorted(numbers, known), np.searchsorted(numbers, known, side="right")
        mixtures = (*few.compared.mixtures[:at], *one.mixtures, *few.compared.mixtures[end:])
        criteria = (*few.compared.criteria[:at], *one.criteria, *few.compared.criteria[end:])
        partitions = [*few.partitions[:at], labels, *few.partitions[end:]]
        return Searched(few.placed, partitions, Compared(mixtures, criteria, few.compared.interrupted), int(at))

    def for_many(self, found: Searched) -> Searched:
        """Also compare numbers of clusters beyond `MOST_CLUSTERS`; K = 1 may win for want of looking far enough."""
        if found.compared.interrupted or self._most_of_many <= MOST_CLUSTERS:
            return found
        try:
            room = min(LARGEST_RANK, self.most)
            placed = found.placed if found.rank >= room else self.place(room)
            ladder = self._ladder(placed, MOST_CLUSTERS)
            better = ladder.climb() > max(ladder.gain_of(found), 0.0)
            return ladder.searched() if better else found._replace(unsettled=found.chosen == 0 and ladder.rises)
        except KeyboardInterrupt:
            return _interrupted(found)

    def among_all(self) -> Searched:
        """Compare some numbers of clusters from one to the largest, in a larger sample (see ``for_many``)."""
        ladder = self._ladder(self.place(min(LARGEST_RANK, self.most)), 1)
        ladder.climb()
        return ladder.searched()

    @property
    def _most_of_many(self) -> int:
        n = self.sample.shape[0]
        return min(max(MANY, MANY * n // MANY_AMONG), n // ROWS_EACH)

    def _ladder(self, placed: Placed, beyond: int) -> _Ladder:
        nodes = candidate_nodes(placed.tree, self.smallest_of_many, None, self._most_of_many, self.copies, self.hints)
        return _Ladder(self, placed, nodes, beyond)

    def clusters(self, found: Searched) -> tuple[Mixture, Clusters]:
        """The components that were chosen, along the axes, and the clusters as they are kept.

        Components without a valley between them are one cluster, unless the number of clusters was given.
        """
        subspace, rows, _ = found.placed
        best = found.compared.mixtures[found.chosen]
        kept: Clusters
        if not isinstance(best, Mixture):
            densities = best.log_densities(self.sample)[0]
            away = held(densities, self.hints, self.n_clusters)
            labels = np.unique((densities + away).argmax(axis=1), return_inverse=True)[1]
            mixture, kept = describe(rows, labels, self.worth), best.occupied(self.sample, away)
            pairs: list[tuple[int, int]] = []
        else:
            mixture = assign(rows, best, self.hints, self.n_clusters)
            evidence = rows.evidence if self.wide is self.sample else Evidence.of(subspace, self.wide)
            away = held(mixture.log_densities(evidence)[0], self.wide_hints, self.n_clusters)
            kept = better_explained(self.wide, evidence, subspace, mixture, self.worth, away)
            pairs = without_valley(mixture, rows.evidence) if self.n_clusters is None else []
        group = self._joined_by_hints(kept, pairs) if self.hints else linked(kept.n_components, pairs)
        return mixture, kept if group.max() + 1 == len(group) else Joined(kept, group)

    def _joined_by_hints(self, kept: Clusters, pairs: list[tuple[int, int]]) -> Index:
        """The cluster of each component: hints join some; of `pairs`, those are joined that hints do not keep apart."""
        densities = kept.log_densities(self.wide.take(self.wide_hints.rows))[0]
        price = float(np.log(self.wide.shape[0]))
        return joined(densities, self.wide_hints, price, pairs, self.n_clusters)


class _Ladder:
    """Partitions into more than `beyond` groups, compared at numbers that grow, then around the best."""

    def __init__(self, search: TreeSearch, placed: Placed, nodes: list[list[int]], beyond: int):
        self.search, self.placed, self.beyond = search, placed, beyond
        self.nodes = {len(each): each for each in nodes}
        self.known: dict[int, tuple[Mixture, float]] = {}
        self.barred: set[int] = set()
        self.rungs: list[int] = []

    def labels(self, number: int) -> Labels:
        """The partition into so many groups; one at a time, as thousands of long ones would fill the memory."""
        tree, places = self.placed.tree, self.placed.rows.places
        if number not in self.nodes:  # one group, which conflicts forbid, for comparison
            return np.zeros(tree.n_points, np.intp)
        return labels_of(tree, self.nodes[number], places, self.search.hints)

    def judge(self, numbers: Sequence[int]) -> int:
        """Compare some numbers of groups; returns the best of many so far, or 1 if there is none."""
        possible = [k for k in numbers if k == 1 or (k > self.beyond and k in self.nodes)]
        new = [k for k in dict.fromkeys(possible) if k not in self.known]
        if new:
            some = [self.labels(k) for k in new]
            compared = self.search.compare(self.placed.rows, some, compare_all=True)
            self.barred |= {new[k] for k in compared.barred}
            for k, mixture, criterion in zip(new, compared.mixtures, compared.criteria, strict=True):
                assert isinstance(mixture, Mixture)
                self.known[k] = mixture, criterion
        return max((k for k in self.known if k > 1 and k not in self.barred), key=lambda k: self.known[k][1], default=1)

    def climb(self) -> float:
        """Compare until no neighbouring number is better; returns the gain of the best over one cluster."""
        last = max(self.nodes)
        rungs = sorted({int(max(self.beyond, 2) * LADDER**k) for k in range(self.beyond > 1, 25)})
        self.rungs = [*(k for k in rungs if k < last), last]
        best = self.judge([1, *self.rungs])
        step = max(2, best // 6)
        while best > 1 and step:
            better = self.judge([best - step, best + step])
            step = step if better != best else step // 2
            best = better
        return self.known[best][1] - self.known[1][1]

    def gain_of(self, found: Searched) -> float:
        """The gain over one cluster of another search's partition, in these dimensions: gains in others differ."""
        if found.placed is self.placed:
            return found.gain
        compared = self.search.compare(self.placed.rows, [found.partitions[found.chosen]], compare_all=True)
        return compared.criteria[0] - self.known[1][1]

    @property
    def rises(self) -> bool:
        """Whether the criterion rises again from one rung to the next, to where it would win with four times the rows.

        Likelihoods would be four times as large, but for what parameters gain by chance, and log N a little larger.
        """
        n = self.search.worth * self.search.sample.shape[0]

        def foreseen(number: int) -> float:
            mixture, criterion = self.known[number]
            by_chance = 0.5 * mixture.complexity
            cost = by_chance + mixture.n_components - 1
            return 4 * (criterion + cost * float(np.log(n))) - 3 * by_chance - cost * float(np.log(4 * n))

        steps = pairwise(k for k in self.rungs if k in self.known)
        further = [later for earlier, later in steps if self.known[later][1] > self.known[earlier][1]]
        return any(foreseen(number) > foreseen(1) for number in further)

    def searched(self) -> Searched:
        """What was compared, in order of the number of groups; unsettled if the best is near the largest number."""
        numbers = sorted(self.known)
        mixtures, criteria = zip(*(self.known[k] for k in numbers), strict=True)
        barred = frozenset(at for at, k in enumerate(numbers) if k in self.barred)
        compared = Compared(mixtures, criteria, interrupted=False, barred=barred)
        best = compared.best
        unsettled = numbers[best] > NEAR_THE_END * max(self.nodes)
        return Searched(self.placed, [self.labels(k) for k in numbers], compared, best, unsettled)


def _interrupted(found: Searched) -> Searched:
    """The search so far, after Ctrl-C in a further one."""
    searched = counted(found.rank, "dimension")
    warnings.warn(f"interrupted: this is the best result in {searched}", ConvergenceWarning, stacklevel=6)
    return found._replace(compared=replace(found.compared, interrupted=True))
