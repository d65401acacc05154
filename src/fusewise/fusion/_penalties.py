"""Fusion penalties: the cost phi(t) of a distance t between two centres.

Every penalty is concave and non-decreasing **in s = t²**, and zero at t = 0. With

    weight(t) = phi'(t) / (2 t) = d phi / d s,

the quadratic phi(t) + weight(t) (x² - t²) touches phi at x = t and lies above it everywhere, so minimising the
weighted sum of squares can only lower the penalty (majorise-minimise). The weight is real, non-negative, non-increasing
and finite at t = 0: penalties with a kink at zero (L1, Lp, MCP, SCAD) are replaced within about ``smoothing`` of zero
by a smooth concave function of s, as each class documents.

**To add a penalty**, write ``value_and_weight(s)`` in squared distances, and add the class to ``PENALTIES``, from
which the contract tests take it. Functions come from ``library(s)``: numpy, or torch if s is a tensor on a device.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from fusewise.kernels import Real as RealArray
from fusewise.kernels import library
from fusewise.pairs import h1_weight
from fusewise.support import InputError

T = TypeVar("T")


class ObjectiveTerm(BaseEstimator):  # type: ignore[misc]
    """A small object with named parameters, checked when created and when changed.

    It inherits scikit-learn's ``get_params`` / ``set_params`` / ``clone``, so that the parameters of a penalty or
    fidelity are reachable from the estimator that holds it (``penalty__sigma``) and GridSearchCV can vary them.
    Two such objects are equal when their class and parameters are.
    """

    def _check(self) -> None:
        """Raise ValueError if a parameter is out of range."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name and check them."""
        super().set_params(**params)
        self._check()
        return self

    def replace(self, **params: Any) -> Self:
        """Return a copy with some parameters changed."""
        return type(self)(**{**self.get_params(deep=False), **params})

    def _key(self) -> tuple[Any, ...]:
        params = self.get_params(deep=False).items()
        arrays = (np.ndarray, list)
        return type(self), *(
            (name, np.asarray(v, float).tobytes() if isinstance(v, arrays) else v) for name, v in params
        )

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, ObjectiveTerm) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())


def by_name(kind: str, name: object, known: dict[str, type[T]], base: type[T]) -> T:
    """Return an instance of `base`: the object itself, or one made from a known name."""
    if isinstance(name, base):
        return name
    if isinstance(name, str) and name.lower() in known:
        return known[name.lower()]()
    raise InputError(f"unknown {kind} {name!r}: use one of {', '.join(map(repr, known))}, or a {base.__name__} object")


#: Scales of penalties: distances are from 1e-100 to 1e100, and a scale may be a small share of one.
SMALLEST, LARGEST = 1e-110, 1e110


class Penalty(ObjectiveTerm):
    """phi(t), a function of the distance between two centres."""

    #: Whether ``weight`` exists, so that the penalty can be minimised by reweighting.
    has_weight: ClassVar[bool] = True

    def _check(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if name == "smoothing" or (name == "sigma" and value is not None):
                _check_positive(name, value)

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s at squared distances s (called by the fusion loop; both share most of their work)."""
        raise NotImplementedError

    def value(self, t: npt.ArrayLike) -> RealArray:
        """phi(t)."""
        return self.value_and_weight(np.square(_distances(t)))[0]

    def weight(self, t: npt.ArrayLike) -> RealArray:
        """phi'(t) / (2 t), with its limit at t = 0."""
        return self.value_and_weight(np.square(_distances(t)))[1]

    @property
    def reach(self) -> float | None:
        """Distance beyond which a pair hardly attracts; None if there is none."""
        return None

    @property
    def resolution(self) -> float:
        """Distance below which the penalty does not distinguish two centres: that within which it is smoothed."""
        return float(self.get_params()["smoothing"])


def _distances(t: npt.ArrayLike) -> RealArray:
    t = np.asarray(t)
    return t if t.dtype.kind == "f" else t.astype(float)


def _soft_modulus(s: RealArray, smoothing: float) -> tuple[RealArray, RealArray]:
    """s / sqrt(s + smoothing²) and its derivative in s: t = sqrt(s) with a rounded tip, concave in s."""
    shifted = s + smoothing**2
    root = library(s).sqrt(shifted)
    value, weight = s / root, 0.5 * s
    weight += smoothing**2
    shifted *= root
    weight /= shifted
    return value, weight


class L0(Penalty):
    """phi(t) = 0 if t = 0 else 1: counts the pairs that are not fused. It has no weight; use ``fusewise.exact``."""

    has_weight = False

    def value(self, t: npt.ArrayLike) -> RealArray:
        """phi(t)."""
        t = _distances(t)
        return (t > 0).astype(t.dtype)

    def weight(self, t: npt.ArrayLike) -> RealArray:
        """Raise TypeError: l0 has no quadratic majoriser."""
        raise TypeError(
            "L0 has no weight, so it cannot be minimised by reweighting: use a penalty that approximates it "
            "(H1, Lp, MCP, ...), or fusewise.exact.solve_l0"
        )

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Raise TypeError, as ``weight`` does."""
        return self.value(s), self.weight(s)


class Lp(Penalty):
    """phi(t) = t^p, 0 < p < 1 (p -> 0 tends to l0).

    Smoothed as t² / (t² + smoothing²)^(1 - p/2): zero at zero, t^p (1 + O(smoothing²/t²)) away from it, and
    weight(0) = smoothing^(p - 2).
    """

    def __init__(self, p: float = 0.5, smoothing: float = 1e-4):
        self.p = p
        self.smoothing = smoothing
        self._check()

    def _check(self) -> None:
        if not 0 < self.p < 1:
            raise InputError(f"Lp needs 0 < p < 1, got p={self.p!r} (for p = 1 use L1, for p = 0 L0)")
        super()._check()

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """s (s + a)^(p/2 - 1) with a = smoothing², and its derivative (s + a)^(p/2 - 2) (s p/2 + a)."""
        shifted = s + self.smoothing**2
        ratio = shifted ** (self.p / 2 - 1)
        return s * ratio, ratio * (s * (self.p / 2) + self.smoothing**2) / shifted


class L1(Penalty):
    """phi(t) = t: the convex (sum-of-norms) penalty, smoothed as t² / sqrt(t² + smoothing²)."""

    def __init__(self, smoothing: float = 1e-4):
        self.smoothing = smoothing
        self._check()

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s, as defined in the class docstring."""
        return _soft_modulus(s, self.smoothing)


class _Saturating(Penalty):
    """A penalty that rises from 0 to 1 over the scale sigma, and tends to l0 as sigma -> 0.

    With ``sigma=None`` the estimator chooses the scale from the data; on its own such a penalty has unit scale.
    """

    def __init__(self, sigma: float | None = None):
        self.sigma = sigma
        self._check()

    @property
    def scale(self) -> float:
        """Sigma, or 1 if it is not set."""
        return 1.0 if self.sigma is None else float(self.sigma)

    @property
    def reach(self) -> float | None:
        """Sigma."""
        return self.scale

    @property
    def resolution(self) -> float:
        """A hundredth of sigma: well within the dip at zero."""
        return 0.01 * self.scale


class H1(_Saturating):
    """phi(t) = 1 - exp(-t² / (2 sigma²)), weight(t) = exp(-t² / (2 sigma²)) / (2 sigma²)."""

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s, as defined in the class docstring."""
        decay = h1_weight(s, self.scale**2)
        decay = decay * (decay > library(s).finfo(decay.dtype).tiny ** 0.3)  # less has no effect, and overflows
        return 1 - decay, 0.5 / self.scale**2 * decay


class GemanMcClure(_Saturating):
    """phi(t) = t² / (t² + sigma²), weight(t) = sigma² / (t² + sigma²)²."""

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s, as defined in the class docstring."""
        total = s + self.scale**2
        return s / total, (self.scale / total) ** 2


class TruncatedL2(_Saturating):
    """phi(t) = min(t² / sigma², 1); the weight is 1/sigma² within sigma and 0 beyond."""

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s, as defined in the class docstring."""
        inside = s < self.scale**2
        return library(s).where(inside, s / self.scale**2, 1.0), library(s).where(inside, s * 0 + self.scale**-2, 0.0)


class MCP(_Saturating):
    """phi(t) = 1 - (1 - t/sigma)² for t < sigma, 1 beyond: the minimax concave penalty, scaled to saturate at 1.

    t is smoothed as t² / sqrt(t² + smoothing²), with smoothing relative to sigma.
    """

    def __init__(self, sigma: float | None = None, smoothing: float = 1e-3):
        self.smoothing = smoothing
        super().__init__(sigma)

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s, as defined in the class docstring."""
        t, slope = _soft_modulus(s / self.scale**2, self.smoothing)
        short = library(t).clip(1 - t, 0, None)
        return 1 - short**2, 2 * short * slope / self.scale**2


class SCAD(_Saturating):
    """The smoothly clipped absolute deviation, scaled to saturate at t = sigma with value 1.

    With t in units of sigma/a: phi rises as t up to 1, then along the parabola (2at - t² - 1) / (2(a - 1)) up to
    t = a, where it levels at (a + 1)/2; all divided by (a + 1)/2. `smoothing` as in MCP.
    """

    def __init__(self, sigma: float | None = None, a: float = 3.7, smoothing: float = 1e-3):
        self.a = a
        self.smoothing = smoothing
        super().__init__(sigma)

    def _check(self) -> None:
        super()._check()
        if not self.a > 2:
            raise InputError(f"SCAD needs a > 2, got a={self.a!r}")

    def value_and_weight(self, s: RealArray) -> tuple[RealArray, RealArray]:
        """Phi and d phi / d s, as defined in the class docstring."""
        a, unit = self.a, (self.a / self.scale) ** 2
        t, slope = _soft_modulus(s * unit, self.smoothing)
        parabola = (2 * a * t - t * t - 1) / (2 * (a - 1))
        where = library(t).where
        value = where(t <= 1, t, where(t < a, parabola, (a + 1) / 2))
        rise = library(t).clip((a - t) / (a - 1), 0, 1)
        return value * (2 / (a + 1)), rise * slope * (unit * 2 / (a + 1))


def _check_positive(name: str, value: Any) -> None:
    """Raise ValueError unless a scale is one that data can have, whose square is neither zero nor infinite."""
    if isinstance(value, bool | np.bool_) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
        raise InputError(f"{name} must be a positive number, got {value!r}")
    if not SMALLEST <= float(value) <= LARGEST:
        raise InputError(f"{name} must be from {SMALLEST:g} to {LARGEST:g}, got {value!r}")


PENALTIES: dict[str, type[Penalty]] = {
    "l0": L0,
    "l1": L1,
    "lp": Lp,
    "h1": H1,
    "mcp": MCP,
    "scad": SCAD,
    "truncated_l2": TruncatedL2,
    "geman_mcclure": GemanMcClure,
}


def as_penalty(penalty: str | Penalty) -> Penalty:
    """Return the penalty with this name, or the object itself."""
    return by_name("penalty", penalty, PENALTIES, Penalty)
