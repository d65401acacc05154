"""Solvers from the samples of a series, some of them held out, to frames (by ``mri.solving.interpolation``).

Frames are points, A_i the sampling of frame i, and the covariance of frames varies over the image, which couples all
k-space locations. Two solvers converge to the same frames:

``BySample`` solves for a, preconditioned by the inverse under the mean kernel at every k-space location, which is the
exact diagonal block of A K A'. For one coil on the grid.
``ByImage`` solves for u, preconditioned by the inverse at every pixel with the mean sampling density for A'A. For any
sampling: with several coils, or off the grid, samples are nearly redundant, and A K A' is nearly singular.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from fusewise.kernels import copied, library
from fusewise.mri.sampling.normal_equations import NormalEquations
from fusewise.mri.solving.column_systems import ColumnInverse, Columns
from fusewise.mri.solving.covariances import LocalKernels
from fusewise.mri.solving.interpolation import Interpolated, by_points, by_samples
from fusewise.mri.tensors import Array, fft2, ifft2


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
