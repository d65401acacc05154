"""``fusewise mri recon`` and ``fusewise mri simulate``: plain functions for the command line to call.

A page of results holds pictures and no numbers of its own: frames, a line through the heart over time, the clusters of
frames, the sampling of one frame, and a movie. Pictures need Pillow.
"""

from __future__ import annotations

from contextlib import suppress
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from fusewise.mri.formats import Scan, read_scan, write_images
from fusewise.mri.fourier import Array
from fusewise.mri.operators import Nufft
from fusewise.mri.phantom import make_phantom
from fusewise.mri.reconstruct import Reconstruction, reconstruct
from fusewise.mri.sampling import complex_noise, radial_mask, radial_trajectory, sample_grid

WARNING = "Not for diagnostic use."

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body{{font-family:sans-serif;max-width:60em;margin:2em auto;background:#111;color:#eee}}
img{{image-rendering:pixelated;max-width:100%}} .warning{{color:#fb6;font-weight:bold}}</style>
<h1>{title}</h1><p class="warning">{warning}</p>
<p>{summary}</p>
<h2>Movie</h2><img src="movie.gif" alt="all frames">
<h2>Frames</h2><img src="frames.png" alt="frames evenly spaced in time">
<h2>A line through the middle over time</h2><img src="profile.png" alt="position against time">
<h2>Clusters of frames</h2><p>Mean frame of each cluster, the largest first ({sizes} frames).</p>
<img src="clusters.png" alt="mean frame of each cluster">
{sampling}</html>
"""


def recon(path: str | Path, out: str | Path, *, lines_per_frame: int = 10, seed: int = 0, verbose: int = 1) -> Path:
    """Reconstruct a file into a folder: images (.npy, .cfl, and .nii.gz where nibabel is at hand), labels, a page.

    Returns the path of the page.
    """
    scan = read_scan(path, lines_per_frame=lines_per_frame)
    found = reconstruct(scan.kspace, scan.mask, scan.trajectory, scan.maps, random_state=seed, verbose=verbose)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("images.npy", "images.cfl"):
        write_images(folder / name, found.images)
    with suppress(ImportError):
        write_images(folder / "images.nii.gz", found.images)
    np.savetxt(folder / "labels.txt", found.labels, fmt="%d")
    return write_page(folder, found, scan, Path(path).name)


def simulate(
    out: str | Path,
    *,
    frames: int = 200,
    size: int = 96,
    golden: int = 6,
    navigators: int = 4,
    noise: float = 0.01,
    coils: int = 1,
    seed: int = 0,
) -> Path:
    """Write a scan of the phantom with its truth to an ``.npz`` file: gridded with one coil, radial with several."""
    phantom = make_phantom(frames, size, n_coils=coils, random_state=seed)
    truth: dict[str, Any] = {"truth": phantom.images, "cardiac": phantom.cardiac, "respiratory": phantom.respiratory}
    scan: dict[str, Any]
    if coils == 1:
        mask = radial_mask(frames, (size, size), golden, navigators)
        scan = {"kspace": sample_grid(phantom.images, mask, noise=noise, random_state=seed), "mask": mask}
    else:
        trajectory = radial_trajectory(frames, 2 * size, golden, navigators)
        kspace = Nufft(trajectory, phantom.maps).forward(phantom.images)
        kspace = kspace + complex_noise(kspace.shape, noise * float(np.abs(phantom.images).max()), seed)
        scan = {"kspace": kspace, "trajectory": trajectory, "maps": phantom.maps}
    path = Path(out).with_suffix(".npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **scan, **truth)
    return path


def write_page(folder: Path, found: Reconstruction, scan: Scan, title: str) -> Path:
    """Pictures and index.html in a folder."""
    image = _pillow()
    magnitude = to_bytes(np.abs(found.images))
    shown = np.linspace(0, len(magnitude) - 1, min(8, len(magnitude))).astype(int)
    image.fromarray(np.concatenate(list(magnitude[shown]), axis=1)).save(folder / "frames.png")
    image.fromarray(magnitude[:, :, magnitude.shape[2] // 2].T.copy()).save(folder / "profile.png")
    groups = [found.labels == k for k in range(int(found.labels.max(initial=-1)) + 1)]
    means = to_bytes(np.stack([np.abs(found.images[group].mean(axis=0)) for group in groups]))
    image.fromarray(tile(means, 5)).save(folder / "clusters.png")
    movie = [image.fromarray(frame) for frame in magnitude]
    movie[0].save(folder / "movie.gif", save_all=True, append_images=movie[1:], duration=40, loop=0)
    sampling = ""
    if scan.mask is not None:
        image.fromarray((255 * scan.mask[0]).astype(np.uint8)).save(folder / "mask.png")
        sampling = '<h2>Samples of the first frame</h2><img src="mask.png" alt="k-space locations sampled">'
    page = folder / "index.html"
    summary = f"{len(magnitude)} frames; lam {found.lam:.3g}, sigma {found.sigma:.3g}, rank {found.rank}."
    sizes = ", ".join(str(int(group.sum())) for group in groups)
    page.write_text(PAGE.format(title=escape(title), warning=WARNING, summary=summary, sizes=sizes, sampling=sampling))
    return page


def to_bytes(magnitude: Array) -> Array:
    """Grey levels, the brightest thousandth of the pixels clipped."""
    top = float(np.quantile(magnitude, 0.999)) or 1.0
    return np.asarray(255 * np.clip(magnitude / top, 0, 1)).astype(np.uint8)


def tile(images: Array, columns: int) -> Array:
    """Images in rows of so many, the last row filled up with black."""
    missing = -len(images) % columns
    padded = np.concatenate([images, np.zeros((missing, *images.shape[1:]), images.dtype)])
    rows = padded.reshape(-1, columns, *images.shape[1:])
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows], axis=0)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('pictures need Pillow: pip install "fusewise[mri]"') from error
    return Image
