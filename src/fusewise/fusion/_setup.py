"""From a table to a problem: read it, set aside rows without observed entries, choose unset parameters."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Real as RealNumber
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fusion._fidelity import Fidelity, as_fidelity
from fusewise.fusion._penalties import Penalty, as_penalty
from fusewise.fusion._problem import PooledEntries, Problem
from fusewise.kernels import Array, Mask, Real, Values, available_memory, torch_device
from fusewise.observations import Entries, Quadratics, as_entries, refuse_tiny, row_blocks, warn_of_blanks
from fusewise.pairs import CompletePairs, NeighborPairs, Pairs, nearest_expected, partial_squared_distances
from fusewise.subspace import Subspace, choose_rank, coordinates, fit_subspace, information, reconstruct
from fusewise.support import Either, InputError, Maybe, Number, Word, check_values, in_words

#: Neighbours of each point if all pairs do not fit in memory.
NEIGHBORS = 15
#: Bytes beside the weights of all pairs: blocks of distances, factors and centres.
WORK_SPACE = 3_000_000


@dataclass(frozen=True, eq=False)
class PosedProblem:
    """A problem on the rows with observed entries, and the mapping back to the table."""

    table: Entries
    blank: Mask  # True for rows without observed entries
    entries: Entries  # the other rows
    subspace: Subspace | None  # that of the centres; None: the ambient space
    problem: Problem  # on `entries`, in the coordinates of `subspace`

    def coordinates(self, rows: Values) -> Values:
        """Complete rows in the coordinates of the problem: Q' (x - mean)."""
        if self.subspace is None:
            return rows
        return np.asarray((rows - self.subspace.mean) @ self.subspace.basis.conj())

    def whole(self, centers: Values) -> Values:
        """Centres in the ambient space for all rows; a row without observed entries gets the mean of the others."""
        if self.subspace is not None:
            centers = reconstruct(self.subspace, centers)
        if not self.blank.any():
            return centers.astype(self.table.dtype, copy=False)
        full = np.empty((len(self.blank), centers.shape[1]), dtype=self.table.dtype)
        full[~self.blank] = centers
        # Their sum may be no number in single precision.
        full[self.blank] = centers.mean(axis=0, dtype=np.result_type(centers.dtype, np.float64))
        return full


def pose(
    X: Any,
    mask: npt.ArrayLike | None,
    lam: float,
    penalty: str | Penalty,
    fidelity: str | Fidelity,
    rank: int | None,
    n_neighbors: int | str | None,
    device: str = "cpu",
) -> PosedProblem:
    """Read a table and set up the fusion problem on it."""
    count = Maybe(Number(low=1, whole=True))
    check_values(
        {"rank": rank, "n_neighbors": n_neighbors}, {"rank": count, "n_neighbors": Either(count, Word("auto"))}
    )
    # A small integer type of NumPy would overflow in sums.
    rank = None if rank is None else int(rank)
    n_neighbors = n_neighbors if n_neighbors is None or isinstance(n_neighbors, str) else int(n_neighbors)
    table = as_entries(X, mask)
    penalty, fidelity = as_penalty(penalty), as_fidelity(fidelity)
    if not penalty.has_weight:
        penalty.weight(0.0)  # raises if the penalty has none, and names alternatives
    check_lam(lam)
    blank = table.row_counts == 0
    warn_of_blanks(table)
    if len(blank) - blank.sum() < 2:
        raise InputError(
            f"observed entries in only {len(blank) - blank.sum()} of {len(blank)} rows: at least 2 rows are needed"
        )
    refuse_tiny(table)
    # On the CPU sums and weights are in double precision: the objective could rise otherwise.
    entries = table if torch_device(device) is not None else table.in_double()
    if blank.any():
        kept = np.flatnonzero(~blank)
        entries, fidelity = entries.take(kept), fidelity.take(table, kept)
    fidelity = fidelity.resolve(entries, lambda: noise_level(entries))
    if rank is not None and fidelity.constrained:
        raise InputError(f"{type(fidelity).__name__} constrains the observed entries: use it with rank=None")
    if rank is not None and rank > min(entries.shape):
        raise InputError(
            f"rank must be from 1 to {min(entries.shape)} for a table of shape {entries.shape}, got {rank!r}"
        )
    subspace = None if rank is None else fit_subspace(entries, rank, device=device)
    observations, pairs = _through(subspace, entries, n_neighbors, device)
    if isinstance(observations, Entries) and not fidelity.constrained:
        observations = PooledEntries.of(observations)
    return PosedProblem(table, blank, entries, subspace, Problem(observations, pairs, penalty, fidelity, float(lam)))


def _through(
    subspace: Subspace | None, entries: Entries, n_neighbors: int | str | None, device: str
) -> tuple[Any, Pairs]:
    """The observations in the coordinates of a subspace, if there is one, and the pairs; on the device if asked to."""
    there = torch_device(device)
    if subspace is None:
        return entries, choose_pairs(entries, n_neighbors, device)
    if there is None or np.iscomplexobj(entries.values):
        # ||S_i (mean + Q v - x_i)||² as quadratics in the coordinates v.
        precision, vector = information(subspace, entries)
        deviations = np.where(entries.mask, entries.values - subspace.mean, 0)
        energy = np.square(np.abs(deviations)).sum(axis=1)
        quadratics = Quadratics(precision * subspace.noise, vector * subspace.noise, energy)
        return quadratics, choose_pairs(entries, n_neighbors, device, partial(coordinates, subspace, entries))
    from fusewise.subspace import RowsOnDevice, coordinates_of

    precision, vector, energy = RowsOnDevice.of(entries, there).information(subspace)
    pairs = choose_pairs(entries, n_neighbors, device, partial(coordinates_of, subspace, precision, vector))
    return Quadratics(precision.mul_(subspace.noise), vector.mul_(subspace.noise), energy), pairs


def choose_pairs(
    entries: Entries,
    n_neighbors: int | str | None,
    device: str,
    places: Callable[[], tuple[Array, Array]] | None = None,
) -> Pairs:
    """Choose all pairs, or a graph of nearest neighbours; raise MemoryError before allocating what does not fit.

    `places` gives the uncertain positions of the points in a subspace.
    """
    check_pairs_fit(entries, n_neighbors, device)
    if isinstance(n_neighbors, str):
        shortage = lacking_memory(entries, device)
        if shortage:
            warnings.warn(f"{shortage}: fusing along the {NEIGHBORS} nearest neighbours instead", stacklevel=4)
        n_neighbors = NEIGHBORS if shortage else None
    if n_neighbors is None:
        return CompletePairs(entries.shape[0])
    if places is None or np.iscomplexobj(entries.values):
        return NeighborPairs.nearest(entries, n_neighbors)
    return nearest_expected(*places(), n_neighbors, device)


def check_pairs_fit(entries: Entries, n_neighbors: int | str | None, device: str) -> None:
    """Raise MemoryError if all pairs are asked for and do not fit."""
    if n_neighbors is None and (shortage := lacking_memory(entries, device)):
        raise MemoryError(f"{shortage}: set n_neighbors (for example n_neighbors={NEIGHBORS}) to fuse along a graph")


def lacking_memory(entries: Entries, device: str) -> str:
    """Describe the memory needed for the weights of all pairs if it is not available; otherwise an empty string.

    That is one array. A device needs none: it recomputes weights that do not fit.
    """
    n, available = entries.shape[0], available_memory()
    needed = n**2 * np.dtype(float).itemsize + WORK_SPACE
    if torch_device(device) is not None or needed <= available:
        return ""
    return f"all pairs of {n} rows need {in_words(needed)} of memory, but {in_words(available)} are available"


def check_lam(lam: Any) -> None:
    """Check that lam is a non-negative finite number."""
    if not (isinstance(lam, RealNumber) and 0 <= float(lam) < np.inf):
        raise InputError(f"lam must be a non-negative finite number, got {lam!r}")


def noise_level(entries: Entries) -> float:
    """Standard deviation of the noise: the residual of a low-rank fit.

    K centres lie in a subspace of K - 1 dimensions, so the deviation from the best-predicting subspace is noise. With
    too few features for a subspace, nearest neighbours are used instead: two points of one cluster differ by noise
    alone, so their squared distance is about 2 P s² (a little less for the nearest of many).
    """
    p = entries.shape[1]
    if p < 4:
        nearest = nearest_distances(entries)
        return float(np.median(nearest) / np.sqrt(2 * p)) if len(nearest) else 0.0
    rank = choose_rank(entries, max_rank=p // 2, random_state=0)
    return float(np.sqrt(fit_subspace(entries, rank, tol=1e-4).noise))


def nearest_distances(entries: Entries) -> Real:
    """Partial distance of each point to its nearest neighbour, for the points that have one."""
    n = entries.shape[0]
    nearest = np.empty(n)
    for rows in row_blocks(n, n):
        s = partial_squared_distances(entries, rows, min_overlap=default_overlap(entries))
        np.fill_diagonal(s[:, rows], np.inf)
        nearest[rows] = s.min(axis=1)
    return np.sqrt(nearest[np.isfinite(nearest)])


def default_overlap(entries: Entries) -> int:
    """Fewest common entries for a partial distance to count: half the expected number, from 1 to 4."""
    rates = entries.column_counts / entries.shape[0]
    return int(np.clip(np.square(rates).sum() // 2, 1, 4))
