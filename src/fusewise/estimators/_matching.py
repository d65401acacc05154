"""The same numbers after a refit: clusters numbered so that they match those of an earlier model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from fusewise.estimators._base import ClusteringEstimator, frame_of
from fusewise.estimators._result import ClusteringResult
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import DataWarning
from fusewise.saving import saveable
from fusewise.support import InputError, NumberArray, Record, counted, in_series

#: Jaccard similarity up to which a cluster is dissolved rather than the same (Hennig, 2007).
DISSOLVED = 0.5


@saveable
@dataclass(frozen=True, eq=False, repr=False)
class Matching(Record):
    """How the K clusters of a model match those of an earlier one, by the rows of the table that they have in common.

    Attributes
    ----------
    earlier : the earlier cluster that each one continues; -1 if it is new.
    sizes, common : rows of each cluster, and how many of them the earlier model predicts to be in that one.
    earlier_sizes : rows of each of the J earlier clusters, as the earlier model predicts them.
    """

    earlier: Index
    sizes: Index
    common: Index
    earlier_sizes: Index

    _rules: ClassVar = {
        "earlier": NumberArray("K", kinds="iu", low=-1, below="J"),
        "sizes": NumberArray("K", kinds="iu", low=0),
        "common": NumberArray("K", kinds="iu", low=0),
        "earlier_sizes": NumberArray("J", kinds="iu", low=0),
    }

    @property
    def similarity(self) -> Real:
        """``|A ∩ B| / |A ∪ B|`` for each cluster A and the earlier one B that it continues; 0 if it is new."""
        either = self.sizes + np.append(self.earlier_sizes, 0)[self.earlier] - self.common
        return np.asarray(self.common / np.maximum(either, 1))

    @property
    def gone(self) -> Index:
        """The earlier clusters that none continues."""
        return np.setdiff1d(np.arange(len(self.earlier_sizes)), self.earlier)

    def __repr__(self) -> str:
        found = []
        for k, (before, likeness) in enumerate(zip(self.earlier, self.similarity, strict=True)):
            if before < 0:
                found.append(f"cluster {k} is new")
                continue
            of = f"{self.common[k]:,} of {counted(int(self.earlier_sizes[before]), 'row')} of the earlier one"
            what = "is" if likeness > DISSOLVED else "is in part"
            others = counted(int(self.sizes[k] - self.common[k]), "other")
            found.append(f"cluster {k} {what} the earlier cluster {before}: {of}, and {others}")
        if len(self.gone):
            names = in_series([str(j) for j in self.gone])
            found.append(f"earlier {'clusters' if len(self.gone) > 1 else 'cluster'} {names}: gone")
        return "\n".join(found)

    def to_frame(self) -> Any:
        """A pandas DataFrame, one line for each cluster."""
        before = np.append(self.earlier_sizes, 0)[self.earlier]
        columns = {"earlier": self.earlier, "size": self.sizes, "earlier_size": before, "common": self.common}
        return frame_of(columns | {"similarity": self.similarity})


def labels_before(like: Any, X: Any, **half: Any) -> tuple[Labels, int]:
    """The clusters that an earlier model predicts for the rows of a table, and their number.

    `half` are the errors and bounds of entries, if there are any.
    """
    if not isinstance(like, ClusteringEstimator):
        what = f"got {type(like).__name__}" + (": read the file with fusewise.load" if isinstance(like, str) else "")
        raise InputError(f"like must be an earlier model, fitted: {what}")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*no observed entry", DataWarning)  # the fit says so
        return like.predict(X, **half), int(like.n_clusters_)


def matched(result: ClusteringResult, before: Labels, n_before: int) -> tuple[ClusteringResult, Matching]:
    """A result with its clusters renumbered so that their similarities with those before add up to the most.

    Numbers have no gaps. So the number of a cluster that is gone is needed if there are too few others; then it goes to
    a cluster with a number beyond the last one, before it goes to a new cluster.
    """
    labels, k = result.labels, result.n_clusters
    assert labels is not None
    counts = np.ones(len(labels), np.intp) if result.counts is None else result.counts
    table = np.zeros((k + 1, n_before + 1), np.intp)
    np.add.at(table, (labels, before), counts)  # -1 is the last
    common, sizes, earlier_sizes = table[:k, :n_before], table[:k].sum(axis=1), table[:, :n_before].sum(axis=0)
    either = sizes[:, None] + earlier_sizes - common
    earlier = np.full(k, -1)
    ours, theirs = linear_sum_assignment(common / np.maximum(either, 1), maximize=True)
    some = common[ours, theirs] > 0
    earlier[ours[some]] = theirs[some]
    numbers = np.where(earlier < k, earlier, -1)
    others = np.flatnonzero(numbers < 0)
    others = others[np.argsort(earlier[others] < 0, kind="stable")]  # new ones last
    numbers[others] = np.setdiff1d(np.arange(k), numbers)
    old = np.argsort(numbers)
    own = np.where(earlier >= 0, np.append(common, np.zeros((k, 1), int), axis=1)[np.arange(k), earlier], 0)
    return result.renumbered(numbers), Matching(earlier[old], sizes[old], own[old], earlier_sizes)
