"""Samples off the grid, any number of coils, to images: the same kernels through an operator.

A start from samples moved to the grid bears the error of moving them, and so do kernels by place taken from it. With
those first kernels the samples where they are give better frames, and these the kernels that are used.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import fft

from fusewise.kernels.arrays import library
from fusewise.kernels.devices import Placement
from fusewise.mri.arrays import Array
from fusewise.mri.cells import Cells
from fusewise.mri.fourier import AXES, radii, turned
from fusewise.mri.gridded import start_from_bands
from fusewise.mri.interpolate import ByImage
from fusewise.mri.kernels import LocalKernels
from fusewise.mri.navigator import FEWEST, Bands
from fusewise.mri.normal import off_grid_equations
from fusewise.mri.operators import Nufft
from fusewise.mri.places import QUIET, SCALES, TILES, Places, Teller
from fusewise.mri.result import Reconstruction
from fusewise.mri.selecting import hold_out
from fusewise.mri.sums import FourierSums

#: Variance of the mean frame in units of that of the motion: the start's mean bears the error of gridding.
CONSTANT = 1.0

#: sigma² of the kernels of the start, in units of the median squared distance: its distances bear that error, too.
MIDDLE = 0.5


def reconstruct_radial(
    kspace: Array,
    trajectory: Array,
    maps: Array,
    navigator: Array | None,
    rng: np.random.Generator,
    place: Placement,
    tell: Teller,
) -> Reconstruction:
    """Images from samples T x coils x samples at `trajectory` (T x samples x 2, cycles per pixel)."""
    shape = int(maps.shape[1]), int(maps.shape[2])
    common = common_samples(trajectory)
    bands = compare_frames(kspace, trajectory, common, navigator)
    samples = place(kspace.astype(np.complex64))
    operator = sampling_at(trajectory, place(maps), place)
    held = hold_out(np.ones(trajectory.shape[:2], dtype=bool), common, rng)
    cells = Cells.of(trajectory, shape, ~held)
    where = fft.ifftshift(radii(shape) / (min(shape) / 2), axes=AXES)
    moved = (turned(cells.means(coil)) for coil in samples.swapaxes(0, 1))
    start, choice = start_from_bands(bands, moved, cells.mask, where, rng, operator.maps)
    tell(f"start on the grid: scale {choice.scale}, noise {choice.noise}: left out {choice.score:.2f} dB")

    mean = start.mean(axis=0)
    kernels = by_place(start).at(MIDDLE)
    # Samples that share a cell of k-space share the weight of one, which evens out a radial line's centre.
    cells = Cells.of(trajectory, shape)
    weights = np.square(cells.roots)
    known, unseen = (off_grid_equations(operator, samples, weights * part).about(mean) for part in (~held, held))
    solver = ByImage(known, unseen, float(cells.mask.mean()))
    tell("point spread functions of the samples are known")
    better = mean + solver(kernels, QUIET * kernels.variance, whole=False, steps=solver.trial_steps).centers
    tell("frames from the samples where they are; kernels anew")
    return Places([solver], by_place(better)).solve(mean, choice, tell)


def sampling_at(trajectory: Array, maps: Array, place: Placement) -> Nufft | FourierSums:
    """A where the maps lie: by finufft on the host, as matrix products on a device."""
    return Nufft(trajectory, maps) if library(maps) is np else FourierSums(place(trajectory), maps)


def by_place(images: Array) -> LocalKernels:
    """Kernels of images that may be wrong about their mean."""
    side = max(images.shape[1:]) / TILES
    return replace(LocalKernels.of(images, SCALES[0], side, side), constant=CONSTANT)


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
