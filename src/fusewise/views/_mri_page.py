"""HTML page of an MRI reconstruction: movie, frames, a line over time, breathing and heartbeat, clusters, sampling.

The pictures need Pillow. Not for diagnostic use, as the page states.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fusewise.kernels import Array
    from fusewise.mri import Reconstruction, Scan

WARNING = "Not for diagnostic use."

#: Files written by ``write_mri_page``.
PAGE_FILES = ("index.html", "movie.gif", "frames.png", "profile.png", "clusters.png", "sampling.png")

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>body{{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em;background:#111;color:#eee}}
img{{image-rendering:pixelated;max-width:100%}} polyline{{fill:none;stroke:#8cf}}
.movie{{min-width:20em}} .many{{min-width:min(40em,100%)}} .mask{{min-width:12em}}
.warning{{color:#fb6;font-weight:bold}}</style>
<h1>{title}</h1><p class="warning">{warning}</p>
<p>{summary}</p>
<h2>Movie</h2><img class="movie" src="movie.gif" alt="all frames, one after another">
<h2>Frames</h2><img class="many" src="frames.png" alt="frames evenly spaced in time">
<h2>Middle column of the image over time</h2>
<img class="many" src="profile.png" alt="intensity along the middle column (vertical) over time (horizontal)">
{rhythms}
<h2>Clusters of frames</h2><p>Mean frame of each cluster, largest first (numbers of frames: {sizes}).</p>
<img class="many" src="clusters.png" alt="mean frame of each cluster">
<h2>Sampling pattern of the first frame</h2><img class="mask" src="sampling.png" alt="sampled k-space locations"></html>
"""


def write_mri_page(folder: Path, found: Reconstruction, scan: Scan, title: str) -> Path:
    """Write ``PAGE_FILES`` into a folder, and return the path of the page."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError('the pictures need Pillow: pip install "fusewise[mri]"') from error
    magnitude = to_bytes(np.abs(found.images))
    shown = np.linspace(0, len(magnitude) - 1, min(8, len(magnitude))).astype(int)
    groups = [found.labels == k for k in range(int(found.labels.max(initial=-1)) + 1)]
    means = to_bytes(np.stack([np.abs(found.images[group].mean(axis=0)) for group in groups]))
    pictures = {
        "frames.png": tile(magnitude[shown], 4),
        "profile.png": magnitude[:, :, magnitude.shape[2] // 2].T.copy(),
        "clusters.png": tile(means, 5),
        "sampling.png": (255 * scan.first_mask(magnitude.shape[1:])).astype(np.uint8),
    }
    for name, picture in pictures.items():
        Image.fromarray(picture).save(folder / name)
    movie = [Image.fromarray(frame) for frame in magnitude]
    movie[0].save(folder / "movie.gif", save_all=True, append_images=movie[1:], duration=40, loop=0)
    penalty = f"fusion penalty: strength lam {found.lam:.3g}, scale sigma {found.sigma:.3g}"
    summary = f"{len(magnitude)} frames; {penalty}; rank {found.rank}."
    sizes = ", ".join(str(int(group.sum())) for group in groups)
    page = folder / "index.html"
    parts = {"title": escape(title), "warning": WARNING, "summary": summary, "sizes": sizes, "rhythms": rhythms(found)}
    page.write_text(PAGE.format(**parts), encoding="utf-8")
    return page


def rhythms(found: Reconstruction) -> str:
    """HTML of the breathing and heartbeat curves, or of a sentence that none were found.

    No rate is stated: the time between frames is not known, and a count of cycles would be more than the curve shows.
    """
    if found.beat is None:
        return (
            "<h2>Breathing and heartbeat</h2><p>Not found: frames may be noisy or in no order, or span fewer than "
            "about three breaths. Clusters contain similar frames.</p>"
        )
    parts = ["<h2>Breathing and heartbeat</h2><p>Phase of the heartbeat, as estimated from the images.</p>"]
    parts.append(drawing(found.beat, 1 + np.flatnonzero(np.diff(found.beat) < -0.5)))
    if found.breath is not None:
        parts.append(f"<p>Breathing position, as estimated from the images.</p>{drawing(found.breath)}")
    return "\n".join(parts)


def drawing(values: Array, breaks: Array | tuple[int, ...] = ()) -> str:
    """SVG curve of values in [0, 1] over the frames, interrupted at `breaks` (the ends of heartbeats)."""
    across = 900 / max(len(values) - 1, 1)
    points = [f"{across * t:.1f},{62 - 60 * value:.1f}" for t, value in enumerate(values)]
    runs = [f'<polyline points="{" ".join(run)}"/>' for run in np.split(np.array(points), breaks)]
    return f'<svg viewBox="0 0 900 64" role="img" aria-label="over time">{"".join(runs)}</svg>'


def to_bytes(magnitude: Array) -> Array:
    """Convert to grey levels; the brightest thousandth of the pixels is clipped."""
    top = float(np.quantile(magnitude, 0.999)) or 1.0
    return np.asarray(255 * np.clip(magnitude / top, 0, 1)).astype(np.uint8)


def tile(images: Array, columns: int) -> Array:
    """Arrange images in a grid with `columns` columns; the last row is padded with black."""
    missing = -len(images) % columns
    padded = np.concatenate([images, np.zeros((missing, *images.shape[1:]), images.dtype)])
    height, width = images.shape[1:]
    return padded.reshape(-1, columns, height, width).swapaxes(1, 2).reshape(-1, columns * width)
