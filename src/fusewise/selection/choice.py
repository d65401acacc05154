"""The default: a subspace, a graph, the merge tree of l0 fusion, and the partition that explains the table best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from fusewise.evidence import Evidence, Index
from fusewise.kernels.threads import in_threads
from fusewise.mixture import TAIL, Mixture, probabilities
from fusewise.observations import Entries
from fusewise.observations.entries import Real, Values
from fusewise.progress import Progress, silent
from fusewise.selection.axes import fit_axes, prior_variances, standardised, varying_columns
from fusewise.selection.candidates import Labels, Rows, assign, compare, grow, partitions
from fusewise.selection.clusters import Clusters, ambient, better_explained
from fusewise.subspace import Subspace
from fusewise.tree import MergeTree

#: Dimensions of the subspace to begin with, and the most where many clusters are found.
RANK, LARGEST_RANK = 6, 12
#: Neighbours of each point.
NEIGHBORS = 15
#: A cluster has at least this share of the rows, and at least three.
SMALLEST_SHARE = 0.015
#: Of a larger table, so many rows are looked at to find the clusters: the smallest cluster has 75 rows among them.
SAMPLE = 5_000
#: A row is an outlier if its own cluster puts less than this probability so far out.
OUTLIER_LEVEL = 0.01
#: Rows taken at a time where all rows are gone through.
BLOCK = 8192


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
    rows : the rows that were looked at: all, or a sample of a large table.
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
    mixtures: tuple[Mixture, ...]
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

    def classify(self, entries: Entries) -> Classified:
        """The likeliest cluster of each row, its probabilities, and whether it is too far out for any."""
        n = entries.shape[0]
        found = Classified(np.empty(n, np.intp), np.empty((n, self.n_clusters)), np.empty(n, bool))

        def one(rows: slice) -> None:
            densities, distances, dimensions = self.clusters.log_densities(self.standardised(entries, rows))
            posterior, _ = probabilities(densities)
            labels = posterior.argmax(axis=1)
            d = np.maximum(dimensions, 1)
            nearest = distances[np.arange(len(labels)), labels]
            found.labels[rows], found.posterior[rows] = labels, posterior
            found.outlying[rows] = fdtrc(d, TAIL, nearest / d) < OUTLIER_LEVEL

        _each(one, n)
        return found

    def completed(self, entries: Entries, posterior: Real) -> Values:
        """E[row | its entries], in the units of the table: each cluster's guess, weighed by its probability."""
        filled = np.empty(entries.shape, self.middle.dtype)

        def one(rows: slice) -> None:
            filled[rows] = self._in_units(self.clusters.completed(self.standardised(entries, rows), posterior[rows]))

        _each(one, entries.shape[0])
        return filled

    def places(self, entries: Entries) -> Real:
        """Coordinates of each row in the subspace, by least squares on its entries."""
        places = np.empty((entries.shape[0], self.evidence.shape[1]))

        def one(rows: slice) -> None:
            places[rows] = Evidence.of(self.subspace, self.standardised(entries, rows)).places.T

        _each(one, entries.shape[0])
        return places

    def ambient(self, places: Real) -> Values:
        """Coordinates as rows of the table, in its units."""
        return self._in_units(ambient(self.subspace, places))

    def standardised(self, entries: Entries, rows: slice = slice(None)) -> Entries:
        """Rows of a table on the scale of the clusters."""
        return standardised(entries.take(rows), self.columns, self.scale, self.middle)

    def _in_units(self, rows: Values) -> Values:
        """Standardised rows of the varying columns as rows of the table."""
        whole = np.repeat(self.middle[None], len(rows), axis=0)
        whole[:, self.columns] += rows * self.scale[self.columns]
        return whole


def choose(
    entries: Entries,
    *,
    n_clusters: int | None = None,
    rank: int | None = None,
    n_neighbors: int | None = None,
    min_size: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Choice:
    """Cluster a table without being told anything (or only some of it).

    Columns are brought to unit variance; rows are placed in a subspace, with the uncertainty their holes leave; near
    ones are joined by a graph; l0 fusion along the graph gives a tree of nested partitions; each partition is
    described by a Student mixture on the observed entries, and the one with the best `criterion` is taken. K centres
    span K - 1 dimensions, so if more clusters are found than the subspace has room for, it is enlarged, once, and all
    is done again. Last, every row goes to its likeliest cluster, and the mixture is fitted once more; where clusters
    with independent columns explain the entries better than the axes do, they take its place.

    Of more than `SAMPLE` rows a sample is looked at: no cluster that is large enough to count escapes it.

    Parameters
    ----------
    entries : table, every row with something observed.
    n_clusters, rank, n_neighbors : numbers to use instead of choosing them.
    min_size : smallest cluster considered; None: 1.5% of the rows, at least 3.
    seed : of the sample.
    progress : told of each step.
    """
    columns, scale = varying_columns(entries)
    n = entries.shape[0]
    rows = np.arange(n) if n <= SAMPLE else np.sort(np.random.default_rng(seed).choice(n, SAMPLE, replace=False))
    table = standardised(entries.take(rows), columns, scale, entries.column_means)
    share = len(rows) / n
    smallest = max(3.0, SMALLEST_SHARE * len(rows)) if min_size is None else max(float(min_size) * share, 1.0)

    def attempt(rank: int) -> Choice:
        subspace = fit_axes(table, rank, progress)
        evidence = Evidence.of(subspace, table)
        placed = Rows.of(evidence, prior_variances(subspace, evidence))
        progress(f"merge tree of {len(rows)} rows in {subspace.rank} dimensions", 0)
        tree = grow(placed, n_neighbors or NEIGHBORS)
        candidates = partitions(tree, placed.places, smallest, n_clusters)
        told = n_clusters is not None
        compared = compare(placed, candidates, complete=table.is_complete, all_of_them=told, progress=progress)
        chosen = len(compared.criteria) - 1 if told else int(np.argmax(compared.criteria))
        mixture = assign(placed, compared.mixtures[chosen])
        return Choice(
            columns,
            scale,
            entries.column_means,
            rows,
            subspace,
            evidence,
            tree,
            tuple(candidates[: len(compared.criteria)]),
            compared.mixtures,
            compared.criteria,
            chosen,
            mixture,
            better_explained(table, evidence, subspace, mixture),
            compared.interrupted,
        )

    most = min(len(columns), len(rows) - 1)
    choice = attempt(min(rank or RANK, most))
    needed = min(choice.n_clusters - 1, LARGEST_RANK, most)
    return attempt(needed) if rank is None and needed > choice.subspace.rank else choice


def _each(work: Callable[[slice], None], n: int) -> None:
    """Go through the rows in blocks, on all cores (the heavy parts let go of the interpreter)."""
    for _ in in_threads(work, [slice(begin, min(begin + BLOCK, n)) for begin in range(0, n, BLOCK)]):
        pass
