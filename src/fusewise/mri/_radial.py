"""Reconstruction from samples off the grid, with any number of coils.

The image that best fits all samples is subtracted. The remaining motion is gridded for a first reconstruction; with its
local kernels, the samples at their true locations give better frames, from which the final kernels are computed.
"""

from __future__ import annotations

import numpy as np
from scipy import fft

from fusewise.kernels import Placement, beside, library, to_host
from fusewise.mri._cells import GridCells
from fusewise.mri._fourier import AXES, radii, turned
from fusewise.mri._gridded import start_from_bands
from fusewise.mri._held_out import frames_per_sample, hold_out
from fusewise.mri._interpolation import ByImage, by_points
from fusewise.mri._local import SMALLEST_NOISE, TILES, Places, local_kernels
from fusewise.mri._navigator import Bands, common_locations
from fusewise.mri._normal_equations import NormalEquations, off_grid_equations
from fusewise.mri._operators import FourierSums, Nufft
from fusewise.mri._result import Reconstruction
from fusewise.mri._tensors import Array
from fusewise.progress import Progress

#: Ridge on the mean frame, relative to its misfit: it matters only far from all lines.
MEAN_RIDGE = 1e-3

#: sigma² of the kernels of the first reconstruction, in units of the median squared distance.
START_SCALE = 0.5


def reconstruct_radial(
    kspace: Array,
    trajectory: Array,
    maps: Array,
    navigator: Array | None,
    rng: np.random.Generator,
    place: Placement,
    tell: Progress,
) -> Reconstruction:
    """Reconstruct images from samples T x coils x samples at `trajectory` (T x samples x 2, cycles per pixel)."""
    shape = int(maps.shape[1]), int(maps.shape[2])
    samples = place(kspace.astype(np.complex64))
    operator = sampling_at(trajectory, place(maps), place)
    cells = GridCells.of(trajectory, shape)
    always = cells.mask.all(axis=0)
    held = hold_out(np.ones(trajectory.shape[:2], dtype=bool), always.ravel()[cells.index], rng)
    # Samples in the same cell of k-space share the weight of one, which evens out the centre of radial lines.
    weights = np.square(cells.roots)
    known, unseen = (off_grid_equations(operator, samples, weights * part) for part in (~held, held))
    mean = mean_image(known)
    known, unseen = known.about(mean), unseen.about(mean)
    deviations = samples - operator.forward(library(mean).broadcast_to(mean, operator.shape))
    judge = off_grid_equations(
        operator, deviations, weights * held * frames_per_sample(cells.mask).ravel()[cells.index]
    )
    tell("computed the mean frame and the point spread functions of the samples")

    where = fft.ifftshift(radii(shape), axes=AXES)
    fitted = cells.using(~held)
    bands = compare_frames(deviations, fitted, where, navigator, place)
    moved = (turned(fitted.means(coil)) for coil in deviations.swapaxes(0, 1))
    start, choice = start_from_bands(bands, moved, fitted.mask, where, rng, operator.maps)
    tell(f"start on the grid: scale {choice.scale}, noise {choice.noise}: leave-one-out {choice.score:.2f} dB")

    kernels = local_kernels(start, TILES[0], START_SCALE)
    solver = ByImage(known, unseen, float(cells.mask.mean()))
    better = solver(kernels, SMALLEST_NOISE * kernels.variance, whole=False, steps=solver.trial_steps).centers
    tell("computed frames from the samples off the grid, and new kernels from these")
    return Places(solver, judge, better, where).solve(mean, choice, tell)


def sampling_at(trajectory: Array, maps: Array, place: Placement) -> Nufft | FourierSums:
    """The sampling operator on the device of the maps: by finufft on the host, as matrix products on a device."""
    return Nufft(trajectory, maps) if library(maps) is np else FourierSums(place(trajectory), maps)


def mean_image(equations: NormalEquations) -> Array:
    """The image that fits the samples of all frames best: min mean_i ||A_i u - b_i||² + ridge ||u||²."""
    pooled = equations.mean()
    multiply = library(pooled.target).multiply

    def shrunk(images: Array, out: Array) -> None:
        multiply(images, 1 / (1 + MEAN_RIDGE), out=out)

    found = by_points(pooled.normal, pooled.target, shrunk, 1.0, MEAN_RIDGE, max_steps=30, tol=1e-3)
    mean: Array = found.centers[0]
    return mean


def compare_frames(
    deviations: Array, cells: GridCells, where: Array, navigator: Array | None, place: Placement
) -> Bands:
    """Distances of the frames by the navigator, or by the samples in k-space cells that most frames have sampled.

    These are the cells of navigator lines, and of the centre, which all lines cross. The positions of the samples
    within a cell differ between frames, so the mean frame, which is steep there, must have been subtracted.

    Parameters
    ----------
    deviations : T x coils x samples.
    cells : cells of the samples to be used.
    where : ny x nx, the radii of the cells.
    navigator : T x anything.
    place : moves arrays to the device.
    """
    if navigator is not None:
        return Bands.of_signal(place(navigator))
    mask = cells.mask
    often = common_locations(mask)
    chosen = beside(np.flatnonzero(often), deviations)
    means = (cells.means(coil).reshape(len(coil), -1) for coil in deviations.swapaxes(0, 1))
    coils = (to_host(values[:, chosen]) for values in means)
    return Bands.of_coils(coils, mask[:, often], where[often], place)
