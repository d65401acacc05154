"""Fits of the components of a mixture to given groups, some rounds of EM at a time.

Partitions are compared by fits that have converged; but most need not converge for that. EM gains less in a round than
in the one before, typically a third of it, so what a fit may still gain is taken to be no more than its last gain. A
family of spreads, or a partition, that would fall short of another even then is not fitted further.

The mixture that describes a partition of the rows, in the family of spreads that explains it better.
"""

from __future__ import annotations

import numpy as np

from fusewise.automatic._evidence import Evidence, Groups, regular
from fusewise.automatic._mixture import (
    Evaluated,
    Mixture,
    Seen,
    Spreads,
    em_step,
    evaluate,
    fisher_step,
    row_weights,
    whitened,
)
from fusewise.automatic._rows import Rows
from fusewise.kernels import Index, Labels, Real

#: Largest number of rounds of EM for centres, spreads and row weights with fixed labels; and of the first of these, by
#: which a partition is judged: they leave a small part of what it can gain.
ROUNDS, FIRST_ROUNDS = 15, 3


def enough_gain(n_rows: int) -> float:
    """The gain in log-likelihood below which a round of EM was the last: 5 for 5000 rows, where a parameter costs 4."""
    return 0.2 * max(1.0, n_rows / 1000) ** 2


def fit_groups(evidence: Evidence, labels: Index, spread: Real, prior: Real, family: str) -> Mixture:
    """Fit centres and spreads of the groups given by labels 0 .. K-1, none empty, by EM on the observed entries."""
    fit = GroupFit(np.bincount(labels).astype(float), spread, prior, family)
    groups = evidence.turned(fit.factor).grouped(labels, len(fit.sizes))
    while not fit.done:
        fit.advance(groups)
    return fit.settled


class GroupFit:
    """EM of the centres and spreads of groups, with fixed labels.

    Given are the sizes of the groups, none empty, the initial spread within them, and that of r + 2 pseudo-rows that
    are added to each group, so that small groups have a spread too. The rows are passed with every round, so that a fit
    that waits does not hold them; in coordinates s with v = L s (`factor`), in which the initial spread is I: spreads
    are then well conditioned.
    """

    def __init__(self, sizes: Real, spread: Real, prior: Real, family: str) -> None:
        r = len(spread)
        self.family, self.complexity = family, _complexity(sizes, r, family)
        self.fit, self.gain, self.n_rounds, self.done = -np.inf, np.inf, 0, False
        self.factor = np.linalg.cholesky(regular(spread))
        self.sizes, self._prior = sizes, whitened(prior, self.factor)
        self._weights: Real = np.ones(int(sizes.sum()))
        self._spreads = Spreads(np.repeat(np.eye(r)[None], len(sizes), axis=0), np.eye(r))
        self._best: tuple[Real, Real] | None = None
        self._seen: tuple[Spreads, Seen] | None = None  # what the rows say on the spreads, where the last step began
        self._before, self._scoring = -np.inf, True

    @property
    def left(self) -> float:
        """What the fit may still gain."""
        return 0.0 if self.done else self.gain

    @property
    def settled(self) -> Mixture:
        """The best components so far."""
        assert self._best is not None
        means, spreads = self._best
        spreads = self.factor @ spreads @ self.factor.T
        shares = self.sizes / self.sizes.sum()
        return Mixture(means @ self.factor.T, spreads, shares, self.family, self.fit, self.complexity)

    def advance(self, groups: Groups, evaluated: Evaluated | None = None) -> Evaluated | None:
        """One round; the rows under the components it begins with may be known."""
        n, sizes = groups.evidence.shape[0], self.sizes
        if self._seen is not None:
            step = fisher_step if self._scoring else em_step
            self._spreads = step(*self._seen, self._prior, self.family)
        evaluated = evaluated or evaluate(groups, self._spreads.each, np.ones(n), self._weights, renew=True)
        fit = float(evaluated.density.sum() + sizes @ np.log(sizes / n))
        self.n_rounds += 1
        self.done = self.n_rounds >= ROUNDS
        gain = fit - self._before
        if gain < 0 and self._scoring:  # the scoring step was too long: take the EM step instead, and continue with EM
            self._scoring = False
            return None
        if gain > 0:  # the prior may lower the fit slightly in the last steps
            self._best, self.fit, self.gain = (evaluated.means, self._spreads.each), fit, gain
        self.done |= gain < enough_gain(n)
        self._before, self._weights = fit, row_weights(groups.evidence, evaluated.distance)
        self._seen = self._spreads, evaluated.seen
        return evaluated


def _complexity(sizes: Real, r: int, family: str) -> float:
    """Number of free parameters; a spread shrunk towards the common one counts in proportion to its own data."""
    n_groups, shape = len(sizes), r * (r + 1) / 2
    own = 1.0 if family == "scale" else float(np.mean(sizes / (sizes + r + 2.0))) * shape
    return n_groups - 1 + n_groups * r + shape + (n_groups - 1) * own


def threads_of_fits(n_rows: int, n_dimensions: int) -> int:
    """The most threads that fits of partitions are worth: with less work for each, they mostly wait for Python's lock.

    (1000 rows in 6 dimensions on 16 cores took 1.0 s on one thread, 1.4 s on 4, 2.4 s on 16.)
    """
    return 1 + n_rows * n_dimensions**2 // 100_000


def describe(rows: Rows, labels: Labels, worth: float = 1.0, rounds: int = ROUNDS) -> Mixture:
    """Fit the mixture of a partition, by so many rounds of EM or until it converges."""
    fit = PartitionFit(rows, labels, worth)
    fit.advance(rounds)
    return fit.mixture


class PartitionFit:
    """Fits of a partition in each family of spreads, some rounds at a time.

    A family is dropped as soon as it falls short of the other by more than it may still gain. Each fit begins from one
    spread for all groups: started from the fit of the previous partition, EM is hardly faster and ends in worse optima.
    `worth` is that of ``criterion``.
    """

    def __init__(self, rows: Rows, labels: Labels, worth: float = 1.0) -> None:
        self.rows, self.labels, self.worth = rows, labels, worth
        self.n_groups = int(labels.max()) + 1
        within, prior = rows.within(labels), rows.prior(self.n_groups)
        sizes = np.bincount(labels).astype(float)
        families = ("scale", "full")[: min(self.n_groups, 2)]  # one group has one spread
        self._fits = [GroupFit(sizes, within, prior, family) for family in families]

    def advance(self, rounds: int = ROUNDS) -> None:
        """Run some rounds of EM, fewer if the fits converge."""
        groups = self.rows.evidence.turned(self._fits[0].factor).grouped(self.labels, self.n_groups)
        for _ in range(rounds):
            if self.done:
                break
            evaluated = None  # under the first components, which are the same in all families
            for fit in self._fits:
                if not fit.done:
                    evaluated = fit.advance(groups, evaluated if fit.n_rounds == 0 else None)
            best = max(map(self._value, self._fits))
            self._fits = [fit for fit in self._fits if self._reach(fit) >= best]

    @property
    def done(self) -> bool:
        """Whether all fits have converged."""
        return all(fit.done for fit in self._fits)

    @property
    def mixture(self) -> Mixture:
        """The better of the fits so far."""
        return max(self._fits, key=self._value).settled

    @property
    def left(self) -> float:
        """What the criterion may still gain."""
        return max(map(self._reach, self._fits)) - max(map(self._value, self._fits))

    def _value(self, fit: GroupFit) -> float:
        cost = 0.5 * fit.complexity * float(np.log(self.worth * len(self.labels)))
        return self.worth * fit.fit - cost

    def _reach(self, fit: GroupFit) -> float:
        return self._value(fit) + self.worth * fit.left
