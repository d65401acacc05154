"""The rows that no cluster explains: a sample of all rows that is the denser, the less likely a row is.

A row of a Student-t cluster is as far from it as it is with probability t, the tail. Row i is kept if u_i t_i is among
the smallest `MOST` of all rows, u_i uniform (priority sampling; Duffield, Lund and Thorup, 2007): so it is kept with
the probability min(1, c / t_i), c the first value that is left out, and stands for the inverse of that many rows. Each
factor of e in t has about N c rows in the sample, as far out as there are rows. The summary of a block of rows is its
own sample, and two samples are merged by keeping the smallest of both.

Rare clusters: groups among the rows that no cluster explains, too small for a sample of the table to show.

The rows are those of ``Surprises``. Each is taken relative to the component nearest to it, so that axes fitted to them
lead to where the model is wrong, and placed along these axes where it is. On their merge tree a node gains

    sum_i [ log(n / N) + log t(x_i; mu, tau W) - log p(x_i) ] - ((r + 2) / 2 + 1) log N

if its n rows are a cluster of their own among all N rows, with the density p they have under the clusters so far. Of
all sets of nodes that do not overlap the best is taken (``best_branches``). The tails of a skewed or heavy-tailed
cluster gain as well; but on the way from there to its centre the density only rises. So a group is a cluster only if
there is a valley: if the rows in a tube about that way, counted in steps, have a likelihood under the best counts that
first fall and then rise that exceeds the one under the best counts that only rise, by more than log N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import isotonic_regression

from fusewise.automatic._choice import OUTLIER_LEVEL, Classifier, tail
from fusewise.automatic._clusters import AxisMixture, Clusters, Part
from fusewise.automatic._columns import ColumnMixture, columns_of_groups
from fusewise.automatic._cuts import FEWEST, Scores, TreeBranches, branches, grow
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import log_tails, probabilities
from fusewise.automatic._nearby import MANY, near_components
from fusewise.automatic._rows import Rows, fit_axes
from fusewise.automatic._search import LARGEST_RANK, WIDE_TOL
from fusewise.automatic._units import Units
from fusewise.kernels import Floats, Index, Labels, Mask, Real, splitmix64
from fusewise.observations import Entries, InMemory
from fusewise.subspace import Subspace

#: Rows that are kept, and those of them that are searched in a table of few rows: this share, but at least so many.
MOST, SHARE, FEW = 10_000, 0.25, 2500


class Surprises(NamedTuple):
    """A sample of rows.

    Attributes
    ----------
    priority : u_i t_i, in increasing order; one more than `MOST` if there are as many rows.
    row : position in the table.
    tail, density : t_i, and log p(x_i) under the clusters.
    label : the component nearest to the row.
    n_outlying : how many of all rows are outliers.
    left_out : c, the first priority that is left out (see ``in_order``).
    """

    priority: Real
    row: Index
    tail: Real
    density: Real
    label: Labels
    n_outlying: int
    left_out: float = np.inf

    def merged(self, other: Surprises) -> Surprises:
        """The sample of both."""
        both = [np.concatenate(each) for each in zip(self[:5], other[:5], strict=True)]
        return Surprises._make([*both, self.n_outlying + other.n_outlying, np.inf]).smallest()

    def smallest(self) -> Surprises:
        """The first `MOST` + 1 rows by priority, and by position where priorities are equal."""
        some = np.arange(len(self.row))
        if len(some) > MOST + 1:
            some = np.argpartition(self.priority, MOST)[: MOST + 1]
        return self.taken(some[np.lexsort((self.row[some], self.priority[some]))])

    def taken(self, which: Index) -> Surprises:
        """Some of the rows."""
        return Surprises._make([*(each[which] for each in self[:5]), *self[5:]])

    def in_order(self, n_rows: int) -> Surprises:
        """The rows to search, of N in the table and in its order, without those that were not seen."""
        most = min(MOST, max(FEW, int(SHARE * n_rows)))
        kept = np.flatnonzero(np.isfinite(self.priority[:most]))
        left_out = float(self.priority[most]) if len(self.priority) > most else np.inf
        return self.taken(kept[np.argsort(self.row[kept])])._replace(left_out=left_out)

    @property
    def weights(self) -> Real:
        """How many rows each stands for."""
        return np.asarray(np.maximum(self.tail / self.left_out, 1.0))


def surprises(clusters: Clusters, units: Units, seed: int, rows: InMemory, first: int) -> Surprises:
    """The sample of a block of rows that begins at position `first` of the table."""
    density, tails, label = explained(clusters, Classifier(units, clusters).placed(rows))
    where = first + np.arange(len(tails))
    priority = np.where(rows.row_counts > 0, uniform(where, seed) * tails, np.inf)
    n_outlying = int(np.count_nonzero(tails < OUTLIER_LEVEL))
    return Surprises(priority, where, tails, density, label, n_outlying).smallest()


def explained(clusters: Clusters, rows: InMemory) -> tuple[Real, Real, Labels]:
    """Log p(x_i), the tail, and the likeliest component of each row, on the scale of the clusters.

    Along axes, the tail is that of the row along them or about them, whichever is smaller.
    """
    parts = clusters.parts[0]
    if not isinstance(parts, AxisMixture):
        densities, distances, dimensions = parts.log_densities(rows)
        label = densities.argmax(axis=1)
        return probabilities(densities)[1], tail(distances[np.arange(len(label)), label], dimensions), label
    evidence = Evidence.of(parts.subspace, rows)
    if parts.n_components >= MANY:
        near = near_components(parts.mixture, evidence)
        best = near.likeliest
        total, distance, label = near.total, near.distance[best], near.component[best]
    else:
        densities, distances = parts.mixture.log_densities(evidence)
        label = densities.argmax(axis=1)
        total, distance = probabilities(densities)[1], distances[np.arange(len(label)), label]
    about = np.maximum(-2 * evidence.heights - rows.seen @ np.log(2 * np.pi * parts.subspace.noises), 0.0)
    left = np.maximum(rows.row_counts - evidence.dimensions, 0)
    return total, np.minimum(tail(distance, evidence.dimensions), np.where(left > 0, tail(about, left), 1.0)), label


def uniform(index: Index, seed: int) -> Real:
    """Numbers in (0, 1) that depend on each index and the seed only (by SplitMix64)."""
    z = splitmix64(index.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed))
    return np.asarray(((z >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53)


#: The tube has this share of a group's own rows; a row counts if it is known along it at least half as well as others.
TUBE, KNOWN = 0.9, 0.5
#: Steps on the way to a centre: so many for each spread, and at most so many.
STEPS, MOST_STEPS = 2, 60
#: Ways to the centres of components that have at least this share of the rows of a group are looked at.
OFTEN = 0.1
#: How much better a valley must explain the rows of the sample, in nats.
CLEARLY = 3.0
#: Rounds in which rows join the group that explains them better than the clusters do.
RENEWALS = 3


@dataclass(frozen=True, eq=False)
class RareSearch:
    """A search for rare clusters.

    Attributes
    ----------
    clusters : the clusters so far.
    rows : the rows that they explain least, on the scale of the clusters.
    known : what is known of these rows.
    n_rows : N, rows of the table.
    smallest : rows of the smallest cluster considered.
    """

    clusters: Clusters
    rows: Entries
    known: Surprises
    n_rows: int
    smallest: float

    def __call__(self) -> tuple[Clusters, list[float]]:
        """The clusters, with the rare ones that were found; and the sizes of those that are smaller than asked for."""
        groups = self.groups()
        for _ in range(RENEWALS if groups else 0):
            groups = [rows for rows in self._attracted(*self._described(groups)) if self._size(rows) >= FEWEST]
            if not groups:
                break
        refused = [self._size(rows) for rows in groups if self._size(rows) < self.smallest]
        groups = [rows for rows in groups if self._size(rows) >= self.smallest]
        if not groups:
            return self.clusters, refused
        rare, sizes = self._described(groups)
        return self.clusters.beside(rare, float(sizes.sum()) / self.n_rows), refused

    def _size(self, rows: Index) -> float:
        return float(self.known.weights[rows].sum())

    def groups(self) -> list[Index]:
        """The rows of each group with a valley around it."""
        parts = self.clusters.parts[0]
        centers = np.asarray(parts.centers)
        own = centers[self.known.label]
        away = replace(self.rows, values=np.where(self.rows.mask, self.rows.values - own, 0))
        # Directions of rows far out: a coarse fit tells these.
        subspace = fit_axes(away, min(LARGEST_RANK, away.shape[1], away.shape[0] - 1), tol=WIDE_TOL)
        center = own @ subspace.basis
        places, covariances = Evidence.of(subspace, away).posterior(subspace.variances)
        moved = replace(away, values=np.where(away.mask, away.values + center @ subspace.basis.T, 0))
        evidence = Evidence.of(subspace, moved)
        placed = Rows(evidence, places + center, covariances, subspace.variances)
        common = within(parts, subspace)
        tree = grow(placed)
        shape = branches(tree, tree.sizes >= FEWEST)
        scores = Scores(tree, placed, shape, common)
        price = (evidence.shape[1] / 2 + 2) * np.log(self.n_rows)
        gains = scores.alone + tree.totals(self._against(evidence, common))[shape.top] - price

        def apart(branch: int) -> bool:
            """Whether a valley lies between a group and each of the components nearest to its rows."""
            members = tree.members(int(shape.top[branch]))
            labels, counts = np.unique(self.known.label[members], return_counts=True)
            near = (centers @ subspace.basis)[labels[counts >= OFTEN * len(members)]]
            mean = scores.fits[branch, :-1]
            gains = (self._valley_gains(evidence, scores.metric, members, mean, center) for center in near)
            return all(of_table > np.log(self.n_rows) and of_sample > CLEARLY for of_table, of_sample in gains)

        return [tree.members(int(shape.top[branch])) for branch in best_branches(shape, gains, apart)]

    def _valley_gains(
        self, evidence: Evidence, metric: Real, members: Index, mean: Real, center: Real
    ) -> tuple[float, float]:
        """How much better a valley explains the rows on the way from a mean to a centre than none.

        First the rows of the table, as estimated from the sample; then those of the sample alone, which are fewer
        towards the centre: a gap in few rows is no gap, whatever they stand for. `metric` is the precision of each
        pattern of missing values about a centre, (W + C)^-1.
        """
        way, from_mean = center - mean, evidence.places.T - mean
        turned = (metric @ way)[evidence.pattern]
        information = turned @ way
        at = np.einsum("ir,ir->i", turned, from_mean) / np.maximum(information, 1e-300)
        square = np.einsum("ir,irs,is->i", from_mean, metric[evidence.pattern], from_mean)
        beside = np.maximum(square - at**2 * information, 0) / np.maximum(evidence.dimensions - 1, 1)
        sure = information >= KNOWN * information.max()
        own = members[sure[members]]
        if len(own) < FEWEST:
            return -np.inf, -np.inf
        inside: Mask = sure & (beside <= np.quantile(beside[own], TUBE)) & (at >= 0) & (at <= 1)
        n_steps = int(np.clip(STEPS * np.sqrt(information.max()), 4, MOST_STEPS))
        step = (at[inside] * n_steps).astype(int).clip(0, n_steps - 1)
        counts = np.bincount(step, minlength=n_steps).astype(float)
        weights = self.known.weights
        stood_for = np.asarray(np.bincount(step, weights[inside], n_steps), dtype=float)
        of_table = valley_gain(stood_for / weights[own].mean(), np.ones(n_steps))
        return of_table, valley_gain(counts, kept_share(counts, stood_for))

    def _against(self, evidence: Evidence, common: Real) -> Real:
        """What a row adds to the gain of any group it is in: all that does not depend on the group."""
        covariances, log_det = evidence.uncertainty
        both = np.linalg.slogdet(common + covariances.transpose(2, 0, 1))[1]
        peaks = evidence.heights + 0.5 * (log_det - both)[evidence.pattern]
        peaks += log_tails(np.zeros(len(peaks)), evidence.dimensions)
        return np.asarray(peaks - self.known.density - np.log(self.n_rows))

    def _described(self, groups: list[Index]) -> tuple[ColumnMixture, Real]:
        """Groups as clusters with independent columns, and how many rows of the table they have."""
        members = np.concatenate(groups)
        labels = np.repeat(np.arange(len(groups)), [len(rows) for rows in groups])
        order = np.argsort(members, kind="stable")
        fitted = columns_of_groups(self.rows.take(members[order]), labels[order], RENEWALS)
        sizes = np.array([self._size(rows) for rows in groups])
        return replace(fitted, shares=sizes / sizes.sum()), sizes

    def _attracted(self, rare: ColumnMixture, sizes: Real) -> list[Index]:
        """The rows that each group explains better than the clusters do; none for a group without rows."""
        densities = rare.log_densities(self.rows)[0] + np.log(sizes.sum() / self.n_rows)
        label = np.where(densities.max(axis=1) > self.known.density, densities.argmax(axis=1), -1)
        return [np.flatnonzero(label == k) for k in range(len(sizes))]


def within(clusters: Part, subspace: Subspace) -> Real:
    """The mean spread of the components along the axes of a subspace."""
    basis = subspace.basis
    if isinstance(clusters, AxisMixture):
        across = basis.T @ clusters.subspace.basis
        spread = np.einsum("k,kij->ij", clusters.mixture.shares, clusters.mixture.spreads)
        return np.asarray(across @ spread @ across.T + (basis.T * clusters.subspace.noises) @ basis)
    assert isinstance(clusters, ColumnMixture)
    return np.asarray((basis.T * (clusters.shares @ clusters.variances)) @ basis)


def best_branches(shape: TreeBranches, gains: Real, apart: Callable[[int], bool]) -> list[int]:
    """Branches that do not overlap, with the largest sum of gains, that are apart from the rest; else parts of them."""
    best = np.maximum(gains, 0)
    for k, (left, right) in enumerate(zip(shape.left.tolist(), shape.right.tolist(), strict=True)):
        if left >= 0:
            best[k] = max(best[k], best[left] + best[right])
    found, waiting = [], [shape.root]
    while waiting:
        k = waiting.pop()
        if best[k] <= 0:
            continue
        if gains[k] >= best[k] and apart(k):
            found.append(k)
        elif shape.left[k] >= 0:
            waiting += [int(shape.left[k]), int(shape.right[k])]
    return found


def kept_share(counts: Real, stood_for: Real) -> Real:
    """The share of the rows of each step that is in the sample; in empty steps interpolated from the others."""
    steps, some = np.arange(len(counts)), counts > 0
    return np.interp(steps, steps[some], counts[some] / stood_for[some]) if some.any() else np.ones(len(counts))


def valley_gain(counts: Real, kept: Real) -> float:
    """Log-likelihood of densities that first fall and then rise, less that of some that only rise; both at their best.

    Counts are Poisson with means a_b s_b, where s_b is the share that is `kept` of the rows of step b. As both have the
    sum of the counts, it is sum_b n_b log(a_b / r_b).
    """

    def monotone(part: slice, *, rising: bool) -> Floats:
        return np.asarray(isotonic_regression((counts / kept)[part], sample_weight=kept[part], increasing=rising))

    some, steps = counts > 0, range(1, len(counts))
    valleys = [np.append(monotone(slice(k), rising=False), monotone(slice(k, None), rising=True)) for k in steps]
    fits = [float(counts[some] @ np.log(each[some])) for each in (monotone(slice(None), rising=True), *valleys)]
    return max(fits[1:]) - fits[0]
