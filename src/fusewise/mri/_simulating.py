"""Simulated scans of the phantom, with their ground truth."""

from __future__ import annotations

import numpy as np

from fusewise.mri._files import Scan
from fusewise.mri._operators import Nufft
from fusewise.mri._phantom import make_phantom
from fusewise.mri._tensors import Array
from fusewise.mri._trajectories import complex_noise, radial_mask, radial_trajectory, sample_grid
from fusewise.support import InputError


def simulate_scan(
    frames: int = 200,
    size: int = 96,
    *,
    golden: int = 6,
    navigators: int = 4,
    noise: float = 0.01,
    coils: int = 1,
    random_state: int | None = 0,
) -> tuple[Scan, dict[str, Array]]:
    """Simulate a scan: gridded with one coil; radial, with twofold oversampling along the lines, with several.

    Parameters
    ----------
    frames, size : number of frames, and pixels along each side.
    golden, navigators : number of golden-angle lines and of fixed lines in each frame.
    noise : standard deviation in units of the largest magnitude.
    coils, random_state : of the phantom, as in ``make_phantom``.

    Returns
    -------
    scan : the arguments of ``fusewise.mri.reconstruct``.
    truth : images, and the cardiac and respiratory phase of every frame.
    """
    if min(frames, size, coils, golden + navigators) < 1 or noise < 0:
        raise InputError("frames, size, coils and lines must be at least 1, and noise must not be negative")
    phantom = make_phantom(frames, size, n_coils=coils, random_state=random_state)
    truth = {"truth": phantom.images, "cardiac": phantom.cardiac, "respiratory": phantom.respiratory}
    if coils == 1:
        mask = radial_mask(frames, (size, size), golden, navigators)
        return Scan(sample_grid(phantom.images, mask, noise=noise, random_state=random_state), mask), truth
    trajectory = radial_trajectory(frames, 2 * size, golden, navigators)
    kspace = Nufft(trajectory, phantom.maps).forward(phantom.images)
    kspace = kspace + complex_noise(kspace.shape, noise * float(np.abs(phantom.images).max()), random_state)
    return Scan(kspace, trajectory=trajectory, maps=phantom.maps), truth
