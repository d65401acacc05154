"""From a table to a problem: read it, set aside rows with nothing observed, choose what was left open."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Real as RealNumber
from typing import Any

import numpy as np
import numpy.typing as npt

from fusewise.fidelity import Fidelity, as_fidelity
from fusewise.fusion.problem import Problem
from fusewise.observations import Entries, as_entries
from fusewise.observations.entries import Mask, Values
from fusewise.pairs import CompletePairs, NeighborPairs, Pairs, partial_squared_distances
from fusewise.penalties import Penalty, as_penalty


class DataWarning(UserWarning):
    """The table holds rows or columns that tell nothing."""


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


def warn_of_blanks(table: Entries) -> None:
    """Say which rows and columns tell nothing."""
    rows = np.flatnonzero(table.row_counts == 0)
    if len(rows):
        warnings.warn(
            f"{_some('row', rows)} no observed entry: labelled -1 (they could belong anywhere)",
            DataWarning,
            stacklevel=3,
        )
    columns = np.flatnonzero(table.column_counts == 0)
    if len(columns):
        warnings.warn(
            f"{_some('column', columns, table.feature_names)} no observed entry: ignored, and its centres are 0",
            DataWarning,
            stacklevel=3,
        )
    constant = np.flatnonzero((table.column_counts > 0) & (np.abs(table.centred).max(axis=0, initial=0) == 0))
    if len(constant):
        warnings.warn(
            f"{_some('column', constant, table.feature_names)} the same value in every observed entry: "
            "tells no clusters apart",
            DataWarning,
            stacklevel=3,
        )


def _some(kind: str, indices: npt.NDArray[np.intp], names: tuple[str, ...] | None = None) -> str:
    """'row 3 has', 'columns 1 ('a'), 5 ('b') and 7 more have'."""
    shown = [f"{i} ({names[i]!r})" if names else str(i) for i in indices[:5]]
    more = f" and {len(indices) - 5} more" if len(indices) > 5 else ""
    return f"{kind}{'s' if len(indices) > 1 else ''} {', '.join(shown)}{more} {'have' if len(indices) > 1 else 'has'}"


def noise_level(entries: Entries) -> float:
    """Standard deviation of the noise, as nearest neighbours show it.

    Two points of one cluster differ by noise alone, so their squared distance is about 2 P s²; the median over the
    points of the distance to their nearest neighbour gives s, a little too small where P is small.
    """
    n, p = entries.shape
    nearest = np.empty(n)
    for i in range(0, n, 512):
        rows = slice(i, min(i + 512, n))
        s = partial_squared_distances(entries, rows, min_overlap=default_overlap(entries))
        np.fill_diagonal(s[:, rows], np.inf)
        nearest[rows] = s.min(axis=1)
    known = nearest[np.isfinite(nearest)]
    return float(np.sqrt(np.median(known) / (2 * p))) if len(known) else 0.0


def default_overlap(entries: Entries) -> int:
    """Fewest common entries for a partial distance to count: half the expected number, from 1 to 4."""
    rates = entries.column_counts / entries.shape[0]
    return int(np.clip(np.square(rates).sum() // 2, 1, 4))
