"""What is lost where: the best that each model of a series could do, told things by the ground truth.

    python benchmarks/mri/bounds.py SERIES.npy --golden 8 --navigators 4 --noise 0.005

The file, the sampling and the score (the 15% of pixels that vary most) are those of ``compare.py --series --moving``.

- Temporal model: Fusewise's last solve with kernels from the *true* frames, at the best of some scales and tiles.
- Locally low rank: the same solve with each tile's true covariance in time, the best linear model there is.
- Spatial prior, after Fusewise: bands of spatial frequency shrunk as the truth says, and total variation of each frame
  at the best of some weights by the truth.
- Motion: a tile of a true frame from the nearest of all other frames, in place or shifted by up to two pixels, and a
  frame from a combination of its five nearest (no samples are used: what the model could know of a frame).
- Iterating: Fusewise without rounds, and with the number of rounds that it chooses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import fft
from series import moving_region, read_series

from fusewise.mri import _local, invert, radial_mask, reconstruct, sample_grid, ser
from fusewise.mri._covariances import LocalKernels
from fusewise.mri._interpolation import interpolate
from fusewise.mri._normal_equations import on_grid_equations
from fusewise.mri._sampling import AXES, Gridded, to_plain
from fusewise.mri._tensors import fft2

TILES, SCALES, NOISE = (14, 28), (0.25, 1.0), 1e-2


class LinearKernels(LocalKernels):
    """The covariance of each tile itself, instead of weights of its distances."""

    def _evaluated(self) -> Any:
        centred = self.distances - self.distances.mean(axis=1, keepdims=True)
        return np.ascontiguousarray(-0.5 * (centred - centred.mean(axis=2, keepdims=True)))


def temporal(kind: type[LocalKernels], truth: Any, kspace: Any, mask: Any, tiles: tuple[int, ...]) -> Iterator[Any]:
    """Frames under kernels of the true frames, at every scale and number of tiles."""
    mean, density = truth.mean(axis=0), float(mask.mean())
    samples = to_plain(kspace)[:, None].astype(np.complex64)
    equations = on_grid_equations(Gridded(fft.ifftshift(mask, axes=AXES)), samples).about(mean)
    for per_width in tiles:
        side = max(truth.shape[1:]) / per_width
        for scale in SCALES if kind is LocalKernels else SCALES[:1]:
            kernels = kind(**vars(LocalKernels.of(truth - mean, scale, side, side)))
            noise = NOISE if kind is LocalKernels else 1e-3
            smooth = kernels.smoothing(density, noise * kernels.variance)
            yield mean + interpolate(equations, smooth, density, max_steps=60, tol=1e-3).centers


def shrunk(truth: Any, images: Any) -> Any:
    """Bands of the deviations from the mean frame, with the factors that fit the truth best."""
    mean = images.mean(axis=0)
    everything = on_grid_equations(Gridded(np.ones(truth.shape, bool)), fft2(truth - mean)[:, None])
    return mean + _local.filtered(images - mean, _local.band_factors(images - mean, everything))


def smoothed(images: Any, weight: float, steps: int = 40) -> Any:
    """min ||u - images||² / 2 + weight TV(u) in space, by Chambolle's projections (2004)."""
    dual = np.zeros((2, *images.shape), images.dtype)

    def divergence() -> Any:
        return sum(part - np.roll(part, 1, axis) for part, axis in zip(dual, (1, 2), strict=True))

    for _ in range(steps):
        residual = divergence() - images / weight
        slopes = np.stack([np.roll(residual, -1, axis) - residual for axis in (1, 2)])
        dual = (dual + 0.25 * slopes) / (1 + 0.25 * np.sqrt(np.square(np.abs(slopes)).sum(axis=0)))
    return images - weight * divergence()


def from_others(truth: Any, reach: int, per_width: int = 14) -> Any:
    """Each tile of each frame from the nearest of all other frames, shifted by at most `reach` pixels."""
    found = np.zeros_like(truth)
    side = -(-max(truth.shape[1:]) // per_width)
    shifts = [(y, x) for y in range(-reach, reach + 1) for x in range(-reach, reach + 1)]
    moved = [np.roll(truth, shift, AXES) for shift in shifts]
    for y in range(0, truth.shape[1], side):
        for x in range(0, truth.shape[2], side):
            where = np.s_[:, y : y + side, x : x + side]
            rows = truth[where].reshape(len(truth), -1)
            best = np.full(len(truth), np.inf)
            for frames in moved:
                others = frames[where].reshape(len(truth), -1)
                squares = np.square(np.abs(rows)).sum(axis=1)[:, None] + np.square(np.abs(others)).sum(axis=1)
                distances = squares - 2 * (rows @ others.conj().T).real
                np.fill_diagonal(distances, np.inf)
                nearest = distances.argmin(axis=1)
                least = distances[np.arange(len(rows)), nearest]
                better = least < best
                found[where][better] = frames[where][nearest[better]]
                best = np.minimum(best, least)
    return found


def from_five(truth: Any) -> Any:
    """Each frame as the best combination of the five frames nearest to it."""
    rows = truth.reshape(len(truth), -1)
    squares = np.square(np.abs(rows)).sum(axis=1)
    distances = squares[:, None] + squares - 2 * (rows @ rows.conj().T).real
    found = np.empty_like(rows)
    for frame, away in enumerate(distances):
        near = np.argsort(away)[1:6]
        found[frame] = np.linalg.lstsq(rows[near].T, rows[frame], rcond=None)[0] @ rows[near]
    return found.reshape(truth.shape)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", type=Path)
    parser.add_argument("--golden", type=int, default=8)
    parser.add_argument("--navigators", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.005)
    args = parser.parse_args()
    truth = read_series(args.series).astype(np.complex64)
    truth /= np.abs(truth).max()
    offset = float(np.random.default_rng(0).uniform(0, np.pi))
    mask = radial_mask(len(truth), truth.shape[1:], args.golden, args.navigators, offset=offset)
    kspace = sample_grid(truth, mask, noise=args.noise, random_state=0)
    region = moving_region(truth)

    def tell(name: str, *candidates: Any) -> None:
        scores = [ser(truth[:, None, region], images[:, None, region]) for images in candidates]
        print(f"| {name} | {max(scores):.2f} |", flush=True)

    tell("zero-filled", invert(kspace))
    images = reconstruct(kspace, mask, random_state=0).images
    tell("Fusewise", images)
    limits, _local.ROUNDS = _local.ROUNDS, (0, 0)
    tell("iterating: without rounds", reconstruct(kspace, mask, random_state=0).images)
    _local.ROUNDS = limits
    tell("temporal model, the truth's own neighbours", *temporal(LocalKernels, truth, kspace, mask, TILES))
    tell("the same, one kernel for the whole image", *temporal(LocalKernels, truth, kspace, mask, (1,)))
    tell("locally low rank, the truth's own covariance", *temporal(LinearKernels, truth, kspace, mask, TILES))
    tell("spatial prior: bands shrunk as the truth says", shrunk(truth, images))
    tell("spatial prior: total variation", *(smoothed(images, weight) for weight in (1e-3, 3e-3, 1e-2, 3e-2)))
    tell("motion: nearest other frame, tile by tile", from_others(truth, 0))
    tell("motion: the same, shifted by up to 2 pixels", from_others(truth, 2))
    tell("motion: best combination of the five nearest frames", from_five(truth))


if __name__ == "__main__":
    main()
