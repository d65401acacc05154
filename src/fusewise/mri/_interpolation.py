"""Interpolation of points: the quadratic problem of fusion, with the weights used as a covariance.

Fusion lowers  sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||²  (``fusion.steps``): it averages similar
points, with an error of the order of their distance. Used as a covariance K, the same weights give

    minimise   sum_i ||A_i u_i - b_i||² + lam <u, K^-1 u>,

which interpolates, without error where points change linearly between their neighbours. K^-1 replaces the Laplacian
2 L of the weights, and the solver is the same, ``conjugate_gradients``. There are two ways to compute the minimum:

``by_points``   (A'A + lam K^-1) u = A'b, preconditioned by (rho I + lam K^-1)^-1 with the mean rho of A'A;
``by_samples``  (A K A' + lam I) a = b, u = K A'a: the dual, preconditioned by an approximate inverse.

Neither needs K^-1. If one covariance applies to all columns of a table, ``Columns`` is exact and faster.

Frames are points, A_i the sampling of frame i, and the covariance of frames varies over the image, which couples all
k-space locations. Two solvers converge to the same frames:

``BySample`` solves for a, preconditioned by the inverse under the mean kernel at every k-space location, which is the
exact diagonal block of A K A'. For one coil on the grid.
``ByImage`` solves for u, preconditioned by the inverse at every pixel with the mean sampling density for A'A. For any
sampling: with several coils, or off the grid, samples are nearly redundant, and A K A' is nearly singular.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    """Result of a solve, which can be continued.

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
    """Solve (A'A + lam K^-1) u = A'b without K^-1: changes of u are stored with their images under it.

    Parameters
    ----------
    normal, target : A'A and A'b.
    shrunk : G = (rho K + lam I)^-1, written into `out`. It gives the preconditioner K G as (I - lam G) / rho.
    density : rho, the mean of the diagonal of A'A.
    lam : see the formula.
    start : starting point, computed under the same covariance; None: zero.
    max_steps, tol : stop after `max_steps` steps, or with a residual of `tol` times ||A'b||.
    """
    xp = library(target)
    centers, dual = (xp.zeros_like(target), xp.zeros_like(target)) if start is None else _copied(start)
    residual = target if start is None else target - normal(centers) - lam * dual
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
        dual += xp.multiply(direction[0], length, out=work)
        centers += xp.multiply(direction[1], length, out=work)
        progress.note(residual)
    return Interpolated(centers, dual, tuple(progress.history))


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
    spread : a -> K A' a, which may return the same array every time.
    seen : u -> A u.
    target : b.
    precondition : approximates (A K A' + lam I)^-1.
    lam : see the formula.
    start : starting point, a and u = K A' a; both are overwritten.
    max_steps, tol : stop after `max_steps` steps, or with a residual of `tol` times ||b||.
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


def _copied(start: Interpolated) -> tuple[Array, Array]:
    return copied(start.centers), copied(start.dual)


class _Progress:
    """Norms of residuals relative to that of the target."""

    def __init__(self, target: Array, residual: Array, tol: float):
        self.unit, self.tol = float(inner(target, target)) or 1.0, tol
        self.history: list[float] = []
        self.note(residual)

    def note(self, residual: Array) -> None:
        """Record the residual of a step."""
        self.history.append(sqrt(float(inner(residual, residual)) / self.unit))

    def enough(self, residual: Array, energy: Array) -> bool:
        """Whether the last residual is within the tolerance, or rounding prevents further progress."""
        return bool(self.history[-1] <= self.tol or energy <= 0)


class Solver(ABC):
    """The samples of a series, some of them held out, and the solution for frames given kernels and lam."""

    #: Most steps of the first solve, while settings are chosen, and in a round.
    first_steps: ClassVar[int]
    trial_steps: ClassVar[int]
    round_steps: ClassVar[int]

    #: Residual, relative to the target, at which a solve ends.
    tol: ClassVar[float]

    @abstractmethod
    def solve(
        self, kernels: LocalKernels, noise: float, whole: bool, start: Array | None, max_steps: int, tol: float
    ) -> Interpolated:
        """Solve for the frames; see ``__call__``."""

    def __call__(
        self,
        kernels: LocalKernels,
        noise: float,
        *,
        whole: bool = True,
        start: Array | None = None,
        steps: int = 20,
        tol: float | None = None,
    ) -> Interpolated:
        """Solve for the frames, as the points of an interpolation.

        Parameters
        ----------
        kernels, noise : K and lam.
        whole : whether to use the held-out samples, too.
        start : the dual of a solution, of this problem or of a similar one, to start from; None: zero.
        steps, tol : end after this many steps, or once the residual has shrunk by `tol`.
        """
        return self.solve(kernels, noise, whole, start, steps, self.tol if tol is None else tol)


@dataclass(frozen=True, eq=False)
class BySample(Solver):
    """(A K A' + lam I) a = b, where A is the FFT on the grid with one coil.

    Attributes
    ----------
    samples : b, T x ny x nx, zero where not sampled.
    fitted, every : the samples without the held-out ones, and with them; a k-space location is a column.
    """

    samples: Array
    fitted: Columns
    every: Columns

    first_steps: ClassVar[int] = 20
    trial_steps: ClassVar[int] = 6
    round_steps: ClassVar[int] = 24
    tol: ClassVar[float] = 1e-2

    def solve(
        self, kernels: LocalKernels, noise: float, whole: bool, start: Array | None, max_steps: int, tol: float
    ) -> Interpolated:
        """Solve as ``Solver`` describes, in k-space instead of images: norms and inner products are the same."""
        used = self.every if whole else self.fitted
        covariance = kernels.covariance()
        zeros_like = library(self.samples).zeros_like
        work = zeros_like(self.samples)  # these arrays are large, so a single one is reused throughout

        def spread(direction: Array) -> Array:
            images = ifft2(used.unpack(direction, out=work), overwrite=True)
            return fft2(covariance(images, out=images), overwrite=True)

        target = used.pack(self.samples)
        if start is None:
            begun = Interpolated(zeros_like(self.samples), zeros_like(target))
        else:
            dual = used.pack(start)
            begun = Interpolated(copied(spread(dual)), dual)
        inverse = ColumnInverse.under(covariance.mean()[None], used, noise)
        found = by_samples(spread, used.pack, target, inverse, noise, begun, max_steps=max_steps, tol=tol)
        return Interpolated(ifft2(found.centers, overwrite=True), used.unpack(found.dual), found.history)


@dataclass(frozen=True, eq=False)
class ByImage(Solver):
    """(A'A + lam K^-1) u = A' b, for any sampling.

    Attributes
    ----------
    fitted, held : A and b of the samples not held out, and of those held out.
    density : the mean of the diagonal of A'A.
    """

    fitted: NormalEquations
    held: NormalEquations
    density: float

    # More than by sample: the preconditioner is weaker, and too short a trial measures speed, not the setting.
    first_steps: ClassVar[int] = 20
    trial_steps: ClassVar[int] = 10
    round_steps: ClassVar[int] = 15
    tol: ClassVar[float] = 3e-3

    def solve(
        self, kernels: LocalKernels, noise: float, whole: bool, start: Array | None, max_steps: int, tol: float
    ) -> Interpolated:
        """Solve as ``Solver`` describes."""
        used = self.fitted + self.held if whole else self.fitted
        shrunk = kernels.shrunk(self.density, noise)
        begun = None if start is None else Interpolated(kernels.covariance()(start), start)
        return by_points(used.normal, used.target, shrunk, self.density, noise, begun, max_steps=max_steps, tol=tol)
