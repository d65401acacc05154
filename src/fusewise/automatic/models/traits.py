"""Latent classes whose columns also depend on a trait of the row: classes that differ by degrees inside.

Columns of a class are independent given a trait z_i ~ N(0, 1) of the row, which shifts the levels of every column by the
same amount in all classes:

    p(c_ij = l | k, z) = q_kjl exp(b_jl z) / sum_m q_kjm exp(b_jm z),    b_j ~ N(0, I).

A class with a trait takes as many parameters as a second class, so that evidence shows whether a class is one group
whose rows differ by degrees or two groups. Integrals over z are sums over a few nodes z_g with weights w_g; so the
model is a latent class model of K x G components with tied probabilities, and is kept as one.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fusewise.automatic.coordinates.level_blocks import Levels
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.level_shares import level_shares
from fusewise.automatic.models.mixture import probabilities
from fusewise.kernels.types import Index, Mask, Real
from fusewise.observations import InMemory

#: Steps of Newton's method in each round of EM.
STEPS = 2
#: Rounds before slopes that are not worth their cost are dropped.
SETTLED = 10
#: Standard deviation of a trait about its first estimate.
DOUBT = 0.7


@cache
def nodes(n_traits: int) -> tuple[Real, Real]:
    """Values of the traits, G x R, and their weights, G."""
    places = np.array([z for z in product(np.arange(-2.0, 2.5), repeat=n_traits) if np.dot(z, z) <= 5])
    weights = np.exp(-0.5 * np.square(places).sum(axis=1))
    return places, weights / weights.sum()


class Padded(NamedTuple):
    """Columns side by side, as many levels each as the widest has: where the levels of each are, and which exist."""

    where: Index
    exists: Mask

    @classmethod
    def of(cls, starts: Index, n_levels: int) -> Padded:
        """Columns that begin at `starts`."""
        widths = np.diff(np.append(starts, n_levels))
        exists = np.arange(widths.max()) < widths[:, None]
        return cls(np.where(exists, starts[:, None] + np.arange(widths.max()), 0), exists)

    def wide(self, cells: Real, empty: float = 0.0) -> Real:
        """... x Q as ... x J x L."""
        return np.where(self.exists, cells[..., self.where], empty)

    def narrow(self, cells: Real) -> Real:
        """... x J x L as ... x Q."""
        out = np.empty((*cells.shape[:-2], int(self.exists.sum())))
        out[..., self.where[self.exists]] = cells[..., self.exists]
        return out


class TraitFit(NamedTuple):
    """Classes with traits.

    Attributes
    ----------
    mixture : K x G components, in the order of classes; its cost is that of classes and slopes.
    group : the class of each component.
    slopes : b, R x Q.
    """

    mixture: ColumnMixture
    group: Index
    slopes: Real


def fit_trait(
    table: InMemory, posterior: Real, rounds: int, levels: Levels, gain: float, n_traits: int = 1
) -> TraitFit:
    """Fit classes with traits by EM, from given probabilities of the classes.

    Parameters
    ----------
    table : levels of categories only.
    posterior : N x K, the initial probabilities of the classes.
    rounds : maximum number of rounds.
    levels : the blocks of columns that hold the levels of a category.
    gain : stop when a round raises the log-likelihood by less than this.
    n_traits : R.
    """
    real = table.real()
    (n, n_classes), (places, weights) = posterior.shape, nodes(n_traits)
    unit = _units(real.column_means, levels)
    cells = real.values / unit if not hasattr(real.values, "tocsr") else (real.values.tocsr() * (1 / unit)[None]).tocsr()
    base = real.column_means / unit
    starts = np.array([block.start for block in levels])
    ordered = np.array([block.ordered for block in levels])
    pad = Padded.of(starts, len(base))
    traits = _main_axes(cells, real.seen, posterior, n_traits)
    gaps = np.square(traits[:, None] - places).sum(axis=2)
    near = probabilities(np.log(weights) - 0.5 * gaps / DOUBT**2)[0]
    joint = (posterior[:, :, None] * near[:, None]).reshape(n, -1)
    slopes, before = np.zeros((n_traits, len(base))), -np.inf
    for step in range(rounds):
        counts = np.asarray((cells.T @ joint).T).reshape(n_classes, len(places), -1)
        shares, cost = level_shares(counts.sum(axis=1), base, starts, ordered)
        if step == 0:
            logits = np.log(shares)
        for _ in range(STEPS):
            logits, slopes = _newton(counts, shares, logits, slopes, pad, places)
        kept, extra = _kept(counts, shares, slopes, _tilted(logits, slopes, pad, places), pad, places)
        slopes = kept if step >= SETTLED else slopes
        means = (_tilted(logits, slopes, pad, places) * unit).reshape(-1, len(base))
        sizes = (posterior.mean(axis=0)[:, None] * weights).ravel()
        found = ColumnMixture(means, means, np.ones_like(means), sizes, -np.inf, n_classes - 1.0, levels, cost + extra)
        joint, total = probabilities(found.log_densities(table)[0])
        posterior = joint.reshape(n, n_classes, -1).sum(axis=2)
        if step > SETTLED and abs(float(total.sum()) - before) < gain:
            break
        before = float(total.sum())
    entries = np.asarray((real.seen.T @ joint).T)
    fields = {**found.__dict__, "log_likelihood": float(total.sum()), "entries": entries}
    return TraitFit(ColumnMixture(**fields), np.repeat(np.arange(n_classes), len(places)), slopes)


def _units(means: Real, levels: Levels) -> Real:
    """The value of a level that a row has."""
    unit = np.ones(len(means))
    for start, stop, *_ in levels:
        unit[start:stop] = means[start:stop].sum()
    return unit


def _main_axes(cells: Any, seen: Any, posterior: Real, n_axes: int) -> Real:
    """Scores of the rows along the main axes of what the classes leave, standardised, N x R."""
    x = np.asarray(cells.todense() if hasattr(cells, "todense") else cells, float)
    m = np.asarray(seen.todense() if hasattr(seen, "todense") else seen, float)
    shares = (posterior.T @ x) / np.maximum(posterior.T @ m, 1e-9)
    left = m * (x - posterior @ shares)
    left = left / (np.sqrt(np.square(left).mean(axis=0)) + 1e-9)
    axes = np.random.default_rng(0).normal(size=(left.shape[1], n_axes))
    for _ in range(30):
        axes = np.linalg.qr(left.T @ (left @ axes))[0]
    scores = left @ axes
    return np.asarray((scores - scores.mean(axis=0)) / (scores.std(axis=0) + 1e-12))


def _tilted(logits: Real, slopes: Real, pad: Padded, places: Real) -> Real:
    """p_kgl, K x G x Q."""
    wide = pad.wide(logits[:, None] + places @ slopes, -np.inf)
    odds = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.maximum(pad.narrow(odds / odds.sum(axis=-1, keepdims=True)), 1e-12)


def _newton(
    counts: Real, shares: Real, logits: Real, slopes: Real, pad: Padded, places: Real
) -> tuple[Real, Real]:
    """A step of the slopes, then of the classes' own shares towards those that are wanted."""
    wide, p = pad.wide(counts), pad.wide(_tilted(logits, slopes, pad, places))
    totals = wide.sum(axis=-1)  # K x G x J
    n_columns, width = pad.exists.shape
    gradient = np.einsum("gr,kgjl->jrl", places, wide - totals[..., None] * p).reshape(n_columns, -1)
    b = pad.wide(slopes).transpose(1, 0, 2).reshape(n_columns, -1)
    step = np.linalg.solve(_curvature(totals, p, places), (gradient - b)[..., None])[..., 0]
    b = (b + np.clip(step, -1, 1)).reshape(n_columns, -1, width).transpose(1, 0, 2)
    slopes = pad.narrow(b)
    p = pad.wide(_tilted(logits, slopes, pad, places), 1.0)
    reached = np.einsum("kgj,kgjl->kjl", totals, p) / np.maximum(totals.sum(axis=1), 1e-9)[..., None]
    gap = np.log(pad.wide(shares, 1.0)) - np.log(np.maximum(reached, 1e-12))
    return logits + pad.narrow(np.clip(gap, -2, 2)), slopes


def _curvature(totals: Real, p: Real, places: Real) -> Real:
    """Of each column, that of the log-likelihood and the prior in the slopes, J x RL x RL."""
    (n_columns, width), r = p.shape[2:], places.shape[1]
    outer = np.einsum("gr,gs->grs", places, places)
    inside = -np.einsum("kgj,grs,kgjl,kgjm->jrlsm", totals, outer, p, p, optimize=True)
    own = np.einsum("kgj,grs,kgjl->jrsl", totals, outer, p, optimize=True)
    each = np.arange(width)
    inside[:, :, each, :, each] += own.transpose(3, 0, 1, 2)
    return inside.reshape(n_columns, r * width, r * width) + np.eye(r * width)


def _kept(
    counts: Real, shares: Real, slopes: Real, chances: Real, pad: Padded, places: Real
) -> tuple[Real, float]:
    """The slopes of those columns where they are worth their cost, and that cost."""
    wide = pad.wide(counts)
    gained = np.einsum("kgjl,kgjl->j", wide, np.log(pad.wide(chances, 1.0)) - np.log(pad.wide(shares, 1.0))[:, None])
    squares = np.square(pad.wide(slopes)).sum(axis=(0, 2))
    curvature = _curvature(wide.sum(axis=-1), pad.wide(chances), places)
    cost = 0.5 * (squares + np.linalg.slogdet(curvature)[1])
    worth = gained > cost
    return pad.narrow(np.where(worth[:, None], pad.wide(slopes), 0)), float(cost[worth].sum())
