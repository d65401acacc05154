"""BART's ``pics`` (Uecker et al. 2015) as baselines, called through files if ``bart`` is on the PATH.

Temporal total variation and locally low rank frames, on the grid and at a trajectory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fusewise.mri import Scan
from fusewise.mri._files import read_cfl, write_cfl

Array = Any

#: (weight, iterations) to the options of ``pics``.
Penalty = Callable[[float, int], list[str]]

#: BART's dimension of time, and its flag.
TIME = 10
IN_TIME, IN_SPACE = 2**TIME, 3

#: BART takes and frees its large arrays at every step; memory kept saves the kernel from clearing it each time.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**36), "MALLOC_TRIM_THRESHOLD_": str(2**37)}


def at_hand() -> bool:
    return shutil.which("bart") is not None


def temporal_tv(weight: float, n_iter: int) -> list[str]:
    """l1 norm of the differences in time, by ADMM."""
    return ["-R", f"T:{IN_TIME}:0:{weight}", "-i", str(n_iter)]


def locally_low_rank(weight: float, n_iter: int, block: int = 8) -> list[str]:
    """Nuclear norm of blocks of pixels over time, by FISTA."""
    return ["-R", f"L:{IN_SPACE}:{IN_SPACE}:{weight}", "-b", str(block), "-i", str(n_iter)]


def penalised(scan: Scan, device: str = "cpu", *, penalty: Penalty, weight: float = 0.003, n_iter: int = 100) -> Array:
    """Frames of one coil on the grid, or of several at a trajectory.

    Off the grid steps are by the largest eigenvalue (-e), or FISTA runs away.
    """
    options = penalty(weight, n_iter)
    if scan.trajectory is None:
        return pics(scan.kspace, np.ones((1, *scan.kspace.shape[2:]), np.complex64), options, mask=scan.mask)
    return pics(scan.kspace, scan.maps, ["-e", *options], trajectory=scan.trajectory)


def pics(
    kspace: Array, maps: Array, options: list[str], *, mask: Array | None = None, trajectory: Array | None = None
) -> Array:
    """Images T x ny x nx from k-space T x coils x ny x nx, or from T x coils x samples at a trajectory.

    k-space is taken as it is (-w 1), so that weights mean the same for every draw of the sampling.
    """
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        command = ["bart", "pics", "-S", "-w", "1", *options]
        if trajectory is None:
            samples = kspace
            write_cfl(where / "p.cfl", to_dimensions(np.asarray(mask)[:, None]))
            command += ["-p", str(where / "p")]
        else:
            # BART's units are cycles per field of view, its axes x, y, z; samples are (1, samples, lines).
            ny, nx = maps.shape[1:]
            places = np.stack([trajectory[..., 0] * ny, trajectory[..., 1] * nx, 0 * trajectory[..., 0]], axis=1)
            write_cfl(where / "t.cfl", places.transpose(1, 2, 0).reshape(3, -1, *(8 * [1]), len(places)))
            command += ["-t", str(where / "t")]
            samples = kspace[:, :, None, :]
        write_cfl(where / "k.cfl", to_dimensions(samples))
        write_cfl(where / "s.cfl", to_dimensions(maps[None]))
        command += [str(where / name) for name in "kso"]
        subprocess.run(command, check=True, capture_output=True, env=os.environ | KEEP_MEMORY)
        found = read_cfl(where / "o.cfl")
    return np.moveaxis(found.reshape(*maps.shape[1:], -1), -1, 0)


def to_dimensions(array: Array) -> Array:
    """T x coils x ny x nx to BART's (y, x, 1, coils, ..., T)."""
    frames, coils, ny, nx = array.shape
    return array.transpose(2, 3, 1, 0).reshape(ny, nx, 1, coils, *(6 * [1]), frames)
