"""Points interpolated between one another: the quadratic of fusion, with a covariance for the weights.

Fusion lowers  sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||²  (``fusion.steps``): it averages like points,
and is wrong by their distance. Read as a covariance K, the same weights give

    minimise   sum_i ||A_i u_i - b_i||² + lam <u, K^-1 u>,

which interpolates: no error is made where points change linearly between their neighbours. K^-1 stands where the
Laplacian 2 L of the weights stood, and the solver is the same, ``kernels.krylov``. Two ways lead to the minimum:

``by_points``   (A'A + lam K^-1) u = A'b, preconditioned by (rho I + lam K^-1)^-1 with the mean rho of A'A;
``by_samples``  (A K A' + lam I) a = b, u = K A'a: the dual, preconditioned by whatever is near its inverse.

Neither needs K^-1. Where one covariance serves all columns of a table, ``fusion.columns`` is exact and faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from fusewise.kernels.arrays import Array, copied, library
from fusewise.kernels.krylov import conjugate_gradients
from fusewise.mri.tensors import inner


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Where a solve ended, to be used or gone on from.

    Attributes
    ----------
    centers : u.
    dual : a, or z = K^-1 u.
    history : relative size of the residual at the start and after each step.
    """

    centers: Array
    dual: Array
    history: tuple[float, ...] = ()


def by_points(
    normal: Callable[[Array], Array],
    target: Array,
    shrunk: Callable[..., Array],
    density: float,
    lam: float,
    start: Interpolated | None = None,
    *,
    max_steps: int,
    tol: float,
) -> Interpolated:
    """Solve (A'A + lam K^-1) u = A'b; what u changes by is carried beside its K^-1-image, which K^-1 is not needed for.

    Parameters
    ----------
    normal, target : A'A and A'b.
    shrunk : G = (rho K + lam I)^-1, written into `out`. It gives the preconditioner K G as (I - lam G) / rho.
    density : rho, the mean of A'A's diagonal.
    lam : see the formula.
    start : where to start, found under the same covariance; None: zero.
    max_steps, tol : to stop after so many steps, or with a residual of `tol` times ||A'b||.
    """
    xp = library(target)
    centers = xp.zeros_like(target) if start is None else copied(start.centers)
    residual = target if start is None else target - normal(centers) - lam * start.dual
    pair, work = xp.stack([residual, residual]), xp.empty_like(target)  # what z and u change by; long arrays are dear

    def precondition(residual: Array) -> Array:
        shrunk(residual, out=pair[0])
        xp.multiply(pair[0], -lam, out=pair[1])
        pair[1] += residual
        pair[1] /= density
        return pair

    def system(direction: Array) -> Array:
        pushed = normal(direction[1])
        pushed += xp.multiply(direction[0], lam, out=work)
        return pushed

    progress = _Progress(target, residual, tol)
    steps = conjugate_gradients(
        system,
        precondition,
        residual,
        lambda vector, residual: inner(vector[1], residual),
        max_steps=max_steps,
        enough=progress.enough,
    )
    for length, direction, residual in steps:
        centers += xp.multiply(direction[1], length, out=work)
        progress.note(residual)
    # The residual tells z: r = A'b - A'A u - lam z.
    return Interpolated(centers, (target - normal(centers) - residual) / lam, tuple(progress.history))


def by_samples(
    spread: Callable[[Array], Array],
    seen: Callable[[Array], Array],
    target: Array,
    precondition: Callable[[Array], Array],
    lam: float,
    start: Interpolated,
    *,
    max_steps: int,
    tol: float,
) -> Interpolated:
    """Solve (A K A' + lam I) a = b; the points are u = K A' a.

    Parameters
    ----------
    spread : a -> K A' a, which may be written into the same array every time.
    seen : u -> A u.
    target : b.
    precondition : near (A K A' + lam I)^-1.
    lam : see the formula.
    start : where to start, a and u = K A' a; both are written over.
    max_steps, tol : to stop after so many steps, or with a residual of `tol` times ||b||.
    """
    centers, dual, moved = start.centers, start.dual, start.centers

    def system(direction: Array) -> Array:
        nonlocal moved
        moved = spread(direction)
        return seen(moved) + lam * direction

    residual = target - seen(centers) - lam * dual
    progress = _Progress(target, residual, tol)
    steps = conjugate_gradients(system, precondition, residual, inner, max_steps=max_steps, enough=progress.enough)
    for length, direction, residual in steps:
        dual += length * direction
        moved *= length
        centers += moved
        progress.note(residual)
    return Interpolated(centers, dual, tuple(progress.history))


class _Progress:
    """Sizes of residuals in units of the target's."""

    def __init__(self, target: Array, residual: Array, tol: float):
        self.unit, self.tol = float(inner(target, target)) or 1.0, tol
        self.history: list[float] = []
        self.note(residual)

    def note(self, residual: Array) -> None:
        """Of a step."""
        self.history.append(sqrt(float(inner(residual, residual)) / self.unit))

    def enough(self, residual: Array, energy: Array) -> bool:
        """Whether the last is within the tolerance, or rounding has used up what the preconditioner can gain."""
        return bool(self.history[-1] <= self.tol or energy <= 0)
