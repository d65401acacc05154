"""What a dynamic series on the grid with one coil is usually reconstructed with; L+S for any series.

Functions take k-space T x ny x nx (centre in the middle, zero where not sampled) and its mask, and return images.
``off_grid`` has the same for several coils at a trajectory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft

from fusewise.kernels import beside, conjugate_gradients, copied, library, placement, to_host
from fusewise.mri._covariances import median_distance, squared_distances
from fusewise.mri._navigator import common_locations, filled_in_time
from fusewise.mri._normal_equations import NormalEquations, on_grid_equations
from fusewise.mri._sampling import AXES, Gridded, invert, to_plain
from fusewise.mri._tensors import energy, gram, inner, real_times

Array = Any


def zero_filled(kspace: Array, mask: Array) -> Array:
    """Zero where nothing was sampled."""
    return invert(kspace)


def temporal_mean(kspace: Array, mask: Array) -> Array:
    """One image for all frames."""
    mean = invert(kspace.sum(axis=0) / np.maximum(mask.sum(axis=0), 1))
    return np.broadcast_to(mean, kspace.shape)


def view_sharing(kspace: Array, mask: Array, half_width: int = 4) -> Array:
    """Each frame's own samples; where it has none, the mean of those within `half_width` frames, or of all."""
    mean = kspace.sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    sums = np.concatenate([np.zeros_like(kspace[:1]), np.cumsum(kspace, axis=0, dtype=np.complex128)])
    counts = np.concatenate([np.zeros((1, *mask.shape[1:])), np.cumsum(mask, axis=0)])
    low = np.maximum(np.arange(len(kspace)) - half_width, 0)
    high = np.minimum(np.arange(len(kspace)) + half_width + 1, len(kspace))
    near = counts[high] - counts[low]
    shared = np.where(near > 0, (sums[high] - sums[low]) / np.maximum(near, 1), mean)
    return invert(np.where(mask, kspace, shared).astype(np.complex64))


def storm(kspace: Array, mask: Array, lam: float = 0.05, n_neighbors: int = 6) -> Array:
    """STORM-type, with weights from what most frames saw: see ``solve_storm``."""
    common = common_locations(mask)
    distances = squared_distances(gram(filled_in_time(kspace[:, common], mask[:, common])))
    equations = on_grid_equations(Gridded(fft.ifftshift(mask, axes=AXES)), to_plain(kspace)[:, None])
    mean = regularised(equations.mean(), 1e-3, 30)
    return solve_storm(equations, mean, distances, 2 * lam, n_neighbors, 100)


def solve_storm(
    equations: NormalEquations, mean: Array, distances: Array, lam: float, n_neighbors: int, steps: int
) -> Array:
    """min sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||² / 2, by conjugate gradients from the mean frame."""
    affinities = frame_affinities(distances, n_neighbors)
    laplacian = np.diag(affinities.sum(axis=1)) - affinities
    pushing = beside((lam * laplacian).astype(np.float32), equations.target)
    start = equations.target * 0 + mean

    def system(images: Array) -> Array:
        smooth = real_times(pushing, images.reshape(len(images), -1)).reshape(images.shape)
        return equations.normal(images) + smooth

    return to_host(start + solved(system, equations.target - system(start), steps))


def frame_affinities(distances: Array, n_neighbors: int = 4, temporal: float = 0.5) -> Array:
    """w_ij = exp(-d_ij² / (s_i s_j)) of nearest frames, with s_i² the distance to the last of them.

    The local scale lets sparse phases (end-systole, a deep breath) have as many effective neighbours as frequent ones.
    Successive frames have a weight of at least `temporal`.
    """
    n = len(distances)
    away = distances + np.diag(np.full(n, np.inf))
    k = min(n_neighbors, n - 1)
    scale = np.maximum(np.sort(away, axis=1)[:, k - 1], 1e-12 * float(median_distance(distances)))
    near = away <= scale[:, None]
    weights = np.where(near | near.T, np.exp(-distances / np.sqrt(np.outer(scale, scale))), 0)
    steps = np.arange(n - 1)
    weights[steps, steps + 1] = weights[steps + 1, steps] = np.maximum(weights[steps, steps + 1], temporal)
    np.fill_diagonal(weights, 0)
    return weights


def regularised(equations: NormalEquations, pull: float, steps: int) -> Array:
    """min ||A u - b||² + pull ||u||²."""
    return solved(lambda u: equations.normal(u) + pull * u, equations.target, steps)


def solved(system: Callable[[Array], Array], target: Array, steps: int) -> Array:
    """So many steps of conjugate gradients from zero."""
    images = library(target).zeros_like(target)
    way = conjugate_gradients(system, copied, target, inner, max_steps=steps, enough=lambda residual, energy: False)
    for length, direction, _ in way:
        images += length * direction
    return images


def low_rank_plus_sparse(
    kspace: Array,
    mask: Array,
    rank_weight: float = 4e-4,
    sparse_weight: float = 2e-3,
    n_iter: int = 100,
    device: str = "cpu",
) -> Array:
    """L+S on the grid: see ``solve_low_rank_plus_sparse``."""
    place = placement(device)
    sampling = Gridded(place(fft.ifftshift(mask, axes=AXES)))
    equations = on_grid_equations(sampling, place(to_plain(kspace)[:, None]))
    return to_host(solve_low_rank_plus_sparse(equations, 1.0, rank_weight, sparse_weight, n_iter))


def solve_low_rank_plus_sparse(
    equations: NormalEquations, norm: float, rank_weight: float, sparse_weight: float, n_iter: int
) -> Array:
    """L+S (Otazo, Candes and Sodickson 2015) by FISTA: nuclear norm of L, l1 of the temporal Fourier transform of S.

    The thresholds are parts of the largest singular value, and of the largest temporal Fourier coefficient but the
    constant, of A' b. They come down to their final values over the first half of the iterations: without that
    continuation L+S needs twice as many. `norm` is that of A' A.
    """
    low = equations.target
    xp = library(low)
    sparse = xp.zeros_like(low)
    rank_weight *= float(xp.linalg.eigvalsh(_gram(low))[-1]) ** 0.5
    sparse_weight *= float(abs(_in_time(low)[1:]).max())
    ahead_low, ahead_sparse, momentum = low, sparse, 1.0
    for k in range(n_iter):
        # L and S meet the data through one operator twice, whose norm doubles: hence the half steps.
        step = 0.5 / norm
        easing = max(1.0, 30.0 ** (1 - 2 * k / n_iter))
        gradient = step * (equations.normal(ahead_low + ahead_sparse) - equations.target)
        next_low = _shrink_singular_values(ahead_low - gradient, step * easing * rank_weight)
        spectrum = _in_time(ahead_sparse - gradient)
        spectrum *= (1 - step * easing * sparse_weight / abs(spectrum).clip(1e-20)).clip(0)
        next_sparse = _back_in_time(spectrum)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        carry = (momentum - 1) / following
        ahead_low = next_low + carry * (next_low - low)
        ahead_sparse = next_sparse + carry * (next_sparse - sparse)
        low, sparse, momentum = next_low, next_sparse, following
    return low + sparse


def norm_of(normal: Callable[[Array], Array], images: Array, steps: int = 10) -> float:
    """Largest eigenvalue of A' A, by power iteration from some images."""
    for _ in range(steps):
        images = normal(images / energy(images) ** 0.5)
    return energy(images) ** 0.5


def _gram(images: Array) -> Array:
    rows = images.reshape(len(images), -1)
    return rows @ rows.conj().T


def _shrink_singular_values(images: Array, threshold: float) -> Array:
    values, vectors = library(images).linalg.eigh(_gram(images))
    sizes = values.clip(0) ** 0.5
    factors = (1 - threshold / sizes.clip(1e-20)).clip(0)
    rows = images.reshape(len(images), -1)
    return ((vectors * factors) @ (vectors.conj().T @ rows)).reshape(images.shape)


def _in_time(images: Array) -> Array:
    if library(images) is np:
        return fft.fft(images, axis=0, norm="ortho", workers=-1)
    return library(images).fft.fft(images, dim=0, norm="ortho")


def _back_in_time(spectrum: Array) -> Array:
    if library(spectrum) is np:
        return fft.ifft(spectrum, axis=0, norm="ortho", workers=-1)
    return library(spectrum).fft.ifft(spectrum, dim=0, norm="ortho")
