"""Known classes of the rows beside the clusters: the score and the cross-table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from fusewise.kernels import Index, Labels
from fusewise.tables import Cells


@dataclass(frozen=True, eq=False)
class KnownLabels:
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

    @property
    def sentence(self) -> str:
        """The score in words."""
        return f"adjusted Rand index {self.ari:.3f} with {self.column!r} (1: identical, 0: chance)"

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "column": self.column,
            "classes": list(self.classes),
            "counts": self.counts.tolist(),
            "ari": self.ari,
            "sentence": self.sentence,
        }


def compare_labels(column: str, cells: Cells, labels: Labels, n_clusters: int) -> KnownLabels | None:
    """Compare classes (None if unknown) with the clusters; None if no class is known."""
    known = np.array([cell is not None for cell in cells])
    if not known.any():
        return None
    words = np.array([str(cell) for cell in cells], dtype=object)[known]
    classes, place = _in_order(words)
    counts = np.zeros((len(classes), n_clusters + 1), np.intp)
    np.add.at(counts, (place, labels[known]), 1)  # -1, no cluster, is the last column
    return KnownLabels(column, classes, counts, float(adjusted_rand_score(place, labels[known])))


def _in_order(words: Cells) -> tuple[tuple[str, ...], Index]:
    """The classes, sorted as numbers if they all are (2 before 10), and the class of each word."""
    classes, place = np.unique(words.astype(str), return_inverse=True)
    try:
        order = np.argsort(classes.astype(float), kind="stable")
    except ValueError:
        order = np.arange(len(classes))
    return tuple(classes[order].tolist()), np.argsort(order)[place]
