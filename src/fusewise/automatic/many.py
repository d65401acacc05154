"""The search for many clusters: numbers beyond ``candidates.MOST_CLUSTERS``, compared at widening intervals.

The search for very many clusters in a large sample, at a cost that grows with the rows, not with K rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from fusewise.automatic.clusters import SOFT_ROUNDS, AlongAxes, Clusters, axes_complexity, joined_clusters
from fusewise.automatic.columns import columns_of_groups
from fusewise.automatic.comparison import PATIENCE, Compared, Placed, Searched, interrupted
from fusewise.automatic.criterion import criterion, foreseen
from fusewise.automatic.cuts import MOST_CLUSTERS, allowed_nodes, best_cuts, candidate_nodes, labels_of
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import Mixture
from fusewise.automatic.mixture_fit import describe, fit_groups
from fusewise.automatic.nearby import near_components
from fusewise.automatic.rows import Rows
from fusewise.automatic.search import LARGEST_RANK, TreeSearch
from fusewise.automatic.valleys import linked, without_valley
from fusewise.kernels.types import Index, Labels
from fusewise.kernels.words import counted

#: Up to so many clusters are compared among so many rows, with at least so many rows each on average; first at numbers
#: that grow by this factor, then around the best of them.
MANY, MANY_AMONG, ROWS_EACH, LADDER = 150, 5000, 6, 1.41
#: If more than this share of the largest number of clusters is found, there may be more.
NEAR_THE_END = 0.7


def for_many(search: TreeSearch, found: Searched) -> Searched:
    """Also compare numbers of clusters beyond `MOST_CLUSTERS`; K = 1 may win for want of looking far enough."""
    if found.compared.interrupted or _most_of_many(search) <= MOST_CLUSTERS:
        return found
    try:
        room = min(LARGEST_RANK, search.most)
        ladder = Ladder(search, found.placed)
        # Few dimensions may show nothing of many clusters: where all seems to be one, or the rows are many, look again.
        sure = found.chosen and search.sample.shape[0] < MANY_AMONG
        if sure and not ladder.promising(found):
            return found
        if found.rank < room:
            ladder = Ladder(search, search.place(room, start=found.placed.subspace))
        best, few = ladder.climb(), ladder.judged(found)
        if best[1] > max(few[1], ladder.known[1][1]):
            return ladder.searched()
        return found._replace(unsettled=ladder.may_win(few))
    except KeyboardInterrupt:
        return interrupted(found)


def _most_of_many(search: TreeSearch) -> int:
    n = search.sample.shape[0]
    return min(max(MANY, MANY * n // MANY_AMONG), n // ROWS_EACH)


class Ladder:
    """Partitions into more than `MOST_CLUSTERS` groups, compared at numbers that grow, then around the best."""

    def __init__(self, search: TreeSearch, placed: Placed):
        self.search, self.placed = search, placed
        most = _most_of_many(search)
        nodes = candidate_nodes(placed.tree, search.smallest_of_many, None, most, search.copies, search.hints)
        self.nodes = {len(each): each for each in nodes}
        self.known: dict[int, tuple[Mixture, float]] = {}
        self.barred: set[int] = set()
        last = max(self.nodes)
        self.rungs = [k for k in sorted({int(MOST_CLUSTERS * LADDER**k) for k in range(1, 25)}) if k < last]
        self.rungs += [last] if last > MOST_CLUSTERS else []

    def labels(self, number: int) -> Labels:
        """The partition into so many groups; one at a time, as thousands of long ones would fill the memory."""
        tree, places = self.placed.tree, self.placed.rows.places
        if number not in self.nodes:  # one group, which conflicts forbid, for comparison
            return np.zeros(tree.n_points, np.intp)
        return labels_of(tree, self.nodes[number], places, self.search.hints)

    def judge(self, numbers: Sequence[int]) -> int:
        """Compare some numbers of groups; returns the best of many so far, or 1 if there is none."""
        possible = [k for k in numbers if k == 1 or (k > MOST_CLUSTERS and k in self.nodes)]
        new = [k for k in dict.fromkeys(possible) if k not in self.known]
        if new:
            some = [self.labels(k) for k in new]
            rival = max((criterion for _, criterion in self.known.values()), default=-np.inf)
            compared = self.search.comparison(self.placed.rows)(some, compare_all=True, rival=rival)
            self.barred |= {new[k] for k in compared.barred}
            for k, mixture, criterion in zip(new, compared.mixtures, compared.criteria, strict=True):
                assert isinstance(mixture, Mixture)
                self.known[k] = mixture, criterion
        return max((k for k in self.known if k > 1 and k not in self.barred), key=lambda k: self.known[k][1], default=1)

    def promising(self, found: Searched) -> bool:
        """Whether a search along the same tree leaves room for many clusters.

        It does if it ended before the criterion had stopped improving; else if along the ladder the criterion exceeds
        its best, rises from one rung to the next, or would win with more rows.
        """
        if not self.rungs or found.placed is not self.placed:
            return bool(self.rungs)
        if len(found.compared.criteria) <= found.chosen + PATIENCE:
            return True
        criteria = found.compared.criteria
        assert isinstance(found.compared.mixtures[0], Mixture)
        self.known[1] = found.compared.mixtures[0], criteria[0]
        self.judge(self.rungs)
        along = [self.known[k][1] for k in self.rungs]
        rises = any(later > earlier for earlier, later in pairwise(along))
        return max(along) > criteria[found.chosen] or rises or self.may_win(self.judged(found))

    def climb(self) -> tuple[Mixture, float]:
        """Compare until no neighbouring number is better; returns the best and its criterion."""
        best = self.judge([1, *self.rungs])
        step = max(2, best // 6)
        while best > 1 and step:
            better = self.judge([best - step, best + step])
            step = step if better != best else step // 2
            best = better
        return self.known[best]

    def judged(self, found: Searched) -> tuple[Mixture, float]:
        """Another search's partition in these dimensions (criteria in others differ), and its criterion."""
        compared, chosen = found.compared, found.chosen
        if found.placed is not self.placed:
            compared = self.search.comparison(self.placed.rows)([found.partitions[chosen]], compare_all=True)
            chosen = 0
        mixture = compared.mixtures[chosen]
        assert isinstance(mixture, Mixture)
        return mixture, compared.criteria[chosen]

    def may_win(self, few: tuple[Mixture, float]) -> bool:
        """Whether with four times the rows a rung would win over a single cluster and the `few` that were found."""
        n, worth = self.search.sample.shape[0], self.search.worth

        def later(known: tuple[Mixture, float]) -> float:
            mixture, judged = known
            return foreseen(judged, mixture, n, worth, times=4)

        least = max(later(few), later(self.known[1]))
        return any(later(self.known[number]) > least for number in self.rungs if number in self.known)

    def searched(self) -> Searched:
        """What was compared, in order of the number of groups; unsettled if the best is near the largest number."""
        numbers = sorted(self.known)
        mixtures, criteria = zip(*(self.known[k] for k in numbers), strict=True)
        barred = frozenset(at for at, k in enumerate(numbers) if k in self.barred)
        compared = Compared(mixtures, criteria, interrupted=False, barred=barred)
        best = compared.best
        unsettled = numbers[best] > NEAR_THE_END * max(self.nodes)
        return Searched(self.placed, [self.labels(k) for k in numbers], compared, best, unsettled)


#: Rows of the smallest group.
FEWEST = 5.0
#: With fewer rows in each group on average, more rows may show more groups.
CROWDED_ROWS = 12
#: Densities computed to compare two partitions of an incomplete table: of all rows, or of as many as that allows.
MOST_DENSITIES = 20_000_000


class CrowdedSearch(TreeSearch):
    """A search for clusters, as many as there are: the tree is cut where that pays (``local_cuts``).

    Rows belong to one component each while components are fitted, and only those near a row are considered.
    """

    def among_all(self) -> Searched:
        """Compare the best of all partitions along the tree with a single cluster."""
        placed = self.place(min(LARGEST_RANK, self.most))
        tree, rows = placed.tree, placed.rows
        allowed = allowed_nodes(tree, min(self.smallest_of_many, FEWEST), self.copies)
        self.progress("cutting the merge tree", 0)
        nodes = best_cuts(tree, rows, allowed, lambda labels: describe(rows, labels, self.worth))
        partitions = [np.zeros(tree.n_points, np.intp)]
        if len(nodes) > 1:
            partitions.append(labels_of(tree, nodes, rows.places))
        compared = Compared((), (), interrupted=False)
        for labels in partitions:
            mixture = describe(rows, labels, self.worth)
            compared = compared.with_one(mixture, self._criterion(rows, mixture), 0.0)
        best = compared.best
        crowded = len(nodes) * CROWDED_ROWS > tree.n_points
        return Searched(placed, partitions, compared, best, unsettled=crowded)

    def _criterion(self, rows: Rows, mixture: Mixture) -> float:
        most = MOST_DENSITIES // mixture.n_components
        return criterion(rows.evidence, mixture, complete=self.sample.is_complete, worth=self.worth, most_rows=most)

    def clusters(self, found: Searched) -> tuple[Mixture, Clusters]:
        """The components that were chosen, along the axes, and the clusters as they are kept (see ``TreeSearch``)."""
        best = found.compared.mixtures[found.chosen]
        if best.n_components == 1 or not isinstance(best, Mixture):
            return super().clusters(found)
        subspace, rows, _ = found.placed
        self.progress(f"fitting {counted(best.n_components, 'component')}", 0)
        evidence = rows.evidence if self.wide is self.sample else Evidence.of(subspace, self.wide)
        mixture, labels = refitted(rows, evidence, best)
        kept = self._better_explained(AlongAxes(subspace, mixture), labels)
        own = labels if self.wide is self.sample else near_components(mixture, rows.evidence).labels
        group = linked(mixture.n_components, without_valley(mixture, rows.evidence, own))
        return mixture, joined_clusters(kept, group)

    def _better_explained(self, along: AlongAxes, labels: Labels) -> Clusters:
        """``clusters.better_explained`` with rows that belong to one component each."""
        n = self.wide.shape[0]
        apart = columns_of_groups(self.wide, labels, SOFT_ROUNDS)
        gain = self.worth * (apart.log_likelihood - along.mixture.fit)
        cost = apart.complexity - along.mixture.complexity - axes_complexity(self.wide, along.subspace)
        return apart if gain > 0.5 * cost * np.log(self.worth * n) else along


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
