"""The paper's own fusion of frames, for k-space on a grid: frames are rows, k-space locations are columns.

    minimise  sum_i ||S_i (u_i - x_i)||² + lam sum_ij phi(||u_i - u_j||),   phi(t) = 1 - exp(-t² / (2 sigma²)),

over k-space frames u_i (all coils side by side), x_i the samples and S_i the sampling of frame i. The FFT is unitary,
so distances in k-space are distances of images.

``fusewise.fusion`` has the same objective and finds the same minimum (``tests/mri/test_fusing.py``), but its loop is
made for many rows of a few columns: it moves all rows at once along a graph of pairs by conjugate gradients. Here there
are hundreds of rows, each pair counts, and each of some ten thousand columns is a small system of the frames that
sampled it, which ``ColumnInverse`` solves exactly, on a GPU too. For 100 frames of 96 x 96, the choice of sigma and lam
and the final descent take 2.4 CPU seconds in this way; ``fuse`` takes 4.0 for the final descent alone. Shared are the
weights (``h1_weight``) and the distances of incomplete rows (``fusewise.pairs``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fusewise.kernels import beside, library, to_host
from fusewise.mri._columns import ColumnInverse, Columns
from fusewise.mri._covariances import effective_rank, median_distance, squared_distances
from fusewise.mri._held_out import Setting, choose, decibels, frames_per_sample, hold_out, warn_of_interruption
from fusewise.mri._navigator import navigator_distances
from fusewise.mri._result import Reconstruction, Run
from fusewise.mri._sampling import invert
from fusewise.mri._tensors import Array, add_to_diagonals, cast, double, energy, gram, inverse, real_times, zeros
from fusewise.observations import Entries
from fusewise.pairs import h1_weight, partial_squared_distances
from fusewise.progress import Progress
from fusewise.support import InputError, counted

#: Candidates for sigma², in units of the median squared distance of the frames, and for lam, in units of sigma² over
#: the number of frames: the more frames, the more of them are alike.
SCALES = tuple(4.0**k for k in range(-6, 1))
RATIOS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

#: Strength of the proximal term of a step: keeps its systems regular where neither samples nor pairs hold a frame.
PROXIMAL = 1e-3

#: Sigma and lam where they are given.
Given = tuple[float | None, float | None]

#: Iterations while settings are tried and at the end, and the relative decrease of the objective that ends a descent.
TRIAL_ITERATIONS, ITERATIONS, TOL = 8, 30, 1e-5


class Fused(NamedTuple):
    """Frames (T x P), the kernel (2 lam L + PROXIMAL I)^-1 of the last step, and the objective after each step."""

    frames: Array
    kernel: Array
    history: tuple[float, ...]


def fuse_frames(
    entries: Array,
    columns: Columns,
    start: Array,
    distances: Array,
    sigma: float,
    lam: float,
    *,
    max_iter: int = ITERATIONS,
    tol: float = TOL,
) -> Fused:
    """Iteratively reweighted least squares for the objective of this module, which never rises but for rounding.

    With w_ij = exp(-d_ij² / (2 sigma²)) / (2 sigma²) and L the Laplacian of w, a step minimises, column by column,
    ||S (u - x)||² + <u, 2 lam L u> + rho ||u - u_before||²: with K = (2 lam L + rho I)^-1 that is

        u = m + K S' (S K S' + I)^-1 (x - S m),   m = rho K u_before.

    `entries` are the samples as `columns` pack them, `start` (T x P) the frames before the first step, and `distances`
    (squared) give the first weights. The last step lowers the objective by less than `tol` of it.
    """
    frames, history = start, [np.inf]
    while len(history) <= max_iter:
        coupling = h1_weight(double(distances), sigma**2) * (lam / sigma**2)
        system: Array = library(coupling).diag(coupling.sum(axis=0)) - coupling
        add_to_diagonals(system, PROXIMAL)
        kernel = inverse(system)
        operator = cast(kernel, start.real)
        anchor = PROXIMAL * real_times(operator, frames)
        pulls = ColumnInverse.under(kernel, columns)(entries - columns.pack(anchor))
        frames = anchor + real_times(operator, columns.unpack(pulls))
        distances = squared_distances(gram(frames))
        penalty = float((1 - h1_weight(double(distances), sigma**2)).sum())
        history.append(energy(columns.pack(frames) - entries) + lam * penalty)
        if history[-2] - history[-1] <= tol * history[-1]:
            break
    return Fused(frames, kernel, tuple(history[1:]))


def about_mean(kspace: Array, mask: Array) -> tuple[Array, Array]:
    """Mean over the frames where the mask (T x P, on the host) is True, and the deviations from it, else zero."""
    shares = beside((1 / np.maximum(mask.sum(axis=0), 1)).astype(np.float32), kspace)
    seen = beside(mask, kspace)
    values = kspace.reshape(mask.shape) * seen
    mean = values.sum(axis=0) * shares
    return mean, (values - mean) * seen


@dataclass(frozen=True, eq=False)
class Series:
    """A series to be fused."""

    samples: Array  # T x P, all coils side by side, zero where not sampled
    distances: Array  # T x T, the squared distances that give the first weights
    unit: float  # their median

    def fused(self, seen: Array, setting: Setting, max_iter: int) -> tuple[Array, Fused]:
        """The mean frame of the samples `seen` (T x P booleans), and what fusion adds to it in each frame."""
        mean, values = about_mean(self.samples, seen)
        columns = Columns.of(seen, values)
        sigma, lam = self.scaled(setting)
        start = zeros(values.shape, values)
        return mean, fuse_frames(columns.pack(values), columns, start, self.distances, sigma, lam, max_iter=max_iter)

    def scaled(self, setting: Setting) -> tuple[float, float]:
        """Sigma and lam in the units of the samples."""
        variance = setting.scale * self.unit
        return float(np.sqrt(variance)), setting.noise * variance / len(self.samples)


def reconstruct_by_fusion(
    kspace: Array, mask: Array, maps: Array | None, navigator: Array | None, run: Run, settings: Given
) -> Reconstruction:
    """Images from k-space as of ``reconstruct_gridded`` by fusion of frames, sigma and lam being chosen where None."""
    rng, place, tell = run
    ever, n_coils = mask.any(axis=0), kspace.shape[1]
    rows, seen = np.ascontiguousarray(kspace[:, :, ever].reshape(len(mask), -1)), mask[:, ever]
    held = hold_out(seen, np.asarray(seen.all(axis=0)), rng)
    every, known = np.tile(seen, n_coils), np.tile(seen & ~held, n_coils)
    distances = start_distances(rows, known, navigator)
    series = Series(place(rows), place(distances), float(median_distance(distances)))
    tell(f"{mask.mean():.1%} sampled")
    shares = np.sqrt(np.tile(frames_per_sample(seen) * held, n_coils))
    setting, latest = chosen(series, known, place(shares.astype(np.float32)), settings, tell)
    mean, found = latest or series.fused(every, setting, ITERATIONS)
    tell(f"done: objective {found.history[-1]:.4g} after {counted(len(found.history), 'step')}")
    whole = np.zeros((len(mask), n_coils, *mask.shape[1:]), np.complex64)
    whole[:, :, ever] = to_host(found.frames + mean).reshape(len(mask), n_coils, -1)
    images = invert(whole)
    if maps is None:
        images = images[:, 0]
    else:  # coils combined by least squares
        images = (maps.conj() * images).sum(axis=1) / np.square(np.abs(maps)).sum(axis=0).clip(1e-6)
    rank = effective_rank(found.kernel, 1 / float(mask.mean()))
    sigma, lam = series.scaled(setting)
    return Reconstruction(images, lam, sigma, rank, found.history, setting, method="fusion")


def start_distances(rows: Array, seen: Array, navigator: Array | None) -> Array:
    """Squared distances of frames: the paper's partial ones, of `rows` (T x P) where `seen`, or those of a signal."""
    if navigator is not None:
        return navigator_distances(navigator)
    distances = partial_squared_distances(Entries(rows, seen))
    if not np.isfinite(distances).all():
        raise InputError("two frames have no sample in common: pass a navigator, or use method='interpolation'")
    return distances


def chosen(
    series: Series, known: Array, shares: Array, settings: Given, tell: Progress
) -> tuple[Setting, tuple[Array, Fused] | None]:
    """The setting that predicts the samples not `known` best, weighted by `shares`²; after Ctrl-C with its frames."""
    sigma, lam = settings
    scales = SCALES if sigma is None else (sigma**2 / series.unit,)
    tried: list[Setting] = []
    kept: tuple[Array, Fused] | None = None

    def setting(scale: float, ratio: float) -> Setting:
        return Setting(scale, ratio if lam is None else lam * len(series.samples) / (scale * series.unit))

    def predict(scale: float, ratio: float) -> float:
        nonlocal kept
        trial = setting(scale, ratio)
        mean, found = series.fused(known, trial, TRIAL_ITERATIONS)
        errors = shares * (series.samples - mean)
        score = decibels(energy(errors), energy(errors - shares * found.frames))
        kept = kept if tried and score <= max(one.score for one in tried) else (mean, found)
        tried.append(replace(trial, score=score))
        tell(f"fusion: scale {scale:.2g}, noise {trial.noise:.2g}: held-out samples {score:.2f} dB")
        return score

    if sigma is not None and lam is not None:
        return setting(scales[0], 0.0), None
    try:
        choice = choose(predict, scales, RATIOS if lam is None else RATIOS[:1])
        return replace(choice, noise=setting(choice.scale, choice.noise).noise), None
    except KeyboardInterrupt:
        if kept is None:
            raise
        warn_of_interruption()
        return max(tried, key=lambda one: one.score), kept
