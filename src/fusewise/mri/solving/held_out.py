"""Choosing scale and noise without ground truth: samples left out say which setting foretells them best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from fusewise.kernels.arrays import beside
from fusewise.mri.result import Setting
from fusewise.mri.solving.columns import Columns, left_out
from fusewise.mri.solving.navigator import Bands
from fusewise.mri.tensors import Array, energy

#: Locations over which a setting is judged: enough for a hundredth of a decibel, few enough for a second.
JUDGED = 1000

#: Part of the samples held out to choose the local kernels.
HELD_OUT = 0.05

#: Where a smaller part of the samples may be held out than this, all may.
FEW = 0.1

SCALES = (0.25, 0.5, 1.0)
NOISES = (1e-3, 1e-2, 1e-1, 1.0)


def choose_bands(bands: Bands, values: Array, mask: Array, radii: Array, rng: np.random.Generator) -> Setting:
    """Scale and noise of the kernels by band: each sample foretold from the others of its location.

    Parameters
    ----------
    bands : distances of the frames, where the values lie.
    values, mask : T x P deviations from the mean frame, zero where hidden, and (on the host) where they were seen.
    radii : of the P locations, 1 at the edge of k-space.
    rng : chooses the locations judged.
    """
    counts = mask.sum(axis=0)
    candidates = np.flatnonzero((counts > 1) & (counts < len(mask)))
    if not len(candidates):
        return Setting(SCALES[1], NOISES[1], float("nan"))
    some = rng.choice(candidates, min(JUDGED, len(candidates)), replace=False)
    columns = Columns.of(mask[:, some], values, bands.which(radii[some]))
    judged = columns.pack(values[:, beside(some, values)])
    whole = energy(judged)
    tried = []
    for scale in SCALES:
        errors = left_out(bands.kernels(scale), columns, NOISES, judged)
        tried += [(scale, noise, decibels(whole, error)) for noise, error in zip(NOISES, errors, strict=True)]
    return best(tried)


def hold_out(mask: Array, spared: Array, rng: np.random.Generator) -> Array:
    """A part of the samples (T x ...), to be foretold: none of those `spared`, unless these are nearly all.

    Locations that every frame saw tell the frames apart, and there is nothing to foretell at them.
    """
    free = mask & ~spared
    if np.count_nonzero(free) < FEW * np.count_nonzero(mask):
        free = mask
    return np.asarray(free & (rng.random(mask.shape, dtype=np.float32) < HELD_OUT))


def stand_ins(mask: Array) -> Array:
    """For how many frames a sample of each location stands: T over the frames that saw it (T x ... to ...).

    Weighted so, the errors of samples held out at random add up to those of all frames, at the locations ever seen.
    """
    return np.asarray((len(mask) / np.maximum(mask.sum(axis=0), 1)).astype(np.float32))


def choose_local(
    predict: Callable[[float, float], float], scales: Iterable[float], noises: Iterable[float], flattery: float
) -> Setting:
    """Walk up the scales until the score falls, at the first of the noises; then up the noises while they clearly help.

    Parameters
    ----------
    predict : score in decibels of a scale and a noise.
    scales, noises : candidates, rising.
    flattery : decibels that more noise must gain.
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
        if tried[-1][2] < chosen.score + flattery:
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
