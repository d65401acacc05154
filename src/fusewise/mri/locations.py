"""One kernel for the whole image: every k-space location is its own problem in time, solved exactly.

A location is as large a problem as the number of frames that saw it, and leaving one sample out has a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import sparse

from fusewise.kernels.arrays import beside, library, to_host
from fusewise.mri.arrays import Array, add_to_diagonals, each, inverse, real_times, single, zeros

#: How much larger than its smallest system a group's largest may be, and how many floats its systems may hold:
#: on a CPU, where filling up costs time, and on a GPU, where each group does.
CPU_SPREAD, TORCH_SPREAD = 1.06, 1.25
CPU_ENTRIES, TORCH_ENTRIES = 2**21, 2**25


@dataclass(frozen=True, eq=False)
class Group:
    """Locations seen by about as many frames.

    Attributes
    ----------
    span : where the samples of these locations stand among all (see ``Locations``).
    rows : locations x most frames, the frames that saw each; filled up with frame 0.
    seen : likewise, False where filled up.
    kinds : locations, which kernel each has, if there are several.
    complete : whether all frames saw these locations, which then are of one kind and share one system.
    """

    span: slice
    rows: Array
    seen: Array
    kinds: Array
    complete: bool


@dataclass(frozen=True, eq=False)
class Locations:
    """The samples of a T x P mask, location by location, those seen by about as many frames side by side.

    Samples are kept as one vector, group after group, each locations x most frames, zero where filled up: what is done
    at every location becomes a product of many small matrices, and no more numbers are touched than were measured.

    Attributes
    ----------
    shape : (T, P).
    groups : of locations; those seen by no frame are in none.
    places : of each sample, in the T x P table: rising, since that is the longer one.
    slots : of each sample, in the vector.
    size : of the vector.
    """

    shape: tuple[int, int]
    groups: list[Group]
    places: Array
    slots: Array
    size: int

    @classmethod
    def of(cls, mask: Array, like: Array, kinds: Array | None = None) -> Locations:
        """Of a mask on the host, to be used where `like` lies; `kinds`: the number of each location's kernel."""
        frames, count = mask.shape
        kinds = np.zeros(count, dtype=int) if kinds is None else kinds
        places = np.flatnonzero(mask)
        per_frame = np.searchsorted(places, count * np.arange(frames + 1))
        numbers = np.arange(len(places))
        # From frame by frame to location by location, in time proportional to the samples.
        seen = sparse.csr_array((numbers, places % count, per_frame), shape=mask.shape).tocsc()
        counts = np.diff(seen.indptr)
        order = np.lexsort((kinds, counts))
        order = order[counts[order] > 0]
        bases = np.zeros(count, dtype=np.int64)  # where the samples of each location begin
        cuts, size, start = [], 0, 0
        while start < len(order):
            members = order[start : start + _group_size(counts[order[start:]], kinds[order[start:]], frames, like)]
            most = int(counts[members[-1]])
            bases[members] = size + most * np.arange(len(members))
            cuts.append((slice(size, size + most * len(members)), most, members))
            size += most * len(members)
            start += len(members)
        ordered = numbers + np.repeat(bases - seen.indptr[:-1], counts)
        rows, known, slots = np.zeros(size, np.int64), np.zeros(size, bool), np.empty(len(places), np.int64)
        rows[ordered], known[ordered], slots[seen.data] = seen.indices, True, ordered
        places, slots, rows, known, kinds_there = (
            beside(array, like) for array in (places, slots, rows, known, kinds[order])
        )
        groups, start = [], 0
        for span, most, members in cuts:
            kind = kinds_there[start : start + len(members)]
            table = rows[span].reshape(-1, most), known[span].reshape(-1, most)
            groups.append(Group(span, *table, kind, most == frames))
            start += len(members)
        return cls((frames, count), groups, places, slots, size)

    def pack(self, table: Array) -> Array:
        """The samples of a table of T x P numbers, of any shape."""
        samples = zeros(self.size, table)
        samples[self.slots] = table.reshape(-1)[self.places]
        return samples

    def unpack(self, samples: Array, out: Array | None = None) -> Array:
        """The table, T x P or of the shape of `out`, which it may be written into; zero where hidden."""
        table = zeros(self.shape, samples) if out is None else out
        if out is not None:
            table[...] = 0
        table.reshape(-1)[self.places] = samples[self.slots]
        return table


def _group_size(counts: Array, kinds: Array, frames: int, like: Array) -> int:
    """How many of the locations, in the order of their counts and kinds, make the next group."""
    few = int(counts[0])
    if few == frames:
        return int(np.searchsorted(kinds, kinds[0], side="right"))
    spread, entries = (CPU_SPREAD, CPU_ENTRIES) if library(like) is np else (TORCH_SPREAD, TORCH_ENTRIES)
    most = min(int(spread * few + 4), frames - 1)
    return min(int(np.searchsorted(counts, most, side="right")), max(1, entries // most**2))


@dataclass(frozen=True, eq=False)
class LocationInverse:
    """(S_p K S_p' + lam I)^-1 at every k-space location p, S_p the frames that saw p; exact, by small dense systems."""

    groups: list[Group]
    inverses: list[Array]

    @classmethod
    def under(cls, kernels: Array, locations: Locations, noise: float) -> LocationInverse:
        """Under kernels (kinds x T x T) and lam = `noise`; computed in the kernels' precision, kept in single."""
        groups = locations.groups
        kept: list[Array] = [kernels] * len(groups)
        # Locations that all frames saw differ by their kernel alone.
        shared = cache(lambda kind: single(_inverses(kernels[kind : kind + 1], [noise])[0]))

        def invert(number: int) -> None:
            group = groups[number]
            if group.complete:
                kept[number] = shared(int(group.kinds[0]) if len(kernels) > 1 else 0)
            else:
                kept[number] = single(_inverses(_systems(kernels, group), [noise])[0])

        each(invert, range(len(groups)), kernels)
        return cls(groups, kept)

    def apply(self, samples: Array) -> Array:
        """(S K S' + lam I)^-1 b for samples as ``Locations`` keeps them."""
        out: Array = library(samples).empty_like(samples)
        for group, matrices in zip(self.groups, self.inverses, strict=True):
            values = samples[group.span].reshape(group.rows.shape)
            if group.complete:
                out[group.span] = real_times(matrices[0], values.T).T.reshape(-1)
            else:
                out[group.span] = real_times(matrices, values[..., None]).reshape(-1)
        return out


def left_out(kernels: Array, locations: Locations, noises: Sequence[float], samples: Array) -> list[float]:
    """Energy, for each lam, of b_ip less its estimate from the other samples of location p: a_ip / [inverse]_ii.

    Here a is the solution (S K S' + lam I)^-1 b. Locations seen by every frame are not counted: their samples gave the
    kernel.
    """
    xp = library(kernels)
    judged = [group for group in locations.groups if not group.complete]
    found: Array = beside(np.zeros((len(judged), len(noises))), kernels)

    def judge(number: int) -> None:
        group = judged[number]
        matrices = single(_inverses(_systems(kernels, group), noises))
        values = samples[group.span].reshape(group.rows.shape)
        solution = real_times(matrices, values[..., None])[..., 0]
        errors = xp.square(abs(solution / xp.einsum("mpii->mpi", matrices)))
        found[number] = errors.sum((1, 2), dtype=xp.float64)

    each(judge, range(len(judged)), kernels)
    return [float(energy) for energy in to_host(found.sum(axis=0))]


def _systems(kernels: Array, group: Group) -> Array:
    """S K S' of each location, zero where filled up."""
    frames, rows = kernels.shape[-1], group.rows
    first = rows if len(kernels) == 1 else rows + group.kinds[:, None] * frames
    system: Array = library(kernels).take(kernels, first[:, :, None] * frames + rows[:, None, :])
    system *= group.seen[:, :, None] & group.seen[:, None, :]
    return system


def _inverses(systems: Array, noises: Sequence[float]) -> Array:
    """(C + lam I)^-1 of every system C, for every lam: noises x systems x n x n."""
    shifted: Array = library(systems).stack([systems] * len(noises))
    for matrices, lam in zip(shifted, noises, strict=True):
        add_to_diagonals(matrices, lam)
    return inverse(shifted)
