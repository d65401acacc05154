"""Frames from their samples and a covariance in time: the solves behind ``reconstruct``.

With A_i the sampling of frame i and covariance K among frames, the estimate

    u = K A' a,   (A K A' + lam I) a = b,      minimises      sum_i ||A_i u_i - b_i||² + lam <u, K^-1 u>,

and so does u = K z with (A'A K + lam I) z = A' b. Kernels that differ from place to place couple all of it: conjugate
gradients, in the one form or the other.

``BySample`` seeks a, preconditioned by the inverse under the mean kernel at every k-space location, which is the exact
diagonal block of A K A'. Best on the grid with one coil, where that block says nearly everything.
``ByImage`` seeks z, preconditioned by the inverse at every place with the mean sampling density for A'A. Best with
several coils and off the grid, where samples that nearly repeat each other make A K A' all but singular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, ClassVar, Protocol

from fusewise.kernels.arrays import library
from fusewise.mri.arrays import Array, energy, fft2, ifft2, inner
from fusewise.mri.kernels import LocalKernels
from fusewise.mri.locations import LocationInverse, Locations
from fusewise.mri.normal import NormalEquations


@dataclass(frozen=True, eq=False)
class Solution:
    """a or z, the frames u of it, and the relative size of the residual at the start and after each step."""

    dual: Array
    images: Array
    history: tuple[float, ...]


class Solver(Protocol):
    """The samples of a series, some of them held out, and the way from kernels and lam to frames."""

    #: Conjugate gradient steps while settings are chosen, and at the end; see ``selecting.choose_local``.
    trial_steps: ClassVar[int]
    final_steps: ClassVar[int]
    flattery: ClassVar[float]

    @property
    def held_energy(self) -> float:
        """||b||² of the samples held out."""
        ...

    def missed(self, images: Array) -> float:
        """||A u - b||² of the samples held out."""
        ...

    def __call__(
        self,
        kernels: LocalKernels,
        noise: float,
        *,
        whole: bool = True,
        steps: int = 20,
        tol: float = 1e-2,
        start: Solution | None = None,
    ) -> Solution:
        """Solve.

        Parameters
        ----------
        kernels, noise : K and lam.
        whole : whether to use the samples held out, too.
        steps, tol : conjugate gradients end after so many steps, or once the residual has shrunk by `tol`.
        start : where to start, found under the same kernels; None: zero.
        """
        ...


def under_mean_kernel(kernel: Array, locations: Locations, noise: float) -> Callable[[Array], Array]:
    """The inverse at every k-space location of the system that `kernel` gives everywhere."""
    return LocationInverse.under(kernel[None], locations, noise).apply


@dataclass(frozen=True, eq=False)
class BySample:
    """(A K A' + lam I) a = b by conjugate gradients on samples, A the FFT on the grid seen by one coil.

    Attributes
    ----------
    samples : b, T x ny x nx, zero where not sampled.
    fitted, every : the samples without those held out, and with them.
    held : places of those held out among the T ny nx.
    precondition : (mean kernel, samples used, lam) to an approximate inverse of the system.
    """

    samples: Array
    fitted: Locations
    every: Locations
    held: Array
    precondition: Callable[[Array, Locations, float], Callable[[Array], Array]] = under_mean_kernel

    trial_steps: ClassVar[int] = 6
    final_steps: ClassVar[int] = 20
    flattery: ClassVar[float] = 0.1

    @property
    def held_energy(self) -> float:
        """||b||² of the samples held out."""
        return energy(self.samples.reshape(-1)[self.held])

    def missed(self, images: Array) -> float:
        """||A u - b||² of the samples held out."""
        return energy(fft2(images).reshape(-1)[self.held] - self.samples.reshape(-1)[self.held])

    def __call__(
        self,
        kernels: LocalKernels,
        noise: float,
        *,
        whole: bool = True,
        steps: int = 20,
        tol: float = 1e-2,
        start: Solution | None = None,
    ) -> Solution:
        """See ``Solver``."""
        used = self.every if whole else self.fitted
        covariance = kernels.covariance()
        inverse = self.precondition(covariance.mean(), used, noise)
        target = used.pack(self.samples)
        dual = direction = library(target).zeros_like(target)
        kspace, work = (library(target).zeros_like(self.samples) for _ in range(2))  # kspace: F u
        residual, before = target, inf
        if start is not None:
            dual, kspace = used.pack(start.dual), fft2(start.images)
            residual = target - used.pack(kspace) - noise * dual
        size, squares = inner(target, target), [inner(residual, residual)]
        for _ in range(steps):
            scaled = inverse(residual)
            following = inner(residual, scaled)
            if squares[-1] <= tol**2 * size or following <= 0:
                break
            direction, before = scaled + (following / before) * direction, following
            # F K A' times the direction. Only here are arrays long, and one serves from beginning to end.
            pushed = ifft2(used.unpack(direction, out=work), overwrite=True)
            pushed = fft2(covariance(pushed, out=pushed), overwrite=True)
            image = used.pack(pushed) + noise * direction
            step = before / inner(direction, image)
            dual, residual = dual + step * direction, residual - step * image
            pushed *= step
            kspace += pushed
            squares.append(inner(residual, residual))
        images = ifft2(kspace, overwrite=True)
        return Solution(used.unpack(dual), images, _relative(squares, size))


@dataclass(frozen=True, eq=False)
class ByImage:
    """(A'A K + lam I) z = A' b by conjugate gradients on images, in the inner product <., K .>.

    The preconditioner G = (rho K + lam I)^-1 also gives K G = (I - lam G) / rho, so that a step multiplies by one
    matrix for each place.

    Attributes
    ----------
    fitted, held : A and b of the samples not held out, and of those held out.
    density : rho, the mean of the diagonal of A'A.
    """

    fitted: NormalEquations
    held: NormalEquations
    density: float

    # More than by sample: the preconditioner is weaker, and a trial cut short judges speed, not the setting.
    trial_steps: ClassVar[int] = 10
    final_steps: ClassVar[int] = 30
    flattery: ClassVar[float] = 0.02

    @property
    def held_energy(self) -> float:
        """||b||² of the samples held out."""
        return self.held.energy

    def missed(self, images: Array) -> float:
        """||A u - b||² of the samples held out."""
        return self.held.misfit(images)

    def __call__(
        self,
        kernels: LocalKernels,
        noise: float,
        *,
        whole: bool = True,
        steps: int = 20,
        tol: float = 3e-3,
        start: Solution | None = None,
    ) -> Solution:
        """See ``Solver``."""
        used = self.fitted + self.held if whole else self.fitted
        inverse = kernels.shrunk(self.density, noise)
        target = used.target
        z = u = direction = pushed = library(target).zeros_like(target)  # pushed: K times the direction
        residual, before = target, inf
        if start is not None:
            z, u = start.dual, start.images
            residual = target - used.normal(u) - noise * z
        size, squares = inner(target, target), [inner(residual, residual)]
        for _ in range(steps):
            scaled = inverse(residual)
            weighed = (residual - noise * scaled) / self.density
            following = inner(residual, weighed)
            if squares[-1] <= tol**2 * size or following <= 0:
                break
            turn, before = following / before, following
            direction, pushed = scaled + turn * direction, weighed + turn * pushed
            image = used.normal(pushed) + noise * direction
            step = before / inner(pushed, image)
            z, u, residual = z + step * direction, u + step * pushed, residual - step * image
            squares.append(inner(residual, residual))
        return Solution(z, u, _relative(squares, size))


def _relative(squares: list[Any], size: Any) -> tuple[float, ...]:
    """Lengths of residuals in units of the target's."""
    unit = float(size) or 1.0
    return tuple(sqrt(float(square) / unit) for square in squares)
