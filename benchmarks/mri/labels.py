"""Do the clusters of frames follow the phases? ARI and NMI against known phases, beside spectral clustering of L+S.

    python benchmarks/mri/labels.py [--cine FILE.npz] [--frames 400] [--noise 0.01] [--device cuda]

By default the phantom; with --cine a breath-held cine (an .npz array slices x phases x ny x nx: the middle slice, at
half its size), made to breathe by shifting it along the rows. The truth is the cardiac phase (10 bins) times the
breath's position (2 bins): 20 classes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import baselines
import numpy as np
from scipy.ndimage import shift
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from fusewise import FusionClustering
from fusewise.mri import frame_labels, make_phantom, radial_mask, reconstruct, sample_grid
from fusewise.mri.metrics import ser
from fusewise.mri.phantom import cyclic_phase, inspiration
from fusewise.mri.phases import coordinates


def breathing_cine(path: Path, n_frames: int) -> tuple[Any, Any, Any]:
    """Frames, cardiac phase and breath of a cine made to breathe; beats and breaths vary in length."""
    with np.load(path) as found:
        stack = next(a for a in (found[name] for name in found.files) if a.ndim == 4)
    cine = stack[len(stack) // 2].astype(np.float32)
    ny, nx = (n // 2 * 2 for n in cine.shape[1:])
    cine = cine[:, :ny, :nx].reshape(len(cine), ny // 2, 2, nx // 2, 2).mean(axis=(2, 4))
    cine /= cine.max()
    rng = np.random.default_rng(0)
    times = np.arange(n_frames) * 0.04
    cardiac = cyclic_phase(times, 0.9, 0.08, rng)
    breath = inspiration(cyclic_phase(times, 4.0, 0.08, rng))
    phases = np.floor(cardiac * len(cine)).astype(int)
    frames = [shift(cine[p], (6 * b, 0), order=1, mode="nearest") for p, b in zip(phases, breath, strict=True)]
    return np.stack(frames).astype(np.complex64), cardiac, breath


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cine", type=Path)
    parser.add_argument("--frames", type=int, default=400)
    parser.add_argument("--size", type=int, default=96, help="of the phantom")
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--iterations", type=int, default=60, help="of L+S")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()

    if args.cine:
        images, cardiac, breath = breathing_cine(args.cine, args.frames)
    else:
        phantom = make_phantom(args.frames, args.size)
        images, cardiac, breath = phantom.images, phantom.cardiac, inspiration(phantom.respiratory)
    truth = np.floor(cardiac * 10).astype(int) * 2 + (breath > np.median(breath))
    mask = radial_mask(len(images), images.shape[1:])
    kspace = sample_grid(images, mask, noise=args.noise)
    low = baselines.low_rank_plus_sparse(kspace, mask, 4e-4, 2e-3, args.iterations, args.device)
    found = reconstruct(kspace, mask, device=args.device, random_state=0)
    path = FusionClustering(n_clusters=20, n_neighbors=10, rank=None)
    labels = {
        "spectral, L+S frames": frame_labels(low),
        "spectral, our frames (Fusewise)": found.labels,
        "spectral, true frames": frame_labels(images),
        "path of fusion cut to 20, our frames": path.fit(coordinates(found.images)).labels_,
    }
    print(f"SER: L+S {ser(images, low):.2f}, Fusewise {ser(images, found.images):.2f}")
    print("| clusters by | ARI | NMI | clusters |\n|---|---|---|---|")
    for name, guess in labels.items():
        ari, nmi = adjusted_rand_score(truth, guess), normalized_mutual_info_score(truth, guess)
        print(f"| {name} | {ari:.3f} | {nmi:.3f} | {len(np.unique(guess))} |")


if __name__ == "__main__":
    main()
