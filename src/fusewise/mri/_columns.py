"""Interpolation column by column: under one covariance each column of a table is a separate problem, solved exactly.

The size of a column's problem is the number of points that have it, and leave-one-out errors have a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.kernels import Array, beside, library, to_host
from fusewise.mri._tensors import add_to_diagonals, each, inverse, real_times, single, zeros

#: Largest ratio of the sizes of the systems of a group, and of the number of floats in them: on a CPU, where padding
#: costs time, and on a GPU, where each group does.
CPU_SPREAD, TORCH_SPREAD = 1.06, 1.25
CPU_ENTRIES, TORCH_ENTRIES = 2**21, 2**25


@dataclass(frozen=True, eq=False)
class Group:
    """Columns with a similar number of entries."""

    span: slice  # of the entries of these columns in the vector of all (see ``Columns``)
    rows: Array  # columns x most points: the points that have each column, padded with point 0
    seen: Array  # the same shape, False for padding
    kinds: Array  # the number of each column's covariance, if there are several
    complete: bool  # all points have these columns, which share one system and covariance


@dataclass(frozen=True, eq=False)
class Columns:
    """The observed entries of an N x P table by column, grouped by similar numbers of entries.

    Entries are stored as one vector, group after group, each columns x most points, padded with zeros: operations on
    all columns become batched products of small matrices, and only observed entries are processed.
    """

    shape: tuple[int, int]  # (N, P)
    groups: list[Group]  # columns without entries are in none
    places: Array  # position of each entry in the N x P table, in increasing order
    slots: Array  # position of each entry in the vector
    size: int  # length of the vector

    @classmethod
    def of(cls, mask: npt.NDArray[np.bool_], like: Array, kinds: npt.NDArray[np.int_] | None = None) -> Columns:
        """Build from a mask on the host, for the device of `like`; `kinds`: the number of each column's covariance."""
        points, count = mask.shape
        kinds = np.zeros(count, dtype=int) if kinds is None else kinds
        places = np.flatnonzero(mask)
        per_point = np.searchsorted(places, count * np.arange(points + 1))
        numbers = np.arange(len(places))
        # From row order to column order, in time proportional to the entries.
        seen = sparse.csr_array((numbers, places % count, per_point), shape=mask.shape).tocsc()
        counts = np.diff(seen.indptr)
        order = np.lexsort((kinds, counts))
        order = order[counts[order] > 0]
        bases = np.zeros(count, dtype=np.int64)  # position of the first entry of each column
        cuts, size, start = [], 0, 0
        while start < len(order):
            members = order[start : start + _group_size(counts[order[start:]], kinds[order[start:]], points, like)]
            most = int(counts[members[-1]])
            bases[members] = size + most * np.arange(len(members))
            cuts.append((slice(size, size + most * len(members)), most, slice(start, start + len(members))))
            size += most * len(members)
            start += len(members)
        ordered = numbers + np.repeat(bases - seen.indptr[:-1], counts)
        rows, known, slots = np.zeros(size, np.int64), np.zeros(size, bool), np.empty(len(places), np.int64)
        rows[ordered], known[ordered], slots[seen.data] = seen.indices, True, ordered
        places, slots, rows, known, kinds_there = (
            beside(array, like) for array in (places, slots, rows, known, kinds[order])
        )
        groups = [
            Group(span, rows[span].reshape(-1, most), known[span].reshape(-1, most), kinds_there[some], most == points)
            for span, most, some in cuts
        ]
        return cls((points, count), groups, places, slots, size)

    def pack(self, table: Array) -> Array:
        """The vector of entries of a table of N x P numbers, of any shape."""
        entries = zeros(self.size, table)
        entries[self.slots] = table.reshape(-1)[self.places]
        return entries

    def unpack(self, entries: Array, out: Array | None = None) -> Array:
        """The table of a vector, N x P or written into `out`, of any shape; zero where missing."""
        table = zeros(self.shape, entries) if out is None else out
        if out is not None:
            table[...] = 0
        table.reshape(-1)[self.places] = entries[self.slots]
        return table


def _group_size(counts: npt.NDArray[np.int_], kinds: npt.NDArray[np.int_], points: int, like: Array) -> int:
    """Number of columns, in the order of their counts and kinds, in the next group."""
    few = int(counts[0])
    if few == points:
        return int(np.searchsorted(kinds, kinds[0], side="right"))
    spread, entries = (CPU_SPREAD, CPU_ENTRIES) if library(like) is np else (TORCH_SPREAD, TORCH_ENTRIES)
    most = min(int(spread * few + 4), points - 1)
    return min(int(np.searchsorted(counts, most, side="right")), max(1, entries // most**2))


@dataclass(frozen=True, eq=False)
class ColumnInverse:
    """(S_p K S_p' + lam I)^-1 of every column p, where S_p selects the points that have p; exact, by small systems.

    The points that minimise sum_i ||u_i - x_i||² + lam <u, K^-1 u>, with the first sum over observed entries, are
    K S' a, where a is this inverse times the entries.
    """

    groups: list[Group]
    inverses: list[Array]

    @classmethod
    def under(cls, kernels: Array, columns: Columns, lam: float, *, rounded: bool = True) -> ColumnInverse:
        """Compute under covariances (kinds x N x N), in their precision; `rounded`: keep in single precision."""
        groups = columns.groups
        kept: list[Array] = [kernels] * len(groups)

        def inverted(systems: Array) -> Array:
            found = _inverses(systems, [lam])[0]
            return single(found) if rounded else found

        # Columns that all points have differ only in their covariance.
        shared = cache(lambda kind: inverted(kernels[kind : kind + 1]))

        def invert(number: int) -> None:
            group = groups[number]
            if group.complete:
                kept[number] = shared(int(group.kinds[0]) if len(kernels) > 1 else 0)
            else:
                kept[number] = inverted(_systems(kernels, group))

        each(invert, range(len(groups)), kernels)
        return cls(groups, kept)

    def __call__(self, entries: Array) -> Array:
        out: Array = library(entries).empty_like(entries)
        for group, matrices in zip(self.groups, self.inverses, strict=True):
            values = entries[group.span].reshape(group.rows.shape)
            if group.complete:
                out[group.span] = real_times(matrices[0], values.T).T.reshape(-1)
            else:
                out[group.span] = real_times(matrices, values[..., None]).reshape(-1)
        return out


def left_out(kernels: Array, columns: Columns, lams: Sequence[float], entries: Array) -> list[float]:
    """Energy, for each lam, of the leave-one-out errors a_ip / [inverse]_ii: x_ip less its estimate from the others.

    Here a is the solution (S K S' + lam I)^-1 x. Columns that every point has are not counted, as the points were
    usually compared by them.
    """
    xp = library(kernels)
    judged = [group for group in columns.groups if not group.complete]
    found: Array = beside(np.zeros((len(judged), len(lams))), kernels)

    def judge(number: int) -> None:
        group = judged[number]
        matrices = single(_inverses(_systems(kernels, group), lams))
        values = entries[group.span].reshape(group.rows.shape)
        solution = real_times(matrices, values[..., None])[..., 0]
        errors = xp.square(abs(solution / xp.einsum("mpii->mpi", matrices)))
        found[number] = errors.sum((1, 2), dtype=xp.float64)

    each(judge, range(len(judged)), kernels)
    return [float(energy) for energy in to_host(found.sum(axis=0))]


def _systems(kernels: Array, group: Group) -> Array:
    """S K S' of each column, zero for padding."""
    points, rows = kernels.shape[-1], group.rows
    first = rows if len(kernels) == 1 else rows + group.kinds[:, None] * points
    system: Array = library(kernels).take(kernels, first[:, :, None] * points + rows[:, None, :])
    system *= group.seen[:, :, None] & group.seen[:, None, :]
    return system


def _inverses(systems: Array, lams: Sequence[float]) -> Array:
    """(C + lam I)^-1 of every system C, for every lam: lams x systems x n x n."""
    shifted: Array = library(systems).stack([systems] * len(lams))
    for matrices, lam in zip(shifted, lams, strict=True):
        add_to_diagonals(matrices, lam)
    return inverse(shifted)
