"""One kernel for the whole image: every k-space location is its own problem in time, solved exactly.

A location is as large a problem as the number of frames that saw it, and leaving one sample out has a closed form.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from fusewise.kernels.arrays import beside, library
from fusewise.mri.arrays import Array, add_to_diagonals, energy, real_times, threads

#: Floats in the systems of one group of locations: 16 MB.
BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class Group:
    """Locations seen by about as many frames.

    Attributes
    ----------
    columns : locations x 1, their numbers.
    rows : locations x most frames, the frames that saw each, filled up with others that did not.
    seen : likewise, False where filled up.
    complete : whether all frames saw these locations, which then share one system.
    """

    columns: Array
    rows: Array
    seen: Array
    complete: bool

    def beside(self, other: Array) -> Group:
        """The same where another array lies."""
        return Group(beside(self.columns, other), beside(self.rows, other), beside(self.seen, other), self.complete)

    def gather(self, samples: Array) -> Array:
        """Samples (T x P) of each location, zero where filled up."""
        return samples[self.rows, self.columns] * self.seen


def group_locations(mask: Array, like: Array) -> list[Group]:
    """Locations of a T x P mask (on the host), by the number of frames that saw them, the groups placed beside `like`.

    Those seen by none are left out; those seen by all are a group by themselves.
    """
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
            size = len(order) - start
        else:
            size = min(size, int(np.searchsorted(counts[order[start:]], len(mask))))
        columns = order[start : start + size]
        most = int(counts[columns[-1]])
        rows = np.argsort(~mask[:, columns].T, axis=1, kind="stable")[:, :most]
        seen = np.arange(most) < counts[columns][:, None]
        groups.append(Group(columns[:, None], rows, seen, few == len(mask)))
        start += size
    return [group.beside(like) for group in groups]


@dataclass(frozen=True, eq=False)
class LocationInverse:
    """(S_p K S_p' + lam I)^-1 at every k-space location p, S_p the frames that saw p; exact, by small dense systems."""

    kernel: Array
    groups: list[Group]
    inverses: list[Array]

    @classmethod
    def under(cls, kernel: Array, groups: list[Group], noise: float) -> LocationInverse:
        """Under a T x T kernel and lam = `noise`; the groups lie where the kernel does."""
        if library(kernel) is not np:
            return cls(kernel, groups, [_inverse(kernel, group, noise) for group in groups])
        # Thousands of small systems: threads inside one would only wait for each other, so each thread takes a group.
        with threadpool_limits(1), ThreadPoolExecutor(threads()) as pool:
            return cls(kernel, groups, list(pool.map(lambda group: _inverse(kernel, group, noise), groups)))

    def apply(self, samples: Array) -> Array:
        """(S K S' + lam I)^-1 b for samples T x P, zero where hidden."""
        out: Array = library(samples).zeros_like(samples)
        for group, inverse in zip(self.groups, self.inverses, strict=True):
            # Rows are filled up by frames that did not see the location: there the solution is zero.
            out[group.rows, group.columns] = _times(inverse, group.gather(samples))
        return out

    def solve(self, samples: Array) -> Array:
        """The frames, T x P: K S' (S K S' + lam I)^-1 b."""
        return real_times(self.kernel, self.apply(samples))

    def left_out(self, samples: Array) -> float:
        """Energy of b_ip less its estimate from the other samples of location p: a_ip / [inverse]_ii, a the solution.

        Locations seen by every frame are not counted: their samples gave the kernel.
        """
        errors = [
            (_times(inverse, group.gather(samples)) / library(inverse).einsum("pii->pi", inverse)).reshape(-1)
            for group, inverse in zip(self.groups, self.inverses, strict=True)
            if not group.complete
        ]
        return energy(library(samples).concatenate(errors)) if errors else 0.0


def _inverse(kernel: Array, group: Group, noise: float) -> Array:
    xp = library(kernel)
    if group.complete:
        system = kernel[None] + 0.0
    else:
        system = kernel[group.rows[:, :, None], group.rows[:, None, :]]
        system *= group.seen[:, :, None] & group.seen[:, None, :]
    add_to_diagonals(system, noise)
    return xp.linalg.inv(system)  # type: ignore[no-any-return]


def _times(inverse: Array, values: Array) -> Array:
    """Matrices times vectors (locations x frames); one symmetric matrix may serve all."""
    if len(inverse) == 1:
        return real_times(inverse[0], values.T).T
    return real_times(inverse, values[..., None])[..., 0]
