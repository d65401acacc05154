"""The second step of every reconstruction: local kernels, taken again from ever better frames.

A round compares the frames of the round before it tile by tile, and continues the solve under the new kernels. After
each solve every band of spatial frequencies of the deviations from the mean frame is multiplied by the factor between 0
and 1 that predicts the held-out samples best: where there is more noise than motion, the frames rest. Held-out samples
choose scale and noise, the size of the tiles and the number of rounds; the last solve uses them, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fusewise.kernels import beside, to_host
from fusewise.mri._covariances import LocalKernels, effective_rank
from fusewise.mri._held_out import Setting, choose_local, decibels
from fusewise.mri._interpolation import Interpolated, Solver
from fusewise.mri._normal_equations import NormalEquations
from fusewise.mri._result import Reconstruction
from fusewise.mri._tensors import Array, fft2, ifft2, inner
from fusewise.progress import Progress
from fusewise.support import counted

#: Tiles per width of the image, from coarse to fine: of a ventricle, of half of one.
TILES = (14, 20, 28)

#: Most numbers in the kernels of all tiles, a quarter of a gigabyte: finer tiles are not tried above it.
LARGEST_KERNELS = 2**26

#: Candidates for sigma², in units of the median squared distance.
SCALES = (0.25, 0.5, 1.0, 2.0)

#: Candidates for lam, in units of the smallest one.
LEVELS = (1.0, 5.0, 25.0, 125.0)

#: Smallest lam tried, in units of the variance of the motion: below it conjugate gradients only take longer.
SMALLEST_NOISE = 1e-2

#: Gain in decibels required of a larger noise, which also speeds up convergence and so flatters a short trial.
MIN_NOISE_GAIN = 0.02

#: Gain in decibels below which no further round is made.
MIN_ROUND_GAIN = 0.03

#: Fewest and most rounds, and steps of the last solve: as many between them as take PATIENCE multiplications by the
#: kernels. Short series converge; a series of 450 frames of 134 x 134 has one round and 24 steps.
ROUNDS, FINAL_STEPS, PATIENCE = (1, 8), (24, 80), 9e10

#: Inner borders of the bands that have factors, relative to half the width of k-space.
BORDERS = tuple(np.arange(0.2, 1.0, 0.1))

#: Frames, evenly spaced, whose held-out samples give the factors: a few thousand samples are enough.
FACTOR_FRAMES = 64


@dataclass(frozen=True, eq=False)
class BandFactors:
    """u -> sum_b g_b u_b, u_b being the part of the images in the band b of spatial frequencies."""

    bands: Array  # ny x nx on the host, the band of each k-space location (plain layout)
    factors: Array  # g

    @classmethod
    def fit(cls, images: Array, judge: NormalEquations, radii: Array) -> BandFactors:
        """The g that minimise the misfit of sum_b g_b u_b to samples that the images do not know, clipped to [0, 1]."""
        bands = np.digitize(radii, BORDERS)
        some = beside(np.unique(np.linspace(0, len(images) - 1, FACTOR_FRAMES).astype(int)), images)
        judge, waves = judge.of_frames(some), fft2(images[some])
        parts = [ifft2(waves * beside(bands == band, images)) for band in range(len(BORDERS) + 1)]
        pushed = [judge.normal(part) for part in parts]
        gram = np.array([[float(inner(part, push)) for push in pushed] for part in parts])
        right = np.array([float(inner(part, judge.target)) for part in parts])
        factors = np.ones(len(parts))
        known = np.diag(gram) > 1e-9 * np.trace(gram)  # bands with held-out samples
        if known.any():
            factors[known] = np.linalg.lstsq(gram[np.ix_(known, known)], right[known], rcond=1e-9)[0]
        return cls(bands, np.clip(factors, 0, 1).astype(np.float32))

    def __call__(self, images: Array) -> Array:
        """Apply to images T x ny x nx; what is exactly 0 stays so, as outside the maps of the coils."""
        waves = fft2(images) * beside(self.factors[self.bands], images)
        found: Array = ifft2(waves, overwrite=True) * (images != 0)
        return found


@dataclass(frozen=True, eq=False)
class Estimate:
    """Frames of a setting, made without the held-out samples."""

    setting: Setting
    tiles: int  # per width of the image
    kernels: LocalKernels
    solution: Interpolated  # the deviations from the mean frame as the solver left them, and their dual
    factors: BandFactors
    frames: Array  # the deviations times the factors


@dataclass(frozen=True, eq=False)
class LocalProblem:
    """The problem of solving for the deviations from the mean frame under local kernels."""

    solver: Solver
    #: Equations of the held-out samples, each weighted by the number of frames that it represents, so that its misfit
    #: estimates the error of the images.
    judge: NormalEquations
    start: Array  # T x ny x nx, frames from which the first kernels are taken
    radii: Array  # ny x nx on the host, of the k-space locations (plain layout)

    def solve(self, mean: Array, bands: Setting, tell: Progress) -> Reconstruction:
        """Choose the setting by the held-out samples, then solve with all samples; `bands`: that of the first step."""
        kernels = local_kernels(self.start, TILES[0], SCALES[0])
        if kernels.variance <= 0:  # nothing moves
            images = np.repeat(to_host(mean)[None], len(self.start), axis=0)
            return Reconstruction(images, 0.0, 0.0, 0, (0.0,), bands, Setting(SCALES[0], bands.noise))
        best: Estimate | None = None
        try:
            for found in self._rounds(kernels, bands, tell):
                best = found if best is None or found.setting.score >= best.setting.score else best
            assert best is not None
            solution, frames = self._with_all(best)
        except KeyboardInterrupt:
            if best is None:
                raise
            warnings.warn(
                "interrupted: these are the frames of the best trial so far, which did not use the held-out samples",
                stacklevel=4,
            )
            solution, frames = best.solution, best.frames
        setting = best.setting
        unshrunk = decibels(self.judge.energy, self.judge.misfit(best.solution.centers))
        if unshrunk < 0:
            warnings.warn(
                f"held-out samples are predicted no better than by the mean frame ({unshrunk:.1f} dB): check that "
                "the maps, the trajectory and the navigator fit the data, and that there is motion above the noise",
                stacklevel=4,
            )
        history = solution.history
        tell(f"done: residual {history[-1]:.1e} after {counted(len(history) - 1, 'step')}")
        lam = setting.noise * best.kernels.variance
        sigma = float(np.sqrt(setting.scale * np.median(best.kernels.medians)))
        rank = effective_rank(best.kernels.covariance.mean(), lam)
        return Reconstruction(to_host(mean + frames), lam, sigma, rank, history, bands, setting)

    def _rounds(self, kernels: LocalKernels, bands: Setting, tell: Progress) -> Iterator[Estimate]:
        """Yield the trials of settings, and the rounds at the best of them."""
        solver = self.solver
        smallest = {SMALLEST_NOISE, max(SMALLEST_NOISE, bands.noise)}  # two where the bands found much noise
        firsts = [self._solved(kernels, TILES[0], noise, None, solver.first_steps) for noise in smallest]
        first = max(firsts, key=lambda found: found.setting.score)
        noises = [level * first.setting.noise for level in LEVELS]
        trials = {(SCALES[0], noises[0]): first}
        scores: list[tuple[float, float, float]] = []

        def noted(found: Estimate) -> Estimate:
            scores.append((found.setting.scale, found.setting.noise, found.setting.score))
            return replace(found, setting=replace(found.setting, tried=tuple(scores)))

        def predict(scale: float, noise: float) -> float:
            if (scale, noise) not in trials:
                there = kernels if scale == kernels.scale else kernels.at(scale)
                trials[scale, noise] = self._solved(there, TILES[0], noise, first.solution.dual, solver.trial_steps)
            score = trials[scale, noise].setting.score
            tell(f"local kernels: scale {scale}, noise {noise}: held-out samples {score:.2f} dB")
            return score

        yield noted(first)
        choice = choose_local(predict, SCALES, noises, MIN_NOISE_GAIN)
        best = trials[choice.scale, choice.noise]
        scores[:] = choice.tried
        yield replace(best, setting=choice)
        trials.clear()
        sizes = [tiles for tiles in TILES if tiles**2 * len(self.start) ** 2 <= LARGEST_KERNELS]
        for _ in range(self._patience(ROUNDS, solver.round_steps)):
            finer = [tiles for tiles in sizes if tiles > best.tiles][:1]
            tiles = finer[0] if finer else best.tiles
            kernels = local_kernels(best.frames, tiles, choice.scale)
            found = self._solved(kernels, tiles, choice.noise, best.solution.dual, solver.round_steps)
            gain = found.setting.score - best.setting.score
            tell(f"kernels of {tiles} x {tiles} tiles: held-out samples {found.setting.score:.2f} dB")
            yield noted(found)
            best = found if gain > 0 else best
            if gain < MIN_ROUND_GAIN and not finer:
                return
            if gain < MIN_ROUND_GAIN:
                sizes = []  # the tiles stay as they are

    def _solved(self, kernels: LocalKernels, tiles: int, noise: float, start: Array | None, steps: int) -> Estimate:
        """Solve without the held-out samples, and score the frames by them."""
        solution = self.solver(kernels, noise * kernels.variance, whole=False, start=start, steps=steps)
        factors = BandFactors.fit(solution.centers, self.judge, self.radii)
        frames = factors(solution.centers)
        score = decibels(self.judge.energy, self.judge.misfit(frames))
        return Estimate(Setting(kernels.scale, noise, score), tiles, kernels, solution, factors, frames)

    def _with_all(self, best: Estimate) -> tuple[Interpolated, Array]:
        """Solve with all samples, under the kernels of the best frames."""
        kernels = local_kernels(best.frames, best.tiles, best.setting.scale)
        noise, steps = best.setting.noise * kernels.variance, self._patience(FINAL_STEPS, 1)
        solution = self.solver(kernels, noise, start=best.solution.dual, steps=steps)
        return solution, best.factors(solution.centers)

    def _patience(self, limits: tuple[int, int], steps: int) -> int:
        """How often so many steps are taken, within the limits."""
        frames, ny, nx = self.start.shape
        return int(np.clip(PATIENCE / (steps * frames**2 * ny * nx), *limits))


def local_kernels(images: Array, tiles: int, scale: float) -> LocalKernels:
    """Local kernels of frames, or of their deviations from the mean frame."""
    side = max(images.shape[1:]) / tiles
    return LocalKernels.of(images, scale, side, side)
