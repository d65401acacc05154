"""Breath-held cines, and cines made to breathe: series whose phases are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import shift

from fusewise.mri._phantom import cyclic_phase, inspiration


def read_cine(path: Path, side: int) -> Any:
    """Slices x phases x ny x nx of an .npz file, the shorter side averaged to about ``side``, the brightest pixel 1."""
    with np.load(path) as found:
        stack = next(a for a in (found[name] for name in found.files) if a.ndim == 4).astype(np.float32)
    block = max(min(stack.shape[2:]) // side, 1)
    ny, nx = (n // block for n in stack.shape[2:])
    blocks = stack[:, :, : ny * block, : nx * block].reshape(*stack.shape[:2], ny, block, nx, block)
    small = blocks.mean(axis=(3, 5))
    return small / small.max()


def breathing_cine(path: Path, n_frames: int, seed: int, at: int | None = None) -> tuple[Any, Any, Any]:
    """Frames of about 128 pixels, cardiac phase and breath of slice ``at`` (the middle one), shifted along its rows.

    Beats of 0.9 s and breaths of 4 s vary in length; a frame takes 40 ms.
    """
    stack = read_cine(path, 128)
    cine = stack[len(stack) // 2 if at is None else at]
    cine /= cine.max()
    rng = np.random.default_rng(seed)
    times = np.arange(n_frames) * 0.04
    cardiac = cyclic_phase(times, 0.9, 0.08, rng)
    breath = inspiration(cyclic_phase(times, 4.0, 0.08, rng))
    phases = np.floor(cardiac * len(cine)).astype(int)
    frames = [shift(cine[p], (6 * b, 0), order=1, mode="nearest") for p, b in zip(phases, breath, strict=True)]
    return np.stack(frames).astype(np.complex64), cardiac, breath
