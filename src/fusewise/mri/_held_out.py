"""Choice of settings without ground truth: those that best predict samples held out."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from fusewise.mri._tensors import Array

#: Share of the samples held out to choose the local kernels.
HELD_OUT = 0.05

#: If the samples that may be held out are a smaller share than this, all samples may be.
MIN_FREE_SHARE = 0.1


@dataclass(frozen=True)
class Setting:
    """A setting, and what the samples left out say of it.

    Attributes
    ----------
    scale : sigma² of the H1 weights in units of the median squared distance.
    noise : lam in units of the variance of the motion.
    score : energy of the samples left out over that of their prediction's error, in decibels.
    tried : (scale, noise, score) of every setting tried.
    """

    scale: float
    noise: float
    score: float = float("nan")
    tried: tuple[tuple[float, float, float], ...] = field(default=(), repr=False)


def hold_out(mask: Array, spared: Array, rng: np.random.Generator) -> Array:
    """Select samples (T x ...) to hold out: none of those `spared`, which compare the frames, unless these are most."""
    free = mask & ~spared
    if np.count_nonzero(free) < MIN_FREE_SHARE * np.count_nonzero(mask):
        free = mask
    return np.asarray(free & (rng.random(mask.shape, dtype=np.float32) < HELD_OUT))


def frames_per_sample(mask: Array) -> Array:
    """Number of frames that a sample of each location represents: T / frames that sampled it (T x ... to ...).

    With these weights, the errors of samples held out at random add up to those of all frames, at sampled locations.
    """
    return np.asarray((len(mask) / np.maximum(mask.sum(axis=0), 1)).astype(np.float32))


def warn_of_interruption() -> None:
    """Warn the caller of ``reconstruct`` that Ctrl-C ended it."""
    text = "interrupted: these are the frames of the best trial so far, which did not use the held-out samples"
    warnings.warn(text, stacklevel=5)


def decibels(signal: float, error: float) -> float:
    """10 log10(signal / error), of energies."""
    return float(10 * np.log10(max(signal, 1e-300) / max(error, 1e-300)))
