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

from fusewise.fusion._penalties import Parameterised, by_name
from fusewise.kernels import Real, Values
from fusewise.observations import Entries, Observations
from fusewise.support import InputError


class Fidelity(Parameterised):
    """f_i(u), a function of the centre of point i."""

    #: Whether f is a constraint (0 inside, infinite outside); lam then has no effect.
    constrained: ClassVar[bool] = True

    def value(self, observations: Observations, centers: Values) -> float:
        """sum_i f_i(u_i), the `centers` being the u_i and the `observations` what f_i is about."""
        return 0.0

    def prox(self, observations: Observations, anchors: Values, pull: Real) -> Values:
        """argmin_u f_i(u) + t_i ||u - v_i||², for every i, given `observations`; v_i: `anchors`, t_i: `pull`."""
        raise NotImplementedError

    def resolve(self, observations: Observations, noise: Callable[[], float]) -> Fidelity:
        """Return the fidelity with unset parameters chosen for `observations`; ``noise()``: standard deviation."""
        return self

    def take(self, observations: Observations, rows: npt.NDArray[np.intp]) -> Fidelity:
        """Return the fidelity for a selection of the `rows` of `observations`."""
        return self


class Quadratic(Fidelity):
    """f_i(u) = ||A_i u - b_i||², for entries ||S_i (u - x_i)||²: the paper's unconstrained form."""

    constrained = False

    def value(self, observations: Observations, centers: Values) -> float:
        """sum_i ||A_i u_i - b_i||²."""
        return observations.misfit(centers)

    def prox(self, observations: Observations, anchors: Values, pull: Real) -> Values:
        """A weighted mean of observation and anchor."""
        return observations.solve(anchors, pull)


class Box(Fidelity):
    """||S_i (u - x_i)||_inf <= epsilon / 2: the paper's constrained form (a disc for each complex entry).

    Parameters
    ----------
    epsilon : width of the box; None: such that it contains all entries of a Gaussian cluster with probability 1/2.
    """

    def __init__(self, epsilon: float | None = None):
        self.epsilon = epsilon
        self._check()

    def _check(self) -> None:
        _check_non_negative("epsilon", self.epsilon)

    def prox(self, observations: Observations, anchors: Values, pull: Real) -> Values:
        """Clip to the box."""
        entries = _entries(observations)
        offset = entries.residual(anchors)
        return _shorten(entries, anchors, offset, np.abs(offset), np.asarray(self._half_width))

    def resolve(self, observations: Observations, noise: Callable[[], float]) -> Box:
        """Set epsilon from the median of the largest deviation among all observed entries, for Gaussian noise."""
        if self.epsilon is not None:
            return self
        share = 0.5 ** (1 / max(_entries(observations).mask.sum(), 1))
        return Box(2 * noise() * float(-ndtri((1 - share) / 2)))

    @property
    def _half_width(self) -> float:
        if self.epsilon is None:
            raise InputError("Box(epsilon=None) has no width until it is fitted to data: set epsilon")
        return self.epsilon / 2


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

    def prox(self, observations: Observations, anchors: Values, pull: Real) -> Values:
        """Shrink the observed part of the offset towards x_i."""
        entries = _entries(observations)
        offset = entries.residual(anchors)
        length = np.linalg.norm(offset, axis=1, keepdims=True)
        return _shorten(entries, anchors, offset, length, self._radii(observations)[:, None])

    def resolve(self, observations: Observations, noise: Callable[[], float]) -> Ball:
        """Set the radii from the noise, as described in the class docstring."""
        if self.radius is not None:
            return self
        return Ball(noise() * np.sqrt(2 * gammaincinv(_entries(observations).row_counts / 2, 0.95)))

    def take(self, observations: Observations, rows: npt.NDArray[np.intp]) -> Ball:
        """Return the ball with the radii of these rows."""
        return self if self.radius is None else Ball(self._radii(observations)[rows])

    def _radii(self, observations: Observations) -> Real:
        if self.radius is None:
            raise InputError("Ball(radius=None) has no radius until it is fitted to data: set radius")
        radii = np.asarray(self.radius, dtype=float)
        if radii.ndim and radii.shape != (observations.shape[0],):
            raise InputError(f"radius has shape {radii.shape}: give one number, or one for each of the "
                             f"{observations.shape[0]} points")  # fmt: skip
        return np.broadcast_to(radii, observations.shape[:1])


def _entries(observations: Observations) -> Entries:
    if not isinstance(observations, Entries):
        raise TypeError("Box and Ball constrain the observed entries: use them with rank=None")
    return observations


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
