"""What a dynamic series of several coils at a trajectory is usually reconstructed with.

All but the first solve least squares through the same A'A, by FFTs alone (``normal_equations``), with samples that
share a cell of k-space sharing the weight of one; on the CPU or, placed there, on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import baselines
import numpy as np
from baselines import regularised

from fusewise.kernels import beside, placement, to_host
from fusewise.mri._covariances import squared_distances
from fusewise.mri._normal_equations import Convolution, NormalEquations, off_grid_equations
from fusewise.mri._sampling import FourierSums, GridCells
from fusewise.mri._tensors import gram, real_times

Array = Any


@dataclass(frozen=True, eq=False)
class Scan:
    """Samples T x coils x samples at a trajectory (T x samples x 2, cycles per pixel), and the coils' maps."""

    kspace: Array
    trajectory: Array
    maps: Array
    device: str = "cpu"

    @property
    def operator(self) -> FourierSums:
        """A."""
        return FourierSums(self.trajectory, self.maps)

    def equations(self) -> NormalEquations:
        """Of all frames, on the device."""
        weights = GridCells.of(self.trajectory, self.maps.shape[1:]).weights
        place = placement(self.device)
        return off_grid_equations(FourierSums(place(self.trajectory), place(self.maps)), place(self.kspace), weights)


def adjoint(scan: Scan) -> Array:
    """Density-compensated adjoint: each sample of a radial line stands for the area nearer to it than to others."""
    ny, nx = scan.maps.shape[1:]
    steps = np.hypot(*np.diff(scan.trajectory[0], axis=0).T)
    spacing = float(np.median(steps))
    lines = scan.trajectory.shape[1] * spacing  # a line crosses one cycle per pixel
    radii = np.maximum(np.hypot(scan.trajectory[..., 0], scan.trajectory[..., 1]), spacing / 4)
    areas = radii * spacing * np.pi / lines * (ny * nx)
    return scan.operator.adjoint((scan.kspace * areas[:, None]).astype(np.complex64))


def sense(scan: Scan, pull: float = 0.05, steps: int = 20) -> Array:
    """CG-SENSE, every frame by itself: min ||A_i u - b_i||² + pull ||u||²."""
    return to_host(regularised(scan.equations(), pull, steps))


def temporal_mean(scan: Scan, pull: float = 1e-3, steps: int = 30) -> Array:
    """One image for all frames: min mean_i ||A_i u - b_i||² + pull ||u||²."""
    found = to_host(regularised(scan.equations().mean(), pull, steps))
    return np.broadcast_to(found, (len(scan.kspace), *found.shape[1:]))


def view_sharing(scan: Scan, half_width: int = 4, pull: float = 0.01, steps: int = 20) -> Array:
    """Every frame from the samples of all within `half_width` of it, as if nothing moved meanwhile."""
    times = np.arange(len(scan.kspace))
    near = np.abs(times[:, None] - times) <= half_width
    return to_host(regularised(pool(scan.equations(), near / near.sum(axis=1, keepdims=True)), pull, steps))


def storm(scan: Scan, lam: float = 0.05, n_neighbors: int = 6, steps: int = 40) -> Array:
    """STORM-type: min sum_i ||A_i u_i - b_i||² + lam sum_ij w_ij ||u_i - u_j||² / 2, weights from navigator lines.

    Conjugate gradients start from the temporal mean.
    """
    common = np.isclose(scan.trajectory, scan.trajectory[:1], atol=1e-6).all(axis=(0, 2))
    distances = squared_distances(gram(scan.kspace[..., common]))
    equations = scan.equations()
    mean = regularised(equations.mean(), 1e-3, 30)
    return baselines.solve_storm(equations, mean, distances, lam, n_neighbors, steps)


def low_rank_plus_sparse(
    scan: Scan, rank_weight: float = 4e-4, sparse_weight: float = 2e-3, n_iter: int = 100
) -> Array:
    """See ``baselines.solve_low_rank_plus_sparse``."""
    equations = scan.equations()
    norm = baselines.norm_of(equations.normal, equations.target)
    return to_host(baselines.solve_low_rank_plus_sparse(equations, norm, rank_weight, sparse_weight, n_iter))


def pool(equations: NormalEquations, weights: Array) -> NormalEquations:
    """sum_j w_ij ||A_j u_i - b_j||² for weights of new by old frames (without the constant)."""
    convolution, target = equations.normal, equations.target
    mixing = beside(weights.astype(np.float32), target)
    spectra = (mixing @ convolution.spectra.reshape(len(target), -1)).reshape(-1, *convolution.spectra.shape[1:])
    pooled = real_times(mixing, target.reshape(len(target), -1)).reshape(-1, *target.shape[1:])
    return NormalEquations(Convolution(spectra, convolution.maps), pooled, float("nan"))
