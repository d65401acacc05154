"""Distances of frames before there are images: those of a navigator, or of what most frames sampled.

Samples at the same locations in all or most frames (navigator lines, or the centre of k-space, which all radial lines
cross) tell frames apart without any reconstruction.
"""

from __future__ import annotations

import numpy as np

from fusewise.mri._covariances import squared_distances
from fusewise.mri._tensors import Array, gram

#: Frames are compared by locations sampled in this share of them: few gaps exceed one frame, and are interpolated.
COMMON_SHARE = 0.5

#: If fewer locations than this are sampled that often, this many of the most frequently sampled ones are used.
FEWEST_LOCATIONS = 64


def common_locations(mask: Array) -> Array:
    """Locations (ny x nx) sampled in at least half of the frames; if too few, the most frequently sampled ones."""
    seen = np.asarray(mask.mean(axis=0))
    wanted = np.sort(seen.ravel())[-min(FEWEST_LOCATIONS, seen.size)]
    return np.asarray(seen >= max(min(COMMON_SHARE, wanted), 1 / len(mask)))


def filled_in_time(values: Array, seen: Array) -> Array:
    """Interpolate samples (T x ... x L) where not `seen` (T x L) linearly in time, beyond the ends by these."""
    gaps = np.flatnonzero(seen.any(axis=0) & ~seen.all(axis=0))
    if not len(gaps):
        return values
    here, times = seen[:, gaps], np.arange(len(seen))[:, None]
    before = np.maximum.accumulate(np.where(here, times, -1))
    after = np.minimum.accumulate(np.where(here, times, len(seen))[::-1])[::-1]
    when, where = np.nonzero(~here)
    low, high = before[when, where], after[when, where]
    low, high = np.where(low < 0, high, low), np.where(high == len(seen), low, high)
    shares = ((when - low) / np.maximum(high - low, 1)).reshape(-1, *[1] * (values.ndim - 2))
    at = gaps[where]
    filled = values.copy()
    filled[when, ..., at] = (1 - shares) * values[low, ..., at] + shares * values[high, ..., at]
    return filled


def navigator_distances(values: Array, seen: Array | None = None) -> Array:
    """Squared distances of the frames by a signal (T x ...), or by samples (T x ... x L) missing where not `seen`."""
    return squared_distances(gram(values if seen is None else filled_in_time(values, seen)))
