"""The second step of every reconstruction: local kernels, with settings chosen by held-out samples."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fusewise.kernels import to_host
from fusewise.mri.result import Reconstruction, Setting
from fusewise.mri.sampling.normal_equations import NormalEquations
from fusewise.mri.solving.covariances import LocalKernels, effective_rank
from fusewise.mri.solving.held_out import best, choose_local, decibels
from fusewise.mri.solving.interpolation import Interpolated
from fusewise.mri.solving.ways import Solver
from fusewise.mri.tensors import Array
from fusewise.progress import Progress
from fusewise.support.words import counted

#: Tiles per width of the image: about a ventricle each.
TILES = 14

#: Candidates for sigma², in units of the median squared distance.
SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)

#: Candidates for lam, in units of the smallest one.
LEVELS = (1.0, 5.0, 25.0, 125.0)

#: Smallest lam tried, in units of the variance of the motion: below it conjugate gradients only take longer.
SMALLEST_NOISE = 1e-2

#: Gain in decibels required of a larger noise, which also speeds up convergence and so flatters a short trial.
MIN_NOISE_GAIN = 0.02


def kernels_by_place(images: Array) -> LocalKernels:
    """Local kernels of frames, or of their deviations from the mean frame, at the first of the scales."""
    side = max(images.shape[1:]) / TILES
    return LocalKernels.of(images, SCALES[0], side, side)


@dataclass(frozen=True, eq=False)
class Places:
    """The problem of solving for the deviations from the mean frame under local kernels.

    Attributes
    ----------
    ways : solvers for the deviations; of several the one that predicts the held-out samples best in a first trial.
    judge : equations of the held-out samples, which are not used by the kernels; each is weighted by the number of
        frames it represents, so that its misfit estimates the error of the images.
    kernels : local kernels, at any scale.
    smallest_noise : the smallest lam to try, in units of the variance of the motion.
    """

    ways: Sequence[Solver]
    judge: NormalEquations
    kernels: LocalKernels
    smallest_noise: float = SMALLEST_NOISE

    def solve(self, mean: Array, bands: Setting, tell: Progress) -> Reconstruction:
        """Choose the setting by the held-out samples, then solve with all samples.

        Parameters
        ----------
        mean : ny x nx, the mean frame that was subtracted.
        bands : the setting of the first step.
        tell : reports progress.
        """
        unit = self.kernels.variance
        if unit <= 0:  # nothing moves
            still = Setting(SCALES[0], bands.noise, float("nan"))
            images = np.repeat(to_host(mean)[None], self.kernels.distances.shape[1], axis=0)
            return Reconstruction(images, 0.0, 0.0, 0, (0.0,), bands, still)
        trials, local, solution = self._chosen(unit, tell)
        if local.score < 0:
            warnings.warn(
                f"held-out samples are predicted no better than by the mean frame ({local.score:.1f} dB): check that "
                "the maps, the trajectory and the navigator fit the data, and that there is motion above the noise",
                stacklevel=4,
            )
        history = solution.history
        tell(f"done: residual {history[-1]:.1e} after {counted(len(history) - 1, 'step')}")
        images = to_host(mean + solution.centers)
        lam, sigma = local.noise * unit, float(np.sqrt(local.scale * np.median(self.kernels.medians)))
        rank = effective_rank(trials.at(local.scale).covariance().mean(), lam)
        return Reconstruction(images, lam, sigma, rank, history, bands, local, trials.name)

    def _chosen(self, unit: float, tell: Progress) -> tuple[_Trials, Setting, Interpolated]:
        """The solver with its trials, the setting and the deviations; after Ctrl-C the best so far, if any."""
        noises = [level * max(self.smallest_noise, SMALLEST_NOISE) for level in LEVELS]
        contest = [_Trials(way, self.judge, self.kernels, unit, tell) for way in self.ways]
        try:
            trials = max(contest, key=lambda trials: trials(SCALES[0], noises[0]))
            contest = [trials]  # the kernels of the others are no longer needed
            way = trials.way
            local = choose_local(trials, SCALES, noises, MIN_NOISE_GAIN)
            start = trials.best if trials.best_score == local.score else None
            kernels = trials.at(local.scale)
            return trials, local, way(kernels, local.noise * unit, steps=way.final_steps, start=start)
        except KeyboardInterrupt:
            trials = max(contest, key=lambda trials: trials.best_score)
            if trials.best is None:
                raise
            warnings.warn(
                "interrupted: these are the frames of the best trial so far, which did not use the held-out samples",
                stacklevel=5,
            )
            return trials, trials.choice, trials.best


class _Trials:
    """Short solves without the held-out samples, each scored by how well it predicts them; the best is kept."""

    def __init__(self, way: Solver, judge: NormalEquations, kernels: LocalKernels, unit: float, tell: Progress):
        self.way, self.judge, self.kernels, self.unit, self.tell = way, judge, kernels, unit, tell
        self.latest = kernels
        self.scores: dict[tuple[float, float], float] = {}
        self.best_score = -np.inf
        self.best: Interpolated | None = None

    @property
    def name(self) -> str:
        """Name of the solver."""
        return type(self.way).__name__

    @property
    def choice(self) -> Setting:
        """The best setting so far."""
        return best([(*setting, score) for setting, score in self.scores.items()])

    def at(self, scale: float) -> LocalKernels:
        """The kernels at a scale; the last ones are cached, as several noises are tried at the same scale."""
        if self.latest is self.kernels or self.latest.scale != scale:
            self.latest = self.kernels.at(scale)
        return self.latest

    def __call__(self, scale: float, noise: float) -> float:
        """Score of a setting in decibels."""
        if (scale, noise) not in self.scores:
            found = self.way(self.at(scale), noise * self.unit, whole=False, steps=self.way.trial_steps)
            score = self.scores[scale, noise] = decibels(self.judge.energy, self.judge.misfit(found.centers))
            if score > self.best_score:
                self.best_score, self.best = score, found
            self.tell(f"local kernels, {self.name}: scale {scale}, noise {noise}: held-out samples {score:.2f} dB")
        return self.scores[scale, noise]
