"""One real raw radial frame of several coils: density-compensated adjoint, our solve, and BART's of the same data.

    python benchmarks/mri/raw_frame.py FILE.mat --out frame.png

The file holds `rawdata` (readout x spokes x coils) and `k` (readout x spokes, complex positions in cycles per pixel).
Left: root sum of squares of the coils' density-compensated adjoints. Middle: min ||A u - b||² + t ||u||² with maps from
the same data. Right, where `bart` is on the PATH: ``bart pics`` of the same problem; its distance from ours is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import bart
import numpy as np
from baselines import regularised
from PIL import Image
from scipy.io import loadmat

from fusewise.mri._normal_equations import off_grid_equations
from fusewise.mri._sampling import FourierSums, maps_from_images


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=Path("frame.png"))
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--pull", type=float, default=0.05, help="t")
    parser.add_argument("--crop", type=int, default=0, help="pixels to leave out of the picture at each border")
    args = parser.parse_args()

    found = loadmat(args.file)
    readout, spokes, coils = found["rawdata"].shape
    places = np.stack([found["k"].imag, found["k"].real], axis=-1).transpose(1, 0, 2).reshape(1, -1, 2)
    samples = found["rawdata"].transpose(2, 1, 0).reshape(1, coils, -1).astype(np.complex64)
    samples /= np.abs(samples).max()
    weights = np.hypot(places[..., 0], places[..., 1])
    sums = FourierSums(places, np.ones((1, args.size, args.size), np.complex64))
    coil_images = np.stack([sums.adjoint((coil * weights).astype(np.complex64)[:, None])[0] for coil in samples[0]])
    maps = maps_from_images(coil_images)
    equations = off_grid_equations(FourierSums(places, maps), samples, np.ones(places.shape[:2]))
    solved = regularised(equations, args.pull, 200)[0]
    shown = [np.sqrt(np.square(np.abs(coil_images)).sum(axis=0)), solved]
    if bart.at_hand():
        shown.append(bart.pics(samples, maps, ["-l2", "-r", str(args.pull), "-i", "200"], trajectory=places)[0])
        gap = np.linalg.norm(shown[2] - solved) / np.linalg.norm(solved)
        print(f"BART's image lies {gap:.2%} from ours")
    edge = slice(args.crop, args.size - args.crop)
    grey = [255 * np.clip(np.abs(u) / np.quantile(np.abs(u), 0.997), 0, 1)[edge, edge] for u in shown]
    Image.fromarray(np.concatenate(grey, axis=1).astype(np.uint8)).save(args.out)
    print(f"{readout} x {spokes} x {coils} samples -> {args.out}")


if __name__ == "__main__":
    main()
