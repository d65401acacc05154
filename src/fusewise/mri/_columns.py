"""Interpolation column by column: under one covariance each column of a table is a separate problem, solved exactly.

The size of a column's problem is the number of points that have it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.kernels import Array, beside, library
from fusewise.mri._tensors import add_to_diagonals, each, inverse, real_times, zeros

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
    complete: bool  # all points have these columns, which share one system


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
    def of(cls, mask: npt.NDArray[np.bool_], like: Array) -> Columns:
        """Build from a mask on the host, for the device of `like`."""
        points, count = mask.shape
        places = np.flatnonzero(mask)
        per_point = np.searchsorted(places, count * np.arange(points + 1))
        numbers = np.arange(len(places))
        # From row order to column order, in time proportional to the entries.
        seen = sparse.csr_array((numbers, places % count, per_point), shape=mask.shape).tocsc()
        counts = np.diff(seen.indptr)
        order = np.argsort(counts, kind="stable")
        order = order[counts[order] > 0]
        bases = np.zeros(count, dtype=np.int64)  # position of the first entry of each column
        cuts, size, start = [], 0, 0
        while start < len(order):
            members = order[start : start + _group_size(counts[order[start:]], points, like)]
            most = int(counts[members[-1]])
            bases[members] = size + most * np.arange(len(members))
            cuts.append((slice(size, size + most * len(members)), most))
            size += most * len(members)
            start += len(members)
        ordered = numbers + np.repeat(bases - seen.indptr[:-1], counts)
        rows, known, slots = np.zeros(size, np.int64), np.zeros(size, bool), np.empty(len(places), np.int64)
        rows[ordered], known[ordered], slots[seen.data] = seen.indices, True, ordered
        places, slots, rows, known = (beside(array, like) for array in (places, slots, rows, known))
        groups = [
            Group(span, rows[span].reshape(-1, most), known[span].reshape(-1, most), most == points)
            for span, most in cuts
        ]
        return cls((points, count), groups, places, slots, size)

    def pack(self, table: Array) -> Array:
        """The vector of entries of a table of N x P numbers, of any shape."""
        entries = zeros(self.size, table)
        entries[self.slots] = table.reshape(-1)[self.places]
        return entries

    def unpack(self, entries: Array) -> Array:
        """The table of a vector, N x P; zero where missing."""
        table = zeros(self.shape, entries)
        table.reshape(-1)[self.places] = entries[self.slots]
        return table


def _group_size(counts: npt.NDArray[np.int_], points: int, like: Array) -> int:
    """Number of columns, in the order of their counts, in the next group."""
    few = int(counts[0])
    if few == points:
        return len(counts)
    spread, entries = (CPU_SPREAD, CPU_ENTRIES) if library(like) is np else (TORCH_SPREAD, TORCH_ENTRIES)
    most = min(int(spread * few + 4), points - 1)
    return min(int(np.searchsorted(counts, most, side="right")), max(1, entries // most**2))


@dataclass(frozen=True, eq=False)
class ColumnInverse:
    """(S_p K S_p' + I)^-1 of every column p, where S_p selects the points that have p; exact, by small systems.

    The points that minimise sum_i ||u_i - x_i||² + <u, K^-1 u>, with the first sum over observed entries, are
    K S' a, where a is this inverse times the entries.
    """

    groups: list[Group]
    inverses: list[Array]

    @classmethod
    def under(cls, kernel: Array, columns: Columns) -> ColumnInverse:
        """Compute under a covariance (N x N), in its precision."""
        kept: list[Array] = [kernel] * len(columns.groups)

        def invert(number: int) -> None:
            group = columns.groups[number]
            if group.complete:
                system = kernel[None] + 0.0
            else:  # zero for padding
                first = len(kernel) * group.rows[:, :, None]
                system = library(kernel).take(kernel, first + group.rows[:, None, :])
                system *= group.seen[:, :, None] & group.seen[:, None, :]
            add_to_diagonals(system, 1.0)
            kept[number] = inverse(system)

        each(invert, range(len(columns.groups)), kernel)
        return cls(columns.groups, kept)

    def __call__(self, entries: Array) -> Array:
        out: Array = library(entries).empty_like(entries)
        for group, matrices in zip(self.groups, self.inverses, strict=True):
            values = entries[group.span].reshape(group.rows.shape)
            if group.complete:
                out[group.span] = real_times(matrices[0], values.T).T.reshape(-1)
            else:
                out[group.span] = real_times(matrices, values[..., None]).reshape(-1)
        return out
