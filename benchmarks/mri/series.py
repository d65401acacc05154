"""Series in files, and where they move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.io import loadmat

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
