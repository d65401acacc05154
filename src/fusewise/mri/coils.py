"""Coil sensitivities from the data: the mean over time of a moving series is well sampled."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.mri.fourier import Array, radii, transform
from fusewise.mri.operators import Nufft


def sensitivity_maps(
    kspace: Array, trajectory: Array, shape: tuple[int, int] | None = None, *, method: str = "low_resolution"
) -> Array:
    """Sensitivities, coils x ny x nx, with sum of squares 1 where there is signal.

    Parameters
    ----------
    kspace : T x coils x samples.
    trajectory : T x samples x 2, cycles per pixel.
    shape : (ny, nx); None: square, as wide as a readout reaches (guessed from the finest spacing of the samples).
    method : "low_resolution" (each coil's blurred mean image over their root sum of squares) or "espirit"
        (sigpy's, from the gridded mean k-space).
    """
    size = guess_shape(trajectory) if shape is None else shape
    coil_images = mean_coil_images(kspace, trajectory, size)
    if method == "espirit":
        return espirit_maps(coil_images)
    if method != "low_resolution":
        raise ValueError(f"unknown method {method!r}: use 'low_resolution' or 'espirit'")
    return low_resolution_maps(coil_images)


def low_resolution_maps(coil_images: Array, width: float = 0.08) -> Array:
    """Blur each coil's image (Gaussian in k-space, `width` of its half-width) and divide by the root sum of squares."""
    shape = coil_images.shape[1], coil_images.shape[2]
    window = np.exp(-0.5 * np.square(radii(shape) / (width * max(shape))))
    blurred = np.fft.fftshift(
        np.fft.ifft2(np.fft.ifftshift(transform(coil_images) * window, axes=(1, 2)), norm="ortho"), axes=(1, 2)
    )
    total = np.sqrt(np.square(np.abs(blurred)).sum(axis=0))
    return np.asarray(blurred / np.maximum(total, 1e-3 * float(total.max())), dtype=np.complex64)


def espirit_maps(coil_images: Array) -> Array:
    """ESPIRiT maps by sigpy from coil images (coils x ny x nx)."""
    try:
        from sigpy.mri.app import EspiritCalib
    except ImportError as error:
        raise ImportError('ESPIRiT maps need sigpy: pip install "fusewise[mri]"') from error
    kspace = transform(coil_images).astype(np.complex64)
    calibration: Any = EspiritCalib(kspace, calib_width=24, show_pbar=False, crop=0.0)
    return np.asarray(calibration.run(), dtype=np.complex64)


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
