"""From undersampled k-space of a moving heart to images, with nothing to tune. Not for diagnostic use.

The image that best fits all samples is subtracted; what remains is solved for in the same way on the grid and off it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import fft

from fusewise.kernels import library, placement, to_host
from fusewise.mri._covariances import common_locations, navigator_distances
from fusewise.mri._fusion import reconstruct_by_fusion
from fusewise.mri._held_out import frames_per_sample, hold_out
from fusewise.mri._interpolation import interpolate
from fusewise.mri._local import LocalProblem
from fusewise.mri._normal_equations import NormalEquations, off_grid_equations, on_grid_equations
from fusewise.mri._result import Reconstruction, Run
from fusewise.mri._sampling import (
    AXES,
    FourierSums,
    GridCells,
    Gridded,
    invert,
    maps_from_images,
    sensitivity_maps,
    to_plain,
)
from fusewise.mri._tensors import Array
from fusewise.progress import shown
from fusewise.support import InputError

METHODS = ("interpolation", "fusion")

#: The ridge on the mean frame, relative to its misfit: it matters only far from all samples.
MEAN_RIDGE = 1e-3


def reconstruct(
    kspace: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    trajectory: npt.ArrayLike | None = None,
    maps: npt.ArrayLike | None = None,
    navigator: npt.ArrayLike | None = None,
    device: str = "cpu",
    random_state: int | None = None,
    verbose: int = 0,
    *,
    method: str = "interpolation",
    sigma: float | None = None,
    lam: float | None = None,
) -> Reconstruction:
    """Reconstruct a series of frames; everything not given is chosen from the data. Ctrl-C returns the best so far.

    Parameters
    ----------
    kspace : gridded: T x ny x nx or T x coils x ny x nx, the centre in the middle (fftshifted, orthonormal FFT).
        Radial, or any trajectory: T x coils x samples.
    mask : gridded: T x ny x nx, True where sampled. None: where k-space is neither 0 nor NaN.
    trajectory : T x samples x 2 positions (along y, along x) in cycles per pixel, in [-0.5, 0.5). None: gridded.
    maps : coils x ny x nx sensitivities. None: estimated from the mean over time.
    navigator : T x anything, a signal that tells frames apart. None: whatever most frames sampled, as the centre of
        k-space.
    device : where to solve: "cpu" (NumPy), "cuda" (torch on a GPU), "auto" (the GPU if there is one), or
        "torch" (torch on the CPU, to check one by the other).
    random_state : seed of the choice of held-out samples.
    verbose : 1 shows progress on stderr (``fusewise.progress.listening`` passes it to a function).
    method : "interpolation" between like frames; or "fusion", the paper's unconstrained form with the H1 penalty, for
        gridded k-space: ``sum_i ||S_i (u_i - x_i)||² + lam sum_ij phi(||u_i - u_j||)``.
    sigma, lam : settings of "fusion", in the units of `kspace`. None: chosen by predicting held-out samples.

    Returns
    -------
    Reconstruction
    """
    samples = np.asarray(kspace)
    guide = None if navigator is None else np.asarray(navigator)
    coils = None if maps is None else np.asarray(maps, dtype=np.complex64)
    _check_method(method, trajectory is None, sigma, lam)
    rng, place = np.random.default_rng(random_state), placement(device)
    if trajectory is None:
        samples, known = _on_grid(samples, mask, guide)
        if coils is None and samples.shape[1] > 1:
            coils = maps_from_images(invert(samples.sum(axis=0) / np.maximum(known.sum(axis=0), 1)))
        _check_maps(coils, samples)
        with shown(verbose) as tell:
            run = Run(rng, place, tell)
            if method == "fusion":
                return reconstruct_by_fusion(samples, known, coils, guide, run, (sigma, lam))
            return reconstruct_gridded(samples, known, coils, guide, run)
    if mask is not None:
        raise InputError("mask is for data on the grid: leave out the mask, or the trajectory")
    path = np.asarray(trajectory, dtype=float)
    _check_path(samples, path, guide)
    coils = sensitivity_maps(samples, path) if coils is None else coils
    _check_maps(coils, samples)
    with shown(verbose) as tell:
        return reconstruct_off_grid(samples, path, coils, guide, Run(rng, place, tell))


def reconstruct_gridded(
    kspace: Array, mask: Array, maps: Array | None, navigator: Array | None, run: Run
) -> Reconstruction:
    """Reconstruct images from k-space on a grid, T x coils x ny x nx, complex64, zero where not sampled."""
    rng, place, tell = run
    held = hold_out(mask, np.asarray(mask.all(axis=0)), rng)
    if navigator is None:
        common = common_locations(mask)
        distances = navigator_distances(kspace[:, :, common], (mask & ~held)[:, common])
    else:
        distances = navigator_distances(navigator)
    tell(f"{mask.mean():.1%} sampled")
    mask, held = (fft.ifftshift(array, axes=AXES) for array in (mask, held))
    samples, maps = to_plain(place(kspace)), None if maps is None else place(maps)
    using, sparing = (Gridded(place(part), maps) for part in (mask & ~held, held))
    equations = [on_grid_equations(part, samples) for part in (using, sparing)]
    judge = on_grid_equations(sparing, samples, place(frames_per_sample(mask)))
    mean = mean_image(equations[0])
    fitted, unseen, judge = (part.about(mean) for part in (*equations, judge))
    return LocalProblem(fitted, unseen, judge, float(mask.mean())).solve(mean, distances, tell)


def reconstruct_off_grid(
    kspace: Array, trajectory: Array, maps: Array, navigator: Array | None, run: Run
) -> Reconstruction:
    """Reconstruct images from samples T x coils x samples at a trajectory T x samples x 2."""
    rng, place, tell = run
    samples = place(kspace.astype(np.complex64))
    operator = FourierSums(place(trajectory), place(maps))
    cells = GridCells.of(trajectory, (int(maps.shape[1]), int(maps.shape[2])))
    held = hold_out(np.ones(trajectory.shape[:2], dtype=bool), cells.mask.all(axis=0).ravel()[cells.index], rng)
    fitted, unseen = (off_grid_equations(operator, samples, cells.weights * part) for part in (~held, held))
    mean = mean_image(fitted)
    deviations = samples - operator.forward(library(mean).broadcast_to(mean, operator.shape))
    represented = frames_per_sample(cells.mask).ravel()[cells.index]
    judge = off_grid_equations(operator, deviations, cells.weights * held * represented)
    tell("computed the mean frame and the point spread functions of the samples")
    signal = cell_distances(deviations, cells.using(~held)) if navigator is None else navigator_distances(navigator)
    problem = LocalProblem(fitted.about(mean), unseen.about(mean), judge, float(cells.mask.mean()))
    return problem.solve(mean, signal, tell)


def mean_image(equations: NormalEquations) -> Array:
    """The image that fits the samples of all frames best: min mean_i ||A_i u - b_i||² + ridge ||u||²."""
    pooled = equations.mean()

    def smooth(images: Array, out: Array) -> None:
        library(images).multiply(images, 1 / (1 + MEAN_RIDGE), out=out)

    mean: Array = interpolate(pooled, smooth, 1.0, max_steps=30, tol=1e-3).centers[0]
    return mean


def cell_distances(deviations: Array, cells: GridCells) -> Array:
    """Squared distances of the frames by the samples in k-space cells that most of them have sampled.

    These are the cells of navigator lines, and of the centre, which all lines cross. The positions of the samples
    within a cell differ between frames, so the mean frame, which is steep there, must have been subtracted from them
    (`deviations`, T x coils x samples).
    """
    often = common_locations(cells.mask)
    coils = [to_host(cells.means(coil))[:, often] for coil in deviations.swapaxes(0, 1)]
    return navigator_distances(np.stack(coils, axis=1), cells.mask[:, often])


def _check_method(method: str, gridded: bool, sigma: float | None, lam: float | None) -> None:
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}: use one of {', '.join(map(repr, METHODS))}")
    if method == "fusion" and not gridded:
        raise InputError("method='fusion' needs gridded k-space: leave out the trajectory, or use 'interpolation'")
    for name, value in (("sigma", sigma), ("lam", lam)):
        if value is not None and method != "fusion":
            raise InputError(f"{name} is a setting of method='fusion': 'interpolation' chooses its own")
        if value is not None and not 0 < value < np.inf:
            raise InputError(f"{name} must be a positive number, got {value}")


def _on_grid(kspace: Array, mask: npt.ArrayLike | None, navigator: Array | None) -> tuple[Array, Array]:
    """k-space T x coils x ny x nx in single precision, zero where not sampled, and the mask T x ny x nx."""
    if kspace.ndim not in (3, 4):
        raise InputError(f"kspace must have 3 or 4 axes (see the docstring), got shape {kspace.shape}")
    samples = kspace[:, None] if kspace.ndim == 3 else kspace
    _check_frames(samples, navigator)
    known = np.isfinite(samples).all(axis=1)
    seen = (samples != 0).any(axis=1) if mask is None else np.asarray(mask, dtype=bool)
    if seen.shape != known.shape:
        raise InputError(f"mask has shape {seen.shape}, the frames {known.shape}")
    known &= seen
    if not known.any(axis=(1, 2)).all():
        raise InputError(f"frame {int(np.argmin(known.any(axis=(1, 2))))} has no samples")
    samples = np.where(known[:, None], samples, 0).astype(np.complex64, copy=False)
    if not samples.any():
        raise InputError("kspace holds nothing but zeros")
    return samples, known


def _check_path(kspace: Array, trajectory: Array, navigator: Array | None) -> None:
    if kspace.ndim != 3:
        raise InputError(f"kspace must have 3 axes (see the docstring), got shape {kspace.shape}")
    if trajectory.shape != (len(kspace), kspace.shape[2], 2):
        raise InputError(f"trajectory must have shape {(len(kspace), kspace.shape[2], 2)}, got {trajectory.shape}")
    _check_frames(kspace, navigator)
    if not np.abs(trajectory).max(initial=0) <= 0.5 + 1e-6:
        raise InputError("trajectory must be in cycles per pixel, within [-0.5, 0.5]")
    if not np.isfinite(kspace).all() or not kspace.any():
        raise InputError("kspace holds NaN or infinities, or nothing but zeros")


def _check_frames(kspace: Array, navigator: Array | None) -> None:
    if len(kspace) < 3:
        raise InputError(f"{len(kspace)} frames are too few: fusion compares frames")
    if navigator is None:
        return
    if navigator.shape[:1] != kspace.shape[:1] or navigator.size == 0:
        raise InputError(f"navigator has shape {navigator.shape}: it must begin with {len(kspace)} frames")
    if not np.isfinite(navigator).all():
        raise InputError("navigator holds NaN or infinities")


def _check_maps(maps: Array | None, kspace: Array) -> None:
    if maps is None:
        return
    size = kspace.shape[2:] if kspace.ndim == 4 else maps.shape[1:]
    if maps.ndim != 3 or maps.shape != (kspace.shape[1], *size):
        raise InputError(f"maps must be {kspace.shape[1]} coils x ny x nx, got shape {maps.shape}")
    if not np.isfinite(maps).all() or not maps.any():
        raise InputError("maps hold NaN or infinities, or nothing but zeros")
