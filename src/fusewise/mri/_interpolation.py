"""Interpolation of frames: the quadratic problem of fusion, with the weights used as a covariance.

Fusion lowers  sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||²: it averages similar frames, with an error of
the order of their distance. Used as a covariance K, the same weights give

    minimise   sum_i ||A_i u_i - b_i||² + lam <u, K^-1 u>,

which interpolates, without error where frames change linearly between their neighbours. A_i is the sampling of frame i.
Nothing needs K^-1, which takes the place of the Laplacian 2 L of the weights. There are two ways to the same frames:

``BySample``   (A K A' + lam I) a = b, u = K A'a: the dual, for one coil on the grid. It is preconditioned by the
inverse under the mean kernel at every k-space location, which is the exact diagonal block of A K A'.

``ByImage``   (A'A + lam K^-1) u = A'b, preconditioned by (rho I + lam K^-1)^-1 with the mean rho of A'A. For any
sampling: with several coils, or off the grid, samples are nearly redundant, and A K A' is nearly singular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from fusewise.kernels import Array, conjugate_gradients, copied, library
from fusewise.mri._columns import ColumnInverse, Columns
from fusewise.mri._covariances import LocalKernels
from fusewise.mri._normal_equations import NormalEquations
from fusewise.mri._tensors import fft2, ifft2, inner


@dataclass(frozen=True, eq=False)
class Interpolated:
    """Result of a solve, which can be continued."""

    centers: Array  # u
    dual: Array  # a, or z = K^-1 u
    history: tuple[float, ...] = ()  # relative size of the residual at the start and after each step


class _Progress(list[float]):
    """Norms of residuals relative to that of the target, at the start and after each step."""

    def __init__(self, target: Array, residual: Array, tol: float):
        super().__init__()
        self.unit, self.tol = float(inner(target, target)) or 1.0, tol
        self.note(residual)

    def note(self, residual: Array) -> None:
        self.append(sqrt(float(inner(residual, residual)) / self.unit))

    def enough(self, residual: Array, energy: Array) -> bool:
        # no energy: rounding prevents further progress
        return bool(self[-1] <= self.tol or energy <= 0)


def by_points(
    equations: NormalEquations,
    shrunk: Callable[..., Array],
    density: float,
    lam: float,
    start: Interpolated | None = None,
    *,
    max_steps: int,
    tol: float,
) -> Interpolated:
    """Solve (A'A + lam K^-1) u = A'b without K^-1: changes of u are stored with their images under it.

    With rho = `density`, the mean of the diagonal of A'A, and G = (rho K + lam I)^-1, which `shrunk` writes into `out`,
    the preconditioner is K G = (I - lam G) / rho. `start` was computed under the same covariance; None: zero. It ends
    at a residual of `tol` times ||A'b||.
    """
    normal, target, xp = equations.normal, equations.target, library(equations.target)
    if start is None:
        centers, dual, residual = xp.zeros_like(target), xp.zeros_like(target), target
    else:
        centers, dual = copied(start.centers), copied(start.dual)
        residual = target - normal(centers) - lam * dual
    pair, work = xp.stack([residual, residual]), xp.empty_like(target)  # changes of z and u; large arrays are reused

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

    def energy(vector: Array, residual: Array) -> Array:
        return inner(vector[1], residual)

    enough = (progress := _Progress(target, residual, tol)).enough
    steps = conjugate_gradients(system, precondition, residual, energy, max_steps=max_steps, enough=enough)
    for length, direction, residual in steps:
        dual += xp.multiply(direction[0], length, out=work)
        centers += xp.multiply(direction[1], length, out=work)
        progress.note(residual)
    return Interpolated(centers, dual, tuple(progress))


@dataclass(frozen=True, eq=False)
class BySample:
    """(A K A' + lam I) a = b, where A is the FFT on the grid with one coil."""

    samples: Array  # b, T x ny x nx, zero where not sampled
    fitted: Columns  # the samples without the held-out ones; a k-space location is a column
    every: Columns  # the samples with them
    tol: float = 1e-2  # the residual, relative to the target, at which a solve ends

    #: Most steps of the first solve, while settings are chosen, and in a round.
    steps: ClassVar[tuple[int, int, int]] = (20, 6, 24)

    def __call__(
        self, kernels: LocalKernels, noise: float, steps: int, *, whole: bool = True, start: Array | None = None
    ) -> Interpolated:
        """Solve for the frames in k-space, if `whole` with the held-out samples, starting from a similar dual."""
        used, covariance = self.every if whole else self.fitted, kernels.covariance
        zeros_like = library(self.samples).zeros_like
        work = zeros_like(self.samples)  # these arrays are large, so a single one is reused throughout

        def spread(direction: Array) -> Array:
            images = ifft2(used.unpack(direction, out=work), overwrite=True)
            return fft2(covariance(images, out=images), overwrite=True)

        target = used.pack(self.samples)
        if start is None:
            dual, centers = zeros_like(target), zeros_like(self.samples)
        else:
            dual = used.pack(start)
            centers = copied(spread(dual))
        inverse = ColumnInverse.under(covariance.mean()[None], used, noise)
        moved = centers

        def system(direction: Array) -> Array:
            nonlocal moved
            moved = spread(direction)
            return used.pack(moved) + noise * direction

        residual = target - used.pack(centers) - noise * dual
        progress = _Progress(target, residual, self.tol)
        iterations = conjugate_gradients(system, inverse, residual, inner, max_steps=steps, enough=progress.enough)
        for length, direction, residual in iterations:
            dual += length * direction
            moved *= length
            centers += moved
            progress.note(residual)
        return Interpolated(ifft2(centers, overwrite=True), used.unpack(dual), tuple(progress))


@dataclass(frozen=True, eq=False)
class ByImage:
    """(A'A + lam K^-1) u = A' b, for any sampling."""

    fitted: NormalEquations  # of the samples not held out
    held: NormalEquations  # of those held out
    density: float  # the mean of the diagonal of A'A
    tol: float = 3e-3

    # More than by sample: the preconditioner is weaker, and too short a trial measures speed, not the setting.
    steps: ClassVar[tuple[int, int, int]] = (20, 10, 15)

    def __call__(
        self, kernels: LocalKernels, noise: float, steps: int, *, whole: bool = True, start: Array | None = None
    ) -> Interpolated:
        used = self.fitted + self.held if whole else self.fitted
        shrunk = kernels.shrunk(self.density, noise)
        begun = None if start is None else Interpolated(kernels.covariance(start), start)
        return by_points(used, shrunk, self.density, noise, begun, max_steps=steps, tol=self.tol)


#: The two ways to the frames.
Solver = BySample | ByImage
