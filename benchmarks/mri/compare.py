"""Heart-region quality and time of every reconstruction, on the phantom or on a series of images in a file.

    python benchmarks/mri/compare.py [--series FILE.npy --step 2 --heart 38:96,36:90] [--seeds 5] [--golden 6] ...

The file holds frames x ny x nx magnitudes. It is sampled retrospectively: fixed navigator lines and golden-angle lines
through the centre of k-space, gridded, one coil; a seed turns the first line and draws the noise. L+S, STORM and view
sharing are given the best of a grid of parameters *by the ground truth*, on the first seed and with --tune; Fusewise
chooses all of its own by held-out samples. Seconds are of this machine, with OMP_NUM_THREADS as it is; CPU seconds too.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import baselines
import numpy as np

from fusewise.mri import reconstruct
from fusewise.mri.metrics import ser, ssim
from fusewise.mri.phantom import make_phantom
from fusewise.mri.sampling import radial_mask, sample_grid

Method = Callable[[Any, Any], Any]

#: Grids by ground truth: (name, function, parameters).
GRIDS: list[tuple[str, Any, dict[str, list[float]]]] = [
    ("view sharing", baselines.view_sharing, {"half_width": [2, 3, 4, 6]}),
    ("STORM", baselines.storm, {"lam": [0.005, 0.05, 0.5], "n_neighbors": [6, 12]}),
    (
        "L+S (FISTA)",
        baselines.low_rank_plus_sparse,
        {"rank_weight": [1e-4, 2e-4, 4e-4, 8e-4], "sparse_weight": [5e-4, 1e-3, 2e-3, 4e-3]},
    ),
]


def fusewise(seed: int, verbose: bool = False) -> Method:
    return lambda kspace, mask: reconstruct(kspace, mask, random_state=seed, verbose=int(verbose)).images


def parse_box(text: str) -> tuple[slice, slice]:
    rows, columns = (slice(*map(int, part.split(":"))) for part in text.split(","))
    return rows, columns


def tune(images: Any, kspace: Any, mask: Any, heart: Any, n_iter: int) -> dict[str, dict[str, float]]:
    """The best parameters of each baseline by heart-region SER."""
    chosen = {}
    for name, function, grid in GRIDS:
        extra = {"n_iter": n_iter} if "L+S" in name else {}
        scored = []
        for values in product(*grid.values()):
            settings = dict(zip(grid, values, strict=True))
            found = function(kspace, mask, **settings, **extra)
            scored.append((ser(images, found, heart), settings))
            print(f"  tuning {name} {settings}: heart {scored[-1][0]:.2f} dB", flush=True)
        chosen[name] = max(scored, key=lambda pair: pair[0])[1]
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=Path, help="frames x ny x nx magnitudes, .npy; default: the phantom")
    parser.add_argument("--step", type=int, default=1, help="take every so many frames of the file")
    parser.add_argument("--heart", type=parse_box, help="rows,columns of the heart, as 38:96,36:90")
    parser.add_argument("--frames", type=int, default=300, help="frames of the phantom")
    parser.add_argument("--size", type=int, default=128, help="side of the phantom")
    parser.add_argument("--golden", type=int, default=6)
    parser.add_argument("--navigators", type=int, default=4)
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation, of the largest magnitude")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=100, help="of L+S")
    parser.add_argument("--tune", action="store_true", help="search the baselines' grids (by ground truth)")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the baselines, as --tune printed them")
    parser.add_argument("--only", nargs="*", help="names of methods")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()

    if args.series:
        images = np.load(args.series)[:: args.step].astype(np.float32)
        images /= images.max()
        heart = args.heart or (slice(None), slice(None))
    else:
        phantom = make_phantom(args.frames, args.size)
        images, heart = phantom.images, args.heart or phantom.heart
    settings = args.settings
    print("| seed | method | SER heart | SER whole | SSIM heart | SSIM whole | s | CPU s |\n" + "|---" * 8 + "|")
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        offset = float(np.random.default_rng(seed).uniform(0, np.pi))
        shape = images.shape[1], images.shape[2]
        mask = radial_mask(len(images), shape, args.golden, args.navigators, offset=offset)
        kspace = sample_grid(images, mask, noise=args.noise, random_state=seed)
        if args.tune and seed == args.first_seed:
            settings = tune(images, kspace, mask, heart, args.iterations)
            print(f"--settings '{json.dumps(settings)}'", flush=True)
        methods: dict[str, Method] = {
            "zero-filled": baselines.zero_filled,
            "temporal mean": baselines.temporal_mean,
            **{name: partial(function, **settings.get(name, {})) for name, function, _ in GRIDS},
            "Fusewise": fusewise(seed, args.verbose),
        }
        methods["L+S (FISTA)"] = partial(methods["L+S (FISTA)"], n_iter=args.iterations)  # type: ignore[call-arg]
        for name, method in methods.items():
            if args.only and name not in args.only:
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            found = method(kspace, mask)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            scores = ser(images, found, heart), ser(images, found), ssim(images, found, heart), ssim(images, found)
            row = " | ".join([f"{s:.2f}" for s in scores[:2]] + [f"{s:.3f}" for s in scores[2:]])
            print(f"| {seed} | {name} | {row} | {wall:.1f} | {cpu:.1f} |", flush=True)


if __name__ == "__main__":
    main()
