"""Interpolation of frames: the quadratic problem of fusion, with the weights used as a covariance.

Fusion lowers  sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||²: it averages similar frames, with an error of
the order of their distance. Used as a covariance K, the same weights give

    minimise   sum_i ||A_i u_i - b_i||² + lam <u, K^-1 u>,

which interpolates, without error where frames change linearly between their neighbours. A_i is the sampling of frame i.
Nothing needs K^-1, which takes the place of the Laplacian 2 L of the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

from fusewise.kernels import Array, conjugate_gradients, copied, library
from fusewise.mri._normal_equations import NormalEquations
from fusewise.mri._tensors import add_multiple, inner, zeros


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Result of a solve."""

    centers: Array  # u
    history: tuple[float, ...]  # relative size of the residual at the start and after each step


def interpolate(
    equations: NormalEquations,
    smooth: Callable[..., Array],
    density: float,
    start: Array | None = None,
    *,
    max_steps: int,
    tol: float,
) -> Interpolated:
    """Solve (A'A + lam K^-1) u = A'b by conjugate gradients, without K^-1.

    `smooth` writes M r into `out`, where M = (rho I + lam K^-1)^-1 = K (rho K + lam I)^-1 and rho = `density` is the
    mean of the diagonal of A'A. M is the preconditioner, and A'A + M^-1 - rho I the system: changes of u are stored
    beside their images under M^-1. M also makes the first frames, of `start`, those under another covariance (None:
    zero):

        u = M (rho s + A'(b - A s)),

    which is s itself if that is the solution. The steps end at a residual of `tol` times ||A'b||.
    """
    normal, target, xp = equations.normal, equations.target, library(equations.target)
    pair = zeros((2, *target.shape), target)  # M^-1 u and u; large arrays are reused
    unit = float(inner(target, target)) or 1.0
    history: list[float] = []

    def note(residual: Array) -> None:
        history.append(sqrt(float(inner(residual, residual)) / unit))

    def precondition(residual: Array) -> Array:
        pair[0] = residual
        smooth(residual, out=pair[1])
        return pair

    def system(direction: Array) -> Array:
        pushed = normal(direction[1])
        add_multiple(pushed, 1.0, direction[0])
        add_multiple(pushed, -density, direction[1])
        return pushed

    def energy(vector: Array, residual: Array) -> Array:
        return inner(vector[1], residual)

    def enough(residual: Array, energy: Array) -> bool:
        return bool(history[-1] <= tol or energy <= 0)  # no energy: rounding prevents further progress

    centers, residual = xp.zeros_like(target), target
    if start is not None:
        first = precondition(density * start + target - normal(start))
        centers, residual = copied(first[1]), target - system(first)
    note(residual)
    steps = conjugate_gradients(system, precondition, residual, energy, max_steps=max_steps, enough=enough)
    for length, direction, residual in steps:
        add_multiple(centers, length, direction[1])
        note(residual)
    return Interpolated(centers, tuple(history))
