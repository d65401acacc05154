"""From undersampled k-space of a moving heart to images, with nothing to tune. Not for diagnostic use."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from fusewise.labels import Labels
from fusewise.mri.coils import sensitivity_maps
from fusewise.mri.fourier import Array
from fusewise.mri.gridded import reconstruct_gridded
from fusewise.mri.phases import frame_labels
from fusewise.mri.places import Teller
from fusewise.mri.radial import reconstruct_radial
from fusewise.mri.selecting import Choice


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Images of all frames, and how they were made.

    Attributes
    ----------
    images : T x ny x nx, complex.
    lam : strength of the prior that was chosen, in squared units of the images.
    sigma : scale of the H1 weights that was chosen (median over the image), per pixel.
    rank : directions in time that stand out of the noise.
    history : relative residual of the last solve, step by step.
    bands, local : the settings tried and the held-out samples' verdict on each.
    """

    images: Array = field(repr=False)
    lam: float
    sigma: float
    rank: int
    history: tuple[float, ...] = field(repr=False)
    bands: Choice
    local: Choice

    @cached_property
    def labels(self) -> Labels:
        """Cluster of each frame, by cardiac and respiratory phase (computed when first asked for)."""
        return frame_labels(self.images)


def reconstruct(
    kspace: npt.ArrayLike,
    mask: npt.ArrayLike | None = None,
    trajectory: npt.ArrayLike | None = None,
    maps: npt.ArrayLike | None = None,
    navigator: npt.ArrayLike | None = None,
    device: str = "cpu",
    random_state: int | None = None,
    verbose: int = 0,
) -> Reconstruction:
    """Reconstruct a series of frames; everything not given is chosen from the data.

    Parameters
    ----------
    kspace : gridded: T x ny x nx, the centre in the middle (fftshifted, orthonormal FFT). Radial, or any trajectory:
        T x coils x samples.
    mask : gridded: T x ny x nx, True where sampled. None: where k-space is neither 0 nor NaN.
    trajectory : T x samples x 2 positions (along y, along x) in cycles per pixel, in [-0.5, 0.5). None: gridded.
    maps : coils x ny x nx sensitivities. None: estimated from the mean over time.
    navigator : what tells frames apart: ny x nx booleans (locations sampled in every frame), or T x anything
        measured alike in every frame. None: whatever all frames sampled in common.
    device : "cpu".
    random_state : seed of the choice of held-out samples.
    verbose : 1 prints progress.

    Returns
    -------
    Reconstruction
    """
    if device != "cpu":
        raise ValueError(f"device={device!r}: only 'cpu' is implemented for mri.reconstruct")
    samples = np.asarray(kspace)
    if samples.ndim != 3:
        raise ValueError(f"kspace must have 3 axes (see the docstring), got shape {samples.shape}")
    guide = None if navigator is None else np.asarray(navigator)
    rng, tell = np.random.default_rng(random_state), Teller(verbose)
    if trajectory is None:
        if maps is not None:
            raise ValueError("maps need a trajectory: gridded k-space of several coils is not implemented")
        known = np.isfinite(samples) & (samples != 0 if mask is None else np.asarray(mask, dtype=bool))
        if known.shape != samples.shape:
            raise ValueError(f"mask has shape {known.shape}, kspace {samples.shape}")
        _check(samples, known, guide)
        found = reconstruct_gridded(np.where(known, samples, 0), known, guide, rng, tell)
    else:
        path = np.asarray(trajectory, dtype=float)
        if path.shape != (len(samples), samples.shape[2], 2):
            raise ValueError(f"trajectory must have shape {(len(samples), samples.shape[2], 2)}, got {path.shape}")
        if np.abs(path).max() > 0.5 + 1e-6:
            raise ValueError("trajectory must be in cycles per pixel, within [-0.5, 0.5]")
        if not np.isfinite(samples).all():
            raise ValueError("kspace holds NaN or infinities")
        known_maps = sensitivity_maps(samples, path) if maps is None else np.asarray(maps, dtype=np.complex64)
        if known_maps.ndim != 3 or len(known_maps) != samples.shape[1]:
            raise ValueError(f"maps must be {samples.shape[1]} coils x ny x nx, got shape {known_maps.shape}")
        found = reconstruct_radial(samples, path, known_maps, guide, rng, tell)
    return Reconstruction(found.images, found.lam, found.sigma, found.rank, found.history, found.bands, found.local)


def _check(kspace: Array, mask: Array, navigator: Array | None) -> None:
    if len(kspace) < 3:
        raise ValueError(f"{len(kspace)} frames are too few: fusion compares frames")
    if not mask.any(axis=(1, 2)).all():
        raise ValueError(f"frame {int(np.argmin(mask.any(axis=(1, 2))))} has no samples")
    if navigator is not None:
        wanted = kspace.shape[1:] if navigator.dtype == bool else (len(kspace),)
        if navigator.shape[: len(wanted)] != wanted:
            raise ValueError(f"navigator has shape {navigator.shape}: it must begin with {wanted}")
