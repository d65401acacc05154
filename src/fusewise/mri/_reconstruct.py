"""From undersampled k-space of a moving heart to images, with nothing to tune. Not for diagnostic use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fusewise.kernels import placement
from fusewise.mri._coils import maps_from_images, mean_gridded_images, sensitivity_maps
from fusewise.mri._fusion import reconstruct_by_fusion
from fusewise.mri._gridded import reconstruct_gridded
from fusewise.mri._radial import reconstruct_radial
from fusewise.mri._result import Reconstruction
from fusewise.mri._tensors import Array
from fusewise.progress import shown
from fusewise.support import InputError

METHODS = ("interpolation", "fusion")


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
    navigator : what tells frames apart: ny x nx booleans (locations sampled in every frame), or T x anything
        measured alike in every frame. None: whatever most frames sampled, as the centre of k-space.
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
        samples, known = _on_grid(samples, mask)
        _check_signal(samples)
        _check_navigator(guide, known)
        if coils is None and samples.shape[1] > 1:
            coils = maps_from_images(mean_gridded_images(samples, known))
        _check_maps(coils, samples)
        with shown(verbose) as progress:
            if method == "fusion":
                return reconstruct_by_fusion(samples, known, coils, guide, (sigma, lam), rng, place, progress)
            return reconstruct_gridded(samples, known, coils, guide, rng, place, progress)
    if mask is not None:
        raise InputError("mask is for data on the grid: leave out the mask, or the trajectory")
    path = np.asarray(trajectory, dtype=float)
    coils = _off_grid(samples, path, coils, guide)
    with shown(verbose) as progress:
        return reconstruct_radial(samples, path, coils, guide, rng, place, progress)


def _off_grid(kspace: Array, trajectory: Array, maps: Array | None, navigator: Array | None) -> Array:
    """Check samples off the grid and what comes with them; the maps, found where they are not given."""
    _check_path(kspace, trajectory)
    _check_signal(kspace)
    _check_navigator(navigator, kspace)
    coils = sensitivity_maps(kspace, trajectory) if maps is None else maps
    _check_maps(coils, kspace)
    return coils


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


def _on_grid(kspace: Array, mask: npt.ArrayLike | None) -> tuple[Array, Array]:
    """k-space T x coils x ny x nx in single precision, zero where not sampled, and the mask T x ny x nx."""
    if kspace.ndim not in (3, 4):
        raise InputError(f"kspace must have 3 or 4 axes (see the docstring), got shape {kspace.shape}")
    samples = kspace[:, None] if kspace.ndim == 3 else kspace
    _check_length(samples)
    known = np.isfinite(samples).all(axis=1)
    known &= (samples != 0).any(axis=1) if mask is None else _same_shape(np.asarray(mask, dtype=bool), known.shape)
    if not known.any(axis=(1, 2)).all():
        raise InputError(f"frame {int(np.argmin(known.any(axis=(1, 2))))} has no samples")
    return np.where(known[:, None], samples, 0).astype(np.complex64, copy=False), known


def _same_shape(mask: Array, shape: tuple[int, ...]) -> Array:
    if mask.shape != shape:
        raise InputError(f"mask has shape {mask.shape}, the frames {shape}")
    return mask


def _check_length(kspace: Array) -> None:
    if len(kspace) < 3:
        raise InputError(f"{len(kspace)} frames are too few: fusion compares frames")


def _check_signal(kspace: Array) -> None:
    if not kspace.any():
        raise InputError("kspace holds nothing but zeros")


def _check_path(kspace: Array, trajectory: Array) -> None:
    if kspace.ndim != 3:
        raise InputError(f"kspace must have 3 axes (see the docstring), got shape {kspace.shape}")
    if trajectory.shape != (len(kspace), kspace.shape[2], 2):
        raise InputError(f"trajectory must have shape {(len(kspace), kspace.shape[2], 2)}, got {trajectory.shape}")
    _check_length(kspace)
    if not np.abs(trajectory).max(initial=0) <= 0.5 + 1e-6:
        raise InputError("trajectory must be in cycles per pixel, within [-0.5, 0.5]")
    if not np.isfinite(kspace).all():
        raise InputError("kspace holds NaN or infinities")


def _check_navigator(navigator: Array | None, frames: Array) -> None:
    """`frames`: the mask T x ny x nx, or samples off the grid, T x coils x samples."""
    if navigator is None:
        return
    if navigator.dtype == bool:
        if frames.dtype != bool:
            raise InputError("a navigator of booleans marks locations of a grid: off the grid give frames x anything")
        if navigator.shape != frames.shape[1:]:
            raise InputError(f"navigator has shape {navigator.shape}, a frame {frames.shape[1:]}")
        if not navigator.any():
            raise InputError("navigator marks no location")
        return
    if navigator.shape[:1] != frames.shape[:1] or navigator.size == 0:
        raise InputError(f"navigator has shape {navigator.shape}: it must begin with {len(frames)} frames")
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
