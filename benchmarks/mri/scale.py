"""Time and peak memory of a long series: 1000 frames of 128 x 128, gridded, on a CPU or a GPU.

    python benchmarks/mri/scale.py [--frames 1000 --size 128] [--device cuda --repeat 3]

The phantom with 1% noise, 4 navigator and 6 golden-angle lines. On a GPU the first run loads CUDA's libraries; peak
memory is then that of the device. OMP_NUM_THREADS limits the cores of the CPU.
"""

from __future__ import annotations

import argparse
import resource
import time

from metrics import ssim

from fusewise.mri import make_phantom, radial_mask, reconstruct, sample_grid, ser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()

    phantom = make_phantom(args.frames, args.size)
    mask = radial_mask(args.frames, (args.size, args.size))
    kspace = sample_grid(phantom.images, mask, noise=args.noise)
    print(f"{args.frames} x {args.size} x {args.size}, {mask.mean():.1%} sampled, {args.device}")
    for run in range(args.repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        found = reconstruct(kspace, mask, device=args.device, random_state=0, verbose=int(args.verbose))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"run {run}: {wall:.2f} s, {cpu:.1f} CPU s, {peak_memory(args.device)}", flush=True)
    quality = ser(phantom.images, found.images, phantom.heart), ssim(phantom.images, found.images, phantom.heart)
    print(f"heart SER {quality[0]:.2f} dB, SSIM {quality[1]:.3f}; {found.local}")


def peak_memory(device: str) -> str:
    """Of this process, or of the GPU."""
    if device.startswith("cuda"):
        import torch

        return f"{torch.cuda.max_memory_allocated() / 2**30:.2f} GiB on the device"
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB"


if __name__ == "__main__":
    main()
