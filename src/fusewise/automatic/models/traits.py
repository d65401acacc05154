"""Latent classes whose rows also differ by degrees: columns of a class depend on a few normal traits of the row.

Given the class k and the traits z_i ~ N(0, I) of a row, its columns are independent. The traits shift the numbers, and
tilt the probabilities of the levels, by the same amount in all classes:

    x_ij | k, z ~ m_kj + b_j'z + noise of variance s_kj,    p(c_ij = l | k, z) ~ q_kjl exp(b_jl'z),    b ~ N(0, I).

A trait takes about as many parameters as a class. So the evidence tells whether the rows of a class differ by degrees
(severity, size, the composition of a sequence) or fall into two classes. Integrals over z are sums over a few nodes z_g
of weights w_g: the model is a mixture with independent columns whose K x G components have parameters in common, and
it is kept as one, the components of a class joined.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from scipy.special import gammaln

from fusewise.automatic.coordinates.level_blocks import Levels
from fusewise.automatic.models.columnwise import (
    CENTER_ENTRIES,
    ColumnComponents,
    ColumnMixture,
    Parts,
    count_parameters,
    scatters,
    shrunk_variances,
    smallest_variances,
)
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.models.spreads import TAIL
from fusewise.automatic.models.tilted_levels import TiltedLevels
from fusewise.kernels.types import Real
from fusewise.observations import InMemory

#: Nodes along an axis, and the largest squared distance of a node from the origin.
STEPS, FARTHEST = np.arange(-2.0, 2.5), 5.0
#: Rounds of EM before columns that do not depend on the traits by enough are taken for independent of them.
SETTLED = 5
#: Standard deviation of a trait about its first estimate, and rounds of the power method for that.
DOUBT, POWERS = 0.7, 15


@cache
def nodes(n_traits: int) -> tuple[Real, Real]:
    """Values of the traits, G x R, and their weights, G."""
    places = np.array([z for z in product(STEPS, repeat=n_traits) if np.dot(z, z) <= FARTHEST])
    weights = np.exp(-0.5 * np.square(places).sum(axis=1))
    return places, weights / weights.sum()


def fit_traits(
    table: InMemory,
    posterior: Real,
    rounds: int,
    levels: Levels,
    gain: float,
    n_traits: int,
    away: Real | float = 0.0,
) -> Joined:
    """Fit classes with traits by EM, from given probabilities of the classes; their components are those of `parts`.

    Parameters
    ----------
    table : entries, columns on a common scale and centred, but for levels.
    posterior : N x K, the initial probabilities of the classes.
    rounds : maximum number of rounds.
    levels : the blocks of columns that hold the levels of a category.
    gain : stop when a round raises the log-likelihood by less than this.
    n_traits : R.
    away : added to the log-densities of the classes: N x K, or 0 (``settling.held``).
    """
    n, n_classes = posterior.shape
    places, _ = nodes(n_traits)
    tied = _TiedComponents.of(table, levels, n_classes, n_traits)
    apart = np.repeat(away, len(places), axis=1) if isinstance(away, np.ndarray) else away
    joint: Real = (posterior[:, :, None] * _first_traits(table.real(), posterior, n_traits)[:, None]).reshape(n, -1)
    tails: Real = np.ones_like(joint)
    before = -np.inf
    for step in range(rounds):
        found, complexity, cost = tied.fit(joint, tails, select=step >= SETTLED)
        densities, distances, n_numbers = found.densities_of(tied.rows)
        joint, total = probabilities(densities + apart)
        tails = (TAIL + n_numbers[:, None]) / (TAIL + distances)
        if step > SETTLED and abs(float(total.sum()) - before) < gain:
            break
        before = float(total.sum())
    entries = np.asarray((table.real().seen.T @ joint).T)
    parts = ColumnMixture(
        found.means, found.means, found.variances, found.shares, float(total.sum()), complexity, levels, cost, entries
    )
    return Joined(parts, np.repeat(np.arange(n_classes), len(places)))


@dataclass
class _TiedComponents:
    """The components of K classes at G nodes, K x G of them, and the rows they are fitted to."""

    rows: Parts
    levels: Levels
    node_weights: Real
    n_classes: int
    numbers: _Numbers
    categories: TiltedLevels

    @classmethod
    def of(cls, table: InMemory, levels: Levels, n_classes: int, n_traits: int) -> _TiedComponents:
        """Before the first round."""
        real, rows = table.real(), Parts.of(table, levels)
        places, weights = nodes(n_traits)
        categories = TiltedLevels.of(real.column_means[~rows.numeric], levels, places)
        return cls(rows, levels, weights, n_classes, _Numbers.of(real, rows, n_classes, places), categories)

    def fit(self, joint: Real, tails: Real, *, select: bool) -> tuple[ColumnComponents, float, float]:
        """A round, from the probabilities of the components and Student's weights, N x KG both.

        Returns the components, their complexity and what not knowing levels and loadings costs.
        """
        rows, n_nodes = self.rows, len(self.node_weights)

        def sums(part: Any, weights: Real) -> Real:
            return np.asarray((part.T @ weights).T.reshape(self.n_classes, n_nodes, -1))

        mass, totals, energy = (sums(part, joint * tails) for part in (rows.seen, rows.numbers, rows.squares))
        entries = sums(rows.seen, joint).sum(axis=1)
        cost, n_kept = self.numbers.fit(mass, totals, energy, entries, select=select)
        more, n_more = self.categories.fit(sums(rows.levels, joint), select=select)
        means = np.empty((self.n_classes * n_nodes, len(rows.numeric)))
        means[:, rows.numeric] = self.numbers.means.reshape(len(means), -1)
        means[:, ~rows.numeric] = self.categories.means.reshape(len(means), -1)
        variances = np.ones_like(means)
        variances[:, rows.numeric] = np.repeat(self.numbers.variances, n_nodes, axis=0)
        shares = joint.mean(axis=0).reshape(self.n_classes, -1).sum(axis=1)
        cost += more + _choice_cost(n_kept + n_more, rows.numeric.sum() + len(self.levels))
        columns = ColumnComponents(means, variances, np.outer(shares, self.node_weights).ravel(), self.levels)
        return columns, count_parameters(entries), cost


def _choice_cost(n_kept: int, n_columns: int) -> float:
    """Cost of choosing the k columns that depend on the traits: log(n + 1) + log C(n, k) (Scott and Berger, 2010)."""
    return float(gammaln(n_columns + 2) - gammaln(n_kept + 1) - gammaln(n_columns - n_kept + 1))


def _first_traits(real: InMemory, posterior: Real, n_traits: int) -> Real:
    """Probabilities of the nodes, N x G: about the scores along the main axes of what the classes leave."""
    places, weights = nodes(n_traits)
    gaps = np.square(_main_axes(real, posterior, n_traits)[:, None] - places).sum(axis=2)
    return probabilities(np.log(weights) - 0.5 * gaps / DOUBT**2)[0]


def _main_axes(real: InMemory, posterior: Real, n_axes: int) -> Real:
    """Scores of the rows along the main axes of what the classes leave, standardised, N x R."""
    x, seen = real.values, real.seen
    centers = (x.T @ posterior).T / np.maximum((seen.T @ posterior).T, 1e-9)
    scale = 1 / np.sqrt(real.column_variances + 1e-12)

    def along(axes: Real) -> Real:
        out = x @ (scale[:, None] * axes)
        for k, center in enumerate(centers):
            out = out - posterior[:, k : k + 1] * (seen @ ((scale * center)[:, None] * axes))
        return np.asarray(out)

    def back(scores: Real) -> Real:
        out = x.T @ scores
        for k, center in enumerate(centers):
            out = out - center[:, None] * (seen.T @ (posterior[:, k : k + 1] * scores))
        return np.asarray(scale[:, None] * out)

    axes = np.random.default_rng(0).standard_normal((len(scale), n_axes))
    for _ in range(POWERS):
        axes = np.linalg.qr(back(along(axes)))[0]
    scores = along(axes)
    return np.asarray((scores - scores.mean(axis=0)) / (scores.std(axis=0) + 1e-12))


@dataclass
class _Numbers:
    """Numbers with centres and variances of the classes, and loadings b on the traits, R x P.

    Attributes
    ----------
    middle, whole, floor : the mean of each column, its variance, and the smallest one allowed.
    places : the nodes, G x R.
    means : K x G x P.
    centers, variances : K x P.
    loadings : R x P.
    """

    middle: Real
    whole: Real
    floor: Real
    places: Real
    means: Real
    centers: Real
    variances: Real
    loadings: Real

    @classmethod
    def of(cls, real: InMemory, rows: Parts, n_classes: int, places: Real) -> _Numbers:
        """Before the first round."""
        middle, whole = real.column_means[rows.numeric], real.column_variances[rows.numeric]
        floor = smallest_variances(real, rows.numeric)[rows.numeric]
        centers, loadings = np.repeat(middle[None], n_classes, axis=0), np.zeros((places.shape[1], len(middle)))
        variances = np.repeat(np.maximum(whole, floor)[None], n_classes, axis=0)
        return cls(
            middle, whole, floor, places, np.repeat(centers[:, None], len(places), 1), centers, variances, loadings
        )

    def fit(self, mass: Real, sums: Real, energy: Real, entries: Real, *, select: bool) -> tuple[float, int]:
        """A round, from sums over the rows of each class and node, K x G x P.

        Returns the cost of the loadings, and the number of columns with any.
        """
        z = self.places
        whole = mass.sum(axis=1)
        precision = mass / self.variances[:, None]
        curvature = np.einsum("gr,gs,kgp->prs", z, z, precision, optimize=True) + np.eye(z.shape[1])
        for _ in range(2):
            pull = (sums - self.centers[:, None] * mass) / self.variances[:, None]
            loadings = np.linalg.solve(curvature, np.einsum("gr,kgp->pr", z, pull)[..., None])[..., 0].T
            shifted = z @ loadings  # G x P
            self.centers = (sums - shifted * mass).sum(axis=1) + CENTER_ENTRIES * self.middle
            self.centers /= whole + CENTER_ENTRIES
        squares = np.square(loadings).sum(axis=0)
        cost = 0.5 * (squares + np.linalg.slogdet(curvature)[1])
        gained = 0.5 * (np.einsum("rp,prs,sp->p", loadings, curvature, loadings) - squares)
        kept = (gained > cost) | (not select)
        self.loadings = np.where(kept, loadings, 0.0)
        self.means = self.centers[:, None] + (z @ self.loadings)[None]
        scatter = scatters(self.means, mass, sums, energy).sum(axis=1)
        self.variances = np.maximum(shrunk_variances(scatter, entries, self.whole), self.floor)
        return float(cost[kept].sum()), int(kept.sum())
