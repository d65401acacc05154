"""Models of the chosen clusters: along the axes of a subspace, or with independent columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from fusewise.automatic.coordinates.axes import prior_variances
from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.models.columnwise import fit_columns
from fusewise.automatic.models.mixture import NEGLIGIBLE, Mixture, one_of_each, probabilities, soften, tail_weights
from fusewise.kernels.checked import Checked, Record
from fusewise.kernels.field_rules import Dims
from fusewise.kernels.types import Index, Real, Values
from fusewise.observations import InMemory
from fusewise.subspace import Subspace, reconstruct

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
class AlongAxes(Checked):
    """Clusters that spread along the axes of a subspace, with common noise around it."""

    subspace: Subspace
    mixture: Mixture

    _rules: ClassVar = {"subspace": Record(Subspace, P="P", r="rank"), "mixture": Record(Mixture, K="K", r="r")}

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
) -> Clusters:
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
