"""Structural similarity of frames; the signal-to-error ratio is ``fusewise.mri.ser``."""

from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter


def ssim(truth: Any, estimate: Any, box: tuple[slice, slice] = (slice(None), slice(None)), window: int = 7) -> float:
    """Mean over pixels and frames for the magnitudes (Wang et al. 2004; 7 x 7 windows).

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
