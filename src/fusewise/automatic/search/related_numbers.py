"""Classes whose numbers are related: do they explain a table with categories better than independent columns?

The numbers of a class are often related, as the measures of a body are. Then the best classes with independent columns
cut it into several along these relations, and even a single normal distribution into two or three. So numbers are also
placed along axes, as those of a table without categories are, and classes with related numbers
(``models.numbers_and_categories``) are fitted. Each number of classes has up to two starts: the partition along the
merge tree of the numbers alone, and the classes with independent columns.

If one of these fits has more evidence than the classes that were found, the number is chosen among them instead. First
the fits that are likeliest to have it: a single class, as many as were found, and as many as numbers alone show.

Numbers may also differ between the levels of categories, such as the sexes, by the same amounts in all classes
(``models.category_shifts``). These are found with the classes, in turns. They are taken if they have more evidence
still, and several classes show them: an effect that a single class shows cuts this class in two.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.coordinates.informative_columns import among_others
from fusewise.automatic.coordinates.level_blocks import is_number
from fusewise.automatic.judging.classes import LONG_ROUNDS, SHORT_ROUNDS, fewest
from fusewise.automatic.judging.comparing import Compared
from fusewise.automatic.judging.criterion import Classes, class_criterion
from fusewise.automatic.models.category_shifts import (
    CategoryShifts,
    category_shifts,
    count_effects,
    has_effects,
    shifted,
    shown_by_several,
)
from fusewise.automatic.models.group_fit import enough_gain
from fusewise.automatic.models.mixture import Mixture, probabilities
from fusewise.automatic.models.numbers_and_categories import (
    NumbersAndCategories,
    fit_numbers_and_categories,
    moved_together,
    taken_apart,
)
from fusewise.automatic.models.partition_fit import describe
from fusewise.automatic.search.candidates import partitions
from fusewise.automatic.search.search_result import Searched
from fusewise.automatic.search.searching import TreeSearch
from fusewise.kernels.types import Labels, Real
from fusewise.observations import Entries

#: Clusters and the effects of categories are found in turns, at most so many.
TURNS = 3


def with_related_numbers(search: TreeSearch, found: Searched, rank: int | None = None) -> Searched:
    """The classes that were found, or classes with related numbers if these explain the table better.

    If the number of classes is given, that number decides. Not if there are hints.

    Parameters
    ----------
    search, found : a search in a table with categories, and its result.
    rank : number of dimensions of the numbers, if it is given.
    """
    n_numbers = int(is_number(search.sample.real().shape[1], search.levels).sum())
    if not search.levels or n_numbers < 2 or search.hints or found.compared.interrupted:
        return found
    if search.wide is not search.sample:  # a nearly empty table, of which axes are fitted to more rows
        return found
    best, missing = found, "relations"
    try:
        related = _Related(search, found, rank)
        best, missing = related.chosen(), "effects of categories"
        return related.with_shifts(best)
    except KeyboardInterrupt:
        warnings.warn(f"interrupted: this is the best result without {missing}", ConvergenceWarning, stacklevel=5)
        return best._replace(compared=replace(best.compared, interrupted=True))


@dataclass(frozen=True, eq=False)
class _Related:
    """Fits of classes with related numbers.

    Attributes
    ----------
    search, found : the search that found classes with independent columns.
    rank : number of dimensions of the numbers, if it is given.
    shifts : how much numbers differ between the levels of categories.
    """

    search: TreeSearch
    found: Searched
    rank: int | None
    shifts: Real | None = None

    def chosen(self) -> Searched:
        """Those that were found, or related numbers if these have more evidence."""
        told, own = self.search.n_clusters, self.by_numbers.n_groups
        likely = {told} if told is not None else {1, own, self.found.n_groups}
        fits = {k: fit for k in sorted(likely) if (fit := self.fitted(k)) is not None}
        best = max((self.evidence(fit) for fit in fits.values()), default=-np.inf)
        if best <= self.evidence(self.found.compared.mixtures[self.found.chosen]):
            return self.found
        others = {k: self.fitted(k) for k in range(1, max(likely)) if k not in fits}
        fits |= {k: fit for k, fit in others.items() if fit is not None}
        return self.searched([fits[k] for k in sorted(fits)])

    def with_shifts(self, plain: Searched) -> Searched:
        """A result, or that of numbers which differ between the levels of categories, if it has more evidence.

        Effects and clusters are found in turns, from the clusters of numbers without effects and from a single one:
        strong effects hide all others.
        """
        best, known = plain, self.evidence(plain.compared.mixtures[plain.chosen])
        for labels in self._worth_a_try(known):
            now = self._in_turns(labels)
            own = None if now is None else now.fitted(now.by_numbers.n_groups)
            if now is None or own is None or self.evidence(own) <= known:
                continue
            told = self.search.n_clusters
            numbers = range(1, own.n_components + 1) if told is None else [told]
            result = now.searched([fit for k in numbers if (fit := now.fitted(k)) is not None])
            if self._shows_effects(result.compared.mixtures[result.chosen]):
                best, known = result, self.evidence(own)
        return best

    def _worth_a_try(self, known: float) -> list[Labels]:
        """Clusters to begin from; none if effects are worth too little to reach `known`, or the table is sparse."""
        if not isinstance(self.search.sample, Entries):
            return []
        begin = [np.zeros_like(self.labels), *([self.labels] if self.by_numbers.n_groups > 1 else [])]
        worth = max(0.0 if (found := self._effects(labels)) is None else found.worth for labels in begin)
        so_far = max((self.evidence(fit) for fit in self._known.values() if fit is not None), default=-np.inf)
        return begin if worth > 0 and so_far + worth > known else []

    def _in_turns(self, labels: Labels) -> _Related | None:
        """Numbers with effects of categories, given clusters of these without them; None if there are no effects."""
        now = None
        for _ in range(TURNS):
            found = self._effects(labels)
            if found is None:
                return None
            now = replace(self, shifts=found.effects)
            if np.array_equal(now.labels, labels):
                break
            labels = now.labels
        return now

    def _shows_effects(self, fit: Mixture | Classes) -> bool:
        """Whether several classes of a fit show the effects of each category that has any."""
        assert isinstance(fit, NumbersAndCategories)
        levels, labels = moved_together(self.search.levels), fit.log_densities(self.search.sample)[0].argmax(axis=1)
        several = shown_by_several(taken_apart(self.search.sample, self.search.levels)[1], levels, labels)
        return bool((several | ~has_effects(fit.shifts, levels)).all())

    def _effects(self, labels: Labels) -> CategoryShifts | None:
        """The effects of categories on the numbers of the table, given clusters."""
        numbers, categories = taken_apart(self.search.sample, self.search.levels)
        return category_shifts(numbers, categories, moved_together(self.search.levels), labels)

    @property
    def labels(self) -> Labels:
        """The clusters of the numbers alone."""
        return self.by_numbers.partitions[self.by_numbers.chosen]

    @cached_property
    def by_numbers(self) -> Searched:
        """The search by numbers alone."""
        numbers = shifted(*taken_apart(self.search.sample, self.search.levels), self.shifts)
        found = replace(self.search, wide=numbers, sample=numbers, levels=()).in_all_dimensions(self.rank)
        if found.compared.interrupted:
            raise KeyboardInterrupt
        return found

    @cached_property
    def along_tree(self) -> dict[int, Labels]:
        """Partitions along the merge tree of the numbers, by their number of groups."""
        placed, search = self.by_numbers.placed, self.search
        most = max(self.found.n_groups, self.by_numbers.n_groups)
        every = partitions(placed.tree, placed.rows.places, search.smallest, None, most, search.copies)
        return {int(labels.max()) + 1: labels for labels in (*every, *self.by_numbers.partitions)}

    def starts(self, n_classes: int) -> Iterator[Labels]:
        """Partitions from which EM begins."""
        if n_classes in self.along_tree:
            yield self.along_tree[n_classes]
        for classes in self.found.compared.mixtures:
            if classes.n_components == n_classes and not isinstance(classes, Mixture):
                labels = classes.log_densities(self.search.sample)[0].argmax(axis=1)
                if len(np.unique(labels)) == n_classes:
                    yield labels

    @cached_property
    def _known(self) -> dict[int, NumbersAndCategories | None]:
        return {}

    def fitted(self, n_classes: int) -> NumbersAndCategories | None:
        """The best fit of so many classes; None if there is none, or one of them is empty."""
        if n_classes not in self._known:
            self._known[n_classes] = self._fit(n_classes)
        return self._known[n_classes]

    def _fit(self, n_classes: int) -> NumbersAndCategories | None:
        self.search.progress("comparing classes with related numbers", n_classes)
        subspace, rows, _ = self.by_numbers.placed
        sample, gain = self.search.sample, enough_gain(self.search.sample.shape[0])
        of, fits = (sample, self.search.levels, subspace, rows), []
        for labels in self.starts(n_classes):
            begin = describe(rows, labels, self.search.worth), np.eye(n_classes)[labels]
            fits.append(self._shifted(fit_numbers_and_categories(*of, *begin, SHORT_ROUNDS, gain)))
        if not fits:
            return None
        best = max(fits, key=self.evidence)
        posterior = probabilities(best.log_densities(sample)[0])[0]
        best = self._shifted(fit_numbers_and_categories(*of, best.numbers.mixture, posterior, LONG_ROUNDS, gain))
        return best if best.occupied(sample).n_components == n_classes else None

    def _shifted(self, fit: NumbersAndCategories) -> NumbersAndCategories:
        """A fit of shifted numbers, as one of numbers and categories."""
        more = count_effects(self.shifts, moved_together(self.search.levels))
        return replace(fit, shifts=self.shifts, complexity=fit.complexity + more)

    def evidence(self, classes: Mixture | Classes) -> float:
        """That of the table."""
        assert not isinstance(classes, Mixture)  # as there are levels
        return class_criterion(self.search.sample, classes, self.search.worth, coarsened=False)

    def searched(self, fits: list[NumbersAndCategories]) -> Searched:
        """The search by numbers, with these classes."""
        search, placed = self.search, self.by_numbers.placed
        criteria = tuple(class_criterion(search.sample, fit, search.worth) for fit in fits)
        chosen = fewest(criteria, search.enough_gained) if search.n_clusters is None else len(fits) - 1
        columns = np.flatnonzero(is_number(search.sample.shape[1], search.levels))
        labels = [fit.log_densities(search.sample)[0].argmax(axis=1) for fit in fits]
        placed = placed._replace(subspace=among_others(placed.subspace, search.sample, columns))
        return Searched(placed, labels, Compared(tuple(fits), criteria, interrupted=False), chosen)
