"""Fits of the components of a mixture to given groups, some rounds of EM at a time.

Partitions are compared by fits that have converged; but most need not converge for that. EM gains less in a round than
in the one before, typically a third of it, so what a fit may still gain is taken to be no more than its last gain. A
family of spreads, or a partition, that would fall short of another even then is not fitted further.
"""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.evidence import Evidence, Groups
from fusewise.automatic.models.mixture import Explained, Mixture, fit_means, row_weights, seen_of
from fusewise.automatic.models.spreads import Spreads, em_step, fisher_step
from fusewise.kernels.types import Index, Real

#: Largest number of rounds of EM for centres, spreads and row weights with fixed labels; they end when the fit gains
#: less than `GAIN` nats (for n > 1000 rows, (n / 1000)² times as many: 5 for 5000, where a parameter costs 4).
ROUNDS = 15
GAIN = 0.2


def enough_gain(n_rows: int) -> float:
    """The gain in log-likelihood below which a round of EM was the last."""
    return GAIN * max(1.0, n_rows / 1000) ** 2


def fit_groups(evidence: Evidence, labels: Index, spread: Real, prior: Real, family: str) -> Mixture:
    """Fit centres and spreads of the groups given by labels 0 .. K-1, none empty, by EM on the observed entries.

    The parameters are those of `GroupFit`.
    """
    groups = evidence.grouped(labels, int(labels.max()) + 1)
    fit = GroupFit(np.diff(groups.begin).astype(float), spread, prior, family)
    while not fit.done:
        fit.advance(groups)
    return fit.settled


class GroupFit:
    """EM of the centres and spreads of groups, with fixed labels.

    The rows are passed with every round, so that a fit that waits does not hold them.

    Parameters
    ----------
    sizes : K, rows in each group, none empty.
    spread : initial spread within groups.
    prior : spread of r + 2 pseudo-rows that are added to each group, so that small groups have a spread too.
    family : "scale" or "full".

    Attributes
    ----------
    settled : the best components so far.
    gain : what they gained over the best before them; infinite after one round.
    n_rounds : rounds so far.
    done : whether the fit has converged.
    """

    settled: Mixture

    def __init__(self, sizes: Real, spread: Real, prior: Real, family: str) -> None:
        self.prior, self.family = prior, family
        self.gain, self.n_rounds, self.done = np.inf, 0, False
        self._sizes = sizes
        self._weights: Real = np.ones(int(sizes.sum()))
        self._spreads = Spreads(np.repeat(spread[None], len(self._sizes), axis=0), spread)
        self._safe, self._before, self._scoring = self._spreads, -np.inf, True

    @property
    def left(self) -> float:
        """What the fit may still gain."""
        return 0.0 if self.done else self.gain

    def advance(self, groups: Groups, explained: Explained | None = None) -> Explained | None:
        """One round; the rows as they are explained by the components it began with may be known."""
        n, r = groups.evidence.shape
        sizes = self._sizes
        explained = explained or fit_means(groups, self._spreads.each, self._weights)
        fit = float(explained.density.sum() + sizes @ np.log(sizes / n))
        self.n_rounds += 1
        self.done = self.n_rounds >= ROUNDS
        gain = fit - self._before
        if gain < 0 and self._scoring:  # the scoring step was too long: take the EM step instead, and continue with EM
            self._spreads, self._scoring = self._safe, False
            return None
        if gain > 0:  # the prior may lower the fit slightly in the last steps
            complexity = _complexity(sizes, r, self.family)
            self.settled = Mixture(explained.means, self._spreads.each, sizes / n, self.family, fit, complexity)
            self.gain = gain
        self.done |= gain < enough_gain(n)
        if not self.done:
            self._before, self._weights = fit, row_weights(groups.evidence, explained.distance)
            seen = seen_of(groups, explained, np.ones(n), self._weights)
            self._safe = em_step(self._spreads, seen, self.prior, self.family)
            scored = fisher_step(self._spreads, seen, self.prior, self.family) if self._scoring else None
            self._spreads = scored or self._safe
        return explained


def _complexity(sizes: Real, r: int, family: str) -> float:
    """Number of free parameters; a spread shrunk towards the common one counts in proportion to its own data."""
    n_groups, shape = len(sizes), r * (r + 1) / 2
    own = 1.0 if family == "scale" else float(np.mean(sizes / (sizes + r + 2.0))) * shape
    return n_groups - 1 + n_groups * r + shape + (n_groups - 1) * own
