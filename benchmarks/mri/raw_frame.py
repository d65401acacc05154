"""One real raw radial frame of several coils through maps and NUFFT: the density-compensated adjoint beside our solve.

    python benchmarks/mri/raw_frame.py FILE.mat --out frame.png

The file holds `rawdata` (readout x spokes x coils) and `k` (readout x spokes, complex positions in cycles per pixel).
Left: root sum of squares of the coils' adjoints. Right: min ||A u - b||² + t ||u||² with maps from the same data.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy.io import loadmat

from fusewise.mri import observed
from fusewise.mri.coils import low_resolution_maps, mean_coil_images
from fusewise.mri.observed import FourierObservations
from fusewise.mri.operators import Nufft


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=Path("frame.png"))
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--pull", type=float, default=0.05, help="t")
    args = parser.parse_args()

    found = loadmat(args.file)
    readout, spokes, coils = found["rawdata"].shape
    places = np.stack([found["k"].imag, found["k"].real], axis=-1).transpose(1, 0, 2).reshape(1, -1, 2)
    samples = found["rawdata"].transpose(2, 1, 0).reshape(1, coils, -1).astype(np.complex64)
    samples /= np.abs(samples).max()
    coil_images = mean_coil_images(samples, places, (args.size, args.size))
    seen = FourierObservations(Nufft(places, low_resolution_maps(coil_images)), samples)
    observed.SHRINK = 1e-2  # early stopping regularises too
    solved = seen.solve(np.zeros_like(seen.target), np.full(1, args.pull, np.float32)).reshape(args.size, args.size)
    adjoint = np.sqrt(np.square(np.abs(coil_images)).sum(axis=0))
    from PIL import Image

    shown = [255 * np.clip(np.abs(u) / np.quantile(np.abs(u), 0.997), 0, 1) for u in (adjoint, solved)]
    Image.fromarray(np.concatenate(shown, axis=1).astype(np.uint8)).save(args.out)
    print(f"{readout} x {spokes} x {coils} samples -> {args.out}")


if __name__ == "__main__":
    main()
