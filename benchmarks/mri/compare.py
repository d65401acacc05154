"""Quality, time and memory of every reconstruction, on the phantom or on a series of images in a file.

    python benchmarks/mri/compare.py [--series FILE.npy --step 2 --heart 38:96,36:90] [--coils 8] [--tune 64] ...

The file holds frames x ny x nx magnitudes, or with --cine a breath-held cine, slices x phases x ny x nx, of which one
slice is made to breathe. It is sampled retrospectively: fixed navigator lines and golden-angle lines through the centre
of k-space; a seed turns the first line and draws the noise. Gridded with one coil; with --coils 8 off the grid, through
simulated coils. With --tune the baselines are given the best parameters *by the ground truth* of the first
frames of the first seed, sought until every step away is worse; Fusewise chooses all of its own by held-out samples.
With --moving the first score is over the 15% of pixels that vary most in time, instead of the heart's box. --picture
draws a frame of every method with its error. Every method runs in a process of its own: peak memory is that process's,
or the GPU's with --device cuda.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import bart
import baselines
import numpy as np
from metrics import ssim
from series import breathing_cine, moving_region, read_series
from tuning import tune

from fusewise.mri import Scan, make_phantom, radial_mask, radial_trajectory, reconstruct, sample_grid, ser
from fusewise.mri._phantom import coil_maps
from fusewise.mri._sampling import FourierSums, complex_noise

Method = Callable[..., Any]

#: What M-DIP, an untrained network, reached by its own defaults on an H200: cited, as its code is not here. By the file
#: and the settings (--golden, --navigators, --noise) for which that holds: moving-region SER, seconds.
CITED = {
    ("Pincat.mat", 8, 0, 0.005): {"M-DIP": ("21.8", "146"), "M-DIP, the samples put back": ("22.4", "")},
    ("freebreathing_112x160x160_uint8.npy", 8, 4, 0.005): {"M-DIP, 2,319 of its 10,000 steps": ("14.5", "137")},
}

#: Where --tune begins, and its steps: (start, factor).
LADDERS: dict[str, dict[str, tuple[float, float]]] = {
    "view sharing": {"half_width": (4, 1.5)},
    "STORM": {"lam": (0.05, 3.0), "n_neighbors": (6, 2.0)},
    "L+S": {"rank_weight": (4e-4, 2.0), "sparse_weight": (2e-3, 2.0)},
    "CG-SENSE": {"pull": (0.05, 3.0)},
    "BART temporal TV": {"weight": (3e-3, 3.0)},
    "BART locally low rank": {"weight": (3e-3, 3.0)},
}


def ours(scan: Scan, device: str = "cpu", seed: int = 0) -> Any:
    return reconstruct(scan.kspace, scan.mask, scan.trajectory, scan.maps, device=device, random_state=seed).images


#: Functions of a scan, the device and settings.
METHODS: dict[str, Method] = {
    "zero-filled": baselines.adjoint,
    "CG-SENSE": baselines.sense,  # of several coils
    "temporal mean": baselines.temporal_mean,
    "view sharing": baselines.view_sharing,
    "STORM": baselines.storm,
    "L+S": baselines.low_rank_plus_sparse,
    "BART temporal TV": partial(bart.penalised, penalty=bart.temporal_tv),
    "BART locally low rank": partial(bart.penalised, penalty=bart.locally_low_rank),
    "Fusewise": ours,
}


def sampled(args: argparse.Namespace, images: Any, seed: int) -> Scan:
    """One coil on the grid, or several at a trajectory with their true maps."""
    lines = {"golden": args.golden, "navigators": args.navigators}
    offset = float(np.random.default_rng(seed).uniform(0, np.pi))
    shape = images.shape[1], images.shape[2]
    if args.coils == 1:
        mask = radial_mask(len(images), shape, **lines, offset=offset)
        return Scan(sample_grid(images, mask, noise=args.noise, random_state=seed)[:, None], mask)
    maps = coil_maps(args.coils, max(shape))[:, : shape[0], : shape[1]]
    path = radial_trajectory(len(images), max(shape), **lines, offset=offset)
    kspace = FourierSums(path, maps).forward(images.astype(np.complex64))
    kspace = kspace + complex_noise(kspace.shape, args.noise * float(np.abs(images).max()), seed)
    return Scan(kspace, trajectory=path, maps=maps)


def parse_box(text: str) -> tuple[slice, slice]:
    rows, columns = (slice(*map(int, part.split(":"))) for part in text.split(","))
    return rows, columns


def truth(args: argparse.Namespace) -> tuple[Any, tuple[slice, slice]]:
    """The images, the brightest pixel 1, and the heart's box."""
    if args.series:
        images = read_series(args.series)[:: args.step]
    elif args.cine:
        images = breathing_cine(args.cine, args.frames, args.slice)[0]
    else:
        phantom = make_phantom(args.frames, args.size)
        return phantom.images, args.heart or phantom.heart
    return images / np.abs(images).max(), args.heart or (slice(None), slice(None))


def draw(truth: Any, found: dict[str, Any], region: Any, path: Path) -> None:
    """Draw the frame that differs most from the mean: the truth, each method with its SER there, ten times its error.

    The SER is that of the series over the moving pixels.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    frame = int(np.square(np.abs(truth - truth.mean(axis=0))).sum(axis=(1, 2)).argmax())
    figure, axes = pyplot.subplots(2, len(found) + 1, figsize=(1.9 * len(found) + 1.9, 4.2), squeeze=False)
    for column, (name, images) in zip(axes.T, {"truth": truth, **found}.items(), strict=True):
        for axis, values in zip(column, (images[frame], 10 * (images - truth)[frame]), strict=True):
            axis.imshow(np.abs(values), cmap="gray", vmin=0, vmax=np.abs(truth[frame]).max())
            axis.set(xticks=[], yticks=[])
        quality = "" if name == "truth" else f"\n{ser(truth[:, None, region], images[:, None, region]):.1f} dB"
        column[0].set_title(name + quality, fontsize=9)
    axes[1, 0].imshow(region, cmap="gray")
    axes[1, 0].set_xlabel("the moving pixels", fontsize=9)
    axes[1, 1].set_ylabel("10 x error", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=75)


def measured(method: Callable[[], Any], device: str) -> tuple[Any, float, float, float]:
    """Images, seconds, CPU seconds and peak GiB of a method."""
    if device.startswith("cuda"):  # CUDA does not survive a fork
        import torch

        torch.cuda.reset_peak_memory_stats()
        return *timed(method)[:3], torch.cuda.max_memory_allocated() / 2**30
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(timed, method).result()


def timed(method: Callable[[], Any]) -> tuple[Any, float, float, float]:
    """The same, in this process."""
    begun, before = time.perf_counter(), cpu_seconds()
    images = np.asarray(method())
    seconds, spent = time.perf_counter() - begun, cpu_seconds() - before
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return images, seconds, spent, max(peaks) / 2**20


def cpu_seconds() -> float:
    """Of this process and of those it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--series", type=Path, help="frames x ny x nx, .npy, or .mat; default: the phantom")
    source.add_argument("--cine", type=Path, help="a breath-held cine, .npz, made to breathe")
    parser.add_argument("--step", type=int, default=1, help="take every so many frames of the series")
    parser.add_argument("--slice", type=int, help="of the cine; default: the middle one")
    parser.add_argument("--heart", type=parse_box, help="rows,columns of the heart, as 38:96,36:90")
    parser.add_argument("--frames", type=int, default=300, help="of the phantom or the cine")
    parser.add_argument("--size", type=int, default=128, help="side of the phantom")
    parser.add_argument("--golden", type=int, default=6)
    parser.add_argument("--navigators", type=int, default=4)
    parser.add_argument("--coils", type=int, default=1, help="more than one: off the grid")
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation, of the largest magnitude")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tune", type=int, metavar="FRAMES", help="tune the baselines on the first frames (0: on all)")
    parser.add_argument(
        "--settings",
        type=json.loads,
        default={},
        help="of the baselines, as --tune prints them; --tune starts from them",
    )
    parser.add_argument("--moving", action="store_true", help="score the pixels that move instead of the heart's box")
    parser.add_argument("--picture", type=Path, help="draw a frame of every method, of the last seed, and its error")
    parser.add_argument("--only", nargs="*", help="names of methods")
    parser.add_argument("--device", default="cpu", help="of all but the adjoint and BART")
    args = parser.parse_args()

    images, heart = truth(args)
    region, drawn = moving_region(images), dict[str, Any]()

    def score(found: Any) -> float:
        """Of the first frames, as many as there are."""
        if not args.moving:
            return ser(images[: len(found)], found, heart)
        return ser(images[: len(found), None, region], found[:, None, region])

    settings = dict(args.settings)
    where = "moving" if args.moving else "heart"
    print(
        f"| seed | method | SER {where} | SER whole | SSIM heart | SSIM whole | s | CPU s | GiB |\n" + "|---" * 9 + "|"
    )
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        scan = sampled(args, images, seed)
        for name, method in METHODS.items():
            if name not in (args.only or METHODS) or (name == "CG-SENSE" and args.coils == 1):
                continue
            if name.startswith("BART") and not bart.at_hand():
                print(f"| {seed} | {name} | not at hand |", flush=True)
                continue
            if args.tune is not None and seed == args.first_seed and name in LADDERS:
                few = sampled(args, images[: args.tune or None], seed)

                def tried(method: Method = method, name: str = name, few: Scan = few, **values: float) -> float:
                    found = score(method(few, args.device, **values))
                    print(f"  tuning {name} {values}: {found:.2f} dB", flush=True)
                    return found

                start = settings.get(name, {})
                ladder = {key: (start.get(key, first), step) for key, (first, step) in LADDERS[name].items()}
                settings[name] = tune(tried, ladder)
            chosen = {"seed": seed} if name == "Fusewise" else settings.get(name, {})
            found, seconds, spent, peak = measured(partial(method, scan, args.device, **chosen), args.device)
            scores = score(found), ser(images, found), ssim(images, found, heart), ssim(images, found)
            drawn[name] = found
            row = " | ".join([f"{s:.2f}" for s in scores[:2]] + [f"{s:.3f}" for s in scores[2:]])
            print(f"| {seed} | {name} | {row} | {seconds:.2f} | {spent:.1f} | {peak:.1f} |", flush=True)
    if args.picture:
        draw(images, drawn, region, args.picture)
    if args.moving and args.series:
        for name, cited in CITED.get((args.series.name, args.golden, args.navigators, args.noise), {}).items():
            print(f"| cited | {name} | {cited[0]} | | | | {cited[1]} | | |")
    print(f"--settings '{json.dumps(settings)}'")


if __name__ == "__main__":
    main()
