"""Coil sensitivities from the data: the mean over time of a moving series is well sampled. And fewer coils."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.mri.sampling.fourier import invert, transform
from fusewise.mri.sampling.operators import Nufft
from fusewise.mri.tensors import Array

#: Samples along a side of the centre of k-space by which sigpy calibrates.
CALIBRATION = 24


def sensitivity_maps(
    kspace: Array, trajectory: Array, shape: tuple[int, int] | None = None, *, method: str = "espirit"
) -> Array:
    """Sensitivities, coils x ny x nx, from samples off the grid.

    Parameters
    ----------
    kspace : T x coils x samples.
    trajectory : T x samples x 2, cycles per pixel.
    shape : (ny, nx); None: square, as wide as a readout reaches (guessed from the finest spacing of the samples).
    method : see ``maps_from_images``.
    """
    size = guess_shape(trajectory) if shape is None else shape
    return maps_from_images(mean_coil_images(kspace, trajectory, size), method=method)


def maps_from_images(coil_images: Array, *, method: str = "espirit") -> Array:
    """Sensitivities with sum of squares 1 where there is signal, from images of each coil (coils x ny x nx), by sigpy.

    Parameters
    ----------
    method : "espirit", or "jsense" (as good on our phantom, and far slower on large images).
    """
    if method not in ("espirit", "jsense"):
        raise ValueError(f"unknown method {method!r}: use 'espirit' or 'jsense'")
    if len(coil_images) == 1:
        return np.ones(coil_images.shape, np.complex64)
    try:
        from sigpy.mri import app
    except ImportError as error:
        raise ImportError(f'{method} maps need sigpy: pip install "fusewise[mri]"') from error
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
    """Density-compensated adjoint of all frames' samples together, coil by coil."""
    samples = np.moveaxis(kspace, 1, 0).reshape(kspace.shape[1], -1)
    places = trajectory.reshape(1, -1, 2)
    ramp = np.maximum(np.hypot(places[0, :, 0], places[0, :, 1]), 0.25 / max(shape))
    one = Nufft(places, np.ones((1, *shape), np.complex64))
    return np.stack([one.adjoint((coil * ramp / ramp.sum() * np.sqrt(ramp.size))[None, None])[0] for coil in samples])


def guess_shape(trajectory: Array) -> tuple[int, int]:
    """Square of the side 1 / (spacing of successive samples of the first frame), rounded to even."""
    steps = np.hypot(*np.diff(trajectory[0], axis=0).T)
    spacing = float(np.median(steps[steps > 1e-9]))
    side = max(2, 2 * round(0.5 / spacing))
    return side, side


def compress_coils(kspace: Array, n_coils: int) -> tuple[Array, Array]:
    """The `n_coils` combinations of coils that hold most energy (Buehrer et al. 2007).

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
