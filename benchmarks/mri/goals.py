"""What Fusewise must reach, and what other phantoms and patterns of samples give: quality, CPU seconds, seconds.

    python benchmarks/mri/goals.py [--data FOLDER] [--draws 5] [--only NAME ...] [--device cuda --warm-up]

FOLDER holds ``Pincat.mat``, ``freebreathing_112x160x160_uint8.npy`` and ``freebreathing_900x134x134_uint8.npy``, of
which "450 frames" takes every second; without it there are the phantoms alone. Everything has one coil on the grid
unless it says otherwise. Scores are signal-to-error ratios over the 15% of pixels that vary most in time, those of the
450 and 900 frames and of the phantoms over the heart's box. A draw is one of the samples that are held out; cases with
a goal have as many as asked for, others one. With --warm-up each case is first called once more, with its first draw:
that call loads libraries and compiles, and its seconds are shown apart. It uses public names only, so that another
version of Fusewise on PYTHONPATH can be measured by it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from series import moving_region, read_series

from fusewise.mri import make_phantom, radial_mask, reconstruct, sample_grid, ser, simulate_scan

#: Rows and columns of the heart in the 900 frames.
HEART = np.s_[38:96, 36:90]

#: The names of the cases.
SERIES = {
    "PINCAT": "Pincat.mat",
    "free breathing": "freebreathing_112x160x160_uint8.npy",
    "450 frames": "freebreathing_900x134x134_uint8.npy",
    "900 frames": "freebreathing_900x134x134_uint8.npy",
}

#: What every case with a goal must keep: decibels between the draws, and seconds of a call, on two cores or an H200.
MOST_SPREAD, MOST_SECONDS = 0.2, {"cpu": 30.0, "cuda": 5.0}


@dataclass(frozen=True)
class Case:
    """Arguments of ``reconstruct`` and the score of what it returns, in decibels."""

    arguments: dict[str, Any]
    score: Callable[[Any], float]
    must: float | None = None  # the least decibels, of every draw


def cartesian_mask(n_frames: int, shape: tuple[int, int], share: float, seed: int = 0) -> Any:
    """The two central rows of k-space in every frame, and others by chance, more of them near the centre."""
    ny, nx = shape
    near = (1 - np.abs(np.arange(ny) - ny // 2) / (ny / 2 + 1)) ** 3
    near[ny // 2 - 1 : ny // 2 + 1] = 0
    rng = np.random.default_rng(seed)
    rows = np.zeros((n_frames, ny), bool)
    for frame in rows:
        frame[rng.choice(ny, max(round(share * ny) - 2, 0), replace=False, p=near / near.sum())] = True
    rows[:, ny // 2 - 1 : ny // 2 + 1] = True
    return np.repeat(rows[:, :, None], nx, axis=2)


def golden_lines(n_frames: int, shape: tuple[int, int], golden: int, navigators: int = 0) -> Any:
    """The masks of ``compare.py`` for its first seed."""
    return radial_mask(n_frames, shape, golden, navigators, offset=float(np.random.default_rng(0).uniform(0, np.pi)))


def of_series(path: Path, step: int = 1) -> Any:
    """Complex frames, the brightest pixel 1."""
    images = read_series(path)[::step]
    return (images / np.abs(images).max()).astype(np.complex64)


def on_grid(images: Any, mask: Any, noise: float, region: Any, must: float | None = None) -> Case:
    kspace = sample_grid(images, mask, noise=noise)
    return Case({"kspace": kspace, "mask": mask}, lambda u: ser(images[:, None, region], u[:, None, region]), must)


def cases(data: Path | None) -> Iterator[tuple[str, Callable[[], Case]]]:
    """The names of all cases, and what makes them."""

    def moving(name: str, mask: Callable[..., Any], *settings: Any, must: float | None = None) -> Case:
        images = of_series(data / SERIES[name])
        return on_grid(images, mask(len(images), images.shape[1:], *settings), 0.005, moving_region(images), must)

    def long(name: str, step: int) -> Case:
        images = of_series(data / SERIES[name], step)
        region = np.zeros(images.shape[1:], bool)
        region[HEART] = True
        return on_grid(images, golden_lines(len(images), images.shape[1:], 6, 4), 0.0, region, must=21.1)

    def phantom(n_frames: int, size: int, mask: Callable[..., Any], *settings: Any) -> Case:
        found = make_phantom(n_frames, size)
        region = np.zeros((size, size), bool)
        region[found.heart] = True
        return on_grid(found.images, mask(n_frames, (size, size), *settings), 0.01, region)

    def coils(off_grid: bool) -> Case:
        truth = make_phantom(60, 48, n_coils=4)
        if off_grid:
            scan, _ = simulate_scan(60, 48, coils=4)
            arguments = {"kspace": scan.kspace, "trajectory": scan.trajectory, "maps": scan.maps}
        else:
            mask = radial_mask(60, (48, 48))
            kspace = sample_grid(truth.images[:, None] * truth.maps, mask[:, None], noise=0.01)
            arguments = {"kspace": kspace, "mask": mask, "maps": truth.maps}
        return Case(arguments, lambda u: ser(truth.images, u, truth.heart))

    if data:
        yield "PINCAT", lambda: moving("PINCAT", golden_lines, 8, must=21.5)
        yield "free breathing", lambda: moving("free breathing", golden_lines, 8, 4, must=17.8)
        yield "450 frames", lambda: long("450 frames", 2)
        yield "900 frames", lambda: long("900 frames", 1)
        for name in ("PINCAT", "free breathing"):
            yield f"{name}, Cartesian 10%", lambda name=name: moving(name, cartesian_mask, 0.1)
            yield f"{name}, lines of 3%", lambda name=name: moving(name, golden_lines, 4)
    yield "phantom, 100 of 96 x 96", lambda: phantom(100, 96, golden_lines, 6, 4)
    yield "phantom, Cartesian 15%", lambda: phantom(100, 96, cartesian_mask, 0.15)
    yield "phantom, Cartesian 5%", lambda: phantom(100, 96, cartesian_mask, 0.05)
    yield "phantom, lines of 3%", lambda: phantom(100, 96, golden_lines, 3)
    yield "phantom, 60 of 48 x 48", lambda: phantom(60, 48, golden_lines, 3, 4)
    yield "phantom, 4 coils on the grid", lambda: coils(False)
    yield "phantom, 4 coils off the grid", lambda: coils(True)


def verdict(value: float, holds: bool, limit: str) -> str:
    return f"{value:.2f} {limit}: {'yes' if holds else 'NO'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the series")
    parser.add_argument("--draws", type=int, default=1, help="of the samples held out, for cases with a goal")
    parser.add_argument("--only", nargs="*", help="names of cases")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--warm-up", action="store_true", help="call once before the calls that are measured")
    args = parser.parse_args()
    print("| | sampled | dB of each draw | least dB | spread | CPU s | first call, s | s of each draw | slowest |")
    print("|---" * 9 + "|")
    for name, make in cases(args.data):
        if args.only is not None and name not in args.only:
            continue
        case = make()

        def call(draw: int, case: Case = case) -> tuple[float, float, float]:
            begun, before = time.perf_counter(), time.process_time()
            images = reconstruct(**case.arguments, device=args.device, random_state=draw).images
            spent, taken = time.process_time() - before, time.perf_counter() - begun
            return case.score(images), spent, taken

        first = f"{call(0)[2]:.2f}" if args.warm_up else ""
        calls = [call(draw) for draw in range(args.draws if case.must else 1)]
        scores, cpu, taken = zip(*calls, strict=True)
        goals = [""] * 3
        if case.must:
            seconds = MOST_SECONDS.get(args.device.split(":")[0], MOST_SECONDS["cpu"])
            goals[0] = verdict(min(scores), min(scores) >= case.must, f">= {case.must}")
            if len(scores) > 1:
                goals[1] = verdict(np.ptp(scores), np.ptp(scores) < MOST_SPREAD, f"< {MOST_SPREAD}")
            goals[2] = verdict(max(taken), max(taken) < seconds, f"< {seconds:.0f}")
        share = f"{case.arguments['mask'].mean():.1%}" if "mask" in case.arguments else "off the grid"
        decibels, times = (" ".join(f"{value:.2f}" for value in values) for values in (scores, taken))
        cells = [name, share, decibels, *goals[:2], f"{np.mean(cpu):.1f}", first, times, goals[2]]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
