"""Partitions of the rows compared, each by the mixture that describes it.

The result of a search for clusters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.clusters import SOFT_ROUNDS
from fusewise.automatic.columns import LevelEvidence
from fusewise.automatic.criterion import Classes, criterion
from fusewise.automatic.hints import NO_HINTS, Hints
from fusewise.automatic.mixture import Mixture, probabilities, soften
from fusewise.automatic.mixture_fit import FIRST_ROUNDS, ROUNDS, PartitionFit, fit_groups, threads_of_fits
from fusewise.automatic.rows import Rows
from fusewise.automatic.settling import held, log_odds
from fusewise.automatic.tree import MergeTree
from fusewise.kernels import Labels, in_threads
from fusewise.observations import InMemory
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace
from fusewise.support import counted

T = TypeVar("T")

#: The search ends when the criterion has not improved for this many numbers of clusters.
PATIENCE = 8


@dataclass(frozen=True, eq=False)
class Compared:
    """Mixtures fitted to partitions, in order of the number of groups.

    Attributes
    ----------
    mixtures, criteria : mixture and criterion of each partition compared; larger criteria are better.
    interrupted : whether Ctrl-C ended the comparison early.
    barred : partitions that break hints, and whose criterion is that of the table alone.
    """

    mixtures: tuple[Mixture | Classes, ...]
    criteria: tuple[float, ...]
    interrupted: bool
    barred: frozenset[int] = frozenset()

    def with_one(self, mixture: Mixture | Classes, criterion: float, odds: float | None) -> Compared:
        """The same with one more: the criterion of the table alone, and ``settling.log_odds`` of the hints."""
        barred = self.barred if odds is not None else self.barred | {len(self.criteria)}
        criteria = (*self.criteria, criterion + (odds or 0.0))
        return Compared((*self.mixtures, mixture), criteria, self.interrupted, barred)

    def only(self, which: list[int]) -> Compared:
        """Some of the partitions, none of which breaks hints."""
        return Compared(
            tuple(self.mixtures[k] for k in which), tuple(self.criteria[k] for k in which), self.interrupted
        )

    @property
    def best(self) -> int:
        """The partition with the best criterion that breaks no hint."""
        return max(set(range(len(self.criteria))) - self.barred, key=self.criteria.__getitem__, default=0)


@dataclass
class Candidate:
    """A partition, its mixture so far, its criterion, and ``settling.log_odds`` of the hints."""

    fit: PartitionFit
    mixture: Mixture
    criterion: float
    odds: float | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compares partitions of a table: first by a few rounds of EM, then those that may be the best in full.

    Attributes
    ----------
    rows, table : the rows in a subspace, and as a table.
    worth : that of ``criterion``.
    hints : their likelihood given the mixture counts as well.
    n_clusters : the number of clusters that hints must leave, and the last partition has; None if it is to be chosen.
    progress : told of each partition.
    categories : what categories beside the numbers of the table say about a partition.
    """

    rows: Rows
    table: InMemory
    worth: float = 1.0
    hints: Hints = NO_HINTS
    n_clusters: int | None = None
    progress: Progress = silent
    categories: LevelEvidence | None = None

    def __call__(
        self, partitions: list[Labels], *, compare_all: bool, until: int | None = None, rival: float = -np.inf
    ) -> Compared:
        """Compare partitions in order of their number of groups: all, or until the criterion stops improving.

        With `until`, also stop once a partition with that many groups is the best so far. `rival` is the criterion of
        another partition, to beat.
        """
        candidates: list[Candidate] = []
        stopped = False
        try:
            for candidate in self._in_threads(self._judged, partitions):
                candidates.append(candidate)
                so_far = _compared(candidates)
                self.progress("comparing partitions", len(candidates), len(partitions), objective=-so_far.criteria[-1])
                tired = len(candidates) - 1 - so_far.best >= PATIENCE
                enough = until and so_far.mixtures[so_far.best].n_components >= until
                if not compare_all and (tired or enough):
                    break
            self._settle(candidates, rival)
        except KeyboardInterrupt:
            if compare_all or len(_compared(candidates).barred) == len(candidates):
                raise
            stopped = True
            some = counted(len(candidates), "partition")
            warnings.warn(f"interrupted: this is the best of {some} compared", ConvergenceWarning, stacklevel=5)
        return replace(_compared(candidates), interrupted=stopped)

    def _settle(self, candidates: list[Candidate], rival: float) -> None:
        """Fit in full one group, with which others are compared, the best, and all that may still be better."""
        wanted = {k for k, each in enumerate(candidates) if each.mixture.n_components in (1, self.n_clusters)}
        while True:
            now = _compared(candidates)
            lefts = [each.fit.left for each in candidates]
            best = max(rival, now.criteria[now.best])
            reaching = {k for k, left in enumerate(lefts) if now.criteria[k] + left >= best}
            # First the best alone: others may then be out of reach.
            wanted |= reaching if candidates[now.best].fit.done else reaching & {now.best}
            waiting = [k for k in sorted(wanted) if not candidates[k].fit.done]
            if not waiting:
                return
            finished = self._in_threads(self._finished, [candidates[k].fit for k in waiting])
            for k, candidate in zip(waiting, finished, strict=True):
                candidates[k] = candidate

    def _judged(self, labels: Labels) -> Candidate:
        return self._advanced(PartitionFit(self.rows, labels, self.worth), FIRST_ROUNDS)

    def _finished(self, fit: PartitionFit) -> Candidate:
        return self._advanced(fit, ROUNDS)

    def _advanced(self, fit: PartitionFit, rounds: int) -> Candidate:
        fit.advance(rounds)
        evidence, mixture, worth = self.rows.evidence, fit.mixture, self.worth
        judged = criterion(evidence, mixture, complete=self.table.is_complete, worth=worth)
        if self.categories is not None:
            judged += worth * self.categories(fit.labels)
        odds: float | None = 0.0
        if self.hints:
            odds = log_odds(mixture.log_densities(evidence)[0], self.hints, worth, self.n_clusters)
        return Candidate(fit, mixture, judged, odds)

    def _in_threads(self, work: Callable[[T], Candidate], items: Sequence[T]) -> Iterator[Candidate]:
        return in_threads(work, items, most=threads_of_fits(*self.rows.evidence.shape))


def _compared(candidates: list[Candidate]) -> Compared:
    compared = Compared((), (), interrupted=False)
    for each in candidates:
        compared = compared.with_one(each.mixture, each.criterion, each.odds)
    return compared


def assign(
    rows: Rows,
    mixture: Mixture,
    hints: Hints = NO_HINTS,
    n_clusters: int | None = None,
    categories: LevelEvidence | None = None,
) -> Mixture:
    """Assign rows to their likeliest component, then run a few rounds of soft EM, unless that empties a component.

    Rows with hints are only in components of the cluster of their block; categories beside the numbers count as well.
    """
    if mixture.n_components == 1:
        return mixture
    evidence, prior = rows.evidence, rows.prior(mixture.n_components)
    densities = mixture.log_densities(evidence)[0]
    away = held(densities, hints, n_clusters)
    if categories is not None:
        away = categories.log_shares(probabilities(densities)[0])
    labels = (densities + away).argmax(axis=1)
    if len(np.unique(labels)) == mixture.n_components:
        mixture = fit_groups(evidence, labels, rows.within(labels), prior, mixture.family)
    shared = soften(evidence, mixture, prior, SOFT_ROUNDS, away)
    left = np.unique((shared.log_densities(evidence)[0] + away).argmax(axis=1))
    return shared if len(left) == shared.n_components else mixture


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
        partitions = [self.partitions[k] for k in kept]
        return Searched(self.placed, partitions, self.compared.only(kept), kept.index(self.chosen))

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


def interrupted(found: Searched) -> Searched:
    """The search so far, after Ctrl-C in a further one."""
    searched = counted(found.rank, "dimension")
    warnings.warn(f"interrupted: this is the best result in {searched}", ConvergenceWarning, stacklevel=6)
    return found._replace(compared=replace(found.compared, interrupted=True))
