"""One fusion problem, on the CPU or on a device: the objective, its gradient, and how a table becomes one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fusion._fidelity import Fidelity, as_fidelity
from fusewise.fusion._penalties import Penalty, as_penalty
from fusewise.kernels import (
    Array,
    Index,
    Mask,
    Real,
    Values,
    available_memory,
    library,
    norm,
    rounding_unit,
    sum_by,
    to_host,
    torch_device,
    total,
)
from fusewise.observations import Entries, Quadratics, as_entries, refuse_tiny, row_blocks, warn_of_blanks
from fusewise.pairs import (
    CompletePairs,
    DeviceCompletePairs,
    NeighborPairs,
    Pairs,
    PairWeights,
    nearest_expected,
    partial_squared_distances,
    real_view,
)
from fusewise.subspace import (
    RowsOnDevice,
    Subspace,
    choose_rank,
    coordinates,
    coordinates_of,
    fit_subspace,
    information,
    reconstruct,
)
from fusewise.support import Either, InputError, Maybe, Number, Word, check_values, in_words

#: Neighbours of each point if all pairs do not fit in memory.
NEIGHBORS = 15
#: Bytes beside the weights of all pairs: blocks of distances, factors and centres.
WORK_SPACE = 3_000_000


@dataclass(frozen=True, eq=False)
class PooledEntries:
    """sum_i ||S_i (u - x_i)||² over the points i of a group = sum_p n_p |u_p - m_p|² + squares within the group.

    n_p points of the group have feature p observed, with mean m_p. Only means and counts are kept, so a group of a
    thousand points costs as much as one point. Arrays are NumPy arrays, or (if real) tensors on a device.
    """

    counts: Array  # N x P, the n_p of each group
    means: Array  # the m_p; 0 where n_p = 0
    within: float  # sum of squares about the means, over all groups
    low: Array  # smallest entry of each column (real and imaginary parts apart)
    high: Array

    separable = True

    @classmethod
    def of(cls, entries: Entries) -> PooledEntries:
        return cls(entries.seen, entries.values, 0.0, *entries._range)

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self.means.shape
        return n, p

    @cached_property
    def target(self) -> Array:
        return self.counts * self.means

    @cached_property
    def centred(self) -> Array:
        """sum_i S_i (x_i - mean)."""
        seen = self.counts.sum(0)
        return self.counts * (self.means - self.target.sum(0) / (seen + (seen <= 0)))

    def merge(self, groups: Index, n_groups: int) -> PooledEntries:
        counts, sums = sum_by(groups, n_groups, self.counts), sum_by(groups, n_groups, self.target)
        means: Values = (sums / np.maximum(counts, 1)).astype(self.means.dtype)
        scatter = np.sum(self.counts * np.square(np.abs(self.means - means[groups])), dtype=float)
        return PooledEntries(counts, means, self.within + float(scatter), self.low, self.high)

    def misfit(self, centers: Array) -> float:
        return total(self.counts * abs(centers - self.means) ** 2) + self.within

    def normal(self, centers: Array) -> Array:
        return self.counts * centers

    def solve(self, anchors: Array, pull: Array) -> Array:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||²: a weighted mean of entries and anchor."""
        # Written as a step from the anchor, so that the anchor is kept where there are neither entries nor a pull.
        weight = self.counts + pull[:, None]
        return anchors + self.counts / (weight + (weight <= 0)) * (self.means - anchors)

    def confine(self, centers: Array) -> Array:
        """Clip the centres to the range of the entries of each column, in place if they are real.

        The range is convex and contains every observation, so clipping moves no centre away from its data and no two
        centres apart: the objective cannot rise. It stops entries that no observation determines from drifting.
        """
        if not isinstance(centers, np.ndarray):
            return library(centers).clip(centers, self.low, self.high)
        if self.means.dtype.kind == "f":
            return np.clip(centers, self.low, self.high, out=centers)
        return np.clip(real_view(centers), self.low, self.high).view(centers.dtype)

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(n_p + t_i)^-1, as a function of the right-hand sides."""
        weight = self.counts + pull[:, None]
        inverse = 1 / (weight + (weight <= 0))
        return lambda right: right * inverse


@dataclass(frozen=True, eq=False)
class Problem:
    """minimise  sum_i f_i(u_i)  +  lam sum_i sum_j c_ij phi(||u_i - u_j||)   (ordered pairs).

    For a constraint f, lam only scales the objective. Arrays are NumPy arrays, or tensors on a device.
    """

    observations: Any  # PooledEntries or Quadratics; Entries under a constraint
    pairs: Pairs
    penalty: Penalty
    fidelity: Fidelity
    lam: float
    members: Array | None = None  # points that each centre represents, if fused ones have been merged; None: one each
    data_size: float | None = None  # unit of gradients (see ``stationarity``); None: taken from the observations

    def at(self, lam: float, penalty: Penalty) -> Problem:
        return replace(self, lam=lam, penalty=penalty, data_size=self.unit)

    @cached_property
    def unit(self) -> float:
        """||2 S(X - mean)||: the gradient of the quadratic fidelity at the one-cluster solution."""
        return 2 * norm(self.observations.centred) if self.data_size is None else self.data_size

    def weigh(self, centers: Array) -> PairWeights:
        """The quadratic that majorises the pair term at these centres."""
        return self.pairs.weigh(centers, self.penalty)

    def objective(self, centers: Array, weighted: PairWeights) -> float:
        """The objective, given the weights of the pairs at these centres."""
        return self.fidelity.value(self.observations, centers) + self.lam * weighted.energy

    def projected(self, centers: Array) -> Array:
        """The nearest centres that satisfy the constraint, if there is one."""
        if not self.fidelity.constrained:
            return centers
        return self.fidelity.prox(self.observations, centers, np.ones(len(centers)))

    def confined(self, centers: Array) -> Array:
        """Centres moved to where a minimum lies: into the range of the entries, unless bounds lead out of it."""
        observations = self.observations
        if not self.fidelity.bounded and not isinstance(observations, Quadratics):
            pooled = PooledEntries.of(observations) if isinstance(observations, Entries) else observations
            centers = pooled.confine(centers)
        return self.projected(centers)

    def pull(self, degree: Array) -> Array:
        """2 lam d_i: the pull of its pairs on a point, relative to that of its data."""
        return 2 * self.lam * (degree if self.members is None else degree / self.members)

    def stationarity(self, centers: Array, weighted: PairWeights) -> float:
        """Relative size of the gradient, or of its projection under a constraint.

        For the quadratic fidelity: ||grad|| / ||2 S(X - mean)||, where the denominator is the gradient of the fidelity
        at the one-cluster solution; the gradient of a merged centre is divided among its members. For a constraint: the
        KKT residual ||T (U - prox(U - grad/T))|| with T = 8 lam d, over ||4 lam d S(X - mean)||, the pull towards the
        mean under the current weights.
        """
        gradient = 4 * self.lam * weighted.laplacian(centers)
        if not self.fidelity.constrained:
            gradient += 2 * (self.observations.normal(centers) - self.observations.target)
            if self.members is not None:
                gradient /= library(gradient).sqrt(self.members)[:, None]
            return _ratio(norm(gradient), self.unit)
        pull = 8 * self.lam * weighted.degree[:, None]
        moved = centers - gradient / library(pull).clip(pull, library(pull).finfo(pull.dtype).tiny, None)
        feasible = self.fidelity.prox(self.observations, moved, pull[:, 0])
        return _ratio(norm(pull * (centers - feasible)), norm(0.5 * pull * self.observations.centred))

    def rounding(self, centers: Array, weighted: PairWeights, objective: float) -> float:
        """Largest rise of the objective that rounding can explain.

        A squared distance is accurate to about eps (|u_i|² + |u_j|²), and enters the objective with weight lam w_ij.
        Weights of a penalty with a cusp have no bound: no rise above sqrt(eps) of the objective is accepted.
        """
        # sum_i d_i ||u_i - mean||², which moving the origin does not change.
        scatter = float((weighted.degree * (abs(centers - centers.mean(0)) ** 2).sum(1)).sum())
        felt = 4 * self.lam * scatter
        eps = rounding_unit(centers)
        return min(10 * eps * (abs(objective) + felt), math.sqrt(eps) * abs(objective))


def _ratio(part: float, whole: float) -> float:
    return part / (whole if whole > 0 else 1.0)


def place(problem: Problem, device: str) -> Problem:
    """Return the problem with its arrays on a device ("cpu": unchanged); see ``torch_device``."""
    there = torch_device(device)
    if there is None:
        return problem
    if problem.fidelity.constrained:
        raise InputError(
            f"device={device!r} supports only the quadratic fidelity: use {type(problem.fidelity).__name__} on 'cpu'"
        )
    if np.iscomplexobj(to_host(problem.observations.target[:0])):
        raise InputError(f"device={device!r} supports only real tables: use device='cpu' for complex ones")
    observations = problem.observations
    names = ("gram", "target", "energy") if isinstance(observations, Quadratics) else ("counts", "means", "low", "high")
    observations = replace(observations, **{name: _tensor(getattr(observations, name), there) for name in names})
    members = None if problem.members is None else _tensor(problem.members, there)
    pairs: Pairs
    if isinstance(problem.pairs, NeighborPairs):
        pairs = problem.pairs.on(there, observations.target.dtype)
    else:
        assert isinstance(problem.pairs, CompletePairs)
        pairs = DeviceCompletePairs(problem.pairs.n_points, problem.pairs.sizes, device=there)
    return replace(problem, observations=observations, pairs=pairs, members=members)


def _tensor(array: Any, device: Any) -> Any:
    import torch

    return torch.as_tensor(np.ascontiguousarray(array) if isinstance(array, np.ndarray) else array, device=device)


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
    rules = {"rank": count, "n_neighbors": Either(count, Word("auto")), "lam": Number(low=0)}
    check_values({"rank": rank, "n_neighbors": n_neighbors, "lam": lam}, rules)
    # A small integer type of NumPy would overflow in sums.
    rank = None if rank is None else int(rank)
    n_neighbors = n_neighbors if n_neighbors is None or isinstance(n_neighbors, str) else int(n_neighbors)
    table = as_entries(X, mask)
    penalty, fidelity = as_penalty(penalty), as_fidelity(fidelity)
    if not penalty.has_weight:
        penalty.weight(0.0)  # raises if the penalty has none, and names alternatives
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
