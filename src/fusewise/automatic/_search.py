"""A search: rows are placed in coordinates, fuse along a tree, and partitions along it are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fusewise.automatic._classes import ENOUGH_GAINED, classes_of, fewest
from fusewise.automatic._columns import LevelEvidence, only_columns
from fusewise.automatic._comparison import Candidate, Comparison, Placed, Searched, best_of
from fusewise.automatic._cuts import MOST_CLUSTERS, grow, partitions
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._hints import NO_HINTS, Hints, log_odds
from fusewise.automatic._rows import Rows, axes_in, fit_axes, prior_variances
from fusewise.automatic._units import Levels, is_number
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import InMemory
from fusewise.progress import Progress
from fusewise.subspace import Subspace
from fusewise.support import counted

#: Dimensions searched first, and at most. A table with no more columns than the latter is also searched in all its
#: dimensions.
RANK, LARGEST_RANK = 6, 12
#: Numbers of classes up to this one are all compared.
EVERY = 12
#: Neighbours of each row.
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

    @property
    def weighted(self) -> bool:
        """Whether columns have weights."""
        return self.wide.weights is not None

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
        evidence = Evidence.of(subspace, self.sample)
        rows = Rows.of(evidence, prior_variances(subspace, evidence))
        size = f"{counted(len(rows.places), 'row')} in {counted(subspace.rank, 'dimension')}"
        self.progress(f"merge tree of {size}", 0)
        return Placed(subspace, rows, grow(rows, self.n_neighbors or NEIGHBORS))

    def __call__(
        self, rank: int, until: int | None = None, columns: Index | None = None, start: Subspace | None = None
    ) -> Searched:
        """Compare the partitions along the tree in a subspace, or the classes that they lead to.

        With `until`, not beyond that number of groups.
        """
        placed = self.place(rank, columns, start)
        if self.for_classes:
            return self._classes(placed)
        places, told = placed.rows.places, self.n_clusters
        along = partitions(placed.tree, places, self.smallest, told, copies=self.copies, hints=self.hints)
        return self.result(placed, self.comparison(placed.rows)(along, compare_all=self.told, until=until))

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
        return self.result(found.placed, found.with_better(self.comparison(found.placed.rows)(partitions)))

    def comparison(self, rows: Rows) -> Comparison:
        """Compares partitions of the sample."""
        return Comparison(
            rows, self.sample, self.worth, self.hints, self.n_clusters, self.progress, self.categories
        )  # fmt: skip

    def criterion_of(self, rows: Rows, partitions: Sequence[Labels]) -> float:
        """The largest criterion of some partitions of the sample."""
        return max(each.criterion for each in self.comparison(rows)(partitions))

    def _classes(self, placed: Placed) -> Searched:
        """Compare the latent classes that the partitions along the tree lead to."""
        told, places, hints = self.n_clusters, placed.rows.places, self.hints
        most = max(MOST_CLUSTERS, 0 if told is None else told + 10)
        along = partitions(placed.tree, places, self.smallest, None, most, hints=hints)
        if told is not None and int(along[-1].max()) + 1 < told:
            along = partitions(placed.tree, places, self.smallest, told, hints=hints)
        along = _spaced(along, told)
        found, candidates = classes_of(self.sample, places, along, self.levels, told, self.worth, hints), []
        for labels, (mixture, value) in zip(reversed(along), found, strict=True):
            odds = log_odds(mixture.log_densities(self.sample)[0], hints, self.worth, told) if hints else 0.0
            candidates.append(Candidate(labels, mixture, value + (odds or 0.0), barred=odds is None))
            self.progress("comparing classes", len(candidates), len(along), objective=-value)
        return self.result(placed, candidates[::-1])

    def within(self, subspace: Subspace) -> Subspace:
        """The subspace of the columns in which axes are fitted."""
        return subspace if self.columns is None else subspace.of_columns(self.columns)


def _spaced(along: list[Labels], told: int | None) -> list[Labels]:
    """Some of the partitions: beyond `EVERY` groups, each into a quarter more groups than the last; and that asked for.

    The last, into most groups, is among them.
    """
    kept = [along[-1]]
    for labels in along[-2::-1]:
        n_groups, last = int(labels.max()) + 1, int(kept[-1].max()) + 1
        if n_groups <= max(EVERY, last / 1.25) or n_groups == told:
            kept.append(labels)
    return kept[::-1]
