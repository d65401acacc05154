"""Metrics that compare a reconstruction with the true images."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter

from fusewise.mri._tensors import Array

Region = tuple[slice, slice]
WHOLE: Region = (slice(None), slice(None))


def ser(truth: Array, estimate: Array, box: Region = WHOLE) -> float:
    """Signal-to-error ratio 20 log10(||x|| / ||x - u||) in decibels, over a box of all frames.

    Parameters
    ----------
    truth, estimate : x and u, T x ny x nx.
    box : rows and columns.
    """
    x, u = truth[:, box[0], box[1]], estimate[:, box[0], box[1]]
    signal = float(np.square(np.abs(x), dtype=float).sum())
    error = float(np.square(np.abs(x - u), dtype=float).sum())
    return float(10 * np.log10(signal / error)) if error > 0 else float("inf")


def ssim(truth: Array, estimate: Array, box: Region = WHOLE, window: int = 7) -> float:
    """Structural similarity of the magnitudes, averaged over pixels and frames (Wang et al. 2004; 7 x 7 windows).

    The constants are (0.01 R)² and (0.03 R)², where R is the largest magnitude of the truth.
    """
    scale = float(np.abs(truth).max()) or 1.0
    total = 0.0
    for x_frame, u_frame in zip(truth, estimate, strict=True):
        x, u = np.abs(x_frame).astype(float) / scale, np.abs(u_frame).astype(float) / scale
        mx, mu, xx, uu, xu = (uniform_filter(a, window) for a in (x, u, x * x, u * u, x * u))
        similarity = (2 * mx * mu + 1e-4) * (2 * (xu - mx * mu) + 9e-4)
        similarity /= (mx**2 + mu**2 + 1e-4) * (xx - mx**2 + uu - mu**2 + 9e-4)
        total += float(similarity[box].mean())
    return total / len(truth)
