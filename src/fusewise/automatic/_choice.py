"""The chosen clusters of a table, how they were found, and what they say of its rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.automatic._clusters import Clusters, ambient, check_coordinates
from fusewise.automatic._columns import ColumnMixture
from fusewise.automatic._criterion import Classes
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._hints import NO_HINTS, Hints, obeyed
from fusewise.automatic._intervals import sites_of
from fusewise.automatic._labelling import Classified, Classifier
from fusewise.automatic._mixture import Mixture
from fusewise.automatic._tree import MergeTree, join_heights
from fusewise.automatic._units import Units, is_number
from fusewise.kernels import Index, Labels, Mask, Real, Values
from fusewise.observations import BoundedEntries, InMemory, Table, each_block
from fusewise.subspace import Subspace
from fusewise.support import Dims, Flag, Instance, Number, PositionArray, Record, Several, Word


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
    mixtures: tuple[Mixture | Classes, ...]
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

    def sizes(self, table: Table) -> Real:
        """N_k, the expected number of rows of each cluster."""
        return np.asarray(self.clusters.shares * table.n_seen)

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

        Parameters
        ----------
        table : the rows.
        scale : P, by which deviations from what is expected in a cluster are multiplied.
        seed : of the random numbers.
        """
        found, columns = np.empty(table.shape, self.units.middle.dtype), self.units.columns
        clusters = self.clusters.redrawn(self.evidence, np.random.default_rng(seed))

        def one(rows: InMemory, where: slice) -> None:
            random = np.random.default_rng([seed, where.start])
            own, sites = self.units.applied(rows), None
            if isinstance(own, BoundedEntries):
                sites = sites_of(self.clusters, own)
                own = sites.entries
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
