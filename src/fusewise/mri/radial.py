"""Samples off the grid, any number of coils, to images: the same kernels through an operator.

A start from samples moved to the grid gives the kernels by place; the images then come from the samples where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import fft

from fusewise.mri.arrays import Array
from fusewise.mri.cells import Cells
from fusewise.mri.fourier import AXES, radii, to_plain
from fusewise.mri.gridded import start_from_bands
from fusewise.mri.interpolate import ByImage, Sampling
from fusewise.mri.kernels import LocalKernels
from fusewise.mri.navigator import FEWEST, Bands
from fusewise.mri.operators import Nufft
from fusewise.mri.places import CELLS, HELD_OUT, SCALES, Frames, Places, Teller

#: Variance of the mean frame in units of that of the motion: the start's mean bears the error of gridding.
CONSTANT = 1.0


@dataclass(frozen=True, eq=False)
class Weighed:
    """W A: samples that share a cell of k-space share the weight of one, which evens out a radial line's centre."""

    operator: Sampling
    roots: Array

    def forward(self, images: Array) -> Array:
        """W A u."""
        return self.operator.forward(images) * self.roots

    def adjoint(self, samples: Array) -> Array:
        """A' W b."""
        return self.operator.adjoint(samples * self.roots)


def reconstruct_radial(
    kspace: Array, trajectory: Array, maps: Array, navigator: Array | None, rng: np.random.Generator, tell: Teller
) -> Frames:
    """Images from samples T x coils x samples at `trajectory` (T x samples x 2, cycles per pixel)."""
    samples = kspace.astype(np.complex64)
    shape = int(maps.shape[1]), int(maps.shape[2])
    common = common_samples(trajectory)
    bands = compare_frames(samples, trajectory, common, navigator)
    cells = Cells.of(trajectory, shape)
    where = fft.ifftshift(radii(shape) / (min(shape) / 2), axes=AXES)
    moved = (to_plain(cells.means(coil)) for coil in samples.swapaxes(0, 1))
    start, choice = start_from_bands(bands, moved, cells.mask.reshape(cells.shape), where, rng, maps)
    tell(f"start on the grid: scale {choice.scale}, noise {choice.noise}: left out {choice.score:.2f} dB")

    mean = start.mean(axis=0)
    side = max(shape) / CELLS
    kernels = replace(LocalKernels.of(start, SCALES[0], side, side), constant=CONSTANT)
    weighed = Weighed(Nufft(trajectory, maps), cells.roots[:, None, :])
    deviations = samples * weighed.roots - weighed.forward(np.broadcast_to(mean, start.shape))
    held = np.broadcast_to(hold_out_samples(samples, common, rng), samples.shape)

    solver = ByImage(weighed, float(cells.mask.mean()))
    return Places(solver, deviations, held, kernels).solve(mean, choice, tell)


def common_samples(trajectory: Array) -> Array:
    """Samples that lie at the same place in every frame."""
    return np.asarray(np.isclose(trajectory, trajectory[:1], atol=1e-6).all(axis=(0, 2)))


def compare_frames(samples: Array, trajectory: Array, common: Array, navigator: Array | None) -> Bands:
    """Distances of the frames by what all of them measured alike."""
    if navigator is not None:
        signal = navigator.reshape(len(navigator), -1)
        return Bands.of(signal, np.zeros(signal.shape[1]))
    if np.count_nonzero(common) < FEWEST:
        raise ValueError(
            f"only {np.count_nonzero(common)} samples lie at the same place in all frames: too few to compare the "
            "frames by. Give navigator (frames x anything measured alike in every frame)"
        )
    signal = np.ascontiguousarray(samples[:, :, common]).reshape(len(samples), -1)
    return Bands.of(signal, np.tile(2 * np.hypot(*trajectory[0, common].T), samples.shape[1]))


def hold_out_samples(samples: Array, common: Array, rng: np.random.Generator) -> Array:
    """T x 1 x samples: a part of the samples, with all coils, none of those all frames share."""
    chosen = rng.random((samples.shape[0], 1, samples.shape[2]), dtype=np.float32) < HELD_OUT
    return np.asarray(chosen & ~common)
