"""What a dynamic series on the grid with one coil is usually reconstructed with; L+S for any series.

Functions take k-space T x ny x nx (centre in the middle, zero where not sampled) and its mask, and return images.
``off_grid`` has the same for several coils at a trajectory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from observed import frame_affinities, fuse_frames, grid_entries
from scipy import fft

from fusewise.kernels import library, placement, to_host
from fusewise.mri._covariances import squared_distances
from fusewise.mri._fourier import AXES, invert, to_plain
from fusewise.mri._navigator import common_locations, filled_in_time
from fusewise.mri._normal_equations import NormalEquations, on_grid_equations
from fusewise.mri._operators import Gridded
from fusewise.mri._tensors import energy, gram, threads
from fusewise.penalties import TruncatedL2

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
    """STORM-type: sum_i ||S_i (u_i - x_i)||² + lam sum_ij w_ij ||u_i - u_j||², weights from what most frames saw.

    It is the core's fusion with a penalty that never saturates, so that the weights stay what they were.
    """
    common = common_locations(mask)
    distances = squared_distances(gram(filled_in_time(kspace[:, common], mask[:, common])))
    entries = grid_entries(kspace, mask)
    quadratic = TruncatedL2(1e6)
    start = entries.fill(entries.column_means)
    affinities = frame_affinities(distances, n_neighbors)
    fused = fuse_frames(entries, affinities.astype(np.float32), quadratic, lam * 1e12, start, max_iter=3)
    return invert(fused.centers.reshape(kspace.shape))


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
        return fft.fft(images, axis=0, norm="ortho", workers=threads())
    return library(images).fft.fft(images, dim=0, norm="ortho")


def _back_in_time(spectrum: Array) -> Array:
    if library(spectrum) is np:
        return fft.ifft(spectrum, axis=0, norm="ortho", workers=threads())
    return library(spectrum).fft.ifft(spectrum, dim=0, norm="ortho")
