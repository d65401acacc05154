"""The second step of every reconstruction: kernels that differ from place to place, set by held-out samples."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fusewise.kernels.arrays import to_host
from fusewise.mri.result import Reconstruction, Setting
from fusewise.mri.sampling.normal_equations import NormalEquations
from fusewise.mri.solving.covariances import LocalKernels, effective_rank
from fusewise.mri.solving.held_out import best, choose_local, decibels
from fusewise.mri.solving.interpolation import Interpolated
from fusewise.mri.solving.ways import Solver
from fusewise.mri.tensors import Array

#: Tiles per width of the image: about a ventricle each.
TILES = 14

#: Candidates for sigma², in units of the median squared distance.
SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)

#: Candidates for lam, in units of the least one.
LEVELS = (1.0, 5.0, 25.0, 125.0)

#: The least lam tried, in units of the variance of the motion: below it conjugate gradients only take longer.
QUIET = 1e-2

#: Decibels that more noise must gain to be believed: it also speeds convergence within a short trial.
FLATTERY = 0.02


def kernels_by_place(images: Array) -> LocalKernels:
    """Of frames, or of their deviations from the mean frame, at the first of the scales."""
    side = max(images.shape[1:]) / TILES
    return LocalKernels.of(images, SCALES[0], side, side)


class Teller:
    """Progress to a function, or, if asked for, to stderr with seconds."""

    def __init__(self, verbose: int | Callable[[str], None]):
        self.verbose = verbose
        self.begun = time.perf_counter()

    def __call__(self, message: str) -> None:
        """Say it."""
        if callable(self.verbose):
            self.verbose(message)
        elif self.verbose:
            print(f"[{time.perf_counter() - self.begun:6.1f} s] {message}", file=sys.stderr)


@dataclass(frozen=True, eq=False)
class Places:
    """Deviations from the mean frame, and the kernels by place that shall explain them.

    Attributes
    ----------
    ways : to solve for the deviations, see ``interpolate``: of several the one that first foretells the samples held
        out better.
    judge : of the samples held out, which have not touched the kernels; each stands for the frames in which nobody
        looked there, so that what it misses is the error of the images.
    kernels : at any scale.
    quiet : the least lam to try, in units of the variance of the motion.
    """

    ways: Sequence[Solver]
    judge: NormalEquations
    kernels: LocalKernels
    quiet: float = QUIET

    def solve(self, mean: Array, bands: Setting, tell: Teller) -> Reconstruction:
        """Choose the setting by the samples held out, then use them all.

        Parameters
        ----------
        mean : ny x nx, the mean frame that was subtracted.
        bands : the setting of the first step.
        tell : is told of progress.
        """
        unit = self.kernels.variance
        if unit <= 0:  # nothing moves
            still = Setting(SCALES[0], bands.noise, float("nan"))
            images = np.repeat(to_host(mean)[None], self.kernels.distances.shape[1], axis=0)
            return Reconstruction(images, 0.0, 0.0, 0, (0.0,), bands, still)
        trials, local, solution = self._chosen(unit, tell)
        if local.score < 0:
            warnings.warn(
                f"samples held out are foretold no better than by the mean frame ({local.score:.1f} dB): do the maps, "
                "the trajectory and the navigator fit the data, and does anything move above the noise?",
                stacklevel=4,
            )
        history = solution.history
        tell(f"done: residual {history[-1]:.1e} after {len(history) - 1} steps")
        images = to_host(mean + solution.centers)
        lam, sigma = local.noise * unit, float(np.sqrt(local.scale * np.median(self.kernels.medians)))
        rank = effective_rank(trials.at(local.scale).covariance().mean(), lam)
        return Reconstruction(images, lam, sigma, rank, history, bands, local, trials.name)

    def _chosen(self, unit: float, tell: Teller) -> tuple[_Trials, Setting, Interpolated]:
        """The way, the setting and the deviations; after Ctrl-C the best there are, if there are any."""
        noises = [level * max(self.quiet, QUIET) for level in LEVELS]
        contest = [_Trials(way, self.judge, self.kernels, unit, tell) for way in self.ways]
        try:
            trials = max(contest, key=lambda trials: trials(SCALES[0], noises[0]))
            contest = [trials]  # the others' kernels are not needed any more
            way = trials.way
            local = choose_local(trials, SCALES, noises, FLATTERY)
            start = trials.best if trials.best_score == local.score else None
            kernels = trials.at(local.scale)
            return trials, local, way(kernels, local.noise * unit, steps=way.final_steps, start=start)
        except KeyboardInterrupt:
            trials = max(contest, key=lambda trials: trials.best_score)
            if trials.best is None:
                raise
            warnings.warn(
                "interrupted: these are the frames of the best trial so far, which did not use the samples held out",
                stacklevel=5,
            )
            return trials, trials.choice, trials.best


class _Trials:
    """Short solves without the samples held out, each judged by how well it foretells them; the best is kept."""

    def __init__(self, way: Solver, judge: NormalEquations, kernels: LocalKernels, unit: float, tell: Teller):
        self.way, self.judge, self.kernels, self.unit, self.tell = way, judge, kernels, unit, tell
        self.latest = kernels
        self.scores: dict[tuple[float, float], float] = {}
        self.best_score = -np.inf
        self.best: Interpolated | None = None

    @property
    def name(self) -> str:
        """Of the way."""
        return type(self.way).__name__

    @property
    def choice(self) -> Setting:
        """The best setting so far."""
        return best([(*setting, score) for setting, score in self.scores.items()])

    def at(self, scale: float) -> LocalKernels:
        """The kernels at a scale; the last ones are kept, since noises are tried at one scale after another."""
        if self.latest is self.kernels or self.latest.scale != scale:
            self.latest = self.kernels.at(scale)
        return self.latest

    def __call__(self, scale: float, noise: float) -> float:
        """Score in decibels."""
        if (scale, noise) not in self.scores:
            found = self.way(self.at(scale), noise * self.unit, whole=False, steps=self.way.trial_steps)
            score = self.scores[scale, noise] = decibels(self.judge.energy, self.judge.misfit(found.centers))
            if score > self.best_score:
                self.best_score, self.best = score, found
            self.tell(f"places, {self.name}: scale {scale}, noise {noise}: held-out samples {score:.2f} dB")
        return self.scores[scale, noise]
