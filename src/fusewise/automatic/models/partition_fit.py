"""The mixture that describes a partition of the rows, in the family of spreads that explains it better."""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.models.group_fit import ROUNDS, GroupFit
from fusewise.automatic.models.mixture import Mixture
from fusewise.kernels.types import Labels

FAMILIES = ("scale", "full")
#: Rounds of EM by which a partition is judged first: they leave a small part of what it can gain.
FIRST_ROUNDS = 3
#: Numbers (rows times squared dimensions) for each thread that fits mixtures: with fewer, threads mostly wait for
#: Python's lock (1000 rows in 6 dimensions on 16 cores: 1.0 s on one thread, 1.4 s on 4, 2.4 s on 16).
ENOUGH_WORK = 100_000


def threads_of_fits(n_rows: int, n_dimensions: int) -> int:
    """The most threads that fits of partitions are worth."""
    return 1 + n_rows * n_dimensions**2 // ENOUGH_WORK


def describe(rows: Rows, labels: Labels, worth: float = 1.0, rounds: int = ROUNDS) -> Mixture:
    """Fit the mixture of a partition, by so many rounds of EM or until it converges."""
    fit = PartitionFit(rows, labels, worth)
    fit.advance(rounds)
    return fit.mixture


class PartitionFit:
    """Fits of a partition in each family of spreads, some rounds at a time.

    A family is dropped as soon as it falls short of the other by more than it may still gain. Each fit begins from one
    spread for all groups: started from the fit of the previous partition, EM is hardly faster and ends in worse optima.

    Parameters
    ----------
    rows : the rows.
    labels : their groups, 0 .. K-1, none empty.
    worth : rows that a row is worth (see ``criterion``).
    """

    def __init__(self, rows: Rows, labels: Labels, worth: float = 1.0) -> None:
        self.rows, self.labels, self.worth = rows, labels, worth
        self.n_groups = int(labels.max()) + 1
        within, prior = rows.within(labels), rows.prior(self.n_groups)
        sizes = np.bincount(labels).astype(float)
        families = FAMILIES[: min(self.n_groups, 2)]  # one group has one spread
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
