"""The paper's own fusion of frames, for k-space on a grid: frames are rows, k-space locations are columns.

    minimise  sum_i ||S_i (u_i - x_i)||² + lam sum_ij phi(||u_i - u_j||),   phi(t) = 1 - exp(-t² / (2 sigma²)),

over k-space frames u_i (all coils side by side), x_i the samples and S_i the sampling of frame i. The FFT is unitary,
so distances in k-space are distances of images.

**Why not** ``fusewise.fusion.fuse``, which has the same objective (``tests/mri/test_fusing.py`` compares the minima)?
Its loop suits many rows of a few columns: each step moves all rows by conjugate gradients, whose cost is frames² x
locations for every one of their steps. Here there are hundreds of frames, all pairs count, and each of some ten
thousand locations is a small exact system of the few frames that sampled it. One thread, 5.3% sampled: 100 frames of
96 x 96 take 2.5 s (the choice of sigma and lam and the last descent; ``fuse`` 4.2 s for the last descent alone), 300
frames 7.9 s (36 s). The weights (``h1_weight``) and the distances of incomplete rows are shared (``fusewise.pairs``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fusewise.kernels import beside, library, to_host
from fusewise.mri._covariances import effective_rank, median_distance, navigator_distances, squared_distances
from fusewise.mri._held_out import Setting, decibels, frames_per_sample, hold_out, warn_of_interruption
from fusewise.mri._result import Reconstruction, Run
from fusewise.mri._sampling import invert
from fusewise.mri._tensors import Array, add_to_diagonals, cast, double, each, energy, gram, inverse, real_times, zeros
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

#: Most numbers in the systems of locations that are solved together.
MOST_ENTRIES = 2**21

#: Sigma and lam where they are given.
Given = tuple[float | None, float | None]

#: Iterations while settings are tried and at the end, and the relative decrease of the objective that ends a descent.
TRIAL_ITERATIONS, ITERATIONS, TOL = 8, 30, 1e-5


class Fused(NamedTuple):
    """Frames (T x P), the kernel (2 lam L + PROXIMAL I)^-1 of the last step, and the objective after each step."""

    frames: Array
    kernel: Array
    history: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Pattern:
    """Locations that equally many frames sampled, or that all of them did."""

    frames: Array  # systems x frames: those that sampled a location
    places: Array  # systems x frames x right-hand sides: where their samples are in the table of all, flattened


def patterns(seen: Array, n_coils: int, like: Array) -> list[Pattern]:
    """The sampled locations of a table T x (coils * P) by their number of frames; `seen` is T x P, on the host."""
    n_frames, size = seen.shape
    counts, columns, found = seen.sum(axis=0), np.arange(n_coils) * size, []
    for count in np.unique(counts[counts > 0]):
        where = np.flatnonzero(counts == count)
        step = len(where) if count == n_frames else max(1, MOST_ENTRIES // int(count) ** 2)
        for some in (where[start : start + step] for start in range(0, len(where), step)):
            frames = np.nonzero(seen[:, some].T)[1].reshape(len(some), count)
            places = (n_coils * size * frames + some[:, None])[:, :, None] + columns
            if count == n_frames:  # all frames: one system serves all of these locations
                frames, places = frames[:1], places.swapaxes(0, 1).reshape(1, count, -1)
            found.append(Pattern(beside(frames, like), beside(places, like)))
    return found


def pulls(kernel: Array, sampled: list[Pattern], table: Array) -> Array:
    """(S_p K S_p' + I)^-1 times the samples of every location p, where S_p selects the frames that sampled it.

    The frames that minimise sum_i ||u_i - x_i||² + <u, K^-1 u>, with the first sum over samples, are K S' times this.
    """
    out: Array = zeros(tuple(table.shape), table)
    values, solved = table.reshape(-1), out.reshape(-1)

    def solve(pattern: Pattern) -> None:
        entries = len(kernel) * pattern.frames[:, :, None] + pattern.frames[:, None, :]
        system = library(kernel).take(kernel, entries)
        add_to_diagonals(system, 1.0)
        solved[pattern.places] = cast(real_times(inverse(system), values[pattern.places]), table)

    each(solve, sampled, kernel)
    return out


def fuse_frames(
    samples: Array,
    seen: Array,
    start: Array,
    distances: Array,
    sigma: float,
    lam: float,
    *,
    max_iter: int = ITERATIONS,
    tol: float = TOL,
) -> Fused:
    """Iteratively reweighted least squares for the objective of this module, which never rises but for rounding.

    With w_ij = exp(-d_ij² / (2 sigma²)) / (2 sigma²) and L the Laplacian of w, a step minimises, location by location,
    ||S (u - x)||² + <u, 2 lam L u> + rho ||u - u_before||²: with K = (2 lam L + rho I)^-1 that is

        u = m + K S' (S K S' + I)^-1 (x - S m),   m = rho K u_before.

    `samples` (T x (coils * P)) are zero where not `seen` (T x P, on the host), `start` are the frames before the first
    step, and `distances` (squared) give the first weights. The last step lowers the objective by less than `tol` of it.
    """
    n_coils = samples.shape[1] // seen.shape[1]
    sampled, known = patterns(seen, n_coils, samples), beside(np.tile(seen, n_coils), samples)
    frames, history = start, [np.inf]
    while len(history) <= max_iter:
        coupling = h1_weight(double(distances), sigma**2) * (lam / sigma**2)
        system: Array = library(coupling).diag(coupling.sum(axis=0)) - coupling
        add_to_diagonals(system, PROXIMAL)
        kernel = inverse(system)
        operator = cast(kernel, start.real)
        anchor = PROXIMAL * real_times(operator, frames)
        frames = anchor + real_times(operator, pulls(kernel, sampled, samples - anchor))
        distances = squared_distances(gram(frames))
        penalty = float((1 - h1_weight(double(distances), sigma**2)).sum())
        history.append(energy(frames * known - samples) + lam * penalty)
        if history[-2] - history[-1] <= tol * history[-1]:
            break
    return Fused(frames, kernel, tuple(history[1:]))


@dataclass(frozen=True, eq=False)
class Series:
    """A series to be fused."""

    samples: Array  # T x (coils * P), zero where not sampled
    distances: Array  # T x T, the squared distances that give the first weights
    unit: float  # their median

    def fused(self, seen: Array, setting: Setting, max_iter: int) -> tuple[Array, Fused]:
        """The mean frame of the samples `seen` (T x P booleans), and what fusion adds to it in each frame."""
        n_coils = self.samples.shape[1] // seen.shape[1]
        known = beside(np.tile(seen, n_coils), self.samples)
        shares = beside(np.tile(1 / np.maximum(seen.sum(axis=0), 1), n_coils).astype(np.float32), self.samples)
        mean = (self.samples * known).sum(axis=0) * shares
        values = (self.samples - mean) * known
        start = zeros(tuple(values.shape), values)
        return mean, fuse_frames(values, seen, start, self.distances, *self.scaled(setting), max_iter=max_iter)

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
    distances = start_distances(rows, np.tile(seen & ~held, n_coils), navigator)
    series = Series(place(rows), place(distances), float(median_distance(distances)))
    tell(f"{mask.mean():.1%} sampled")
    shares = np.sqrt(np.tile(frames_per_sample(seen) * held, n_coils))
    setting, latest = chosen(series, seen & ~held, place(shares.astype(np.float32)), settings, tell)
    mean, found = latest or series.fused(seen, setting, ITERATIONS)
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
    """The setting that predicts the samples not `known` best, weighted by `shares`²; after Ctrl-C with its frames.

    The scale is increased until the prediction is worse, then the noise.
    """
    sigma, lam = settings
    scales = SCALES if sigma is None else (sigma**2 / series.unit,)
    tried: list[Setting] = []
    kept: tuple[Array, Fused] | None = None

    def setting(scale: float, ratio: float) -> Setting:
        return Setting(scale, ratio if lam is None else lam * len(series.samples) / (scale * series.unit))

    def best() -> Setting:
        return max(tried, key=lambda one: one.score)

    def worsens(scale: float, ratio: float) -> bool:
        nonlocal kept
        trial = setting(scale, ratio)
        mean, found = series.fused(known, trial, TRIAL_ITERATIONS)
        errors = shares * (series.samples - mean)
        score = decibels(energy(errors), energy(errors - shares * found.frames))
        tried.append(replace(trial, score=score))
        kept = (mean, found) if best() is tried[-1] else kept
        tell(f"fusion: scale {scale:.2g}, noise {trial.noise:.2g}: held-out samples {score:.2f} dB")
        return score < best().score

    if sigma is not None and lam is not None:
        return setting(scales[0], 0.0), None
    try:
        any(worsens(scale, RATIOS[0]) for scale in scales)
        any(worsens(best().scale, ratio) for ratio in RATIOS[1:] if lam is None)
    except KeyboardInterrupt:
        if kept is None:
            raise
        warn_of_interruption()
        return best(), kept
    return replace(best(), tried=tuple((one.scale, one.noise, one.score) for one in tried)), None
