"""How often are breath and beat found right? Series with known rates, and series with none.

    python benchmarks/mri/rhythms.py [--draws 100] [--first-seed 1000] [--cine FILE.npz]

A draw has beats of 0.6 to 1.3 s and breaths of 2.5 to 6 s, whose lengths scatter by 3 to 12%, frames 30 to 80 ms
apart, 3.3 to 12 breaths (at most 500 frames), noise of 1, 3 or 6% of the brightest pixel, and a breath of 30 to 120%
of its usual depth: the phantom at 32 x 32 pixels, or a breath-held cine (slices x phases x ny x nx: a slice by chance,
averaged to about 32 pixels) that is shifted. Right: both rates within 20% of the truth. Phase right: |mean exp(2 pi i
(found - true))| of 0.95 or more. No image is reconstructed: this measures the search alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from cine import read_cine
from scipy.ndimage import shift

from fusewise.mri._phantom import contraction, cyclic_phase, draw, inspiration
from fusewise.mri._result import frame_rhythms


def series(stack: Any, seed: int, *, beats: bool = True, breathes: bool = True) -> tuple[Any, Any, Any]:
    """Images, and the phases of beat and breath."""
    rng = np.random.default_rng(seed)
    frame_time, per_beat = rng.uniform(0.03, 0.08), rng.uniform(0.6, 1.3)
    per_breath, scatter = rng.uniform(max(2.5, 2.2 * per_beat), 6), rng.uniform(0.03, 0.12)
    n_frames = int(min(rng.uniform(3.3, 12) * per_breath / frame_time, 500))
    times = np.arange(n_frames) * frame_time
    beat, breath = cyclic_phase(times, per_beat, scatter, rng), cyclic_phase(times, per_breath, scatter, rng)
    squeeze, depth = beats * contraction(beat), breathes * rng.uniform(0.3, 1.2) * inspiration(breath)
    if stack is None:
        grid = np.arange(-16, 16) / 16
        y, x = np.meshgrid(grid, grid, indexing="ij")
        images = np.stack([draw(y, x, s, b) for s, b in zip(squeeze, depth, strict=True)])
    else:
        cine = stack[rng.integers(2, len(stack) - 2)]
        phases = (beats * beat * len(cine)).astype(int)
        moves = zip(phases, depth, strict=True)
        images = np.stack([shift(cine[p], (2 * b, b / 2), order=1, mode="nearest") for p, b in moves])
    noise = rng.choice([0.01, 0.03, 0.06]) * rng.standard_normal(images.shape)
    return images + noise, beat, breath


def cycles(phase: Any) -> float:
    turns = np.unwrap(phase, period=1)
    return float(turns[-1] - turns[0])


def near(found: float, true: float) -> bool:
    return true / 1.2 < found < true * 1.2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--cine", type=Path)
    args = parser.parse_args()
    stack = None if args.cine is None else read_cine(args.cine, 32)
    seeds = range(args.first_seed, args.first_seed + args.draws)

    print(
        "| of the series | both rates right | phase right | two found, wrong | one found | none |\n" + "|---" * 6 + "|"
    )
    kinds = {"beat and breath": {}, "beat alone": {"breathes": False}, "breath alone": {"beats": False}}
    for name, kind in {**kinds, "beat and breath, shuffled": {}}.items():
        rows = []
        for seed in seeds:
            images, beat, breath = series(stack, seed, **kind)
            if "shuffled" in name:
                images = np.random.default_rng(seed).permutation(images)
            found = frame_rhythms(images)
            both, right, follows = found.breath is not None, False, False
            if both and name == "beat and breath":
                right = near(found.beat_cycles, cycles(beat)) and near(found.breath_cycles, cycles(breath))
                follows = np.abs(np.mean(np.exp(2j * np.pi * (found.beat - beat)))) >= 0.95
            rows.append((right, follows, both and not right, found.beat is not None and not both, found.beat is None))
        print(f"| {name} | " + " | ".join(f"{share:.0%}" for share in np.mean(rows, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
