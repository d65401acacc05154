"""Triton kernels of images seen by several coils, in larger arrays: a pixel of all coils in one thread."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

from fusewise.kernels.arrays import Array

#: Pixels in a program.
PIXELS = 256


def spread(images: Array, maps: Array, out: Array) -> None:
    """Write m_c u_t (T x ny x nx images, coils x ny x nx maps) into the corner of `out` (T x coils x my x mx)."""
    _launch(_spread, _plain(images), _plain(maps), out)


def combine(waves: Array, maps: Array, out: Array) -> None:
    """Write sum_c conj(m_c) v_tc (T x ny x nx) into `out`, from the corner of `waves` (T x coils x my x mx)."""
    _launch(_combine, out, _plain(maps), _plain(waves))


def _launch(kernel: Any, images: Array, maps: Array, planes: Array) -> None:
    """Run a kernel over all pixels of all images; complex arrays are passed as pairs of real numbers."""
    import torch

    frames, ny, nx = images.shape
    coils, my, mx = planes.shape[1:]
    assert images.is_contiguous()
    assert planes.is_contiguous()
    parts = (torch.view_as_real(array) for array in (images, maps, planes))
    kernel[(frames, triton.cdiv(ny * nx, PIXELS))](*parts, ny, nx, my, mx, coils=coils, some=PIXELS, num_warps=4)


def _plain(array: Array) -> Array:
    """The array without steps in memory, and conjugated if torch has put that off."""
    return array.resolve_conj().contiguous()


# Triton interprets annotations itself, so the kernels annotate only constants.


@triton.jit  # type: ignore[untyped-decorator]
def _spread(images, maps, planes, ny, nx, my, mx, coils: tl.constexpr, some: tl.constexpr):  # type: ignore[no-untyped-def]
    t = tl.program_id(0).to(tl.int64)
    pixel = tl.program_id(1) * some + tl.arange(0, some)
    there = pixel < ny * nx
    image = images + 2 * (t * ny * nx + pixel)
    real, imaginary = tl.load(image, mask=there), tl.load(image + 1, mask=there)
    place = planes + 2 * (t * coils * my * mx + (pixel // nx) * mx + pixel % nx)
    for c in range(coils):
        one = maps + 2 * (c * ny * nx + pixel)
        a, b = tl.load(one, mask=there), tl.load(one + 1, mask=there)
        tl.store(place, a * real - b * imaginary, mask=there)
        tl.store(place + 1, a * imaginary + b * real, mask=there)
        place += 2 * my * mx


@triton.jit  # type: ignore[untyped-decorator]
def _combine(images, maps, planes, ny, nx, my, mx, coils: tl.constexpr, some: tl.constexpr):  # type: ignore[no-untyped-def]
    t = tl.program_id(0).to(tl.int64)
    pixel = tl.program_id(1) * some + tl.arange(0, some)
    there = pixel < ny * nx
    place = planes + 2 * (t * coils * my * mx + (pixel // nx) * mx + pixel % nx)
    real = tl.zeros((some,), images.dtype.element_ty)
    imaginary = tl.zeros((some,), images.dtype.element_ty)
    for c in range(coils):
        one = maps + 2 * (c * ny * nx + pixel)
        a, b = tl.load(one, mask=there, other=0.0), tl.load(one + 1, mask=there, other=0.0)
        x, y = tl.load(place, mask=there, other=0.0), tl.load(place + 1, mask=there, other=0.0)
        real += a * x + b * y
        imaginary += a * y - b * x
        place += 2 * my * mx
    image = images + 2 * (t * ny * nx + pixel)
    tl.store(image, real, mask=there)
    tl.store(image + 1, imaginary, mask=there)
