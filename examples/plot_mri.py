"""Reconstruct a beating, breathing phantom from a few percent of its k-space. Not for diagnostic use.

    python examples/plot_mri.py --out mri.png [--frames 150 --size 96]

Top: truth, zero-filled image, reconstruction and three times its error, for a relaxed and a contracted heart.
Bottom: a line through the left ventricle over time, true and reconstructed, and the cluster of every frame.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from fusewise import mri


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("mri.png"))
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--noise", type=float, default=0.01)
    args = parser.parse_args()

    phantom = mri.make_phantom(args.frames, args.size)
    mask = mri.radial_mask(args.frames, (args.size, args.size))
    kspace = mri.sample_grid(phantom.images, mask, noise=args.noise)
    found = mri.reconstruct(kspace, mask, random_state=0, verbose=1)
    truth, zero, ours = (np.abs(u) for u in (phantom.images, mri.invert(kspace), found.images))

    late = np.arange(args.frames) >= args.frames // 3
    moments = {
        "relaxed": int(np.argmin(np.where(late, np.abs(phantom.cardiac - 0.9), 9))),
        "contracted": int(np.argmin(np.where(late, np.abs(phantom.cardiac - 0.35), 9))),
    }
    figure = plt.figure(figsize=(10, 8.5), layout="constrained")
    grid = figure.add_gridspec(4, 4, height_ratios=[3, 3, 2, 1])
    for row, (name, frame) in enumerate(moments.items()):
        panels = [truth[frame], zero[frame], ours[frame], 3 * np.abs(phantom.images - found.images)[frame]]
        titles = ["truth", "zero-filled", "Fusewise", "3 x error"]
        for column, (panel, title) in enumerate(zip(panels, titles, strict=True)):
            axes = figure.add_subplot(grid[row, column])
            axes.imshow(panel, cmap="gray", vmin=0, vmax=1)
            axes.set(xticks=[], yticks=[], title=title if row == 0 else "", ylabel=name if column == 0 else "")
    line = int(0.52 * args.size)
    for column, (series, title) in enumerate([(truth, "truth over time"), (ours, "Fusewise over time")]):
        axes = figure.add_subplot(grid[2, 2 * column : 2 * column + 2])
        axes.imshow(series[:, line].T, cmap="gray", vmin=0, vmax=1, aspect="auto")
        axes.set(xticks=[], yticks=[], title=title)
    axes = figure.add_subplot(grid[3, :])
    axes.scatter(np.arange(args.frames), phantom.cardiac, c=found.labels, cmap="tab20", s=12)
    axes.set(xlabel="frame", ylabel="cardiac phase", title="clusters of frames", xlim=(0, args.frames))
    quality = mri.ser(phantom.images, found.images, phantom.heart)
    figure.suptitle(f"{mask.mean():.1%} of k-space, noise {args.noise:.0%}: heart {quality:.1f} dB")
    figure.savefig(args.out, dpi=110)
    print(f"wrote {args.out}")


if __name__ == "__main__":
    main()
