"""Normal equations of the samples: A'A u, A'b and ||b||², which is all that a solve for images needs.

A_i'A_i is a convolution cropped to the image, so it needs only FFTs, on any device. On the grid it is circular, and its
spectrum is the mask. Off the grid it is that of the point spread function of the samples, and circular on a grid of
twice the size (Toeplitz embedding: Fessler et al. 2005): samples and trajectory are no longer needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import fft

from fusewise.kernels import beside, library
from fusewise.mri._sampling import FourierSums, Gridded
from fusewise.mri._tensors import Array, batches, cast, double, each, fft2, lowest, resampled, zeros

#: Share of the samples up to which those with a weight are selected, rather than all used.
WORTH_SELECTING = 0.5


@dataclass(frozen=True, eq=False)
class Convolution:
    """u_i -> sum_c conj(m_c) C F^-1 (h_i F(P (m_c u_i))): P pads an image with zeros, C crops it again."""

    spectra: Array  # h, T x my x mx: real, at least as large as the images
    maps: Array | None = None  # m, coils x ny x nx; None: one coil of uniform sensitivity

    def __add__(self, other: Convolution) -> Convolution:
        return Convolution(self.spectra + other.spectra, self.maps)

    def __call__(self, images: Array) -> Array:
        """Apply to images T x ny x nx, one batch of frames at a time."""
        seen = 1 if self.maps is None else len(self.maps)
        parts = batches(len(images), seen * int(np.prod(self.spectra.shape[1:])), images)
        out: Array = library(images).empty_like(images)
        if library(images) is np:
            each(lambda some: self._by_axes(images, some, out), parts, images)
        else:
            self._by_planes(images, parts, out)
        return out

    def _by_axes(self, images: Array, some: slice, out: Array) -> None:
        """On a CPU along x first and last: rows of zeros need no transform."""
        (ny, nx), (my, mx) = images.shape[1:], self.spectra.shape[1:]
        seen = images[some][:, None] if self.maps is None else images[some][:, None] * self.maps
        waves = fft.fft(fft.fft(seen, mx, -1), my, -2, overwrite_x=True)
        waves *= self.spectra[some][:, None]
        rows = fft.ifft(waves, axis=-2, overwrite_x=True)[..., :ny, :]
        seen = fft.ifft(rows, axis=-1, overwrite_x=True)[..., :nx]
        out[some] = seen[:, 0] if self.maps is None else (seen * self.maps.conj()).sum(axis=1)

    def _by_planes(self, images: Array, parts: list[slice], out: Array) -> None:
        """On a device both axes at once: along y alone, a GPU would transpose the array before and after."""
        (ny, nx), (my, mx) = images.shape[1:], self.spectra.shape[1:]
        xp = library(images)
        maps = xp.ones_like(images[:1]) if self.maps is None else self.maps
        back = maps.conj() / (my * mx)  # scaled here, so that the transforms need not be
        padded = zeros((len(images[parts[0]]), len(maps), my, mx), images)
        for some in parts:
            seen = padded[: len(images[some])]
            xp.multiply(images[some][:, None], maps, out=seen[..., :ny, :nx])
            waves = xp.fft.fft2(seen)
            waves *= self.spectra[some][:, None]
            xp.sum(xp.fft.ifft2(waves, norm="forward")[..., :ny, :nx] * back, 1, out=out[some])


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """||A u - b||² = <u, A'A u> - 2 Re <u, A'b> + ||b||²."""

    normal: Convolution  # images (T x ny x nx) to A'A u
    target: Array  # A'b
    energy: float  # ||b||²

    def __add__(self, other: NormalEquations) -> NormalEquations:
        return NormalEquations(self.normal + other.normal, self.target + other.target, self.energy + other.energy)

    def mean(self) -> NormalEquations:
        """Equations of one image for all frames: the mean over them of ||A_i u - b_i||²."""
        normal = Convolution(self.normal.spectra.mean(axis=0)[None], self.normal.maps)
        return NormalEquations(normal, self.target.mean(axis=0)[None], self.energy / len(self.target))

    def of_frames(self, some: Array) -> NormalEquations:
        """Equations of some of the frames, by their numbers; the energy stays that of all."""
        return NormalEquations(Convolution(self.normal.spectra[some], self.normal.maps), self.target[some], self.energy)

    def resampled(self, shape: tuple[int, int]) -> NormalEquations:
        """Equations of images of one coil on another grid (``resampled``); the energy stays that of all samples."""
        spectra, grid = self.normal.spectra, self.target.shape[1:]
        padded = [size * new // old for size, new, old in zip(spectra.shape[1:], shape, grid, strict=True)]
        normal = Convolution(lowest(spectra, (padded[0], padded[1])))
        return NormalEquations(normal, resampled(self.target, shape), self.energy)

    def about(self, image: Array) -> NormalEquations:
        images = library(self.target).zeros_like(self.target) + image
        pushed = self.normal(images)
        return NormalEquations(self.normal, self.target - pushed, self.misfit(images, pushed))

    def misfit(self, images: Array, pushed: Array | None = None) -> float:
        """||A u - b||², from A'A u if known; terms are summed in double precision since they nearly cancel."""
        pushed = self.normal(images) if pushed is None else pushed
        parts = batches(len(images), int(np.prod(images.shape[1:])), images)
        sums: Array = zeros(len(parts), double(images[:0].real))

        def add(k: int) -> None:
            products = images[parts[k]].conj() * (pushed[parts[k]] - 2 * self.target[parts[k]])
            sums[k] = products.real.sum(dtype=library(images).float64)

        each(add, range(len(parts)), images)
        return self.energy + float(sums.sum())


def on_grid_equations(sampling: Gridded, samples: Array, weights: Array | None = None) -> NormalEquations:
    """sum_is w_s |(A u - b)_is|² over the samples (T x coils x ny x nx) where the mask is True; w: ny x nx, None: 1."""
    seen = samples * sampling.mask[:, None]
    spectra = sampling.mask * library(samples).ones_like(samples[0, 0].real)
    shared = seen
    if weights is not None:
        spectra, shared = spectra * weights, seen * weights
    size = float((seen.conj() * shared).real.sum(dtype=library(samples).float64))
    return NormalEquations(Convolution(spectra, sampling.maps), sampling.adjoint(shared), size)


def off_grid_equations(operator: FourierSums, samples: Array, weights: Array) -> NormalEquations:
    """sum_is w_is |(A u - b)_is|² over samples T x coils x S on the device, with weights T x S >= 0 on the host."""
    xp = library(samples)
    used = weights > 0
    most = max(1, int(used.sum(axis=1).max()))
    if most <= WORTH_SELECTING * used.shape[1]:  # of every frame as many samples, those with a weight first
        chosen = np.argsort(~used, axis=1, kind="stable")[:, :most]
        frames = np.arange(len(chosen))[:, None]
        there, rows = beside(chosen, samples), beside(frames, samples)
        operator = replace(operator, trajectory=operator.trajectory[rows, there])
        samples, weights = samples[rows, :, there].swapaxes(1, 2), weights[frames, chosen]
    shares = cast(beside(weights, samples), samples.real)[:, None]
    normal = Convolution(point_spread_spectra(operator, weights), operator.maps)
    size = float((xp.square(abs(samples)) * shares).sum(dtype=xp.float64))
    return NormalEquations(normal, operator.adjoint(samples * shares), size)


def point_spread_spectra(operator: FourierSums, weights: Array) -> Array:
    """The spectra h of ``Convolution`` for A_i' W_i A_i with weights T x samples: real, by the symmetry of the spread.

    The convolution needs p_i(d) = sum_s w_is exp(2 pi i k_is . d) / (ny nx) for |d| < (ny, nx), on a periodic grid of
    any size of at least twice that, less one; an even size that is fast for the FFT is used.
    """
    frames, ny, nx = operator.shape
    my, mx = (2 * fft.next_fast_len(n) for n in (ny, nx))
    one = zeros((1, 2 * ny - 1, 2 * nx - 1), operator.maps) + 1
    # The adjoint divides by the square root of its own number of pixels, and ``fft2`` by that of the periodic grid.
    scale = np.sqrt((2 * ny - 1) * (2 * nx - 1) * my * mx) / (ny * nx)
    shares = cast(beside(scale * weights, one), one.real)
    spread = replace(operator, maps=one).adjoint(shares[:, None])
    xp = library(spread)
    out: Array = zeros((frames, my, mx), spread.real)
    for some in batches(frames, my * mx, spread):
        circles = zeros((len(spread[some]), my, mx), spread)
        circles[:, : 2 * ny - 1, : 2 * nx - 1] = spread[some]
        out[some] = fft2(xp.roll(circles, (1 - ny, 1 - nx), (1, 2)), overwrite=True).real
    return out
