"""The samples of a series, some of them held out, brought before the core's interpolation (``fusion.interpolation``).

Frames are points, A_i the sampling of frame i, and the covariance of frames differs from place to place, which couples
all k-space locations. Two ways lead to the same frames, and which comes nearer in few steps depends on the data:

``BySample`` seeks a, preconditioned by the inverse under the mean kernel at every k-space location, which is the exact
diagonal block of A K A'. For one coil on the grid.
``ByImage`` seeks u, preconditioned by the inverse at every place with the mean sampling density for A'A. For any
sampling: with several coils, or off the grid, samples nearly repeat each other, and A K A' is all but singular.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from fusewise.kernels.arrays import library
from fusewise.mri.sampling.normal_equations import NormalEquations
from fusewise.mri.solving.columns import ColumnInverse, Columns
from fusewise.mri.solving.covariances import LocalKernels
from fusewise.mri.solving.interpolation import Interpolated, by_points, by_samples
from fusewise.mri.tensors import Array, fft2, ifft2


class Solver(ABC):
    """The samples of a series, some of them held out, and the way from kernels and lam to frames."""

    #: Steps while settings are chosen, and at the end.
    trial_steps: ClassVar[int]
    final_steps: ClassVar[int]

    #: A residual so small, beside the target, ends a solve.
    tol: ClassVar[float]

    @abstractmethod
    def solve(
        self, kernels: LocalKernels, noise: float, whole: bool, start: Interpolated | None, max_steps: int, tol: float
    ) -> Interpolated:
        """See ``__call__``."""

    def __call__(
        self,
        kernels: LocalKernels,
        noise: float,
        *,
        whole: bool = True,
        start: Interpolated | None = None,
        steps: int = 20,
        tol: float | None = None,
    ) -> Interpolated:
        """Frames, as the points of the core.

        Parameters
        ----------
        kernels, noise : K and lam.
        whole : whether to use the samples held out, too.
        start : where to start, found under the same kernels; None: zero.
        steps, tol : to end after so many steps, or once the residual has shrunk by `tol`.
        """
        return self.solve(kernels, noise, whole, start, steps, self.tol if tol is None else tol)


@dataclass(frozen=True, eq=False)
class BySample(Solver):
    """(A K A' + lam I) a = b, A the FFT on the grid seen by one coil.

    Attributes
    ----------
    samples : b, T x ny x nx, zero where not sampled.
    fitted, every : the samples without those held out, and with them; a k-space location is a column.
    """

    samples: Array
    fitted: Columns
    every: Columns

    trial_steps: ClassVar[int] = 6
    final_steps: ClassVar[int] = 20
    tol: ClassVar[float] = 1e-2

    def solve(
        self, kernels: LocalKernels, noise: float, whole: bool, start: Interpolated | None, max_steps: int, tol: float
    ) -> Interpolated:
        """See ``Solver``. The core is shown k-space for images, whose lengths and products are the same."""
        used = self.every if whole else self.fitted
        covariance = kernels.covariance()
        zeros_like = library(self.samples).zeros_like
        work = zeros_like(self.samples)  # only here are arrays long, and one serves from beginning to end

        def spread(direction: Array) -> Array:
            images = ifft2(used.unpack(direction, out=work), overwrite=True)
            return fft2(covariance(images, out=images), overwrite=True)

        target = used.pack(self.samples)
        if start is None:
            begun = Interpolated(zeros_like(self.samples), zeros_like(target))
        else:
            begun = Interpolated(fft2(start.centers), used.pack(start.dual))
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

    # More than by sample: the preconditioner is weaker, and a trial cut short judges speed, not the setting.
    trial_steps: ClassVar[int] = 10
    final_steps: ClassVar[int] = 30
    tol: ClassVar[float] = 3e-3

    def solve(
        self, kernels: LocalKernels, noise: float, whole: bool, start: Interpolated | None, max_steps: int, tol: float
    ) -> Interpolated:
        """See ``Solver``."""
        used = self.fitted + self.held if whole else self.fitted
        shrunk = kernels.shrunk(self.density, noise)
        return by_points(used.normal, used.target, shrunk, self.density, noise, start, max_steps=max_steps, tol=tol)
