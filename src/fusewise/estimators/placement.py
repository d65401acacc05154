"""Labels, probabilities and confidence of rows under a fitted model: the part of it that is sent to other machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fusewise.automatic import Classified, Classifier
from fusewise.automatic.labelling import OUTLIER_LEVEL, outlier_confidence
from fusewise.kernels import Index, Labels, Mask, Real, Values
from fusewise.observations import Entries, InMemory, Table, check_fits, each_block
from fusewise.pairs import partial_squared_distances_to

#: Rows whose probabilities are put in order at a time: a copy of all might not fit into memory.
ROWS_AT_ONCE = 2**16
#: Tails of outliers are counted between so many values, a ratio of 1.2% apart, from 1e-12 to ``OUTLIER_LEVEL``.
TAIL_GRID = np.append(np.geomspace(1e-12, OUTLIER_LEVEL, 2000, endpoint=False)[1:], OUTLIER_LEVEL)


@dataclass(frozen=True, eq=False)
class Placement:
    """Clusters in the order of their sizes.

    Attributes
    ----------
    classifier : the clusters, in the order in which they were found.
    order : the place of each cluster among all, the largest first.
    tails, tail_counts, n_fitted : of the rows of the fit: their number, the tails of the outliers in increasing order,
        and the number of rows with such a tail or a smaller one.
    """

    classifier: Classifier
    order: Index
    tails: Real
    tail_counts: Index
    n_fitted: int

    def labels(self, found: Classified, seen: Mask) -> Labels:
        """The cluster of each row; -1 for outliers and for rows with nothing observed."""
        return np.where(seen & ~found.outlying, self.order[found.labels], -1)

    def probabilities(self, found: Classified) -> Real:
        """The probability of each cluster for each row: those that were found, put in order where they are."""
        assert found.posterior is not None
        places = np.argsort(self.order)
        for begin in range(0, len(found.posterior), ROWS_AT_ONCE):
            some = found.posterior[begin : begin + ROWS_AT_ONCE]
            some[:] = some[:, places]
        return found.posterior

    def confidence(self, found: Classified, seen: Mask) -> Real:
        """Probability of the most likely cluster of each row; of an outlier that it is one; 0 if nothing is seen."""
        confidence, outlying = np.where(seen, found.sure, 0.0), np.flatnonzero(seen & found.outlying)
        own = found.tails[outlying]
        confidence[outlying] = outlier_confidence(own, self.tails, self.n_fitted, self.tail_counts)
        return confidence

    def distances(self, table: Table) -> Real:
        """sqrt(2 (L_i - l_ik)) of each row from each cluster, N x K; NaN where nothing is observed."""
        check_fits("the distances from the clusters", (table.shape[0], len(self.order)), 16)
        found = self.classifier.distances(table)[:, np.argsort(self.order)]
        found[table.row_counts == 0] = np.nan
        return found.astype(np.finfo(table.dtype).dtype, copy=False)

    def of_rows(self, what: str, rows: Entries) -> Any:
        """The "labels", "probabilities", "confidence" or "distances" of rows, or these "completed" from clusters."""
        if what == "completed":
            return self.classifier.completed(rows)
        if what == "distances":
            return self.distances(rows)
        found, seen = self.classifier.classify(rows, posterior=what == "probabilities"), rows.row_counts > 0
        if what == "labels":
            return self.labels(found, seen)
        return self.probabilities(found) if what == "probabilities" else self.confidence(found, seen)


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows of each cluster that are not outliers, and outliers by their tails; counts of groups of rows add."""

    sizes: Index
    tails: Index

    @classmethod
    def of(cls, rows: InMemory, classifier: Classifier) -> Counted:
        """Those of a block of rows."""
        found, seen = classifier.classify(rows, posterior=False), rows.row_counts > 0
        sizes = np.bincount(found.labels[seen & ~found.outlying], minlength=classifier.clusters.n_components)
        places = np.searchsorted(TAIL_GRID, found.tails[seen & found.outlying])
        return cls(sizes, np.bincount(places, minlength=len(TAIL_GRID)))

    def merged(self, other: Counted) -> Counted:
        """Those of both groups of rows."""
        return Counted(self.sizes + other.sizes, self.tails + other.tails)


def squared_distances(table: Table, centers: Values) -> Real:
    """Squared distances to cluster centres, N x K, scaled from the observed entries to all."""
    squares = np.empty((table.shape[0], len(centers)), np.finfo(table.dtype).dtype)

    def one(rows: InMemory, where: slice) -> None:
        squares[where] = partial_squared_distances_to(rows, centers)

    each_block(one, table)
    return squares
