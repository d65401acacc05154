"""Frames from their samples and a covariance in time: the solves behind ``reconstruct``.

With A_i the sampling of frame i and covariance K among frames, the estimate

    u = K A' (A K A' + lam I)^-1 b      minimises      sum_i ||A_i u_i - b_i||² + lam <u, K^-1 u>.

**One kernel for the image** (``LocationInverse``): every k-space location is its own problem in time, as large as the
number of frames that saw it, and leaving one sample out has a closed form.
**Kernels that differ from place to place** (``solve_local``) couple the locations: conjugate gradients, preconditioned
by the former with the mean kernel, which is the exact diagonal block of A K A'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from fusewise.mri.fourier import Array, plain_invert, plain_transform
from fusewise.mri.kernels import PRECISION, LocalKernels

#: Floats in the systems of one group of locations: 16 MB.
BLOCK_ENTRIES = 4_000_000


class Sampling(Protocol):
    """A: images (T x ny x nx) to samples, and back."""

    def forward(self, images: Array) -> Array:
        """A u."""
        ...

    def adjoint(self, samples: Array) -> Array:
        """A' b."""
        ...


@dataclass(frozen=True, eq=False)
class Gridded:
    """A_i = S_i F: the FFT, kept where the mask is True. Plain layout (``fourier.to_plain``)."""

    mask: Array

    def forward(self, images: Array) -> Array:
        """A u."""
        return plain_transform(images) * self.mask

    def adjoint(self, samples: Array) -> Array:
        """A' b, for samples that are zero off the mask."""
        return plain_invert(samples)


@dataclass(frozen=True, eq=False)
class Group:
    """Locations seen by about as many frames.

    Attributes
    ----------
    columns : the locations.
    rows : locations x most frames, the frames that saw each, filled up with any.
    seen : likewise, False where filled up.
    """

    columns: Array
    rows: Array
    seen: Array


def group_locations(mask: Array) -> list[Group]:
    """Locations of a T x P mask, by the number of frames that saw them; those seen by none are left out."""
    counts = mask.sum(axis=0)
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    groups, start = [], 0
    while start < len(order):
        # A group ends where it outgrows the work space, or its systems would be filled up by more than a quarter.
        few = counts[order[start]]
        limit = max(1, BLOCK_ENTRIES // int(1.25 * few + 4) ** 2)
        size = int(np.searchsorted(counts[order[start : start + limit]], 1.25 * few + 4, side="right"))
        if few == len(mask):
            size = len(order) - start  # seen by all frames: they share one system
        columns = order[start : start + size]
        most = int(counts[columns[-1]])
        rows = np.argsort(~mask[:, columns], axis=0, kind="stable")[:most].T
        groups.append(Group(columns, rows, np.arange(most) < counts[columns][:, None]))
        start += size
    return groups


@dataclass(frozen=True, eq=False)
class LocationInverse:
    """(S_p K S_p' + lam I)^-1 at every k-space location p, S_p the frames that saw p; exact, by small dense systems."""

    kernel: Array
    groups: list[Group]
    inverses: list[Array]

    @classmethod
    def under(cls, kernel: Array, groups: list[Group], noise: float) -> LocationInverse:
        """Under a T x T kernel and lam = `noise`."""
        with threadpool_limits(1):  # thousands of small systems: threads would only wait for each other
            return cls(kernel, groups, [_inverse(kernel, group, noise) for group in groups])

    def apply(self, samples: Array) -> Array:
        """(S K S' + lam I)^-1 b for samples T x P, zero where hidden."""
        out = np.zeros_like(samples)
        for group, inverse in zip(self.groups, self.inverses, strict=True):
            solved = _times(inverse, _gather(samples, group))
            columns = np.broadcast_to(group.columns[:, None], group.rows.shape)
            out[group.rows[group.seen], columns[group.seen]] = solved[group.seen]
        return out

    def solve(self, samples: Array) -> Array:
        """The frames, T x P: K S' (S K S' + lam I)^-1 b."""
        real = np.ascontiguousarray(self.apply(samples)).view(samples.real.dtype)
        return np.asarray((self.kernel @ real).view(samples.dtype))

    def left_out(self, samples: Array) -> float:
        """Energy of b_ip less its estimate from the other samples of location p: a_ip / [inverse]_ii, a the solution.

        Locations seen by every frame are not counted: their samples gave the kernel.
        """
        total = 0.0
        for group, inverse in zip(self.groups, self.inverses, strict=True):
            errors = _times(inverse, _gather(samples, group)) / np.einsum("pii->pi", inverse)
            judged = group.seen & (group.seen.sum(axis=1) < len(samples))[:, None]
            total += float(np.square(np.abs(errors[judged]), dtype=float).sum())
        return total


def _inverse(kernel: Array, group: Group, noise: float) -> Array:
    if group.seen.all() and group.rows.shape[1] == len(kernel):
        return np.linalg.inv(kernel + PRECISION(noise) * np.eye(len(kernel), dtype=kernel.dtype))[None]
    system = kernel[group.rows[:, :, None], group.rows[:, None, :]]
    system *= group.seen[:, :, None] & group.seen[:, None, :]
    diagonal = np.arange(system.shape[1])
    system[:, diagonal, diagonal] += np.where(group.seen, PRECISION(noise), PRECISION(1))
    return np.linalg.inv(system)


def _gather(samples: Array, group: Group) -> Array:
    return np.asarray(samples[group.rows, group.columns[:, None]] * group.seen)


def _times(inverse: Array, values: Array) -> Array:
    """Real matrices times complex vectors, without making the matrices complex."""
    if len(inverse) == 1 < len(values):
        return np.asarray(_times_one(inverse[0], values))
    pairs = np.ascontiguousarray(values).view(values.real.dtype).reshape(*values.shape, 2)
    return np.asarray((inverse @ pairs).reshape(len(values), -1).view(values.dtype))


def _times_one(inverse: Array, values: Array) -> Array:
    """One symmetric real matrix for all vectors."""
    columns = np.ascontiguousarray(values.T)
    return np.asarray((inverse @ columns.view(values.real.dtype)).view(values.dtype).T)


def solve_local(
    sampling: Sampling,
    samples: Array,
    kernels: LocalKernels,
    noise: float,
    precondition: Callable[[Array], Array],
    *,
    steps: int = 20,
    tol: float = 1e-2,
    seen: Array | None = None,
    start: Array | None = None,
) -> tuple[Array, tuple[float, ...]]:
    """Solve (A K A' + lam I) a = b by conjugate gradients; the frames are K A' a.

    Parameters
    ----------
    sampling, samples : A and b.
    kernels, noise : K and lam.
    precondition : an approximate inverse of the system.
    steps, tol : conjugate gradients end after so many steps, or once the residual has shrunk by `tol`.
    seen : samples to use, as booleans; None: all.
    start : a to start from; None: zero.

    Returns
    -------
    dual : a.
    history : relative size of the residual at the start and after each step.
    """
    kept = np.ones(1, dtype=bool) if seen is None else seen

    def system(dual: Array) -> Array:
        return (sampling.forward(kernels.apply(sampling.adjoint(dual))) + PRECISION(noise) * dual) * kept

    samples = samples * kept
    dual = np.zeros_like(samples) if start is None else start * kept
    residual = samples.copy() if start is None else samples - system(dual)
    scaled = precondition(residual) * kept
    direction, energy = scaled, _inner(residual, scaled)
    size = float(np.linalg.norm(samples)) or 1.0
    history = [float(np.linalg.norm(residual)) / size]
    for _ in range(steps):
        if history[-1] <= tol or energy <= 0:
            break
        pushed = system(direction)
        step = energy / _inner(direction, pushed)
        dual = dual + samples.real.dtype.type(step) * direction
        residual = residual - samples.real.dtype.type(step) * pushed
        scaled = precondition(residual) * kept
        following = _inner(residual, scaled)
        direction = scaled + samples.real.dtype.type(following / energy) * direction
        energy = following
        history.append(float(np.linalg.norm(residual)) / size)
    return dual, tuple(history)


def frames_of(sampling: Sampling, dual: Array, kernels: LocalKernels) -> Array:
    """K A' a: the frames a dual solution stands for."""
    return kernels.apply(sampling.adjoint(dual))


def _inner(a: Array, b: Array) -> float:
    return float(np.vdot(a, b).real)
