"""The chosen clusters of a table, and what they say of its rows: cluster, probability, outliers, missing entries.

Clusters have a share t of their own rows at a certain distance or beyond: n t of n rows. If c rows are that far, the
fraction n t / c of them is expected to be ordinary (the false discovery rate; Benjamini and Hochberg, 1995; Efron and
Tibshirani, 2002), and the others are outliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc

from fusewise.automatic._clusters import Clusters, Count, ambient, check_coordinates
from fusewise.automatic._columns import ColumnMixture
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._hints import NO_HINTS, Hints, obeyed
from fusewise.automatic._intervals import Sites, sites_of
from fusewise.automatic._mixture import TAIL, Mixture, log_tails, probabilities
from fusewise.automatic._nearby import MANY, nearby
from fusewise.automatic._tree import MergeTree, join_heights
from fusewise.automatic._units import Units, is_number
from fusewise.kernels import Index, Labels, Mask, Real, Values
from fusewise.observations import BoundedEntries, InMemory, Table, each_block
from fusewise.subspace import Subspace
from fusewise.support import Dims, Flag, Instance, Number, PositionArray, Record, Several, Word

#: A row is an outlier if its own cluster has less than this probability at its distance or beyond.
OUTLIER_LEVEL = 0.01
#: Probabilities of all clusters are kept for all rows if they are no more numbers than that: few ask for more of them.
MOST_PROBABILITIES = 10_000_000


@dataclass(frozen=True, eq=False)
class Classified:
    """Assignment of rows to clusters."""

    labels: Labels  # the most likely cluster of each row
    sure: Real  # its probability
    tails: Real  # share of the rows of a Student-t cluster that are as far from it as this row or further
    posterior: Real | None  # N x K, the probability of each cluster for each row, if it was asked for

    @classmethod
    def blank(cls, n: int, n_clusters: int, *, posterior: bool) -> Classified:
        """Room for n rows."""
        every = np.empty((n, n_clusters)) if posterior else None
        return cls(np.empty(n, np.intp), np.empty(n), np.empty(n), every)

    @property
    def outlying(self) -> npt.NDArray[np.bool_]:
        """Whether a row is further from its cluster than 99% of the rows of a Student-t cluster."""
        return np.asarray(self.tails < OUTLIER_LEVEL)

    def put(self, where: slice | Index, block: Classified) -> None:
        """Fill in some rows."""
        self.labels[where], self.sure[where], self.tails[where] = block.labels, block.sure, block.tails
        if self.posterior is not None:
            self.posterior[where] = block.posterior


def classified(clusters: Clusters, rows: InMemory, *, posterior: bool) -> Classified:
    """Assign a block of rows, on the scale of the clusters.

    Where there are many clusters only those near a row are looked at, and the others have probability zero.
    """
    if clusters.n_parts < MANY or rows.weights is not None:
        densities, distances, dimensions = clusters.log_densities(rows)
        shares, _ = probabilities(densities)
        labels = shares.argmax(axis=1)
        own = np.arange(len(labels)), labels
        return Classified(labels, shares[own], tail(distances[own], dimensions), shares if posterior else None)
    near, dimensions = nearby(clusters, rows)
    best = near.likeliest
    sure = np.exp(near.density[best] - near.total)
    every = near.dense(clusters.n_components) if posterior else None
    return Classified(near.component[best], sure, tail(near.distance[best], dimensions), every)


def tail(distance: Real, dimensions: npt.NDArray[np.integer]) -> Real:
    """Share of the rows of a Student-t cluster at a squared distance or beyond, in so many dimensions."""
    d = np.maximum(dimensions, 1)
    return np.asarray(fdtrc(d, TAIL, distance / d))


def outlier_confidence(tails: Real, known: Real, n_rows: int, counts: Index | None = None) -> Real:
    """1 - min over s >= t of n s / #{j: t_j <= s}, for each t: the probability that such a row is an outlier.

    t is the share of a cluster's rows as far from it as a row, or further; `known` those of the outliers among the n
    rows of the fit, in increasing order, and `counts` how many have this share or less (by default 1, 2, ...).
    """
    counts = np.arange(1, len(known) + 1) if counts is None else counts
    rates = n_rows * known / counts
    further = np.append(np.minimum.accumulate(rates[::-1])[::-1], np.inf)
    place = np.searchsorted(known, tails, side="right")
    count = np.append(0, counts)[place]
    return np.asarray(1 - np.minimum(np.minimum(n_rows * tails / np.maximum(count, 1), further[place]), 1.0))


@dataclass(frozen=True, eq=False)
class Classifier:
    """Clusters, and the scale on which they are."""

    units: Units
    clusters: Clusters

    def placed(self, rows: InMemory) -> InMemory:
        """The rows of a table on the scale of the clusters, with normal observations for entries in intervals."""
        return self.sited(rows)[0]

    def sited(self, rows: InMemory) -> tuple[InMemory, Sites | None]:
        """The same; and these observations, if there are entries in intervals."""
        own = self.units.applied(rows)
        sites = sites_of(self.clusters, own) if isinstance(own, BoundedEntries) else None
        return own if sites is None else sites.entries, sites

    def classify(self, table: Table, *, posterior: bool | None = None) -> Classified:
        """Find the most likely cluster of each row, its probability, and whether it is an outlier.

        With `posterior` also the probabilities of all clusters; by default where these are not too many.
        """
        n, k = table.shape[0], self.clusters.n_components
        keep = n * k <= MOST_PROBABILITIES if posterior is None else posterior
        found = Classified.blank(n, k, posterior=keep)

        def one(rows: InMemory, where: slice) -> None:
            found.put(where, classified(self.clusters, self.placed(rows), posterior=keep))

        dense = self.clusters.n_parts >= MANY and isinstance(self.clusters.parts[0], ColumnMixture)
        each_block(one, table, width=max(table.shape[1], self.clusters.n_parts) if dense else None)
        return found

    def distances(self, table: Table) -> Real:
        """sqrt(2 (L_i - l_ik)) of each row from each cluster, N x K: see ``deviances``."""
        found = np.empty((table.shape[0], self.clusters.n_components))

        def one(rows: InMemory, where: slice) -> None:
            found[where] = np.sqrt(deviances(*self.clusters.log_densities(self.placed(rows))))

        each_block(one, table, width=max(table.shape[1], self.clusters.n_parts))
        return found

    def log_likelihood(self, table: Table) -> Real:
        """log p(x_i) of what is known of each row, in standard deviations of the columns of the fit."""
        found = np.empty(table.shape[0])

        def one(rows: InMemory, where: slice) -> None:
            own, sites = self.sited(rows)
            total = probabilities(self.clusters.log_densities(own)[0])[1]
            of_intervals = 0.0 if sites is None else sites.log_scale
            found[where] = total + self.units.log_slopes(rows) + of_intervals

        each_block(one, table, width=max(table.shape[1], self.clusters.n_parts))
        return found

    def completed(self, table: Table, posterior: Real | None = None) -> Values:
        """E[row | its entries], in the units of the table: the clusters' predictions, weighted by their probability."""
        filled = np.empty(table.shape, self.units.middle.dtype)

        def one(rows: InMemory, where: slice) -> None:
            own, sites = self.sited(rows)
            shares = classified(self.clusters, own, posterior=True).posterior if posterior is None else posterior[where]
            whole = self.clusters.completed(own, np.asarray(shares))
            if sites is not None:
                whole[sites.where] = sites.given.mean
            filled[where] = self.units.undone(whole)

        each_block(one, table, width=table.shape[1])
        return filled


def deviances(densities: Real, squares: Real, dimensions: Count) -> Real:
    """2 (L_i - l_ik), N x K, where L_i is the most that row i would have at a centre, whichever is the likeliest.

    l_ik = log pi_k + log p(x_i | k), and a row at the distance D_ik has log t(D_ik) - log t(0) less than at the centre,
    where t is the density of Student's distribution. L_i - l_ik does not depend on units, and it is smallest in the
    cluster that the row is given to. For equal spreads and shares it is a function of D_ik alone. The l_ik, the D_ik²
    and the dimensions that each row determines are those of ``Clusters.log_densities``.
    """
    d = np.asarray(dimensions)[:, None]
    tops = densities + log_tails(np.zeros_like(squares), d) - log_tails(squares, d)
    return np.asarray(2 * np.maximum(tops.max(axis=1, keepdims=True) - densities, 0))


@dataclass(frozen=True, eq=False)
class Choice(Record):
    """The chosen partition, the candidates and their criteria.

    Attributes
    ----------
    units : those of the subspace and the clusters.
    rows : the rows that were used, numbered among those with observed entries: all, or a sample.
    subspace, evidence, tree : intermediate results.
    partitions, mixtures, criteria : the candidates along the tree, one for each number of clusters from 1.
    chosen : the index of the chosen candidate.
    mixture : its components, after the final assignment.
    clusters : these, or clusters with independent columns, whichever explains the entries better.
    interrupted : whether Ctrl-C ended the comparison early.
    limits : what may have been missed, in plain sentences.
    """

    units: Units
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
    limits: tuple[str, ...] = ()

    _rules: ClassVar = {
        "units": Instance(Units, P="P", V="V"),
        "rows": PositionArray("N", below="any"),
        "subspace": Instance(Subspace, P="V", r="rank"),
        "evidence": Instance(Evidence, N="N", r="r"),
        "tree": Instance(MergeTree, N="N"),
        "partitions": Several(PositionArray("N", below="N"), "C", least=1),
        "mixtures": Several(Instance(Mixture, ColumnMixture, r="r", P="V"), "C"),
        "criteria": Several(Number(finite=False), "C"),
        "chosen": Number(low=0, whole=True),
        "mixture": Instance(Mixture, r="r"),
        "clusters": Instance(Clusters, K="K", P="V"),
        "interrupted": Flag(),
        "limits": Several(Word()),
    }

    def _agree(self, dims: Dims) -> None:
        check_coordinates(dims)
        dims["any"] = np.iinfo(np.intp).max
        if not self.chosen < dims["C"]:
            raise ValueError(f"Choice.chosen is {self.chosen}, but there are {dims['C']} candidates")

    def _verify(self) -> None:
        if np.iscomplexobj(self.units.middle) != np.iscomplexobj(self.clusters.centers):
            raise ValueError("Choice.units are complex and the clusters are real, or the other way round")

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.clusters.n_components

    @property
    def two_valued(self) -> Mask:
        """P, the columns of the table that hold one of two values, or a level of a category."""
        found = np.zeros(len(self.units.scale), bool)
        levels = self.clusters.parts[0].levels
        found[self.units.columns[~is_number(len(self.units.columns), levels)]] = True
        return found

    @property
    def lam(self) -> float:
        """The lam of l0 fusion from which on the chosen partition holds, as ``fusewise path`` shows it."""
        return float(join_heights(self.tree, self.partitions[::-1])[-1 - self.chosen])

    @property
    def centers(self) -> Values:
        """K x P, in the units of the table."""
        return self.units.undone(self.clusters.centers)

    @property
    def classifier(self) -> Classifier:
        """What is needed to classify rows."""
        return Classifier(self.units, self.clusters)

    def classify(self, table: Table, hints: Hints = NO_HINTS, *, posterior: bool | None = None) -> Classified:
        """Find the most likely cluster of each row, its probability, and whether it is an outlier.

        Rows with hints are placed together or apart as these say, and are no outliers. With `posterior` also the
        probabilities of all clusters; by default where these are not too many.
        """
        found = self.classifier.classify(table, posterior=posterior)
        if hints:
            rows = np.sort(hints.rows)
            densities = self.clusters.log_densities(self.classifier.placed(table.take(rows)))[0]
            labels, shares = obeyed(densities[np.searchsorted(rows, hints.rows)], hints)
            found.put(hints.rows, Classified(labels, shares.max(axis=1), np.ones(len(labels)), shares))
        return found

    def occupied(self, table: Table, counted: Mask, hints: Hints = NO_HINTS) -> tuple[Choice, Classified]:
        """Leave out clusters that have no rows, and classify: each is that of a row that counts and is no outlier.

        Clusters of rows with hints are kept. Where two are equal to within rounding, leaving out a third may turn the
        balance, so it is done again until all have rows.
        """
        choice = self
        while True:
            found = choice.classify(table, hints)
            kept = np.unique(np.append(found.labels[counted & ~found.outlying], found.labels[hints.rows]))
            if not len(kept):  # nothing but outliers: of the largest cluster
                kept = np.array([choice.clusters.shares.argmax()])
            if len(kept) == choice.n_clusters:
                return choice, found
            choice = replace(choice, clusters=choice.clusters.only(kept))

    def obeys(self, table: Table, hints: Hints) -> bool:
        """Whether the most likely clusters of the rows agree with all hints."""
        rows = np.sort(hints.rows)
        labels = self.classify(table.take(rows)).labels[np.searchsorted(rows, hints.rows)]
        held = np.zeros((hints.n_blocks, self.n_clusters), bool)
        held[hints.block, labels] = True
        one, other = held[hints.conflicts].transpose(1, 0, 2)
        return bool((held.sum(axis=1) == 1).all() and not (one & other).any())

    def completed(self, table: Table, posterior: Real | None = None) -> Values:
        """E[row | its entries], in the units of the table: the clusters' predictions, weighted by their probability."""
        return self.classifier.completed(table, posterior)

    def drawn(self, table: Table, scale: Real, seed: int) -> Values:
        """Rows drawn given their entries, in the units of the table: first the parameters, then the rows.

        Deviations from what is expected in a cluster are multiplied by `scale` (P).
        """
        found, columns = np.empty(table.shape, self.units.middle.dtype), self.units.columns
        clusters = self.clusters.redrawn(self.evidence, np.random.default_rng(seed))

        def one(rows: InMemory, where: slice) -> None:
            random = np.random.default_rng([seed, where.start])
            own, sites = self.classifier.sited(rows)
            whole = clusters.drawn(own, scale[columns], random)
            if sites is not None:
                whole[sites.where] = sites.drawn(random)
            found[where] = self.units.undone(whole)

        each_block(one, table, width=table.shape[1])
        return found

    def places(self, table: Table) -> Real:
        """Coordinates of each row in the subspace, by least squares on its entries."""
        places = np.empty((table.shape[0], self.evidence.shape[1]))

        def one(rows: InMemory, where: slice) -> None:
            places[where] = Evidence.of(self.subspace, self.classifier.placed(rows)).places.T

        each_block(one, table)
        return places

    def ambient(self, places: Real) -> Values:
        """Convert coordinates to rows of the table, in its units."""
        return self.units.undone(ambient(self.subspace, places))
