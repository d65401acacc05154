"""One fusion problem: the objective, its gradient, and how far a point is from stationary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fusewise.fidelity import Fidelity
from fusewise.observations import Observations
from fusewise.observations.entries import Values
from fusewise.pairs import Pairs, Weighted
from fusewise.penalties import Penalty


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise  sum_i f_i(u_i)  +  lam sum_i sum_j c_ij phi(||u_i - u_j||)   (ordered pairs).

    For a constraint f, lam only scales the objective.
    """

    observations: Observations
    pairs: Pairs
    penalty: Penalty
    fidelity: Fidelity
    lam: float

    def at(self, lam: float, penalty: Penalty) -> Problem:
        """The same data at another point of the path."""
        return replace(self, lam=lam, penalty=penalty)

    def weigh(self, centers: Values) -> Weighted:
        """The quadratic that majorises the pair term at these centres."""
        return self.pairs.weigh(centers, self.penalty)

    def objective(self, centers: Values, weighted: Weighted) -> float:
        """The objective at centres whose pairs have been weighed."""
        return self.fidelity.value(self.observations, centers) + self.lam * weighted.energy

    def pair_gradient(self, centers: Values, weighted: Weighted) -> Values:
        """4 lam L u: the gradient of the pair term."""
        return 4 * self.lam * weighted.laplacian(centers)

    def stationarity(self, centers: Values, weighted: Weighted) -> float:
        """Relative size of the gradient, or of its projection where a constraint holds.

        For the quadratic fidelity: ||grad|| / ||2 S(X - mean)||, the denominator being the gradient of the fidelity at
        the one-cluster solution. For a constraint: the KKT residual ||T (U - prox(U - grad/T))|| with T = 8 lam d,
        over ||4 lam d S(X - mean)||, the pull towards the mean under the current weights.
        """
        gradient = self.pair_gradient(centers, weighted)
        data = self.observations.centred
        if not self.fidelity.constrained:
            gradient += 2 * (self.observations.normal(centers) - self.observations.target)
            return _ratio(gradient, 2 * data)
        pull = 8 * self.lam * weighted.degree[:, None]
        moved = centers - gradient / np.maximum(pull, np.finfo(pull.dtype).tiny)
        feasible = self.fidelity.prox(self.observations, moved, pull[:, 0])
        return _ratio(pull * (centers - feasible), 0.5 * pull * data)

    def rounding(self, centers: Values, weighted: Weighted) -> float:
        """How much of a rise of the objective rounding can explain.

        A squared distance is known to about eps (|u_i|² + |u_j|²), and the objective feels it with weight lam w_ij.
        """
        norms = np.square(np.abs(centers - centers.mean(axis=0))).sum(axis=1)
        felt = 4 * self.lam * float(np.dot(weighted.degree, norms))
        return 10 * float(np.finfo(centers.dtype).eps) * (abs(self.objective(centers, weighted)) + felt)


def _ratio(part: Values, whole: Values) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(part)) / (size if size > 0 else 1.0)
