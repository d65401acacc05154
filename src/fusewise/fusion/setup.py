"""From a table to a problem: read it, set aside rows with nothing observed, choose what was left open."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real as RealNumber
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fidelity import Fidelity, as_fidelity
from fusewise.fusion.problem import Problem
from fusewise.observations import Entries, as_entries, warn_of_blanks
from fusewise.observations.entries import Mask, Real, Values
from fusewise.pairs import CompletePairs, NeighborPairs, Pairs, partial_squared_distances
from fusewise.pairs.distances import row_blocks
from fusewise.penalties import Penalty, as_penalty
from fusewise.subspace import choose_rank, fit_subspace


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem on the rows with something observed, and the whole table it came from.

    Attributes
    ----------
    table : all rows.
    blank : True for rows with nothing observed.
    problem : the others.
    """

    table: Entries
    blank: Mask
    problem: Problem

    def whole(self, centers: Values) -> Values:
        """Centres for all rows; a row with nothing observed gets the mean of the others."""
        if not self.blank.any():
            return centers
        full = np.empty((len(self.blank), centers.shape[1]), dtype=centers.dtype)
        full[~self.blank] = centers
        full[self.blank] = centers.mean(axis=0)
        return full


def pose(
    X: Any,
    mask: npt.ArrayLike | None,
    lam: float,
    penalty: str | Penalty,
    fidelity: str | Fidelity,
    n_neighbors: int | None,
) -> Posed:
    """Read a table and state the fusion problem on it."""
    table = as_entries(X, mask)
    penalty, fidelity = as_penalty(penalty), as_fidelity(fidelity)
    if not penalty.has_weight:
        penalty.weight(0.0)  # raises, saying what to use instead
    check_lam(lam)
    blank = table.row_counts == 0
    warn_of_blanks(table)
    if len(blank) - blank.sum() < 2:
        raise ValueError(
            f"only {len(blank) - blank.sum()} of {len(blank)} rows have an observed entry: nothing to fuse"
        )
    seen = table.take(np.flatnonzero(~blank)) if blank.any() else table
    fidelity = fidelity.resolve(seen, lambda: noise_level(seen))
    pairs: Pairs = CompletePairs(seen.shape[0]) if n_neighbors is None else NeighborPairs.nearest(seen, n_neighbors)
    return Posed(table, blank, Problem(seen, pairs, penalty, fidelity, float(lam)))


def check_lam(lam: Any) -> None:
    """lam must be a non-negative finite number."""
    if not (isinstance(lam, RealNumber) and 0 <= float(lam) < np.inf):
        raise ValueError(f"lam must be a non-negative finite number, got {lam!r}")


def noise_level(entries: Entries) -> float:
    """Standard deviation of the noise: what a low-rank fit leaves of the entries.

    K centres lie in a subspace of K - 1 dimensions, so what sticks out of the best-predicting subspace is noise. With
    too few features for a subspace, nearest neighbours stand in: two points of one cluster differ by noise alone, so
    their squared distance is about 2 P s² (a little less, for the nearest of many).
    """
    p = entries.shape[1]
    if p < 4:
        nearest = nearest_distances(entries)
        return float(np.median(nearest) / np.sqrt(2 * p)) if len(nearest) else 0.0
    rank = choose_rank(entries.values, entries.mask, max_rank=p // 2, random_state=0)
    return float(np.sqrt(fit_subspace(entries.values, entries.mask, rank, tol=1e-4).noise))


def nearest_distances(entries: Entries) -> Real:
    """Partial distance of each point to its nearest neighbour, for the points that have any."""
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
