"""Do the clusters of frames follow the phases? ARI and NMI against known phases, beside spectral clustering of L+S.

    python benchmarks/mri/labels.py [--cine FILE.npz] [--frames 1000] [--seeds 5] [--tune 250] [--device cuda]

By default the phantom; with --cine a breath-held cine (an .npz array slices x phases x ny x nx: the middle slice, at
about 128 pixels), made to breathe by shifting it along the rows. The truth is the cardiac phase (10 bins) times the
breath's position (2 bins): 20 classes. A seed draws the lengths of beats and breaths, turns the first line and draws
the noise. L+S is given the best weights *by the ground truth* (SER of the first frames of the first seed). The first
two rows are the comparison; the others tell what of a gain is the way of labelling and what the frames. Where arcs of
the beat begin is arbitrary, and ARI depends on it: so the error of the beat's phase is given, too (root mean square, in
beats, of what is left by the best origin).
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import baselines
import numpy as np
from cine import breathing_cine
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from tuning import tune

from fusewise import PenalizedFusion
from fusewise.mri import inspiration, make_phantom, radial_mask, reconstruct, sample_grid, ser, spectral_labels
from fusewise.mri._result import coordinates, frame_rhythms, labels_of

#: Where the tuning of L+S begins, and its steps.
LADDER = {"rank_weight": (8e-4, 2.0), "sparse_weight": (4e-3, 2.0)}


def beat_error(beat: Any, cardiac: Any) -> float:
    """Root mean square of the phase's error, in beats, after the best turn of its origin."""
    if beat is None:
        return np.nan
    turned = np.exp(2j * np.pi * (beat - cardiac))
    return float(np.sqrt(np.square(np.angle(turned / turned.mean())).mean()) / (2 * np.pi))


def series(args: argparse.Namespace, seed: int) -> tuple[Any, Any, Any]:
    """Images, the phase of the beat and the class of each frame."""
    if args.cine:
        images, cardiac, breath = breathing_cine(args.cine, args.frames, seed)
    else:
        phantom = make_phantom(args.frames, args.size, random_state=seed)
        images, cardiac, breath = phantom.images, phantom.cardiac, inspiration(phantom.respiratory)
    return images, cardiac, np.floor(cardiac * 10).astype(int) * 2 + (breath > np.median(breath))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cine", type=Path)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--size", type=int, default=96, help="of the phantom")
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--tune", type=int, metavar="FRAMES", default=250, help="L+S is tuned on the first (0: on all)")
    parser.add_argument("--weights", type=json.loads, help="of L+S, as this script prints them: no tuning")
    parser.add_argument("--iterations", type=int, default=100, help="of L+S")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()

    weights = args.weights
    print("| seed | clusters by | SER | ARI | NMI | clusters | beat's error |\n" + "|---" * 7 + "|")
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        images, cardiac, truth = series(args, seed)
        offset = float(np.random.default_rng(seed).uniform(0, np.pi))
        mask = radial_mask(len(images), images.shape[1:], offset=offset)
        kspace = sample_grid(images, mask, noise=args.noise, random_state=seed)
        solve = partial(baselines.low_rank_plus_sparse, n_iter=args.iterations, device=args.device)
        if weights is None:
            few = slice(args.tune or None)
            weights = tune("L+S", partial(solve, kspace[few], mask[few]), partial(ser, images[few]), LADDER)
        low = solve(kspace, mask, **weights)
        found = reconstruct(kspace, mask, device=args.device, random_state=seed)
        path = PenalizedFusion(n_clusters=20, n_neighbors=10)
        ours = ser(images, found.images)
        rhythms = {"our": found.rhythms, "L+S": frame_rhythms(low), "true": frame_rhythms(images)}
        labels = {
            "spectral, L+S frames": (spectral_labels(low), ser(images, low)),
            "breath and beat, our frames (Fusewise)": (found.labels, ours),
            "breath and beat, L+S frames": (labels_of(low, rhythms["L+S"]), ser(images, low)),
            "breath and beat, true frames": (labels_of(images, rhythms["true"]), np.inf),
            "spectral, our frames": (spectral_labels(found.images), ours),
            "spectral, true frames": (spectral_labels(images), np.inf),
            "path of fusion cut to 20, our frames": (path.fit(coordinates(found.images)).labels_, ours),
        }
        for name, (guess, quality) in labels.items():
            ari, nmi = adjusted_rand_score(truth, guess), normalized_mutual_info_score(truth, guess)
            error = beat_error(rhythms[name.split()[3]].beat, cardiac) if name.startswith("breath") else np.nan
            row = f"{quality:.2f} | {ari:.3f} | {nmi:.3f} | {len(np.unique(guess))} | {error:.3f}"
            print(f"| {seed} | {name} | {row} |", flush=True)
    print(f"--weights '{json.dumps(weights)}'")


if __name__ == "__main__":
    main()
