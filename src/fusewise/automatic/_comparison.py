"""Partitions of the rows compared: the mixtures that describe them, their criteria, and the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from fusewise.automatic._clusters import SOFT_ROUNDS
from fusewise.automatic._columns import LevelEvidence
from fusewise.automatic._criterion import Classes, criterion
from fusewise.automatic._hints import NO_HINTS, Hints, held, log_odds
from fusewise.automatic._mixture import Mixture, probabilities, soften
from fusewise.automatic._mixture_fit import FIRST_ROUNDS, ROUNDS, PartitionFit, fit_groups, threads_of_fits
from fusewise.automatic._rows import Rows
from fusewise.automatic._tree import MergeTree
from fusewise.kernels import Labels, in_threads
from fusewise.observations import InMemory
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace

T = TypeVar("T")

#: The comparison ends when the criterion has not improved for this many numbers of clusters.
PATIENCE = 8


class Placed(NamedTuple):
    """Rows placed in a subspace, and their merge tree."""

    subspace: Subspace
    rows: Rows
    tree: MergeTree


class Candidate(NamedTuple):
    """A partition, the mixture fitted to it, and its criterion; whether it breaks hints."""

    labels: Labels
    mixture: Mixture | Classes
    criterion: float
    barred: bool = False

    @property
    def n_groups(self) -> int:
        """K."""
        return self.mixture.n_components


@dataclass(frozen=True, eq=False)
class Searched:
    """What a search has found.

    Attributes
    ----------
    placed : where the rows are.
    candidates : the partitions compared, in order of their number of groups.
    chosen : the position of the best.
    unsettled : whether more rows may show more clusters.
    """

    placed: Placed
    candidates: tuple[Candidate, ...]
    chosen: int
    unsettled: bool = False

    @property
    def best(self) -> Candidate:
        """The chosen candidate."""
        return self.candidates[self.chosen]

    @property
    def gain(self) -> float:
        """How much better the chosen partition explains the entries than a single cluster."""
        return self.best.criterion - self.candidates[0].criterion

    @property
    def criterion(self) -> float:
        """The criterion of the chosen partition; minus infinity if hints bar all of them."""
        return -np.inf if self.best.barred else self.best.criterion

    @property
    def rank(self) -> int:
        """Dimensions searched."""
        return self.placed.subspace.rank

    @property
    def featureless(self) -> bool:
        """Whether rows vary less along the axes than about them: other axes would have done as well."""
        return bool(self.placed.rows.variances.mean() < self.placed.subspace.noises.mean())

    def with_better(self, others: Iterable[Candidate], *, replacing: bool = False) -> tuple[Candidate, ...]:
        """The candidates, for each number of groups the one with the larger criterion, or else the other one."""
        table = {each.n_groups: each for each in self.candidates}
        for each in others:
            known = table.get(each.n_groups)
            if replacing or known is None or each.criterion > known.criterion:
                table[each.n_groups] = each
        return tuple(table[number] for number in sorted(table))


def best_of(candidates: Sequence[Candidate]) -> int:
    """The position of the candidate with the largest criterion that breaks no hint."""
    allowed = [k for k, each in enumerate(candidates) if not each.barred]
    return max(allowed, key=lambda k: candidates[k].criterion, default=0)


class Comparing(NamedTuple):
    """A partition whose mixture is not fitted in full yet, and its candidate so far."""

    fit: PartitionFit
    candidate: Candidate


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
        self, partitions: Sequence[Labels], *, compare_all: bool = True, until: int | None = None
    ) -> tuple[Candidate, ...]:
        """Compare partitions in order of their number of groups: all, or until the criterion stops improving.

        With `until`, also stop once a partition with that many groups is the best so far.
        """
        found: list[Comparing] = []
        for each in self._in_threads(self._begun, partitions):
            found.append(each)
            best = best_of([one.candidate for one in found])
            self.progress("comparing partitions", len(found), len(partitions), objective=-each.candidate.criterion)
            enough = until is not None and found[best].candidate.n_groups >= until
            if not compare_all and (enough or len(found) - 1 - best >= PATIENCE):
                break
        self._settle(found)
        return tuple(each.candidate for each in found)

    def _settle(self, found: list[Comparing]) -> None:
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
            finished = self._in_threads(lambda k: self._advanced(found[k].fit, ROUNDS), waiting)
            for k, each in zip(waiting, finished, strict=True):
                found[k] = each

    def _begun(self, labels: Labels) -> Comparing:
        return self._advanced(PartitionFit(self.rows, labels, self.worth), FIRST_ROUNDS)

    def _advanced(self, fit: PartitionFit, rounds: int) -> Comparing:
        fit.advance(rounds)
        evidence, mixture, worth = self.rows.evidence, fit.mixture, self.worth
        judged = criterion(evidence, mixture, complete=self.table.is_complete, worth=worth)
        if self.categories is not None:
            judged += worth * self.categories(fit.labels)
        odds: float | None = 0.0
        if self.hints:
            odds = log_odds(mixture.log_densities(evidence)[0], self.hints, worth, self.n_clusters)
        return Comparing(fit, Candidate(fit.labels, mixture, judged + (odds or 0.0), barred=odds is None))

    def _in_threads(self, work: Callable[[T], Comparing], items: Sequence[T]) -> Iterator[Comparing]:
        return in_threads(work, items, most=threads_of_fits(*self.rows.evidence.shape))


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
