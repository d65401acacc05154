"""How sure the result is: confidence, other numbers of clusters, stability, and known classes beside the clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise.automatic import Alternative
from fusewise.kernels import Index, Labels
from fusewise.support import PlainRecord, counted
from fusewise.tables import Cells

if TYPE_CHECKING:
    from fusewise.views._findings import Findings

#: A row is uncertain if the probability of its most likely cluster is below this.
UNCERTAIN = 0.8
#: Maximum number of doubtful rows listed.
MOST_DOUBTFUL = 500


@dataclass(frozen=True)
class DoubtfulRow(PlainRecord):
    """A row whose cluster is uncertain.

    Attributes
    ----------
    row, name : its position in the table, and its name.
    cluster, confidence : its cluster, and the probability of it; -1 for an outlier.
    second, second_probability : the next most likely cluster, and its probability; None if there is no other.
    """

    row: int
    name: str
    cluster: int
    confidence: float
    second: int | None
    second_probability: float | None


@dataclass(frozen=True)
class ClusterConfidence(PlainRecord):
    """How sure the rows of a cluster are.

    Attributes
    ----------
    cluster : its number.
    mean : mean confidence of its rows; None if the model has no probabilities.
    n_uncertain : number of rows with a confidence below 0.8.
    stability, grade : how stable the cluster is, as a number and in a word; None if not computed.
    """

    cluster: int
    mean: float | None
    n_uncertain: int
    stability: float | None
    grade: str | None


@dataclass(frozen=True, eq=False)
class HowSure(PlainRecord):
    """How sure the result is.

    Attributes
    ----------
    number : the number of clusters and its rivals in words; why there is only one.
    advice : what to try next; empty if nothing needs to be tried.
    clusters : confidence and stability of each cluster.
    doubtful : rows with a confidence below 0.8, the least certain first, at most 500.
    n_doubtful : number of all such rows.
    alternatives : other numbers of clusters that are nearly as good, with their labels.
    stability : what was drawn in words; None if not computed.
    """

    number: str
    advice: tuple[str, ...]
    clusters: tuple[ClusterConfidence, ...]
    doubtful: tuple[DoubtfulRow, ...]
    n_doubtful: int
    alternatives: tuple[Alternative, ...]
    stability: str | None

    _written: ClassVar = ("doubt",)

    @property
    def doubt(self) -> str:
        """How many rows are uncertain, in words."""
        rows = counted(self.n_doubtful, "row has", "rows have")
        return f"{rows} a confidence below {UNCERTAIN:g}."


def cluster_confidence(found: Findings, k: int) -> ClusterConfidence:
    """How sure the rows of a cluster are."""
    members, judged = found.labels == k, found.stability
    sure = found.confidence[members] if found.confidence is not None and members.any() else None
    mean, doubtful = (None, 0) if sure is None else (float(sure.mean()), int(np.count_nonzero(sure < UNCERTAIN)))
    stable, grade = (None, None) if judged is None else (float(judged.clusters[k]), judged.grades[k])
    return ClusterConfidence(k, mean, doubtful, stable, grade)


def doubtful_rows(found: Findings) -> Index:
    """Rows with a confidence below 0.8, the least certain first; none if the model has no probabilities."""
    if found.confidence is None:
        return np.arange(0)
    seen = np.setdiff1d(np.flatnonzero(found.confidence < UNCERTAIN), found.blank, assume_unique=True)
    return seen[np.argsort(found.confidence[seen], kind="stable")]


def doubtful_row(found: Findings, row: int) -> DoubtfulRow:
    """A row with its second-best cluster: of an outlier, the most likely cluster if it were in one."""
    assert found.confidence is not None
    label, shares = int(found.labels[row]), np.array(found.model.probabilities_[row], dtype=float)
    if label >= 0:
        shares[label] = -1
    second = int(shares.argmax()) if len(shares) > (label >= 0) else None
    probability = None if second is None else float(shares[second])
    return DoubtfulRow(row, found.names[row], label, float(found.confidence[row]), second, probability)


@dataclass(frozen=True, eq=False)
class KnownLabels(PlainRecord):
    """Classes against clusters, over the rows whose class is known.

    Attributes
    ----------
    column : the column of classes.
    classes : the classes, as text.
    counts : classes x (K + 1), number of rows in each cluster; the last column counts rows in no cluster.
    ari : adjusted Rand index (1: identical, 0: chance); rows in no cluster count as one group.
    """

    column: str
    classes: tuple[str, ...]
    counts: Index
    ari: float

    _written: ClassVar = ("sentence",)

    @property
    def sentence(self) -> str:
        """The score in words."""
        ari = round(self.ari, 3) + 0.0  # not -0.000
        return f"adjusted Rand index {ari:.3f} with {self.column!r} (1: identical, 0: chance)"


def compare_labels(column: str, cells: Cells, labels: Labels, n_clusters: int) -> KnownLabels | None:
    """Compare classes (None if unknown) with the clusters; None if no class is known."""
    known = np.array([cell is not None for cell in cells])
    if not known.any():
        return None
    classes, place = np.unique([str(cell) for cell in np.asarray(cells, dtype=object)[known]], return_inverse=True)
    try:
        order = np.argsort(classes.astype(float), kind="stable")  # 2 before 10
    except ValueError:
        order = np.arange(len(classes))
    place = np.argsort(order)[place]
    counts = np.zeros((len(classes), n_clusters + 1), np.intp)
    np.add.at(counts, (place, labels[known]), 1)  # -1, no cluster, is the last column
    return KnownLabels(column, tuple(classes[order].tolist()), counts, float(adjusted_rand_score(place, labels[known])))
