"""The default: a subspace, a graph, the merge tree of l0 fusion, and the partition that explains the table best."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.axes import fit_axes, prior_variances, units
from fusewise.automatic.candidates import Compared, Labels, Rows, assign, compare, describe, grow, partitions
from fusewise.automatic.clusters import Clusters, ambient, better_explained
from fusewise.automatic.columnwise import ColumnMixture, Levels
from fusewise.automatic.evidence import Evidence, Index
from fusewise.automatic.merge_tree import MergeTree
from fusewise.automatic.mixture import Mixture, probabilities
from fusewise.automatic.spreads import TAIL
from fusewise.kernels.threads import small_products
from fusewise.observations import InMemory, Table, each_block
from fusewise.observations.entries import Real, Values
from fusewise.progress import Progress, silent
from fusewise.subspace import Subspace

#: Dimensions of the subspace to begin with, and the most where many clusters are found. A table of no more columns than
#: the latter is looked at whole, too; where no direction stands out from the noise, one of up to so many is.
RANK, LARGEST_RANK, MOST_COLUMNS = 6, 12, 20
#: Neighbours of each point.
NEIGHBORS = 15
#: A cluster has at least this share of the rows, and at least three.
SMALLEST_SHARE = 0.015
#: Of a larger table, so many rows are looked at to find the clusters: the smallest cluster has 75 rows among them.
SAMPLE = 5_000
#: A row is an outlier if its own cluster puts less than this probability so far out.
OUTLIER_LEVEL = 0.01
#: Axes and independent columns are fitted to more rows than that where a typical column would have fewer entries than
#: this, but not to more than fill so many numbers; passes are then dear, and end at a gain of so much for each entry.
ENTRIES_PER_COLUMN, MOST_NUMBERS, WIDE_TOL = 300, 50_000_000, 1e-4


@dataclass(frozen=True, eq=False)
class Classified:
    """Rows as the clusters see them.

    Attributes
    ----------
    labels : the likeliest cluster of each row.
    posterior : N x K, the probability of each cluster for each row.
    outlying : whether a row is further from its cluster than all but one in a hundred of a Student's cluster are.
    """

    labels: Labels
    posterior: Real
    outlying: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Choice:
    """A partition, what it was chosen from, and why.

    Attributes
    ----------
    columns, scale, middle : which columns vary; the standard deviation of each (1 for the others), and its mean. The
        subspace and the clusters are those of the varying columns, standardised.
    rows : the rows that were looked at, numbered among those with something observed: all, or a sample.
    subspace, evidence, tree : the steps on the way.
    partitions, mixtures, criteria : the candidates along the tree, one for each number of clusters from 1 up.
    chosen : which of them was taken.
    mixture : its components, after the last step of assignment.
    clusters : these, or the same with independent columns, whichever explains the entries better.
    interrupted : whether Ctrl-C ended the comparison before it was done.
    """

    columns: Index
    scale: Real
    middle: Values
    rows: Index
    subspace: Subspace
    evidence: Evidence
    tree: MergeTree
    partitions: tuple[Labels, ...]
    mixtures: tuple[Mixture | ColumnMixture, ...]
    criteria: tuple[float, ...]
    chosen: int
    mixture: Mixture
    clusters: Clusters
    interrupted: bool

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.clusters.n_components

    @property
    def lam(self) -> float:
        """The lam of l0 fusion from which the tree has as few groups as were chosen (shed ones counted among them)."""
        heights = self.tree.linkage[:, 2]
        return float(heights[max(len(heights) - self.n_clusters, 0)])

    @property
    def centers(self) -> Values:
        """K x P, in the units of the table."""
        return self._in_units(self.clusters.centers)

    def classify(self, table: Table) -> Classified:
        """The likeliest cluster of each row, its probabilities, and whether it is too far out for any."""
        n = table.shape[0]
        found = Classified(np.empty(n, np.intp), np.empty((n, self.n_clusters)), np.empty(n, bool))

        def one(rows: InMemory, where: slice) -> None:
            densities, distances, dimensions = self.clusters.log_densities(self.standardised(rows))
            posterior, _ = probabilities(densities)
            labels = posterior.argmax(axis=1)
            d = np.maximum(dimensions, 1)
            nearest = distances[np.arange(len(labels)), labels]
            found.labels[where], found.posterior[where] = labels, posterior
            found.outlying[where] = fdtrc(d, TAIL, nearest / d) < OUTLIER_LEVEL

        each_block(one, table)
        return found

    def completed(self, table: Table, posterior: Real) -> Values:
        """E[row | its entries], in the units of the table: each cluster's guess, weighed by its probability."""
        filled = np.empty(table.shape, self.middle.dtype)

        def one(rows: InMemory, where: slice) -> None:
            filled[where] = self._in_units(self.clusters.completed(self.standardised(rows), posterior[where]))

        each_block(one, table, width=table.shape[1])
        return filled

    def places(self, table: Table) -> Real:
        """Coordinates of each row in the subspace, by least squares on its entries."""
        places = np.empty((table.shape[0], self.evidence.shape[1]))

        def one(rows: InMemory, where: slice) -> None:
            places[where] = Evidence.of(self.subspace, self.standardised(rows)).places.T

        each_block(one, table)
        return places

    def ambient(self, places: Real) -> Values:
        """Coordinates as rows of the table, in its units."""
        return self._in_units(ambient(self.subspace, places))

    def standardised(self, rows: InMemory) -> InMemory:
        """Rows of a table on the scale of the clusters."""
        return rows.standardised(self.columns, self.scale, self.middle)

    def _in_units(self, rows: Values) -> Values:
        """Standardised rows of the varying columns as rows of the table."""
        whole = np.repeat(self.middle[None], len(rows), axis=0)
        whole[:, self.columns] += rows * self.scale[self.columns]
        return whole


class _Found(NamedTuple):
    """What a search in a subspace came to."""

    subspace: Subspace
    placed: Rows
    tree: MergeTree
    partitions: list[Labels]
    compared: Compared
    chosen: int

    @property
    def gain(self) -> float:
        """How much better the entries are explained by the chosen partition than by one cluster."""
        return self.compared.criteria[self.chosen] - self.compared.criteria[0]

    @property
    def featureless(self) -> bool:
        """Whether rows vary less along the axes than about them: then other axes would have done as well."""
        return bool(self.placed.variances.mean() < self.subspace.noises.mean())


@dataclass(frozen=True, eq=False)
class _Search:
    """What a search for clusters is made in.

    Attributes
    ----------
    wide, sample : rows on one scale, to fit columns to and to look for clusters in: the same, or a part of them.
    levels : the blocks of columns that hold the levels of a category.
    smallest : rows of the smallest cluster considered.
    n_clusters, n_neighbors : numbers to use instead of choosing them.
    progress : told of each step.
    """

    wide: InMemory
    sample: InMemory
    levels: Levels
    smallest: float
    n_clusters: int | None
    n_neighbors: int | None
    progress: Progress

    def __call__(self, rank: int, until: int | None = None) -> _Found:
        """Place the rows in a subspace, fuse them, and compare the partitions along the tree."""
        tol = 1e-6 if self.wide is self.sample else WIDE_TOL
        subspace = fit_axes(self.wide, rank, self.progress, tol=tol)
        evidence = Evidence.of(subspace, self.sample)
        placed = Rows.of(evidence, prior_variances(subspace, evidence))
        self.progress(f"merge tree of {len(placed.places)} rows in {subspace.rank} dimensions")
        tree = grow(placed, self.n_neighbors or NEIGHBORS)
        candidates = partitions(tree, placed.places, self.smallest, self.n_clusters)
        told = self.n_clusters is not None
        compared = compare(
            placed, self.sample, candidates, self.levels, all_of_them=told, until=until, progress=self.progress
        )
        chosen = len(compared.criteria) - 1 if told else int(np.argmax(compared.criteria))
        return _Found(subspace, placed, tree, candidates, compared, chosen)

    def in_all_dimensions(self, rank: int | None) -> _Found:
        """The search in as many dimensions as asked for; else in as many as the clusters that are found need."""
        most = min(self.wide.shape[1], self.sample.shape[0] - 1)
        room = min(max(RANK, (self.n_clusters or 1) - 1), LARGEST_RANK) if rank is None else rank
        found = self(min(room, most), until=LARGEST_RANK + 1 if rank is None and room < LARGEST_RANK else None)
        return _enlarged(found, self, self.wide.shape[1], most) if rank is None else found

    def clusters(self, found: _Found) -> tuple[Mixture, Clusters]:
        """The components that were chosen, along the axes, and the clusters as they are kept."""
        best = found.compared.mixtures[found.chosen]
        if isinstance(best, Mixture):
            mixture = assign(found.placed, best)
            evidence = found.placed.evidence if self.wide is self.sample else Evidence.of(found.subspace, self.wide)
            return mixture, better_explained(self.wide, evidence, found.subspace, mixture)
        labels = np.unique(best.log_densities(self.sample)[0].argmax(axis=1), return_inverse=True)[1]
        return describe(found.placed, labels), best.occupied(self.sample)


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
    progress: Progress = silent,
) -> Choice:
    """Cluster a table without being told anything (or only some of it).

    Columns are brought to unit variance; rows are placed in a subspace, with the uncertainty their missing entries
    leave; near ones are joined by a graph; l0 fusion along the graph gives a tree of nested partitions; each partition
    is described by a Student mixture on the observed entries, and the one with the best `criterion` is taken. K centres
    span K - 1 dimensions, so if more clusters are found than the subspace has room for, it is enlarged, once, and all
    is done again. A table of few columns is also looked at whole: clusters may be told apart by what varies least, and
    where all directions vary alike a subspace is an arbitrary one; of the two, the search that gains more over one
    cluster is believed. Last, every row goes to its likeliest cluster, and the mixture is fitted once more; where
    clusters with independent columns explain the entries better than the axes do, they take its place.

    Where a table has categories, each partition is the start of a mixture of independent columns (``columnwise``), in
    which categories are categories and numbers have Student's tails, and that is judged instead.

    Of more than `SAMPLE` rows a sample is looked at: no cluster that is large enough to count escapes it. What is
    fitted to columns (axes, and the means of independent columns) may need more rows than that, where a table is
    nearly empty.

    Parameters
    ----------
    table : rows with nothing observed are passed over.
    levels : (start, stop) of each block of columns that holds the levels of one category: 1 for the level that a row
        has, else 0.
    n_clusters, rank, n_neighbors : numbers to use instead of choosing them.
    min_size : smallest cluster considered; None: 1.5% of the rows, at least 3.
    seed : of the sample.
    progress : told of each step.
    """
    columns, scale, middle, blocks = units(table, levels)
    seen = np.flatnonzero(table.row_counts > 0)
    n = len(seen)
    rows, many = _samples(n, table.column_counts[columns], table.n_stored / table.shape[0], seed)
    wide = table.take(seen[many]).standardised(columns, scale, middle)
    sample = wide if len(many) == len(rows) else wide.take(np.searchsorted(many, rows))
    smallest = max(3.0, SMALLEST_SHARE * len(rows)) if min_size is None else max(min_size * len(rows) / n, 1.0)
    search = _Search(wide, sample, blocks, smallest, n_clusters, n_neighbors, progress)
    found = search.in_all_dimensions(rank)
    mixture, clusters = search.clusters(found)
    compared = found.compared
    return Choice(
        columns,
        scale,
        middle,
        rows,
        found.subspace,
        found.placed.evidence,
        found.tree,
        tuple(found.partitions[: len(compared.criteria)]),
        compared.mixtures,
        compared.criteria,
        found.chosen,
        mixture,
        clusters,
        compared.interrupted,
    )


def _enlarged(found: _Found, search: Callable[[int], _Found], n_columns: int, most: int) -> _Found:
    """The same in more dimensions (no more than `most`), where there is reason to look there."""
    few = n_columns <= (MOST_COLUMNS if found.featureless else LARGEST_RANK)
    whole = few and n_columns <= most
    wanted = n_columns if whole else min(found.chosen, LARGEST_RANK, most)
    if found.compared.interrupted or wanted <= found.subspace.rank:
        return found
    try:
        other = search(wanted)
    except KeyboardInterrupt:
        warnings.warn(f"interrupted: the best in {found.subspace.rank} dimensions", ConvergenceWarning, stacklevel=5)
        return found._replace(compared=replace(found.compared, interrupted=True))
    crowded = found.chosen >= LARGEST_RANK  # there the first search ended
    return other if not whole or crowded or other.gain > found.gain else found


def _samples(n: int, column_counts: Index, row_length: float, seed: int) -> tuple[Index, Index]:
    """Rows in which to look for clusters, and rows to fit columns to: the same, or more that include them."""
    if n <= SAMPLE:
        return np.arange(n), np.arange(n)
    random = np.random.default_rng(seed)
    rows = np.sort(random.choice(n, SAMPLE, replace=False))
    typical = max(float(np.median(column_counts)), 1.0)
    wanted = int(min(n * min(ENTRIES_PER_COLUMN / typical, 1.0), MOST_NUMBERS / row_length))
    if wanted <= SAMPLE:
        return rows, rows
    return rows, np.union1d(rows, random.choice(n, wanted, replace=False))
