"""What a dynamic series is usually reconstructed with: on the grid with one coil, or of several at a trajectory.

Functions take a scan (centre of k-space in the middle, T x coils x ny x nx on the grid) and the device, and return
images. All but the adjoint solve least squares through A'A, by FFTs alone (``normal_equations``); off the grid samples
that share a cell of k-space share the weight of one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import fft

from fusewise.kernels import beside, conjugate_gradients, copied, library, placement, to_host
from fusewise.mri import Scan, invert
from fusewise.mri._covariances import common_locations, filled_in_time, median_distance, squared_distances
from fusewise.mri._normal_equations import Convolution, NormalEquations, off_grid_equations, on_grid_equations
from fusewise.mri._sampling import AXES, FourierSums, GridCells, Gridded, to_plain
from fusewise.mri._tensors import energy, gram, inner, real_times

Array = Any


def equations_of(scan: Scan, device: str = "cpu") -> NormalEquations:
    """Of all frames, on the device."""
    place = placement(device)
    if scan.trajectory is None:
        sampling = Gridded(place(fft.ifftshift(scan.mask, axes=AXES)))
        return on_grid_equations(sampling, place(to_plain(scan.kspace)))
    weights = GridCells.of(scan.trajectory, scan.maps.shape[1:]).weights
    return off_grid_equations(FourierSums(place(scan.trajectory), place(scan.maps)), place(scan.kspace), weights)


def adjoint(scan: Scan, device: str = "cpu") -> Array:
    """Zero where nothing was sampled; off the grid each sample stands for the area nearer to it than to others."""
    if scan.trajectory is None:
        return invert(scan.kspace[:, 0])
    ny, nx = scan.maps.shape[1:]
    spacing = float(np.median(np.hypot(*np.diff(scan.trajectory[0], axis=0).T)))
    lines = scan.trajectory.shape[1] * spacing  # a line crosses one cycle per pixel
    radii = np.maximum(np.hypot(scan.trajectory[..., 0], scan.trajectory[..., 1]), spacing / 4)
    areas = radii * spacing * np.pi / lines * (ny * nx)
    return FourierSums(scan.trajectory, scan.maps).adjoint((scan.kspace * areas[:, None]).astype(np.complex64))


def sense(scan: Scan, device: str = "cpu", pull: float = 0.05, steps: int = 20) -> Array:
    """CG-SENSE, every frame by itself: min ||A_i u - b_i||² + pull ||u||²."""
    return to_host(regularised(equations_of(scan, device), pull, steps))


def temporal_mean(scan: Scan, device: str = "cpu", pull: float = 1e-3, steps: int = 30) -> Array:
    """One image for all frames: min mean_i ||A_i u - b_i||² + pull ||u||²."""
    found = to_host(regularised(equations_of(scan, device).mean(), pull, steps))
    return np.broadcast_to(found, (len(scan.kspace), *found.shape[1:]))


def view_sharing(scan: Scan, device: str = "cpu", half_width: int = 4, pull: float = 1e-3, steps: int = 20) -> Array:
    """The temporal mean, changed in every frame by its own samples, and a little by those of the n frames near it.

    min ||A_i u - b_i||² + 0.1 / n sum_j ||A_j u - b_j||² + pull ||u - mean||², j within `half_width` of i.
    """
    times, equations = np.arange(len(scan.kspace)), equations_of(scan, device)
    near = np.abs(times[:, None] - times) <= half_width
    mean = regularised(equations.mean(), 1e-3, 30)
    pooled = pool(equations.about(mean), np.eye(len(times)) + 0.1 * near / near.sum(axis=1, keepdims=True))
    return to_host(mean + regularised(pooled, pull, steps))


def pool(equations: NormalEquations, weights: Array) -> NormalEquations:
    """sum_j w_ij ||A_j u_i - b_j||² for weights of new by old frames (without the constant)."""
    convolution, target = equations.normal, equations.target
    mixing = beside(weights.astype(np.float32), target)
    spectra = (mixing @ convolution.spectra.reshape(len(target), -1)).reshape(-1, *convolution.spectra.shape[1:])
    pooled = real_times(mixing, target.reshape(len(target), -1)).reshape(-1, *target.shape[1:])
    return NormalEquations(Convolution(spectra, convolution.maps), pooled, float("nan"))


def storm(scan: Scan, device: str = "cpu", lam: float = 0.05, n_neighbors: int = 6, steps: int = 100) -> Array:
    """STORM-type: min sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||², from the temporal mean.

    The weights come from what most frames saw; off the grid from navigator lines.
    """
    if scan.trajectory is None:
        common = common_locations(scan.mask)
        signal = filled_in_time(scan.kspace[:, 0, common], scan.mask[:, common])
    else:
        signal = scan.kspace[..., np.isclose(scan.trajectory, scan.trajectory[:1], atol=1e-6).all(axis=(0, 2))]
    affinities = frame_affinities(squared_distances(gram(signal)), n_neighbors)
    equations = equations_of(scan, device)
    laplacian = np.diag(affinities.sum(axis=1)) - affinities
    pushing = beside((2 * lam * laplacian).astype(np.float32), equations.target)
    start = equations.target * 0 + regularised(equations.mean(), 1e-3, 30)

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
    scan: Scan, device: str = "cpu", rank_weight: float = 4e-4, sparse_weight: float = 2e-3, n_iter: int = 100
) -> Array:
    """L+S (Otazo, Candes and Sodickson 2015) by FISTA: nuclear norm of L, l1 of the temporal Fourier transform of S.

    The thresholds are parts of the largest singular value, and of the largest temporal Fourier coefficient but the
    constant, of A' b. They come down to their final values over the first half of the iterations: without that
    continuation L+S needs twice as many.
    """
    equations = equations_of(scan, device)
    norm = 1.0 if scan.trajectory is None else norm_of(equations.normal, equations.target)
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
    return to_host(low + sparse)


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
