"""A synthetic phantom of a beating heart in a breathing chest, with known phases, and simulated scans of it.

Ellipses with soft edges: a chest, lungs, spine and liver, and a heart of two ventricles in a muscle. The beat shrinks
the ventricles and thickens their wall; the breath moves liver and heart along the body, the heart by less, and lifts
the chest wall. Heart rate and breath vary from cycle to cycle, as they do in people. Not an anatomy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fusewise.mri._files import Scan
from fusewise.mri._sampling import FourierSums, complex_noise, radial_mask, radial_trajectory, sample_grid
from fusewise.mri._tensors import Array
from fusewise.support import InputError


@dataclass(frozen=True, eq=False)
class Phantom:
    """A series of images and its ground truth.

    Attributes
    ----------
    images : T x ny x nx, complex: magnitudes of at most 1 times a smooth phase that all frames share.
    cardiac : phase of the beat in each frame, in [0, 1); contraction begins at 0.
    respiratory : phase of the breath, in [0, 1); the lungs are full at 0.5.
    maps : coils x ny x nx, sensitivities with sum of squares 1.
    heart : (rows, columns) of the box that contains the heart in all frames.
    """

    images: Array
    cardiac: Array
    respiratory: Array
    maps: Array
    heart: tuple[slice, slice]


def make_phantom(
    n_frames: int = 200,
    size: int = 96,
    *,
    n_coils: int = 1,
    frame_time: float = 0.04,
    variability: float = 0.08,
    random_state: int | None = 0,
) -> Phantom:
    """Make a phantom of `n_frames` images of `size` x `size` pixels.

    Parameters
    ----------
    n_frames, size : see above.
    n_coils : receiver coils around the body.
    frame_time : seconds between frames.
    variability : relative standard deviation of the length of a beat and of a breath.
    random_state : seed of the lengths.
    """
    rng = np.random.default_rng(random_state)
    times = np.arange(n_frames) * frame_time
    cardiac = cyclic_phase(times, 0.9, variability, rng)
    respiratory = cyclic_phase(times, 4.0, variability, rng)
    grid = (np.arange(size) - size // 2) / (size / 2)
    y, x = np.meshgrid(grid, grid, indexing="ij")
    squeeze, breath = contraction(cardiac), inspiration(respiratory)
    frames = np.stack([draw(y, x, s, b) for s, b in zip(squeeze, breath, strict=True)])
    phase = np.exp(1j * (0.6 * x - 0.4 * y + 0.5 * x * y))
    box = slice(int(0.24 * size), int(0.72 * size)), slice(int(0.26 * size), int(0.72 * size))
    return Phantom((frames * phase).astype(np.complex64), cardiac, respiratory, coil_maps(n_coils, size), box)


def cyclic_phase(times: Array, period: float, variability: float, rng: np.random.Generator) -> Array:
    """Phase in [0, 1) of cycles whose lengths vary around `period`."""
    n_cycles = int(2 * (times[-1] - times[0]) / period) + 4
    lengths = period * np.exp(variability * rng.standard_normal(n_cycles))
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    return np.asarray(np.interp(times - times[0], ends, np.arange(len(ends))) % 1.0)


def contraction(cardiac: Array) -> Array:
    """Contraction from 0 (relaxed) to 1 (contracted) at `cardiac` phases: over a third of a beat."""
    up = np.sin(0.5 * np.pi * np.clip(cardiac / 0.35, 0, 1)) ** 2
    down = np.cos(0.5 * np.pi * np.clip((cardiac - 0.35) / 0.3, 0, 1)) ** 2
    return np.asarray(np.where(cardiac < 0.35, up, down))


def inspiration(respiratory: Array) -> Array:
    """Inspiration from 0 (lungs empty) to 1 (full) at `respiratory` phases."""
    return np.sin(np.pi * np.asarray(respiratory)) ** 4


def draw(y: Array, x: Array, squeeze: float, breath: float) -> Array:
    """Draw one image, in coordinates from -1 to 1; y points from the chest wall to the back, x along the body."""
    soft = 1.2 * abs(float(y[1, 0] - y[0, 0]))  # an edge is about a pixel wide

    def ellipse(cy: float, cx: float, ry: float, rx: float, angle: float = 0.0) -> Array:
        c, s = np.cos(angle), np.sin(angle)
        v, u = c * (y - cy) + s * (x - cx), -s * (y - cy) + c * (x - cx)
        distance = (np.hypot(v / ry, u / rx) - 1) * min(ry, rx)
        return np.asarray(expit(-distance / (0.5 * soft)))

    lift, slide = 0.03 * breath, 0.10 * breath
    image = np.zeros_like(y)

    def paint(value: float, inside: Array) -> None:
        image[...] = image * (1 - inside) + value * inside

    paint(0.55, ellipse(0, 0, 0.80 + lift, 0.92))  # fat
    trunk = ellipse(0, 0, 0.74 + lift, 0.87)
    paint(0.28, trunk)  # muscle
    paint(0.06, ellipse(-0.05, -0.10, 0.60 + lift, 0.66 + 0.05 * breath))  # lungs
    paint(0.42, trunk * ellipse(0.05, 0.72 + slide, 0.58, 0.36))  # liver, below the diaphragm
    for k, (cy, cx) in enumerate([(-0.15, 0.58), (0.10, 0.50), (0.25, 0.64), (-0.02, 0.68)]):
        paint(0.65, ellipse(cy, cx + slide, 0.03 + 0.005 * k, 0.03))  # its vessels
    paint(0.35, ellipse(0.62, 0.0, 0.10, 0.12))  # spine
    for cy, cx in [(-0.38, -0.45), (0.25, -0.50), (0.42, -0.20), (-0.45, 0.10), (0.38, 0.20)]:
        paint(0.30, ellipse(cy, cx + 0.5 * slide, 0.025, 0.025))  # vessels of the lungs
    hy, hx = -0.05 + 0.4 * lift, -0.05 + 0.6 * slide
    turn = 0.35 + 0.12 * squeeze
    paint(0.34, ellipse(hy, hx, 0.33 - 0.02 * squeeze, 0.36 - 0.02 * squeeze, turn))  # muscle of the heart
    inner = 1 - 0.38 * squeeze
    paint(0.90, ellipse(hy - 0.08, hx - 0.16, 0.19 * (1 - 0.25 * squeeze), 0.10 * inner, turn + 0.5))  # right ventricle
    paint(1.00, ellipse(hy + 0.04, hx + 0.11, 0.17 * inner, 0.16 * inner))  # left ventricle
    for side in (-1, 1):  # papillary muscles
        paint(0.40, ellipse(hy + 0.04 + 0.07 * side * inner, hx + 0.15 * inner, 0.025, 0.03))
    return image


def coil_maps(n_coils: int, size: int) -> Array:
    """Smooth complex sensitivities of coils on a circle around the body, with sum of squares 1 everywhere."""
    if n_coils == 1:
        return np.ones((1, size, size), np.complex64)
    grid = (np.arange(size) - size // 2) / (size / 2)
    y, x = np.meshgrid(grid, grid, indexing="ij")
    angles = 2 * np.pi * np.arange(n_coils) / n_coils
    maps = np.stack(
        [
            np.exp(
                -((y - 1.1 * np.sin(a)) ** 2 + (x - 1.1 * np.cos(a)) ** 2) / 1.2 + 1j * (a + 0.8 * (x + y) * np.cos(a))
            )
            for a in angles
        ]
    )
    return np.asarray(maps / np.sqrt(np.square(np.abs(maps)).sum(axis=0)), dtype=np.complex64)


def simulate_scan(
    frames: int = 200,
    size: int = 96,
    *,
    golden: int = 6,
    navigators: int = 4,
    noise: float = 0.01,
    coils: int = 1,
    random_state: int | None = 0,
) -> tuple[Scan, dict[str, Array]]:
    """Simulate a scan: gridded with one coil; radial, with twofold oversampling along the lines, with several.

    Parameters
    ----------
    frames, size : number of frames, and pixels along each side.
    golden, navigators : number of golden-angle lines and of fixed lines in each frame.
    noise : standard deviation in units of the largest magnitude.
    coils, random_state : of the phantom, as in ``make_phantom``.

    Returns
    -------
    scan : the arguments of ``fusewise.mri.reconstruct``.
    truth : images, and the cardiac and respiratory phase of every frame.
    """
    if min(frames, size, coils, golden + navigators) < 1 or noise < 0:
        raise InputError("frames, size, coils and lines must be at least 1, and noise must not be negative")
    phantom = make_phantom(frames, size, n_coils=coils, random_state=random_state)
    truth = {"truth": phantom.images, "cardiac": phantom.cardiac, "respiratory": phantom.respiratory}
    if coils == 1:
        mask = radial_mask(frames, (size, size), golden, navigators)
        return Scan(sample_grid(phantom.images, mask, noise=noise, random_state=random_state), mask), truth
    trajectory = radial_trajectory(frames, 2 * size, golden, navigators)
    kspace = FourierSums(trajectory, phantom.maps).forward(phantom.images)
    kspace = kspace + complex_noise(kspace.shape, noise * float(np.abs(phantom.images).max()), random_state)
    return Scan(kspace, trajectory=trajectory, maps=phantom.maps), truth
