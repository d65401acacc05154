"""Every reconstruction: kernels, taken again from ever better frames.

The first frames come from one kernel for the whole image, that of the distances between navigators. A round compares
the frames before it tile by tile, and continues the solve under the new kernels. The noise is chosen at half the
resolution, which holds most of the motion and takes a quarter of the time; the rounds are made at the whole. After each
solve every band of spatial frequencies of the deviations from the mean frame is multiplied by the factor between 0 and
1 that predicts the held-out samples best: where there is more noise than motion, the frames rest. Held-out samples
choose the noise, the size of the tiles and the number of rounds; the last solve uses them, too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import fft

from fusewise.kernels import beside, to_host
from fusewise.mri._covariances import LocalKernels, effective_rank
from fusewise.mri._held_out import Setting, decibels, warn_of_interruption
from fusewise.mri._interpolation import Interpolated, interpolate
from fusewise.mri._normal_equations import Convolution, NormalEquations
from fusewise.mri._result import Reconstruction
from fusewise.mri._sampling import AXES, radii
from fusewise.mri._tensors import Array, energy, fft2, ifft2, inner, lowest, resampled
from fusewise.progress import Progress
from fusewise.support import counted

#: Tiles per width of the image, from coarse to fine: of a ventricle, of half of one; and at half the resolution, where
#: they have as many pixels as the first of these.
TILES, COARSE_TILES = (14, 20, 28), 7

#: Most numbers in the kernels of all tiles, a quarter of a gigabyte: finer tiles are not tried above it.
LARGEST_KERNELS = 2**26

#: sigma² of the kernels, in units of the median squared distance.
SCALE = 0.5

#: Smallest lam tried, in units of the variance of the motion: below it conjugate gradients only take longer; and the
#: others, in units of the smallest one.
SMALLEST_NOISE, LEVELS = 1e-2, (5.0, 25.0, 125.0)

#: Most steps for the first frames, of the first solve under local kernels, of a trial of more noise (which goes on from
#: it); and the residual, relative to the target, at which a solve ends.
START_STEPS, FIRST_STEPS, TRIAL_STEPS, TOL = 8, 15, 5, 2e-3

#: Images of at least so many pixels per side are first solved for at half the resolution.
SMALLEST_HALVED = 64

#: Gain required of a larger noise, as a share of the score: it also speeds up a solve, which flatters a short trial.
MIN_NOISE_GAIN = 2e-3

#: A round that gains fewer decibels than this has stalled, and after so many of them no further round is made: scores
#: of a few hundred samples scatter, so one is not enough.
MIN_ROUND_GAIN, MOST_STALLED = 0.03, 2

#: Fewest and most rounds, steps of a round and steps of the last solve: as many between them as take PATIENCE
#: multiplications by the kernels. Short series converge; 450 frames of 134 x 134 have two rounds, and 900 have one.
ROUNDS, ROUND_STEPS, FINAL_STEPS, PATIENCE = (1, 8), (6, 10), (8, 80), 9e10

#: Frames move if the variance of a pixel is more than this share of the mean frame's power, which is found to -60 dB.
STILL = 1e-6

#: Inner borders of the bands that have factors, relative to half the width of k-space.
BORDERS = tuple(np.arange(0.2, 1.0, 0.1))

#: Frames, evenly spaced, whose held-out samples give the factors: a few thousand samples are enough.
FACTOR_FRAMES = 64


def band_factors(images: Array, judge: NormalEquations) -> Array:
    """The g_b in [0, 1] of bands that minimise the judge's misfit of sum_b g_b u_b, for each k-space location."""
    bands = np.digitize(fft.ifftshift(radii((images.shape[1], images.shape[2])), axes=AXES), BORDERS)
    some = beside(np.unique(np.linspace(0, len(images) - 1, FACTOR_FRAMES).astype(int)), images)
    judge, waves = judge.of_frames(some), fft2(images[some])
    parts = [ifft2(waves * beside(bands == band, images)) for band in range(len(BORDERS) + 1)]
    pushed = [judge.normal(part) for part in parts]
    gram = np.array([[float(inner(part, push)) for push in pushed] for part in parts])
    right = np.array([float(inner(part, judge.target)) for part in parts])
    factors = np.ones(len(parts), np.float32)
    known = np.diag(gram) > 1e-9 * np.trace(gram)  # bands with held-out samples
    if known.any():
        factors[known] = np.linalg.lstsq(gram[np.ix_(known, known)], right[known], rcond=1e-9)[0]
    return np.asarray(np.clip(factors, 0, 1)[bands])


def filtered(images: Array, factors: Array) -> Array:
    """Multiply k-space by factors; what is exactly 0 in the images stays so, as outside the maps of the coils."""
    waves = fft2(images) * beside(factors, images)
    found: Array = ifft2(waves, overwrite=True) * (images != 0)
    return found


@dataclass(frozen=True, eq=False)
class Estimate:
    """Frames of a setting, made without the held-out samples."""

    setting: Setting
    tiles: int  # per width of the image
    solution: Interpolated  # the deviations from the mean frame as the solver left them
    factors: Array  # of k-space locations
    frames: Array  # the deviations, filtered by them

    def resampled(self, shape: tuple[int, int]) -> Estimate:
        """The same on another grid; factors beyond those known are 1."""
        solution = replace(self.solution, centers=resampled(self.solution.centers, shape))
        factors = 1 + lowest(self.factors - 1, shape)
        return replace(self, solution=solution, factors=factors, frames=resampled(self.frames, shape))


@dataclass(eq=False)
class LocalProblem:
    """The problem of solving for the deviations from the mean frame under local kernels, and what was found so far."""

    fitted: NormalEquations  # of the samples not held out
    held: NormalEquations  # of those held out
    #: The latter, each weighted by the number of frames that it represents, so that its misfit estimates the error of
    #: the images.
    judge: NormalEquations
    density: float  # the mean of the diagonal of A'A
    best: Estimate | None = None  # so far, by score
    tried: list[tuple[float, float, float]] = field(default_factory=list)  # scale, noise and score of every solve

    def solve(self, mean: Array, distances: Array, tell: Progress) -> Reconstruction:
        """Choose the setting by the held-out samples, then solve with all; `distances`: T x T squares, on the host."""
        like, shape = self.fitted.target, (int(mean.shape[0]), int(mean.shape[1]))
        fine, small = grids(shape, self.fitted.normal)
        problem = self.resampled(fine)
        coarse = problem if small == fine else self.resampled(small)
        whole = LocalKernels.of_distances(beside(distances, like), small, SCALE)
        start = coarse._solved(whole, 1, SMALLEST_NOISE, None, START_STEPS)
        tell(f"first frames: held-out samples {start.setting.score:.2f} dB")
        tiles = TILES[0] if small == fine else COARSE_TILES
        kernels = local_kernels(start.frames, tiles)
        if kernels.variance * small[0] * small[1] <= STILL * energy(mean):  # nothing moves
            images = np.repeat(to_host(mean)[None], len(like), axis=0)
            return Reconstruction(images, 0.0, 0.0, 0, (0.0,), start.setting)
        try:
            chosen = coarse._choose_noise(kernels, tiles, start.solution.centers, tell)
            best = problem._refine(replace(chosen.resampled(fine), tiles=TILES[0]), tell)
            kernels = local_kernels(best.frames, best.tiles)
            solution, frames = problem._with_all(best, kernels)
        except KeyboardInterrupt:
            best = problem.best or (coarse.best or start).resampled(fine)
            warn_of_interruption()
            kernels, solution, frames = local_kernels(best.frames, best.tiles), best.solution, best.frames
        setting = replace(best.setting, tried=tuple(self.tried))
        unshrunk = decibels(problem.judge.energy, problem.judge.misfit(best.solution.centers))
        if unshrunk < 0:
            warnings.warn(
                f"held-out samples are predicted no better than by the mean frame ({unshrunk:.1f} dB): check that "
                "the maps, the trajectory and the navigator fit the data, and that there is motion above the noise",
                stacklevel=4,
            )
        history = solution.history
        tell(f"done: residual {history[-1]:.1e} after {counted(len(history) - 1, 'step')}")
        lam = setting.noise * kernels.variance
        sigma = float(np.sqrt(setting.scale * np.median(kernels.medians)))
        rank = effective_rank(kernels.covariance.mean(), lam)
        return Reconstruction(to_host(mean + resampled(frames, shape)), lam, sigma, rank, history, setting)

    def resampled(self, shape: tuple[int, int]) -> LocalProblem:
        """The problem for images on another grid: for their lower frequencies, or with zeros beyond those there are."""
        if self.fitted.target.shape[1:] == shape:
            return self
        fitted, held, judge = (part.resampled(shape) for part in (self.fitted, self.held, self.judge))
        density = self.density * float(fitted.normal.spectra.mean() / self.fitted.normal.spectra.mean())
        return replace(self, fitted=fitted, held=held, judge=judge, density=density)

    def _choose_noise(self, kernels: LocalKernels, tiles: int, start: Array, tell: Progress) -> Estimate:
        """The best of the trials of more noise."""
        first = chosen = self._solved(kernels, tiles, SMALLEST_NOISE, start, FIRST_STEPS)
        tell(f"local kernels: noise {SMALLEST_NOISE}: held-out samples {first.setting.score:.2f} dB")
        for level in LEVELS:
            noise = level * SMALLEST_NOISE
            more = self._solved(kernels, tiles, noise, first.solution.centers, TRIAL_STEPS)
            tell(f"local kernels: noise {noise}: held-out samples {more.setting.score:.2f} dB")
            if more.setting.score < chosen.setting.score + MIN_NOISE_GAIN * abs(chosen.setting.score):
                break
            chosen = more
        return chosen

    def _refine(self, chosen: Estimate, tell: Progress) -> Estimate:
        """The best of the rounds, of which the first goes on from the frames of `chosen`."""
        best = last = chosen
        sizes = [tiles for tiles in TILES if tiles**2 * len(best.frames) ** 2 <= LARGEST_KERNELS]
        stalled, steps = 0, self._patience(ROUND_STEPS, 1)
        for _ in range(self._patience(ROUNDS, steps)):
            finer = [tiles for tiles in sizes if tiles > last.tiles][:1]
            tiles = finer[0] if finer else last.tiles
            kernels = local_kernels(last.frames, tiles)
            found = self._solved(kernels, tiles, chosen.setting.noise, last.solution.centers, steps)
            gain = found.setting.score - best.setting.score
            tell(f"kernels of {tiles} x {tiles} tiles: held-out samples {found.setting.score:.2f} dB")
            last = best if finer and gain <= 0 else found
            best = found if gain > 0 else best
            if gain < MIN_ROUND_GAIN and finer:
                sizes = []  # the tiles stay as they are
            elif gain < MIN_ROUND_GAIN:
                stalled += 1
                if stalled == MOST_STALLED:
                    break
        return best

    def _solved(self, kernels: LocalKernels, tiles: int, noise: float, start: Array | None, steps: int) -> Estimate:
        """Solve without the held-out samples, and score the frames by them."""
        solution = self._interpolated(self.fitted, kernels, noise, start, steps)
        factors = band_factors(solution.centers, self.judge)
        frames = filtered(solution.centers, factors)
        score = decibels(self.judge.energy, self.judge.misfit(frames))
        self.tried.append((kernels.scale, noise, score))
        found = Estimate(Setting(kernels.scale, noise, score), tiles, solution, factors, frames)
        if self.best is None or score > self.best.setting.score:
            self.best = found
        return found

    def _with_all(self, best: Estimate, kernels: LocalKernels) -> tuple[Interpolated, Array]:
        """Solve with all samples, under the kernels of the best frames."""
        steps, start = self._patience(FINAL_STEPS, 1), best.solution.centers
        solution = self._interpolated(self.fitted + self.held, kernels, best.setting.noise, start, steps)
        return solution, filtered(solution.centers, best.factors)

    def _interpolated(
        self, used: NormalEquations, kernels: LocalKernels, noise: float, start: Array | None, steps: int
    ) -> Interpolated:
        """Solve, going on from the frames of a solve under other kernels."""
        lam = noise * kernels.variance
        return interpolate(used, kernels.smoothing(self.density, lam), self.density, start, max_steps=steps, tol=TOL)

    def _patience(self, limits: tuple[int, int], steps: int) -> int:
        frames, ny, nx = self.fitted.target.shape
        return int(np.clip(PATIENCE / (steps * frames**2 * ny * nx), *limits))


def grids(shape: tuple[int, int], normal: Convolution) -> tuple[tuple[int, int], tuple[int, int]]:
    """Sizes of the images of the last frames and of the first: half the image, if large; on the grid fast for the FFT.

    Images of several coils keep their size: maps that end at the edge of the body have no values on another grid.
    """
    ny, nx = shape
    fine, half = shape, (ny // 2, nx // 2)
    if normal.maps is not None or min(shape) < SMALLEST_HALVED:
        return shape, shape
    if normal.spectra.shape[1:] == shape:
        fine = (fft.next_fast_len(ny), fft.next_fast_len(nx))
        half = (fft.next_fast_len((ny + 1) // 2), fft.next_fast_len((nx + 1) // 2))
    elif ny % 2 or nx % 2:  # the convolution's own grid, which is even, cannot be halved alike
        half = shape
    return fine, half


def local_kernels(images: Array, tiles: int) -> LocalKernels:
    """Local kernels of frames, or of their deviations from the mean frame."""
    side = max(images.shape[1:]) / tiles
    return LocalKernels.of(images, SCALE, side, side)
