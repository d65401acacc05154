"""Fidelities: how close a centre must stay to the observed entries of its point.

**Contract.** A fidelity f_i acts on all centres at once, through their observations. ``value`` is sum_i f_i(u_i), and

    prox(V, t)_i = argmin_u  f_i(u) + t_i ||u - v_i||²

is the only operation the fusion loop needs. A constraint has value 0 and a prox that does not depend on t: the
projection. ``Box`` and ``Ball`` constrain entries, so they need the observation model ``Entries``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, ndtri

from fusewise.fusion._penalties import ObjectiveTerm, by_name
from fusewise.kernels import Real, Values
from fusewise.observations import Entries
from fusewise.pairs import boxes, spread_out
from fusewise.support import InputError

Numbers = float | npt.NDArray[np.floating[Any]]


class Fidelity(ObjectiveTerm):
    """f_i(u), a function of the centre of point i."""

    #: Whether f is a constraint (0 inside, infinite outside); lam then has no effect.
    constrained: ClassVar[bool] = True

    @property
    def bounded(self) -> bool:
        """Whether there are bounds that may lie beyond the range of the entries."""
        return False

    def value(self, observations: Any, centers: Values) -> float:
        """sum_i f_i(u_i), the `centers` being the u_i and the `observations` what f_i is about."""
        return 0.0

    def prox(self, observations: Any, anchors: Values, pull: Real) -> Values:
        """argmin_u f_i(u) + t_i ||u - v_i||², for every i, given `observations`; v_i: `anchors`, t_i: `pull`."""
        raise NotImplementedError

    def resolve(self, observations: Any, noise: Callable[[], float]) -> Fidelity:
        """Return the fidelity with unset parameters chosen for `observations`; ``noise()``: standard deviation."""
        return self

    def take(self, observations: Any, rows: npt.NDArray[np.intp]) -> Fidelity:
        """Return the fidelity for a selection of the `rows` of `observations`."""
        return self


class Quadratic(Fidelity):
    """f_i(u) = ||A_i u - b_i||², for entries ||S_i (u - x_i)||²: the paper's unconstrained form."""

    constrained = False

    def value(self, observations: Any, centers: Values) -> float:
        """sum_i ||A_i u_i - b_i||²."""
        misfit: float = observations.misfit(centers)
        return misfit

    def prox(self, observations: Any, anchors: Values, pull: Real) -> Values:
        """A weighted mean of observation and anchor."""
        mean: Values = observations.solve(anchors, pull)
        return mean


class Box(Fidelity):
    """||S_i (u - x_i)||_inf <= epsilon / 2, the paper's constrained form; or lower_ip <= u_p <= upper_ip.

    Parameters
    ----------
    epsilon : width of the box around every observed entry (of a disc, if it is complex): one number, or one for each
        column or entry; None: such that it contains all entries of a Gaussian cluster with probability 1/2.
    lower, upper : instead of epsilon, bounds of real entries, shaped likewise; also of entries that were not observed,
        but only in rows with some that were. Infinite or NaN where there is none.
    """

    def __init__(self, epsilon: Numbers | None = None, *, lower: Numbers | None = None, upper: Numbers | None = None):
        self.epsilon = epsilon
        self.lower = lower
        self.upper = upper
        self._check()

    def _check(self) -> None:
        _check_non_negative("epsilon", self.epsilon)
        if self.epsilon is not None and self.bounded:
            raise InputError("a Box takes epsilon, or else lower and upper, not both")

    @property
    def bounded(self) -> bool:
        """Whether the box has bounds of its own."""
        return self.lower is not None or self.upper is not None

    def bounds(self, entries: Entries, slack: float = 0.0) -> tuple[Real, Real]:
        """The bounds of all `entries`, wider by a share `slack` of their size; infinite where there is none."""
        return boxes(entries.fill(np.nan), self.epsilon, self.lower, self.upper, slack=slack)

    def prox(self, observations: Entries, anchors: Values, pull: Real) -> Values:
        """Clip to the box."""
        if self.epsilon is None and not self.bounded:
            raise InputError("Box() has no width until it is fitted to data: set epsilon, or lower and upper")
        if np.iscomplexobj(observations.values):
            offset, half = observations.residual(anchors), spread_out("epsilon", self.epsilon, observations.shape) / 2
            return _shorten(observations, anchors, offset, np.abs(offset), half)
        return np.asarray(np.clip(anchors, *self.bounds(observations)), anchors.dtype)

    def resolve(self, observations: Entries, noise: Callable[[], float]) -> Box:
        """Set epsilon from the median of the largest deviation among all observed entries, for Gaussian noise."""
        if self.bounded and np.iscomplexobj(observations.values):
            raise InputError("lower and upper are bounds of real entries: use epsilon for a complex table")
        if self.epsilon is not None or self.bounded:
            return self
        share = 0.5 ** (1 / max(observations.mask.sum(), 1))
        return Box(2 * noise() * float(-ndtri((1 - share) / 2)))

    def take(self, observations: Entries, rows: npt.NDArray[np.intp]) -> Box:
        """Return the box with the bounds of these rows."""
        parts = self.get_params()
        for name, value in parts.items():
            if np.ndim(value) > 1:
                parts[name] = spread_out(name, value, observations.shape)[rows]
        return Box(**parts)


class Ball(Fidelity):
    """||S_i (u - x_i)||_2 <= radius_i: much tighter than a box for Gaussian noise.

    Parameters
    ----------
    radius : one number, or one for each point; None: noise * sqrt(the 0.95 quantile of chi² with as many degrees
        of freedom as the row has entries).
    """

    def __init__(self, radius: float | npt.NDArray[np.floating[Any]] | None = None):
        self.radius = radius
        self._check()

    def _check(self) -> None:
        _check_non_negative("radius", self.radius)

    def prox(self, observations: Entries, anchors: Values, pull: Real) -> Values:
        """Shrink the observed part of the offset towards x_i."""
        offset = observations.residual(anchors)
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        return _shorten(observations, anchors, offset, length, self._radii(observations)[:, None])

    def resolve(self, observations: Entries, noise: Callable[[], float]) -> Ball:
        """Set the radii from the noise, as described in the class docstring."""
        if self.radius is not None:
            return self
        return Ball(noise() * np.sqrt(2 * gammaincinv(observations.row_counts / 2, 0.95)))

    def take(self, observations: Entries, rows: npt.NDArray[np.intp]) -> Ball:
        """Return the ball with the radii of these rows."""
        return self if self.radius is None else Ball(self._radii(observations)[rows])

    def _radii(self, observations: Entries) -> Real:
        if self.radius is None:
            raise InputError("Ball(radius=None) has no radius until it is fitted to data: set radius")
        radii = np.asarray(self.radius, dtype=float)
        if radii.ndim and radii.shape != (observations.shape[0],):
            raise InputError(f"radius has shape {radii.shape}: give one number, or one for each of the "
                             f"{observations.shape[0]} points")  # fmt: skip
        return np.broadcast_to(radii, observations.shape[:1])


def _shorten(observations: Entries, anchors: Values, offset: Values, length: Real, limit: Real) -> Values:
    """x + offset * min(1, limit / length) where observed, the anchor where missing."""
    outside = length > limit
    factor = np.where(outside, limit / np.where(outside, length, 1), 1)
    moved = observations.values + offset * factor.astype(length.dtype)
    return np.where(observations.mask, moved, anchors)


def _check_non_negative(name: str, value: Any) -> None:
    if value is None:
        return
    try:
        numbers = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        numbers = np.asarray(np.nan)
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise InputError(f"{name} must be non-negative and finite, got {value!r}")


FIDELITIES: dict[str, type[Fidelity]] = {"quadratic": Quadratic, "box": Box, "ball": Ball}


def as_fidelity(fidelity: str | Fidelity) -> Fidelity:
    """Return the fidelity with this name, or the object itself."""
    return by_name("fidelity", fidelity, FIDELITIES, Fidelity)
