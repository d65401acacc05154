"""Choice of scale and noise without ground truth: the setting that best predicts held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from fusewise.kernels import beside
from fusewise.mri._columns import Columns, left_out
from fusewise.mri._navigator import Bands
from fusewise.mri._result import Setting
from fusewise.mri._tensors import Array, energy

#: Locations on which a setting is evaluated: enough for a hundredth of a decibel, few enough for a second.
N_LOCATIONS = 1000

#: Share of the samples held out to choose the local kernels.
HELD_OUT = 0.05

#: If the samples that may be held out are a smaller share than this, all samples may be.
MIN_FREE_SHARE = 0.1

SCALES = (0.25, 0.5, 1.0)
NOISES = (1e-3, 1e-2, 1e-1, 1.0)


def choose_bands(bands: Bands, values: Array, mask: Array, radii: Array, rng: np.random.Generator) -> Setting:
    """Choose scale and noise of the kernels by band: each sample is predicted from the others of its location.

    Parameters
    ----------
    bands : distances of the frames, on the device of the values.
    values, mask : T x P deviations from the mean frame, zero where missing, and (on the host) True where sampled.
    radii : radii of the P locations, 1 at the edge of k-space.
    rng : samples the locations.
    """
    counts = mask.sum(axis=0)
    candidates = np.flatnonzero((counts > 1) & (counts < len(mask)))
    if not len(candidates):
        return Setting(SCALES[1], NOISES[1], float("nan"))
    some = rng.choice(candidates, min(N_LOCATIONS, len(candidates)), replace=False)
    columns = Columns.of(mask[:, some], values, bands.which(radii[some]))
    judged = columns.pack(values[:, beside(some, values)])
    whole = energy(judged)
    tried = []
    for scale in SCALES:
        errors = left_out(bands.kernels(scale), columns, NOISES, judged)
        tried += [(scale, noise, decibels(whole, error)) for noise, error in zip(NOISES, errors, strict=True)]
    return best(tried)


def hold_out(mask: Array, spared: Array, rng: np.random.Generator) -> Array:
    """Select samples (T x ...) to hold out: none of those `spared`, unless these are nearly all.

    Locations sampled in every frame are used to compare the frames, and need no prediction.
    """
    free = mask & ~spared
    if np.count_nonzero(free) < MIN_FREE_SHARE * np.count_nonzero(mask):
        free = mask
    return np.asarray(free & (rng.random(mask.shape, dtype=np.float32) < HELD_OUT))


def frames_per_sample(mask: Array) -> Array:
    """Number of frames that a sample of each location represents: T / frames that sampled it (T x ... to ...).

    With these weights, the errors of samples held out at random add up to those of all frames, at sampled locations.
    """
    return np.asarray((len(mask) / np.maximum(mask.sum(axis=0), 1)).astype(np.float32))


def choose_local(
    predict: Callable[[float, float], float], scales: Iterable[float], noises: Iterable[float], min_gain: float
) -> Setting:
    """Increase the scale until the score falls, at the first noise; then increase the noise while that clearly helps.

    Parameters
    ----------
    predict : gives the score in decibels of a scale and a noise.
    scales, noises : candidates, in increasing order.
    min_gain : smallest gain, in decibels, for which a larger noise is accepted.
    """
    levels = list(noises)
    tried: list[tuple[float, float, float]] = []
    for scale in scales:
        tried.append((scale, levels[0], predict(scale, levels[0])))
        if tried[-1][2] < best(tried).score:
            break
    chosen = best(tried)
    for noise in levels[1:]:
        tried.append((chosen.scale, noise, predict(chosen.scale, noise)))
        if tried[-1][2] < chosen.score + min_gain:
            break
        chosen = best(tried)
    return replace(chosen, tried=tuple(tried))


def best(tried: list[tuple[float, float, float]]) -> Setting:
    """The setting with the highest score."""
    scale, noise, score = max(tried, key=lambda setting: setting[2])
    return Setting(scale, noise, score, tuple(tried))


def decibels(signal: float, error: float) -> float:
    """10 log10(signal / error), of energies."""
    return float(10 * np.log10(max(signal, 1e-300) / max(error, 1e-300)))
