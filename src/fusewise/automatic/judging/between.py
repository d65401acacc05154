"""What the rows between two components say about a valley between them.

Along the discriminant w = W^-1 (mu_2 - mu_1), with W the mean spread, a pair of components has the density
f(u) = sum_k pi_k t_nu, and f_b = max(f, b g) / c_b is the same with its valley filled up to the share b of its brim g.
With l(b) = sum_i log f_b(u_i) over the rows between the two centres, they have no valley between them if the filled one
explains the rows better than the model's, l(1) > l(0), and a shallow one hardly better, max_b l(b) - l(1) < 1.

In up to ``gaps.MOST_DIMENSIONS`` dimensions components that are long and point to each other are likely to be pieces of
one group. Long axes point to each other by chance with a probability of about exp(-`alignment`), so `ALIGNED` times
that many nats are added to l(1), but no more than log N, the price of a cut that was chosen among N; on a line, where
all point to each other, half of that is added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence, regular
from fusewise.automatic.coordinates.gaps import MOST_DIMENSIONS
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.models.spreads import TAIL
from fusewise.kernels.types import Floats, Index, Real

#: How much the alignment of two components counts against a valley between them.
ALIGNED = 3.0
#: How much better, in nats, a shallow valley may explain the rows between two centres than none.
TOLERATED = 1.0
#: A row is well known along a direction if its variance there is at most this share of the pair's.
WELL_KNOWN = 0.1
#: Points of a density that are looked at, and depths of a valley.
POINTS, DEPTHS = 198, 11


class Valley(NamedTuple):
    """What the rows between two centres say, in nats over a filled valley.

    Attributes
    ----------
    own : l(0) - l(1), how much better the valley of the model explains the rows.
    best : max_b l(b) - l(1) >= 0, the same for a valley as deep as they show.
    odds : in favour of no valley, before the rows are looked at.
    known : the share of the rows of both components that are well known along the discriminant, and so are looked at.
    """

    own: float
    best: float
    odds: float
    known: float = 1.0

    @property
    def filled(self) -> bool:
        """Whether the rows show that there is no valley."""
        return self.own < self.odds and self.best < TOLERATED + self.odds


class Between:
    """The valleys between the components of a mixture as the rows show them, each looked at once.

    Parameters
    ----------
    mixture, evidence, labels : the components, the rows, and the most likely component of each row.
    """

    def __init__(self, mixture: Mixture, evidence: Evidence, labels: Index) -> None:
        self.mixture, self.evidence, self.labels = mixture, evidence, labels
        self._seen: dict[tuple[int, int], Valley] = {}

    def __call__(self, one: int, other: int) -> Valley:
        """The valley between two components."""
        pair = max(one, other), min(one, other)
        if pair not in self._seen:
            self._seen[pair] = self._look(list(pair))
        return self._seen[pair]

    def _look(self, both: list[int]) -> Valley:
        mixture, evidence = self.mixture, self.evidence
        means, spreads, shares = mixture.means[both], regular(mixture.spreads[both]), mixture.shares[both]
        shares = shares / shares.sum()
        within = np.einsum("k,krs->rs", shares, spreads)
        apart = means[1] - means[0]
        across = np.linalg.solve(within, apart)
        whole = within + shares.prod() * np.outer(apart, apart)
        rows = np.flatnonzero(np.isin(self.labels, both))
        coordinates = _known(evidence, rows, across, shares @ means, whole)
        begin, end = means @ across
        inside = coordinates[(coordinates > begin) & (coordinates < end)]
        places = begin + (end - begin) * (np.arange(POINTS) + 0.5) / POINTS
        widths = np.sqrt(np.einsum("r,krs,s->k", across, spreads, across))
        away = (places[:, None] - (begin, end)) / widths
        density = ((1 + away**2 / TAIL) ** (-(TAIL + 1) / 2) / widths) @ shares
        valleys = np.maximum(density, np.linspace(0, 1, DEPTHS)[:, None] * brim(density))
        valleys /= valleys.mean(axis=1, keepdims=True)
        fits = np.array([np.interp(inside, places, np.log(valley)).sum() for valley in valleys])
        own, best = float(fits[0] - fits[-1]), float(fits.max() - fits[-1])
        return Valley(own, best, _odds(apart, spreads, evidence), len(coordinates) / max(len(rows), 1))


def _odds(apart: Real, spreads: Real, evidence: Evidence) -> float:
    """Nats in favour of no valley, before the rows are looked at."""
    n, r = evidence.shape
    cut = float(np.log(n))
    if r == 1:
        return cut / 2
    return min(ALIGNED * alignment(apart, spreads), cut) if r <= MOST_DIMENSIONS else 0.0


def alignment(apart: Real, spreads: Real) -> float:
    """(r - 1) sum_k log max(a_k, 1) for two components: how unlikely it is that they point to each other by chance.

    a_k is the standard deviation of component k towards the other, over that across.
    """
    r = len(apart)
    towards = np.einsum("r,krs,s->k", apart, spreads, apart) / max(float(apart @ apart), 1e-300)
    across = (np.trace(spreads, axis1=1, axis2=2) - towards) / max(r - 1, 1)
    return float(0.5 * (r - 1) * np.log(np.maximum(towards / np.maximum(across, 1e-300), 1)).sum())


def brim(height: Floats) -> Floats:
    """The lower of the highest points on either side, along the first axis: the level to which water would stand."""
    left, right = np.maximum.accumulate(height), np.maximum.accumulate(height[::-1])[::-1]
    return np.asarray(np.minimum(left, right))


def _known(evidence: Evidence, rows: Index, across: Real, mean: Real, spread: Real) -> Floats:
    """w'v of those rows that are well known along w; the others' v ~ N(mean, spread) would decide for them."""
    one = Mixture(mean[None], spread[None], np.ones(1), "full", 0.0, 0.0)
    groups = evidence.grouped(np.zeros(len(rows), np.intp), 1, rows)
    marginal = groups.marginal(one.spreads)
    turned = marginal.factor[:, :, 0].T @ across
    variance = np.einsum("r,rsu,s->u", turned, marginal.inverse, turned)[groups.evidence.pattern]
    return np.asarray((one.conditional(groups) @ across)[variance <= WELL_KNOWN * (across @ spread @ across)])
