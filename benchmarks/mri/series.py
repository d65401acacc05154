"""Series in files, cines made to breathe, and where they move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat
from scipy.ndimage import shift

from fusewise.mri._phantom import cyclic_phase, inspiration

#: Share of the pixels that are called moving.
MOVING_SHARE = 0.15


def read_series(path: Path) -> Any:
    """Frames x ny x nx; of a MATLAB file its only array, whose last axis is time."""
    if path.suffix != ".mat":
        return np.load(path).astype(np.float32)
    (array,) = (value for name, value in loadmat(path).items() if not name.startswith("_"))
    return np.moveaxis(array, -1, 0).astype(np.complex64)


def moving_region(images: Any) -> Any:
    """The pixels whose magnitudes vary most in time."""
    spread = np.abs(images).std(axis=0)
    return spread >= np.quantile(spread, 1 - MOVING_SHARE)


def breathing_cine(path: Path, n_frames: int, at: int | None = None, side: int = 128) -> tuple[Any, Any, Any]:
    """Frames, cardiac phase and breath of slice ``at`` (the middle one) of a breath-held cine, shifted along its rows.

    The file holds slices x phases x ny x nx; the shorter side is averaged to about ``side``, the brightest pixel is 1.
    Beats of 0.9 s and breaths of 4 s vary in length; a frame takes 40 ms.
    """
    with np.load(path) as found:
        stack = next(a for a in (found[name] for name in found.files) if a.ndim == 4)
    cine = stack[len(stack) // 2 if at is None else at].astype(np.float32)
    block = max(min(cine.shape[1:]) // side, 1)
    ny, nx = (n // block for n in cine.shape[1:])
    cine = cine[:, : ny * block, : nx * block].reshape(len(cine), ny, block, nx, block).mean(axis=(2, 4))
    cine /= cine.max()
    rng = np.random.default_rng(0)
    times = np.arange(n_frames) * 0.04
    cardiac = cyclic_phase(times, 0.9, 0.08, rng)
    breath = inspiration(cyclic_phase(times, 4.0, 0.08, rng))
    phases = np.floor(cardiac * len(cine)).astype(int)
    frames = [shift(cine[p], (6 * b, 0), order=1, mode="nearest") for p, b in zip(phases, breath, strict=True)]
    return np.stack(frames), cardiac, breath
