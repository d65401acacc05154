"""The clusters of a table: components along the axes of a subspace or with independent columns, each of one cluster.

Components are a mixture of one or two *parts*. The first describes most rows: an ``AxisMixture``, whose components
spread along common axes, with categories beside these, or a ``ColumnMixture``. The second are rare clusters, which have
few rows and may lie outside the axes of the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fusewise.automatic._columns import ColumnMixture, columns_of_groups, fit_columns
from fusewise.automatic._evidence import Evidence
from fusewise.automatic._mixture import Mixture, one_of_each, probabilities, soften, tail_weights
from fusewise.automatic._rows import prior_variances
from fusewise.automatic._units import LevelBlock, Levels, is_number, only_columns
from fusewise.kernels import Index, Real, Values
from fusewise.observations import InMemory
from fusewise.subspace import Subspace, reconstruct, with_noise
from fusewise.support import Dims, Instance, Maybe, NumberArray, PositionArray, Record, Several

Count = npt.NDArray[Any]  # integers

#: Rounds of EM in which rows may be shared between clusters, after the choice.
SOFT_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class AxisMixture(Record):
    """Components that spread along the axes of a subspace, with common noise around it, and categories beside them."""

    subspace: Subspace
    mixture: Mixture
    numbers: Index | None = None  # the columns of numbers, which the axes are in, unless all are
    categories: ColumnMixture | None = None  # p(levels | k) in the other columns

    _rules: ClassVar = {
        "subspace": Instance(Subspace, P="V", r="rank"),
        "mixture": Instance(Mixture, K="K", r="r"),
        "numbers": Maybe(PositionArray("V", below="P")),
        "categories": Maybe(Instance(ColumnMixture, K="K", P="Q")),
    }

    def _agree(self, dims: Dims) -> None:
        check_coordinates(dims)
        if (self.numbers is None) != (self.categories is None):
            raise ValueError("AxisMixture has categories without columns, or columns without categories")
        dims["P"] = dims["V"] + dims.get("Q", 0)

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
        means = ambient(self.subspace, self.mixture.means)
        return means if self.categories is None else self._whole(means, self.categories.centers)

    @property
    def levels(self) -> Levels:
        """The blocks of columns of the table that hold the levels of a category."""
        if self.categories is None:
            return ()
        at = self._others.tolist()
        return tuple(
            LevelBlock(at[start], at[stop - 1] + 1, ordered) for start, stop, ordered in self.categories.levels
        )

    @property
    def _others(self) -> Index:
        assert self.numbers is not None
        assert self.categories is not None
        return np.setdiff1d(np.arange(len(self.numbers) + self.categories.centers.shape[1]), self.numbers)

    def _whole(self, numbers: Values, levels: Values) -> Values:
        """Columns of numbers and of levels, in the order of the table."""
        found = np.empty((len(numbers), numbers.shape[1] + levels.shape[1]))
        found[:, self.numbers], found[:, self._others] = numbers, levels
        return found

    def evidence(self, table: InMemory) -> Evidence:
        """What the numbers of a table say of the coordinates of its rows."""
        return Evidence.of(self.subspace, table if self.numbers is None else only_columns(table, self.numbers))

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """log pi_k + log p(x_i | k); squared distance of row i from centre k (N x K both); dimensions it determines."""
        evidence = self.evidence(table)
        densities, distances = self.mixture.log_densities(evidence)
        if self.categories is not None:
            levels = self.categories.log_densities(only_columns(table, self._others))[0]
            densities = densities + levels - np.log(self.categories.shares)
        return densities, distances, evidence.dimensions

    def only(self, kept: Index) -> AxisMixture:
        """Some of the components, their shares in the same proportions."""
        categories = None if self.categories is None else self.categories.only(kept)
        return replace(self, mixture=self.mixture.only(kept), categories=categories)

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """The components' predictions given the entries, weighted by their probabilities (which may add up to less)."""
        evidence = self.evidence(table)
        v = np.zeros(evidence.shape)
        every = np.arange(len(v))
        for k in range(self.n_components):
            near = np.flatnonzero(posterior[:, k] > 1e-12)
            near = near if 2 * len(near) < len(v) else every
            groups = evidence.grouped(np.full(len(near), k), self.n_components, near)
            where = near[groups.order]
            v[where] += posterior[where, k : k + 1] * self.mixture.conditional(groups)
        found = ambient(self.subspace, v) - (1 - posterior.sum(axis=1, keepdims=True)) * self.subspace.mean
        return found if self.categories is None else self._whole(found, posterior @ self.categories.centers)

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> AxisMixture:
        """Parameters drawn about their estimates: a few rounds of EM on rows drawn with replacement."""
        n, r = evidence.shape
        some = evidence.grouped(np.zeros(n, np.intp), 1, random.integers(n, size=n)).evidence
        prior = np.diag(prior_variances(self.subspace, evidence)) / self.n_components ** (2 / r)
        mixture = soften(some, self.mixture, prior, SOFT_ROUNDS)
        categories = None if self.categories is None else self.categories.redrawn(evidence, random)
        return replace(self, mixture=mixture, categories=categories)

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: the component, Student's weight, the coordinates, noise around them; levels.

        Deviations from what is expected in the component are multiplied by `scale` (P).
        """
        labels = one_of_each(probabilities(self.log_densities(table)[0])[0], random)
        evidence = self.evidence(table)
        _, distances = self.mixture.log_densities(evidence)
        groups = evidence.grouped(labels, self.n_components)
        weights = tail_weights(distances[np.arange(len(labels)), labels], evidence.dimensions, random)
        noise = random.standard_normal(evidence.shape[::-1]) / np.sqrt(weights[groups.order])
        expected, found = np.empty(evidence.shape), np.empty(evidence.shape)
        expected[groups.order] = self.mixture.conditional(groups)
        found[groups.order] = self.mixture.conditional(groups, noise)
        middle = ambient(self.subspace, expected)
        away = with_noise(ambient(self.subspace, found), self.subspace.noises, random) - middle
        if self.categories is None:
            return np.asarray(middle + scale * away)
        levels = self.categories.drawn(only_columns(table, self._others), scale[self._others], random, labels)
        return self._whole(middle + scale[self.numbers] * away, levels)


Part = AxisMixture | ColumnMixture


@dataclass(frozen=True, eq=False)
class Clusters(Record):
    """Clusters, each of one component or several: p(x) = sum_j w_j p_j(x)."""

    parts: tuple[Part, ...]  # the p_j
    weights: Real
    group: Index  # the cluster of each component, counted through all parts

    _rules: ClassVar = {
        "parts": Several(Instance(AxisMixture, ColumnMixture, P="P"), "M", least=1),
        "weights": NumberArray("M", low=0, high=1 + 1e-6),
        "group": PositionArray("J", below="J"),
    }

    def _agree(self, dims: Dims) -> None:
        dims["K"] = self.n_components

    def _verify(self) -> None:
        if len(np.unique(self.group)) != self.n_components:
            raise ValueError("Clusters.group has a cluster without a component")
        if len(self.group) != self.n_parts:
            raise ValueError(f"Clusters.group has {len(self.group)} entries for {self.n_parts} components")

    @classmethod
    def of(cls, part: Part, group: Index | None = None) -> Clusters:
        """The clusters of one part: each component, or those joined that have the same number in `group`."""
        return cls((part,), np.ones(1), np.arange(part.n_components) if group is None else group)

    def beside(self, rare: ColumnMixture, share: float) -> Clusters:
        """These clusters, then rare ones that have this share of the rows."""
        group = np.append(self.group, self.n_components + np.arange(rare.n_components))
        return Clusters((*self.parts, rare), np.append((1 - share) * self.weights, share), group)

    @property
    def n_components(self) -> int:
        """K, the number of clusters."""
        return int(self.group.max(initial=-1)) + 1

    @property
    def n_parts(self) -> int:
        """Components of which densities are computed; several may be one cluster."""
        return sum(part.n_components for part in self.parts)

    def _weighted_shares(self) -> Real:
        return np.concatenate([w * part.shares for w, part in zip(self.weights, self.parts, strict=True)])

    @property
    def shares(self) -> Real:
        """pi_k."""
        return np.asarray(np.bincount(self.group, self._weighted_shares()), dtype=float)

    @property
    def centers(self) -> Values:
        """K x P, the means of the components' centres, weighted by their shares."""
        weights = (self.group == np.arange(self.n_components)[:, None]) * self._weighted_shares()
        centers = np.concatenate([part.centers for part in self.parts])
        return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ centers)

    def component_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """``log_densities`` of the components.

        Distances are brought to the dimensions of the first part: to the same square for each dimension.
        """
        found = [part.log_densities(table) for part in self.parts]
        dimensions = found[0][2]
        densities = [each[0] + np.log(w) for each, w in zip(found, self.weights, strict=True)]
        scales = [np.maximum(dimensions, 1) / np.maximum(own, 1) for _, _, own in found]
        distances = [each[1] * scale[:, None] for each, scale in zip(found, scales, strict=True)]
        return np.hstack(densities), np.hstack(distances), dimensions

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Count]:
        """Log pi_k + log p(x_i | k); squared distance of row i from the nearest centre in k; dimensions it determines.

        N x K both, and N.
        """
        densities, distances, dimensions = self.component_densities(table)
        if self.n_components == len(self.group):
            own = np.argsort(self.group)
            return densities.take(own, axis=1), distances.take(own, axis=1), dimensions
        groups = [self.group == k for k in range(self.n_components)]
        summed = np.column_stack([np.logaddexp.reduce(densities[:, group], axis=1) for group in groups])
        return summed, np.column_stack([distances[:, group].min(axis=1) for group in groups]), dimensions

    def only(self, kept: Index) -> Clusters:
        """Some of the clusters, in increasing order, with all of their components; shares in the same proportions."""
        held = np.isin(self.group, kept)
        own = np.split(held, np.cumsum([part.n_components for part in self.parts])[:-1])
        some = [k for k, each in enumerate(own) if each.any()]
        weights = np.array([self.weights[k] * self.parts[k].shares[own[k]].sum() for k in some])
        parts = tuple(self.parts[k].only(np.flatnonzero(own[k])) for k in some)
        return Clusters(parts, weights / weights.sum(), np.searchsorted(np.sort(kept), self.group[held]))

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the posterior of a cluster is shared among its components by their own."""
        if self.n_components < len(self.group):
            own, _ = probabilities(self.component_densities(table)[0])
            whole = np.column_stack([own[:, self.group == k].sum(axis=1) for k in range(self.n_components)])
            posterior = own * (posterior / whole)[:, self.group]
        else:
            posterior = posterior[:, self.group]
        ends = np.cumsum([0, *(part.n_components for part in self.parts)])
        each = [
            part.completed(table, posterior[:, i:j]) for part, (i, j) in zip(self.parts, pairwise(ends), strict=True)
        ]
        return np.asarray(sum(each))

    def redrawn(self, evidence: Evidence, random: np.random.Generator) -> Clusters:
        """Parameters drawn about their estimates, as uncertain as the rows of the fit leave them."""
        return replace(self, parts=tuple(part.redrawn(evidence, random) for part in self.parts))

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: first the part, then from it, with deviations times `scale` (P)."""
        if len(self.parts) == 1:
            return self.parts[0].drawn(table, scale, random)
        posterior = probabilities(self.component_densities(table)[0])[0]
        rare = random.random(len(posterior)) < posterior[:, self.parts[0].n_components :].sum(axis=1)
        one, other = (part.drawn(table, scale, random) for part in self.parts)
        return np.where(rare[:, None], other, one)


def with_levels(numbers: Part, table: InMemory, levels: Levels, rows: Real | Index) -> Part:
    """Components of the columns of numbers, with the levels of a table beside them.

    Given is p(k | row), N x K, or the component of each row.
    """
    numeric = is_number(table.shape[1], levels)
    begin = np.cumsum([0, *(block.stop - block.start for block in levels)]).tolist()
    blocks = tuple(LevelBlock(*ends, block.ordered) for ends, block in zip(pairwise(begin), levels, strict=True))
    fit: Any = fit_columns if rows.ndim == 2 else columns_of_groups
    fitted = fit(only_columns(table, np.flatnonzero(~numeric)), rows, 1, blocks)
    if isinstance(numbers, AxisMixture):
        return replace(numbers, numbers=np.flatnonzero(numeric), categories=fitted)
    whole: dict[str, Any] = {
        name: np.empty((len(fitted.means), len(numeric))) for name in ("centers", "means", "variances", "entries")
    }
    for name, each in whole.items():
        each[:, numeric], each[:, ~numeric] = getattr(numbers, name), getattr(fitted, name)
    return replace(numbers, **whole, levels=levels, level_cost=fitted.level_cost)


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
) -> Part:
    """Return the components of a mixture along axes, or with independent columns if these explain the entries better.

    Both are densities of the observed entries, so log L - (p/2) log N compares them. `worth` is that of
    ``criterion``; `away` is added to the log-densities of both (``hints.held``).
    """
    n = table.shape[0]
    densities, _ = mixture.log_densities(evidence)
    posterior, total = probabilities(densities + away)
    along = AxisMixture(subspace, mixture)
    if mixture.n_components == 1:
        return along
    complexity = mixture.complexity + axes_complexity(table, subspace)
    apart = fit_columns(table, posterior, SOFT_ROUNDS, away=away)
    if len(np.unique((apart.log_densities(table)[0] + away).argmax(axis=1))) < apart.n_components:
        return along  # a component has become empty
    dearer = 0.5 * evidence.weight * (apart.complexity - complexity) * np.log(worth * n)
    gain = worth * (apart.log_likelihood - total.sum()) - dearer
    return apart if gain > 0 else along


def axes_complexity(table: InMemory, subspace: Subspace) -> int:
    """Number of free parameters of the axes.

    P r - r² for the subspace (rotations within it belong to the spreads), P - r for the part of the mean outside it, 1
    for the noise. For axes in some columns P is their number, and each other column has a mean and a noise.
    """
    sides = 2 if np.iscomplexobj(table.values) else 1
    within = int(subspace.basis.any(axis=1).sum())
    return int(sides * (within - subspace.rank) * (subspace.rank + 1) + 2 * (table.shape[1] - within) + 1)
