"""Coil sensitivities, estimated from the well-sampled mean over time, and coil compression."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.mri._fourier import invert, transform
from fusewise.mri._operators import Nufft
from fusewise.mri._tensors import Array
from fusewise.support import InputError

#: Side, in samples, of the central k-space region from which sigpy calibrates.
CALIBRATION = 24


def sensitivity_maps(
    kspace: Array, trajectory: Array, shape: tuple[int, int] | None = None, *, method: str = "espirit"
) -> Array:
    """Estimate sensitivities, coils x ny x nx, from samples off the grid.

    Parameters
    ----------
    kspace : T x coils x samples.
    trajectory : T x samples x 2, cycles per pixel.
    shape : (ny, nx); None: square, guessed from the spacing of the samples of a readout.
    method : see ``maps_from_images``.
    """
    size = guess_shape(trajectory) if shape is None else shape
    return maps_from_images(mean_coil_images(kspace, trajectory, size), method=method)


def maps_from_images(coil_images: Array, *, method: str = "espirit") -> Array:
    """Estimate sensitivities, with sum of squares 1 where there is signal, from coils x ny x nx images, by sigpy.

    Parameters
    ----------
    method : "espirit", or "jsense" (as accurate on the phantom, and much slower on large images).
    """
    if method not in ("espirit", "jsense"):
        raise InputError(f"unknown method {method!r}: use 'espirit' or 'jsense'")
    if len(coil_images) == 1:
        return np.ones(coil_images.shape, np.complex64)
    try:
        from sigpy.mri import app
    except ImportError as error:
        raise ImportError(f'{method} maps require sigpy: pip install "fusewise[mri]"') from error
    kspace = transform(coil_images).astype(np.complex64)
    calibration: Any
    if method == "espirit":
        calibration = app.EspiritCalib(kspace, calib_width=CALIBRATION, show_pbar=False, crop=0.0)
    else:
        calibration = app.JsenseRecon(kspace, ksp_calib_width=CALIBRATION, show_pbar=False)
    maps = np.asarray(calibration.run(), dtype=np.complex64)
    total = np.sqrt(np.square(np.abs(maps)).sum(axis=0))
    return np.asarray(maps / np.maximum(total, 1e-3 * float(total.max())), dtype=np.complex64)


def mean_gridded_images(kspace: Array, mask: Array) -> Array:
    """Image of each coil, coils x ny x nx, from the mean over time of k-space T x coils x ny x nx."""
    return invert(kspace.sum(axis=0) / np.maximum(mask.sum(axis=0), 1))


def mean_coil_images(kspace: Array, trajectory: Array, shape: tuple[int, int]) -> Array:
    """Density-compensated adjoint of the samples of all frames together, for each coil."""
    samples = np.moveaxis(kspace, 1, 0).reshape(kspace.shape[1], -1)
    places = trajectory.reshape(1, -1, 2)
    ramp = np.maximum(np.hypot(places[0, :, 0], places[0, :, 1]), 0.25 / max(shape))
    one = Nufft(places, np.ones((1, *shape), np.complex64))
    return np.stack([one.adjoint((coil * ramp / ramp.sum() * np.sqrt(ramp.size))[None, None])[0] for coil in samples])


def guess_shape(trajectory: Array) -> tuple[int, int]:
    """Guess a square shape of side 1 / (spacing of successive samples of the first frame), rounded to even."""
    steps = np.hypot(*np.diff(trajectory[0], axis=0).T)
    spacing = float(np.median(steps[steps > 1e-9]))
    side = max(2, 2 * round(0.5 / spacing))
    return side, side


def compress_coils(kspace: Array, n_coils: int) -> tuple[Array, Array]:
    """Compress to the `n_coils` combinations of coils with the most energy (Buehrer et al. 2007).

    Parameters
    ----------
    kspace : T x coils x ...

    Returns
    -------
    compressed : T x n_coils x ...
    weights : n_coils x coils with orthonormal rows; maps of the new coils are ``np.tensordot(weights, maps, 1)``.
    """
    rows = np.moveaxis(kspace, 1, 0).reshape(kspace.shape[1], -1)
    _, vectors = np.linalg.eigh(rows @ rows.conj().T)
    weights = vectors[:, ::-1][:, :n_coils].conj().T.astype(kspace.dtype)
    return np.moveaxis(np.tensordot(weights, kspace, (1, 1)), 0, 1), weights
