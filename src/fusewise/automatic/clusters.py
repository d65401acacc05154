"""Models of the chosen clusters: along the axes of a subspace, or with independent columns.

Clusters that are each one component or several.

Rare clusters beside the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from fusewise.automatic.columns import ColumnMixture, fit_columns, only_columns
from fusewise.automatic.evidence import Evidence
from fusewise.automatic.mixture import NEGLIGIBLE, Mixture, one_of_each, probabilities, soften, tail_weights
from fusewise.automatic.rows import prior_variances
from fusewise.automatic.units import LevelBlock, Levels, is_number
from fusewise.kernels import Index, Real, Values
from fusewise.observations import InMemory
from fusewise.subspace import Subspace, reconstruct
from fusewise.support import Dims, Instance, Number, PositionArray, Record

Count = npt.NDArray[Any]  # integers

#: Rounds of EM in which rows may be shared between clusters, after the choice.
SOFT_ROUNDS = 4


class Clusters(Protocol):
    """K components, and their densities and predictions for the rows of a table (on the scale of the fit)."""

    @property
    def n_components(self) -> int:
        """K."""

    @property
    def shares(self) -> Real:
        """pi_k."""

    @property
    def centers(self) -> Values:
        """K x P."""

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i | k); squared distance of row i from centre k (N x K both); dimensions it determines."""

    def only(self, kept: Index) -> Clusters:
        """Some of the components, their shares in the same proportions."""

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the clusters' predictions, weighted by their probability."""

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Clusters:
        """Parameters drawn about their estimates, as uncertain as the rows of the fit leave them."""

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: first the component, then all columns, with deviations times `scale` (P)."""


@dataclass(frozen=True, eq=False)
class AlongAxes(Record):
    """Clusters that spread along the axes of a subspace, with common noise around it."""

    subspace: Subspace
    mixture: Mixture

    _rules: ClassVar = {"subspace": Instance(Subspace, P="P", r="rank"), "mixture": Instance(Mixture, K="K", r="r")}

    def _agree(self, dims: Dims) -> None:
        check_coordinates(dims)

    @property
    def n_components(self) -> int:
        """K."""
        return self.mixture.n_components

    @property
    def shares(self) -> Real:
        """pi_k."""
        return self.mixture.shares

    @property
    def centers(self) -> Values:
        """K x P."""
        return ambient(self.subspace, self.mixture.means)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i | k); squared distance of row i from centre k (N x K both); dimensions it determines."""
        evidence = Evidence.of(self.subspace, table)
        return *self.mixture.log_densities(evidence), evidence.dimensions

    def only(self, kept: Index) -> AlongAxes:
        """Some of the components, their shares in the same proportions."""
        return replace(self, mixture=self.mixture.only(kept))

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the clusters' predictions given the entries, weighted by their probability."""
        evidence = Evidence.of(self.subspace, table)
        v = np.zeros(evidence.shape)
        every = np.arange(len(v))
        for k in range(self.n_components):
            near = np.flatnonzero(posterior[:, k] > NEGLIGIBLE)
            near = near if 2 * len(near) < len(v) else every
            groups = evidence.grouped(np.full(len(near), k), self.n_components, near)
            where = near[groups.order]
            v[where] += posterior[where, k : k + 1] * self.mixture.conditional(groups)
        return ambient(self.subspace, v)

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> AlongAxes:
        """Parameters drawn about their estimates: a few rounds of EM on rows drawn with replacement."""
        n, r = evidence.shape
        some = evidence.grouped(np.zeros(n, np.intp), 1, random.integers(n, size=n)).evidence
        variances = np.diag(prior_variances(self.subspace, evidence))
        prior = variances / self.n_components ** (2 / r)
        return replace(self, mixture=soften(some, self.mixture, prior, SOFT_ROUNDS))

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: the component, Student's weight, the coordinates, and noise around them."""
        labels = one_of_each(probabilities(self.log_densities(table)[0])[0], random)
        return self.drawn_in(table, labels, scale, random)

    def drawn_in(self, table: InMemory, labels: Index, scale: Real, random: np.random.Generator) -> Values:
        """The same, in given components."""
        evidence = Evidence.of(self.subspace, table)
        _, distances = self.mixture.log_densities(evidence)
        groups = evidence.grouped(labels, self.n_components)
        weights = tail_weights(distances[np.arange(len(labels)), labels], evidence.dimensions, random)
        noise = random.standard_normal(evidence.shape[::-1]) / np.sqrt(weights[groups.order])
        expected, found = np.empty(evidence.shape), np.empty(evidence.shape)
        expected[groups.order] = self.mixture.conditional(groups)
        found[groups.order] = self.mixture.conditional(groups, noise)
        middle = ambient(self.subspace, expected)
        away = with_noise(ambient(self.subspace, found), self.subspace.noises, random) - middle
        return np.asarray(middle + scale * away)


@dataclass(frozen=True, eq=False)
class NumbersAndLevels(Record):
    """Clusters of a table with numbers and categories: p(x | k) = p(numbers | k) p(levels | k).

    Attributes
    ----------
    numbers, levels : the clusters in the columns of numbers alone, and in the others, in the same order.
    columns : the columns that hold numbers.
    """

    numbers: AlongAxes | ColumnMixture
    levels: ColumnMixture
    columns: Index

    _rules: ClassVar = {
        "numbers": Instance(AlongAxes, ColumnMixture, K="K", P="V"),
        "levels": Instance(ColumnMixture, K="K", P="Q"),
        "columns": PositionArray("V", below="P"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["P"] = dims["V"] + dims["Q"]

    @property
    def n_components(self) -> int:
        """K."""
        return self.levels.n_components

    @property
    def shares(self) -> Real:
        """pi_k."""
        return self.numbers.shares

    @property
    def _others(self) -> Index:
        return np.setdiff1d(np.arange(len(self.columns) + self.levels.centers.shape[1]), self.columns)

    @property
    def blocks(self) -> Levels:
        """The blocks of columns of the table that hold the levels of a category."""
        at = self._others.tolist()
        return tuple(LevelBlock(at[start], at[stop - 1] + 1, ordered) for start, stop, ordered in self.levels.levels)

    def _parts(self, table: InMemory) -> tuple[InMemory, InMemory]:
        return only_columns(table, self.columns), only_columns(table, self._others)

    def _whole(self, numbers: Values, levels: Values) -> Values:
        """Columns of numbers and of levels, in the order of the table."""
        found = np.empty((len(numbers), numbers.shape[1] + levels.shape[1]))
        found[:, self.columns], found[:, self._others] = numbers, levels
        return found

    @property
    def centers(self) -> Values:
        """K x P."""
        return self._whole(self.numbers.centers, self.levels.centers)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i | k); squared distance of row i from centre k in its numbers; dimensions it determines.

        Both N x K, and N.
        """
        numbers, levels = self._parts(table)
        densities, distances, dimensions = self.numbers.log_densities(numbers)
        return densities + self.levels.log_densities(levels)[0] - np.log(self.levels.shares), distances, dimensions

    def only(self, kept: Index) -> NumbersAndLevels:
        """Some of the components, their shares in the same proportions."""
        return replace(self, numbers=self.numbers.only(kept), levels=self.levels.only(kept))

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the clusters' predictions, weighted by their probability."""
        numbers, levels = self._parts(table)
        return self._whole(self.numbers.completed(numbers, posterior), self.levels.completed(levels, posterior))

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> NumbersAndLevels:
        """Parameters drawn about their estimates."""
        numbers, levels = self.numbers.redrawn(evidence, random), self.levels.redrawn(evidence, random)
        return replace(self, numbers=numbers, levels=levels)

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: the component, then its numbers and levels."""
        labels = one_of_each(probabilities(self.log_densities(table)[0])[0], random)
        numbers, levels = self._parts(table)
        return self._whole(
            self.numbers.drawn_in(numbers, labels, scale[self.columns], random),
            self.levels.drawn_in(levels, labels, scale[self._others], random),
        )


def with_levels(
    numbers: AlongAxes | ColumnMixture, table: InMemory, levels: Levels, posterior: Real
) -> NumbersAndLevels:
    """Clusters of numbers, with the levels of a table beside them, given p(k | row), N x K."""
    numeric = is_number(table.shape[1], levels)
    begin = np.cumsum([0, *(block.stop - block.start for block in levels)]).tolist()
    blocks = tuple(LevelBlock(*ends, block.ordered) for ends, block in zip(pairwise(begin), levels, strict=True))
    fitted = fit_columns(only_columns(table, np.flatnonzero(~numeric)), posterior, 1, blocks)
    return NumbersAndLevels(numbers, fitted, np.flatnonzero(numeric))


def with_noise(rows: Values, variances: Real, random: np.random.Generator) -> Values:
    """Add independent normal noise of given variances of the columns, shared by the two parts of complex ones."""
    noise = random.standard_normal(rows.shape)
    if np.iscomplexobj(rows):
        noise = (noise + 1j * random.standard_normal(rows.shape)) / np.sqrt(2)
    return np.asarray(rows + np.sqrt(variances) * noise)


def check_coordinates(dims: Dims) -> None:
    """Raise ValueError unless there is one real coordinate for each axis of the subspace, or two if it is complex."""
    if dims["r"] not in (dims["rank"], 2 * dims["rank"]):
        raise ValueError(f"a mixture has {dims['r']} coordinates in a subspace of dimension {dims['rank']}")


def ambient(subspace: Subspace, places: Real) -> Values:
    """Convert real coordinates (twice as many if the subspace is complex) to rows of the table."""
    r = subspace.rank
    return reconstruct(subspace, places[:, :r] + 1j * places[:, r:] if places.shape[1] > r else places)


def better_explained(
    table: InMemory,
    evidence: Evidence,
    subspace: Subspace,
    mixture: Mixture,
    worth: float = 1.0,
    away: Real | float = 0.0,
) -> AlongAxes | ColumnMixture:
    """Return the clusters of a mixture along axes, or with independent columns if these explain the entries better.

    Both are densities of the observed entries, so log L - (p/2) log N compares them. `worth` is that of
    ``criterion``; `away` is added to the log-densities of both (``settling.held``).
    """
    n = table.shape[0]
    densities, _ = mixture.log_densities(evidence)
    posterior, total = probabilities(densities + away)
    along = AlongAxes(subspace, mixture)
    if mixture.n_components == 1:
        return along
    complexity = mixture.complexity + axes_complexity(table, subspace)
    apart = fit_columns(table, posterior, SOFT_ROUNDS, away=away)
    if len(np.unique((apart.log_densities(table)[0] + away).argmax(axis=1))) < apart.n_components:
        return along  # a cluster has become empty
    gain = worth * (apart.log_likelihood - total.sum()) - 0.5 * (apart.complexity - complexity) * np.log(worth * n)
    return apart if gain > 0 else along


def axes_complexity(table: InMemory, subspace: Subspace) -> int:
    """Number of free parameters of the axes.

    P r - r² for the subspace (rotations within it belong to the spreads), P - r for the part of the mean outside it, 1
    for the noise. For axes in some columns P is their number, and each other column has a mean and a noise.
    """
    sides = 2 if np.iscomplexobj(table.values) else 1
    within = int(subspace.basis.any(axis=1).sum())
    return int(sides * (within - subspace.rank) * (subspace.rank + 1) + 2 * (table.shape[1] - within) + 1)


@dataclass(frozen=True, eq=False)
class Joined(Record):
    """Clusters that are each one component or several.

    Attributes
    ----------
    parts : the components.
    group : the cluster of each component.
    """

    parts: Clusters
    group: Index

    _rules: ClassVar = {
        "parts": Instance(AlongAxes, ColumnMixture, NumbersAndLevels, K="J", P="P"),
        "group": PositionArray("J", below="J"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["K"] = int(self.group.max(initial=-1)) + 1

    def _verify(self) -> None:
        if len(np.unique(self.group)) != self.n_components:
            raise ValueError("Joined.group has a cluster without a component")

    @property
    def n_components(self) -> int:
        """K."""
        return int(self.group.max()) + 1

    @property
    def shares(self) -> Real:
        """pi_k."""
        return np.asarray(np.bincount(self.group, self.parts.shares), dtype=float)

    @property
    def centers(self) -> Values:
        """K x P, the means of the components' centres, weighted by their shares."""
        weights = (self.group == np.arange(self.n_components)[:, None]) * self.parts.shares
        return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ self.parts.centers)

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """Log pi_k + log p(x_i | k); squared distance of row i from the nearest centre in k; observed dimensions."""
        densities, distances, dimensions = self.parts.log_densities(table)
        groups = [self.group == k for k in range(self.n_components)]
        summed = np.column_stack([np.logaddexp.reduce(densities[:, group], axis=1) for group in groups])
        return summed, np.column_stack([distances[:, group].min(axis=1) for group in groups]), dimensions

    def only(self, kept: Index) -> Joined:
        """Some of the clusters, with all of their components."""
        parts = np.flatnonzero(np.isin(self.group, kept))
        return Joined(self.parts.only(parts), np.searchsorted(np.sort(kept), self.group[parts]))

    def occupied(self, table: InMemory, away: Real | float = 0.0) -> Joined:
        """The clusters that are the likeliest one of some row of the table, after adding `away`."""
        return self.only(np.unique((self.log_densities(table)[0] + away).argmax(axis=1)))

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the posterior of a cluster is shared among its components by their own."""
        own, _ = probabilities(self.parts.log_densities(table)[0])
        whole = np.column_stack([own[:, self.group == k].sum(axis=1) for k in range(self.n_components)])
        return self.parts.completed(table, own * (posterior / whole)[:, self.group])

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Joined:
        """Parameters drawn about their estimates."""
        return replace(self, parts=self.parts.redrawn(evidence, random))

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries."""
        return self.parts.drawn(table, scale, random)


def joined_clusters(clusters: Clusters, group: Index) -> Clusters:
    """The clusters, those joined that have the same number in `group`."""
    if group.max() + 1 == len(group):
        return clusters
    return Joined(clusters.parts, group[clusters.group]) if isinstance(clusters, Joined) else Joined(clusters, group)


@dataclass(frozen=True, eq=False)
class Beside(Record):
    """Clusters, then rare ones with independent columns: p(x) = (1 - s) p_1(x) + s p_2(x).

    A rare cluster has few rows, and may lie outside the axes of the others.

    Attributes
    ----------
    common, rare : p_1 and p_2.
    share : s.
    """

    common: Clusters
    rare: ColumnMixture
    share: float

    _rules: ClassVar = {
        "common": Instance(AlongAxes, ColumnMixture, NumbersAndLevels, Joined, K="first", P="P"),
        "rare": Instance(ColumnMixture, K="second", P="P"),
        "share": Number(low=0),
    }

    def _agree(self, dims: Dims) -> None:
        dims["K"] = dims["first"] + dims["second"]

    def _verify(self) -> None:
        if self.share > 1:
            raise ValueError(f"Beside.share is {self.share}: it must be at most 1")

    @property
    def n_components(self) -> int:
        """K."""
        return self.common.n_components + self.rare.n_components

    @property
    def shares(self) -> Real:
        """pi_k."""
        return np.concatenate([(1 - self.share) * self.common.shares, self.share * self.rare.shares])

    @property
    def centers(self) -> Values:
        """K x P."""
        return np.concatenate([self.common.centers, self.rare.centers])

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """Log pi_k + log p(x_i | k); squared distance of row i from centre k; dimensions it determines."""
        densities, distances, dimensions = self.common.log_densities(table)
        others, far = self.of_rare(table, dimensions)
        return (
            np.column_stack([densities + np.log1p(-self.share), others]),
            np.column_stack([distances, far]),
            dimensions,
        )

    def of_rare(self, table: InMemory, dimensions: Count) -> tuple[Real, Real]:
        """Log pi_k + log p(x_i | k) and distances for the rare clusters alone.

        Distances are brought to the dimensions of the others: to the same square for each dimension.
        """
        densities, distances, numbers = self.rare.log_densities(table)
        scale = np.maximum(dimensions, 1) / np.maximum(numbers, 1)
        return densities + np.log(self.share), distances * scale[:, None]

    def only(self, kept: Index) -> Clusters:
        """Some of the clusters, their shares in the same proportions."""
        first = self.common.n_components
        shares, rare = self.shares, np.sort(kept)[np.sort(kept) >= first]
        own = np.sort(kept)[np.sort(kept) < first]
        if not len(rare):
            return self.common.only(own)
        if not len(own):
            return self.rare.only(rare - first)
        share = float(shares[rare].sum() / shares[kept].sum())
        return Beside(self.common.only(own), self.rare.only(rare - first), share)

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the predictions of both, weighted by their probability."""
        first = self.common.n_components
        whole = posterior[:, :first].sum(axis=1, keepdims=True)
        own = posterior[:, :first] / np.maximum(whole, np.finfo(float).tiny)
        return np.asarray(whole * self.common.completed(table, own) + self.rare.completed(table, posterior[:, first:]))

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Beside:
        """Parameters drawn about their estimates."""
        common, rare = self.common.redrawn(evidence, random), self.rare.redrawn(evidence, random)
        return replace(self, common=common, rare=rare)

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: first of which kind, then from it."""
        posterior = probabilities(self.log_densities(table)[0])[0]
        rare = random.random(len(posterior)) < posterior[:, self.common.n_components :].sum(axis=1)
        one, other = self.common.drawn(table, scale, random), self.rare.drawn(table, scale, random)
        return np.where(rare[:, None], other, one)
