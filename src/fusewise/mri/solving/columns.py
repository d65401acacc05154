"""Points interpolated column by column: under one covariance each column of a table is its own problem, solved exactly.

A column is as large a problem as the number of points that have it, and leaving one entry out has a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fusewise.kernels.arrays import Array, beside, library, to_host
from fusewise.mri.tensors import (
    add_to_diagonals,
    as_complex,
    as_real,
    double,
    each,
    inverse,
    real_times,
    single,
    zeros,
)

#: How much larger than its smallest system a group's largest may be, and how many floats its systems may hold:
#: on a CPU, where filling up costs time, and on a GPU, where each group does.
CPU_SPREAD, TORCH_SPREAD = 1.06, 1.25
CPU_ENTRIES, TORCH_ENTRIES = 2**21, 2**25


@dataclass(frozen=True, eq=False)
class Group:
    """Columns that about as many points have.

    Attributes
    ----------
    span : where the entries of these columns stand among all (see ``Columns``).
    rows : columns x most points, the points that have each; filled up with point 0.
    seen : likewise, False where filled up.
    kinds : columns, which covariance each has, if there are several.
    complete : whether all points have these columns, which then are of one kind and share one system.
    """

    span: slice
    rows: Array
    seen: Array
    kinds: Array
    complete: bool


@dataclass(frozen=True, eq=False)
class Columns:
    """The entries seen of an N x P table, column by column, those of about as many entries side by side.

    Entries are kept as one vector, group after group, each columns x most points, zero where filled up: what is done
    in every column becomes a product of many small matrices, and no more numbers are touched than were seen.

    Attributes
    ----------
    shape : (N, P).
    groups : of columns; those of which nothing was seen are in none.
    places : of each entry, in the N x P table: rising, since that is the longer one.
    slots : of each entry, in the vector.
    size : of the vector.
    """

    shape: tuple[int, int]
    groups: list[Group]
    places: Array
    slots: Array
    size: int

    @classmethod
    def of(cls, mask: npt.NDArray[np.bool_], like: Array, kinds: npt.NDArray[np.int_] | None = None) -> Columns:
        """Of a mask on the host, to be used where `like` lies; `kinds`: the number of each column's covariance."""
        points, count = mask.shape
        kinds = np.zeros(count, dtype=int) if kinds is None else kinds
        places = np.flatnonzero(mask)
        per_point = np.searchsorted(places, count * np.arange(points + 1))
        numbers = np.arange(len(places))
        # From point by point to column by column, in time proportional to the entries.
        seen = sparse.csr_array((numbers, places % count, per_point), shape=mask.shape).tocsc()
        counts = np.diff(seen.indptr)
        order = np.lexsort((kinds, counts))
        order = order[counts[order] > 0]
        bases = np.zeros(count, dtype=np.int64)  # where the entries of each column begin
        cuts, size, start = [], 0, 0
        while start < len(order):
            members = order[start : start + _group_size(counts[order[start:]], kinds[order[start:]], points, like)]
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
            groups.append(Group(span, *table, kind, most == points))
            start += len(members)
        return cls((points, count), groups, places, slots, size)

    def pack(self, table: Array) -> Array:
        """The entries of a table of N x P numbers, of any shape."""
        entries = zeros(self.size, table)
        entries[self.slots] = table.reshape(-1)[self.places]
        return entries

    def unpack(self, entries: Array, out: Array | None = None) -> Array:
        """The table, N x P or of the shape of `out`, which it may be written into; zero where nothing was seen."""
        table = zeros(self.shape, entries) if out is None else out
        if out is not None:
            table[...] = 0
        table.reshape(-1)[self.places] = entries[self.slots]
        return table


def _group_size(counts: npt.NDArray[np.int_], kinds: npt.NDArray[np.int_], points: int, like: Array) -> int:
    """How many of the columns, in the order of their counts and kinds, make the next group."""
    few = int(counts[0])
    if few == points:
        return int(np.searchsorted(kinds, kinds[0], side="right"))
    spread, entries = (CPU_SPREAD, CPU_ENTRIES) if library(like) is np else (TORCH_SPREAD, TORCH_ENTRIES)
    most = min(int(spread * few + 4), points - 1)
    return min(int(np.searchsorted(counts, most, side="right")), max(1, entries // most**2))


@dataclass(frozen=True, eq=False)
class ColumnInverse:
    """(S_p K S_p' + lam I)^-1 of every column p, S_p the points that have p; exact, by small dense systems.

    The points that minimise sum_i ||u_i - x_i||² + lam <u, K^-1 u>, the first sum over entries seen, are K S' a, a
    this inverse times the entries.
    """

    groups: list[Group]
    inverses: list[Array]

    @classmethod
    def under(cls, kernels: Array, columns: Columns, lam: float) -> ColumnInverse:
        """Under covariances (kinds x N x N); computed in their precision, kept in single."""
        groups = columns.groups
        kept: list[Array] = [kernels] * len(groups)
        # Columns that all points have differ by their covariance alone.
        shared = cache(lambda kind: single(_inverses(kernels[kind : kind + 1], [lam])[0]))

        def invert(number: int) -> None:
            group = groups[number]
            if group.complete:
                kept[number] = shared(int(group.kinds[0]) if len(kernels) > 1 else 0)
            else:
                kept[number] = single(_inverses(_systems(kernels, group), [lam])[0])

        each(invert, range(len(groups)), kernels)
        return cls(groups, kept)

    def __call__(self, entries: Array) -> Array:
        """(S K S' + lam I)^-1 x for entries as ``Columns`` keeps them."""
        out: Array = library(entries).empty_like(entries)
        for group, matrices in zip(self.groups, self.inverses, strict=True):
            values = entries[group.span].reshape(group.rows.shape)
            if group.complete:
                out[group.span] = real_times(matrices[0], values.T).T.reshape(-1)
            else:
                out[group.span] = real_times(matrices, values[..., None]).reshape(-1)
        return out


def left_out(kernels: Array, columns: Columns, lams: Sequence[float], entries: Array) -> list[float]:
    """Energy, for each lam, of x_ip less its estimate from the other entries of column p: a_ip / [inverse]_ii.

    Here a is the solution (S K S' + lam I)^-1 x. Columns that every point has are not counted: it is by them, as a
    rule, that the points were compared.
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


def solve_columns(kernels: Array, columns: Columns, lam: float, entries: Array) -> Array:
    """(S K S' + lam I)^-1 x, as ``ColumnInverse`` gives it, for covariances used once: nothing is kept or rounded."""
    out: Array = library(entries).empty_like(entries)

    def solve(group: Group) -> None:
        values = entries[group.span].reshape(group.rows.shape)
        kind = int(group.kinds[0]) if group.complete and len(kernels) > 1 else 0
        system = kernels[kind] + 0.0 if group.complete else _systems(kernels, group)
        add_to_diagonals(system, lam)
        right = double(as_real(values.T if group.complete else values[..., None]))
        out[group.span] = as_complex(inverse(system) @ right).swapaxes(-1, -2).reshape(-1)

    each(solve, columns.groups, entries)
    return out


def _systems(kernels: Array, group: Group) -> Array:
    """S K S' of each column, zero where filled up."""
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
