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
from typing import Protocol

from fusewise.kernels.arrays import library
from fusewise.mri.arrays import Array, fft2, ifft2, inner
from fusewise.mri.kernels import LocalKernels


class Sampling(Protocol):
    """A: images (T x ny x nx) to samples, and back."""

    def forward(self, images: Array) -> Array:
        """A u."""
        ...

    def adjoint(self, samples: Array) -> Array:
        """A' b."""
        ...


@dataclass(frozen=True, eq=False)
class Gridded:
    """A_i u = S_i F(maps u): the FFT of what each coil sees, kept where the mask is True; T x coils x ny x nx.

    Attributes
    ----------
    mask : T x ny x nx, in the plain layout (``fourier.to_plain``).
    maps : coils x ny x nx; None: one coil that sees everything alike.
    """

    mask: Array
    maps: Array | None = None

    def forward(self, images: Array) -> Array:
        """A u."""
        seen = images[:, None] if self.maps is None else images[:, None] * self.maps
        return fft2(seen) * self.mask[:, None]

    def adjoint(self, samples: Array) -> Array:
        """A' b, for samples that are zero off the mask."""
        seen = ifft2(samples)
        return seen[:, 0] if self.maps is None else (seen * self.maps.conj()).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Solution:
    """a or z, the frames u of it, and the relative size of the residual at the start and after each step."""

    dual: Array
    images: Array
    history: tuple[float, ...]


class Solver(Protocol):
    """Samples, kernels and lam to frames."""

    @property
    def sampling(self) -> Sampling:
        """A."""
        ...

    def __call__(
        self,
        samples: Array,
        kernels: LocalKernels,
        noise: float,
        *,
        steps: int = 20,
        tol: float = 1e-2,
        seen: Array | None = None,
        start: Solution | None = None,
    ) -> Solution:
        """Solve.

        Parameters
        ----------
        samples, kernels, noise : b, K and lam.
        steps, tol : conjugate gradients end after so many steps, or once the residual has shrunk by `tol`.
        seen : samples to use, as booleans; None: all.
        start : where to start; None: zero.
        """
        ...


@dataclass(frozen=True, eq=False)
class BySample:
    """(A K A' + lam I) a = b by conjugate gradients on samples.

    Attributes
    ----------
    sampling : A.
    precondition : (mean kernel, lam, whether all samples are used) to an approximate inverse of the system.
    """

    sampling: Sampling
    precondition: Callable[[Array, float, bool], Callable[[Array], Array]]

    def __call__(
        self,
        samples: Array,
        kernels: LocalKernels,
        noise: float,
        *,
        steps: int = 20,
        tol: float = 1e-2,
        seen: Array | None = None,
        start: Solution | None = None,
    ) -> Solution:
        """See ``Solver``."""
        sampling, covariance = self.sampling, kernels.times()
        kept = _keep(seen)

        def system(dual: Array) -> Array:
            return kept(sampling.forward(covariance(sampling.adjoint(dual))) + noise * dual)

        inverse = self.precondition(kernels.mean_kernel(), noise, seen is None)
        target = kept(samples)
        size = sqrt(inner(target, target)) or 1.0
        dual = direction = library(target).zeros_like(target)
        residual, energy = target, inf
        if start is not None:
            dual = kept(start.dual)
            residual = target - system(dual)
        history = [sqrt(inner(residual, residual)) / size]
        for _ in range(steps):
            scaled = kept(inverse(residual))
            following = inner(residual, scaled)
            if history[-1] <= tol or following <= 0:
                break
            direction, energy = scaled + (following / energy) * direction, following
            pushed = system(direction)
            step = energy / inner(direction, pushed)
            dual, residual = dual + step * direction, residual - step * pushed
            history.append(sqrt(inner(residual, residual)) / size)
        return Solution(dual, covariance(sampling.adjoint(dual)), tuple(history))


@dataclass(frozen=True, eq=False)
class ByImage:
    """(A'A K + lam I) z = A' b by conjugate gradients on images, in the inner product <., K .>.

    The preconditioner G = (rho K + lam I)^-1 also gives K G = (I - lam G) / rho, so that a step multiplies by one
    matrix for each place.

    Attributes
    ----------
    sampling : A.
    density : rho, the mean of the diagonal of A'A.
    """

    sampling: Sampling
    density: float

    def __call__(
        self,
        samples: Array,
        kernels: LocalKernels,
        noise: float,
        *,
        steps: int = 20,
        tol: float = 1e-2,
        seen: Array | None = None,
        start: Solution | None = None,
    ) -> Solution:
        """See ``Solver``."""
        sampling, kept = self.sampling, _keep(seen)
        inverse = kernels.shrunk(self.density, noise)
        target = sampling.adjoint(kept(samples))
        size = sqrt(inner(target, target)) or 1.0
        z = u = direction = pushed = library(target).zeros_like(target)  # pushed: K times the direction
        residual, energy = target, inf
        if start is not None:
            z, u = start.dual, start.images
            residual = target - sampling.adjoint(kept(sampling.forward(u))) - noise * z
        history = [sqrt(inner(residual, residual)) / size]
        for _ in range(steps):
            scaled = inverse(residual)
            weighed = (residual - noise * scaled) / self.density
            following = inner(residual, weighed)
            if history[-1] <= tol or following <= 0:
                break
            turn, energy = following / energy, following
            direction, pushed = scaled + turn * direction, weighed + turn * pushed
            image = sampling.adjoint(kept(sampling.forward(pushed))) + noise * direction
            step = energy / inner(pushed, image)
            z, u, residual = z + step * direction, u + step * pushed, residual - step * image
            history.append(sqrt(inner(residual, residual)) / size)
        return Solution(z, u, tuple(history))


def _keep(seen: Array | None) -> Callable[[Array], Array]:
    return (lambda values: values) if seen is None else (lambda values: values * seen)
