"""Classes of known labels that are not the clusters of the table: what a row is of is told by its cluster and columns.

The density of the rows stays that of the clusters, p(x). A row of cluster k is of class b with the odds theta_bk, which
a discriminant of the columns changes (``discriminant``):

    p(x, b) = p(x) P(b | x),    P(b | x) ~ (sum_k p(k | x) theta_bk) exp(w_b' x + c_b).

Entries that are missing from x are filled with what the clusters expect of them. A cluster without known labels is a
class of its own, with P(k | x) = p(k | x); the others share what is left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.models.beside import Beside
from fusewise.automatic.models.clusters import AlongAxes, Clusters, Count
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.discriminant import Discriminant
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.models.numbers_and_categories import NumbersAndCategories
from fusewise.kernels import field_rules
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Array, Dims
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import InMemory

#: Rows of the usual shares of classes that are added to those known of each cluster.
PSEUDO_ROWS = 0.5
#: Rows that are filled at a time.
SLICE = 1000


@dataclass(frozen=True, eq=False)
class Taught(Checked):
    """M classes of known labels, then clusters without any: K in all.

    Attributes
    ----------
    clusters : p(x), J clusters.
    odds : M x J, the theta_bk.
    weights, intercepts : Q x M and M, the w_b and c_b; Q real columns.
    alone : the clusters without known labels.
    shares, centers : of all K.
    """

    clusters: Clusters
    odds: Real
    weights: Real
    intercepts: Real
    alone: Index
    shares: Real
    centers: Values

    _rules: ClassVar = {
        "clusters": Record(AlongAxes, ColumnMixture, NumbersAndCategories, Joined, Beside, K="J", P="P"),
        "odds": Array("M", "J", low=0),
        "weights": Array("Q", "M"),
        "intercepts": Array("M"),
        "alone": field_rules.Index("U", below="J"),
        "shares": Array("K", low=0, high=1 + 1e-6),
        "centers": Array("K", "P", kinds="fc"),
    }

    def _agree(self, dims: Dims) -> None:
        if dims["M"] + dims["U"] != dims["K"]:
            raise ValueError(f"Taught.shares are {dims['K']}, of {dims['M']} classes and {dims['U']} clusters")
        if dims["Q"] != dims["P"] * (2 if np.iscomplexobj(self.centers) else 1):
            raise ValueError(f"Taught.weights are of {dims['Q']} columns for {dims['P']} of the table")

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """Log p(x_i, b); squared distance of row i from the centre of its cluster; dimensions it determines."""
        densities, distances, dimensions = self.clusters.log_densities(table)
        posterior, total = probabilities(densities)
        nearest = distances[np.arange(len(densities)), densities.argmax(axis=1)]
        logs = self.log_classes(filled(self.clusters, table, posterior), posterior)
        return total[:, None] + logs, np.repeat(nearest[:, None], self.n_components, axis=1), dimensions

    def log_classes(self, rows: Real, posterior: Real) -> Real:
        """Log P(b | x), N x K, of filled rows and the p(k | x)."""
        told = Discriminant(self.weights, self.intercepts).log_classes(rows, np.log(posterior @ self.odds.T))
        left = np.delete(posterior, self.alone, axis=1).sum(axis=1, keepdims=True)
        return np.column_stack([told + np.log(left), np.log(posterior[:, self.alone])])

    def only(self, kept: Index) -> Taught:
        """Some of the classes, their shares in the same proportions."""
        m, kept = len(self.intercepts), np.sort(kept)
        own, rest = kept[kept < m], kept[kept >= m] - m
        return replace(
            self, odds=self.odds[own], weights=self.weights[:, own], intercepts=self.intercepts[own],
            alone=self.alone[rest], shares=self.shares[kept] / self.shares[kept].sum(), centers=self.centers[kept],
        )  # fmt: skip

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries, its class], weighted: of a class, p(k | x, b) ~ p(k | x) theta_bk."""
        within, _ = probabilities(self.clusters.log_densities(table)[0])
        m = len(self.odds)
        whole = posterior[:, :m] / np.maximum(within @ self.odds.T, np.finfo(float).tiny)
        shares = within * (whole @ self.odds)
        shares[:, self.alone] += posterior[:, m:]
        return self.clusters.completed(table, shares)

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Taught:
        """Parameters of the clusters drawn about their estimates."""
        return replace(self, clusters=self.clusters.redrawn(evidence, random))

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries."""
        return self.clusters.drawn(table, scale, random)


def taught(clusters: Clusters, odds: Real, found: Discriminant, alone: Index, sample: InMemory) -> Taught:
    """The classes, with shares and centres by the rows of a sample: the means of P(b | x), and of x weighted by it.

    Parameters
    ----------
    clusters, odds, alone : as in `Taught`.
    found : the discriminant.
    sample : rows on the scale of the clusters.
    """
    n_classes, (n, p) = len(odds) + len(alone), sample.shape
    blank = np.zeros(n_classes), np.zeros((n_classes, p), clusters.centers.dtype)
    classes = Taught(clusters, odds, found.weights, found.intercepts, alone, *blank)
    sizes, sums = np.zeros(n_classes), np.zeros((n_classes, len(found.weights)))
    for begin in range(0, n, SLICE):
        rows = sample.take(slice(begin, begin + SLICE))
        posterior, _ = probabilities(clusters.log_densities(rows)[0])
        values = filled(clusters, rows, posterior)
        of_classes = np.exp(classes.log_classes(values, posterior))
        sizes, sums = sizes + of_classes.sum(axis=0), sums + of_classes.T @ values
    means = sums / np.maximum(sizes, np.finfo(float).tiny)[:, None]
    centers = means[:, :p] + 1j * means[:, p:] if means.shape[1] > p else means
    return replace(classes, shares=sizes / n, centers=centers)


def filled(clusters: Clusters, table: InMemory, posterior: Real) -> Real:
    """The rows as real columns, missing entries replaced by what the clusters expect, N x Q."""
    rows = table.dense().fill(clusters.completed(table, posterior))
    return np.asarray(np.hstack([rows.real, rows.imag]) if np.iscomplexobj(rows) else rows)


def class_odds(posterior: Real, classes: Index, n_classes: int) -> Real:
    """theta_bk = (e_bk + a pi_b) / (e_k + a): e_bk rows of class b are expected in cluster k, and a = `PSEUDO_ROWS`."""
    expected, usual = _expected(posterior, classes, n_classes)
    return np.asarray((expected + PSEUDO_ROWS * usual) / (expected.sum(axis=0) + PSEUDO_ROWS))


def odds_without_own(posterior: Real, classes: Index, n_classes: int) -> Real:
    """log sum_k p(k | x_i) theta_bk of rows of known classes, N x M, with the theta_bk that all other rows give."""
    expected, usual = _expected(posterior, classes, n_classes)
    sums = posterior / (expected.sum(axis=0) - posterior + PSEUDO_ROWS)
    found = sums @ (expected + PSEUDO_ROWS * usual).T
    found[np.arange(len(classes)), classes] -= (sums * posterior).sum(axis=1)
    return np.asarray(np.log(np.maximum(found, np.finfo(float).tiny)))


def _expected(posterior: Real, classes: Index, n_classes: int) -> tuple[Real, Real]:
    """e_bk, M x J, and the pi_b, M x 1."""
    member = (classes == np.arange(n_classes)[:, None]).astype(float)
    return member @ posterior, member.mean(axis=1, keepdims=True)
