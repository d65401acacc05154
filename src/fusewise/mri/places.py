"""The second step of every reconstruction: kernels that differ from place to place, set by held-out samples."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fusewise.mri.fourier import Array
from fusewise.mri.interpolate import Sampling, frames_of, solve_local
from fusewise.mri.kernels import LocalKernels, effective_rank
from fusewise.mri.selecting import Choice, choose_local, decibels

#: Part of the samples held out to choose the local kernels.
HELD_OUT = 0.05

#: Cells per width of the image: about a ventricle each.
CELLS = 11

SCALES = (0.125, 0.25, 0.5, 1.0)

#: Conjugate gradient steps while choosing and at the end.
TRIAL_STEPS, FINAL_STEPS = 6, 14

#: (kernels, samples used, lam) to an approximate inverse of the system they make.
Preconditioning = Callable[[LocalKernels, Array, float], Callable[[Array], Array]]


@dataclass(frozen=True, eq=False)
class Frames:
    """Images and the settings that made them; see ``fusewise.mri.Reconstruction``."""

    images: Array
    lam: float
    sigma: float
    rank: int
    history: tuple[float, ...]
    bands: Choice
    local: Choice


class Teller:
    """Progress on stderr, with seconds, if asked for."""

    def __init__(self, verbose: int):
        self.verbose = verbose
        self.begun = time.perf_counter()

    def __call__(self, message: str) -> None:
        """Say it."""
        if self.verbose:
            print(f"[{time.perf_counter() - self.begun:6.1f} s] {message}", file=sys.stderr)


@dataclass(frozen=True, eq=False)
class Places:
    """Deviations from the mean frame, their samples, and the kernels by place that shall explain them.

    Attributes
    ----------
    sampling : A.
    samples : A times the deviations, as measured.
    held : samples to choose by; none of them has touched the kernels.
    kernels : at any scale.
    precondition : see ``Preconditioning``.
    noises : candidates for lam in units of the variance, rising.
    """

    sampling: Sampling
    samples: Array
    held: Array
    kernels: LocalKernels
    precondition: Preconditioning
    noises: tuple[float, ...]

    def solve(self, mean: Array, bands: Choice, tell: Teller) -> Frames:
        """Choose the setting by the samples held out, then use them all.

        Parameters
        ----------
        mean : ny x nx, the mean frame that was subtracted.
        bands : the setting of the first step.
        tell : is told of progress.
        """
        unit = self.kernels.variance
        if unit <= 0:  # nothing moves
            still = Choice(SCALES[0], bands.noise, float("nan"))
            images = np.repeat(mean[None], self.kernels.distances.shape[1], axis=0)
            return Frames(images, 0.0, 0.0, 0, (0.0,), bands, still)
        trials = _Trials(self, unit, tell)
        local = choose_local(trials, SCALES, self.noises)
        chosen, lam = self.kernels.at(local.scale), local.noise * unit
        everything = np.ones_like(self.held)
        dual, history = solve_local(
            self.sampling,
            self.samples,
            chosen,
            lam,
            self.precondition(chosen, everything, lam),
            steps=FINAL_STEPS,
            start=trials.duals[local.scale, local.noise],
        )
        tell(f"done: residual {history[-1]:.1e} after {len(history) - 1} steps")
        images = mean + frames_of(self.sampling, dual, chosen)
        sigma = float(np.sqrt(local.scale * np.median([np.median(d) for d in self.kernels.distances])))
        return Frames(images, lam, sigma, effective_rank(chosen.mean_kernel(), lam), history, bands, local)


class _Trials:
    """Short solves without the samples held out, each judged by how well it foretells them."""

    def __init__(self, places: Places, unit: float, tell: Teller):
        self.places, self.unit, self.tell = places, unit, tell
        self.duals: dict[tuple[float, float], Array] = {}
        self.energy = float(np.square(np.abs(places.samples[places.held]), dtype=float).sum())

    def __call__(self, scale: float, noise: float) -> float:
        """Score in decibels."""
        places, lam = self.places, noise * self.unit
        here, seen = places.kernels.at(scale), ~places.held
        inverse = places.precondition(here, seen, lam)
        dual, _ = solve_local(places.sampling, places.samples, here, lam, inverse, steps=TRIAL_STEPS, seen=seen)
        foretold = places.sampling.forward(frames_of(places.sampling, dual, here))
        errors = (foretold - places.samples)[places.held]
        score = decibels(self.energy, float(np.square(np.abs(errors), dtype=float).sum()))
        self.duals[scale, noise] = dual
        self.tell(f"places: scale {scale}, noise {noise}: held-out samples {score:.2f} dB")
        return score
