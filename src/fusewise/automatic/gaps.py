"""Groups of rows with a gap between them, whatever their shape.

Two groups have a gap between them if no row of one is among the k nearest neighbours of a row of the other. On a line
where rows have the same density everywhere, the spacings between them are independent and exponential, and a given
spacing is such a gap if it exceeds the sum of the k spacings on either side:

    P_k = 2 sum_{j<k} C(k - 1 + j, j) 3^-(k + j) 2^-(k - j)

(a race between the spacing, which ends at rate 1, and the sums on either side, which pass a spacing at rate 1 each). So
with the smallest k for which N P_k is at most `CHANCE`, a line of N rows is parted by chance with this probability. In
more dimensions a gap has to be empty along its whole length, and chance makes fewer of them; a line is the worst case.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import comb

from fusewise.automatic.rows import Rows
from fusewise.kernels.types import Index, Mask, Real

#: Probability that chance parts the rows of a line.
CHANCE = 0.05
#: Gaps are looked for in two dimensions up to this many: on a line there are no shapes, and in more they need more rows
#: than most tables have.
MOST_DIMENSIONS = 3
#: Share of the well-known rows in the smallest part.
SMALLEST = 0.015
#: A row is well known if the variance of each coordinate, given its entries, is at most this share of the rows'.
WELL_KNOWN = 0.1
#: If more than this share of the rows have their k nearest neighbours within a step of a column that is recorded in
#: steps, the steps look like gaps, and none is looked for.
WITHIN_A_STEP = 0.01


def well_known(rows: Rows) -> Mask:
    """Rows whose entries determine all of their coordinates."""
    left = np.einsum("irr->ir", rows.covariances)
    return np.asarray((left <= WELL_KNOWN * rows.variances).all(axis=1))


def parts(rows: Rows, blur: Real | None) -> Index | None:
    """The part of each well-known row, 0, 1, ...; -1 for other rows. None if no gap is found.

    A part has at least `SMALLEST` of these rows; those of smaller ones are in the part of the nearest row.

    Parameters
    ----------
    rows : the rows.
    blur : P, the variances added for columns recorded in steps (``resolution.blur``).
    """
    if not 1 < rows.places.shape[1] <= MOST_DIMENSIONS:
        return None
    known = np.flatnonzero(well_known(rows))
    if not len(known):
        return None
    found = _connected(rows.places[known], 0.0 if blur is None else 2 * float(np.sqrt(blur.max(initial=0))))
    large = np.flatnonzero(np.bincount(found) >= SMALLEST * len(known))
    if len(large) < 2:
        return None
    inside, outside = (np.flatnonzero(np.isin(found, large) == which) for which in (True, False))
    nearest = np.asarray(cKDTree(rows.places[known[inside]]).query(rows.places[known[outside]])[1], np.intp)
    found[outside] = found[inside[nearest]]
    labels = np.full(len(rows.places), -1)
    labels[known] = np.searchsorted(large, found)
    return labels


def _connected(places: Real, step: float) -> Index:
    """Connected parts of the graph of nearest neighbours; one part if a step may look like a gap."""
    different, which = np.unique(places, axis=0, return_inverse=True)
    n = len(different)
    k = enough_neighbors(n)
    if n < 2 * (k + 1):  # too few rows on either side of any gap
        return np.zeros(len(places), np.intp)
    distances, neighbors = (np.asarray(each) for each in cKDTree(different).query(different, k + 1))
    if np.mean(distances[:, -1] < step) > WITHIN_A_STEP:
        return np.zeros(len(places), np.intp)
    edges = np.repeat(np.arange(n), k), neighbors[:, 1:].ravel()
    # Not a coo_array, whose positions of 64 bits SciPy 1.11 answers with no parts.
    graph = coo_matrix((np.ones(n * k), edges), shape=(n, n))
    return np.asarray(np.asarray(connected_components(graph, directed=False)[1], np.intp)[which.ravel()], np.intp)


def enough_neighbors(n: int) -> int:
    """The smallest k for which chance parts a line of n rows with a probability of at most `CHANCE`."""
    k = 1
    while n * chance_of_gap(k) > CHANCE:
        k += 1
    return k


@cache
def chance_of_gap(k: int) -> float:
    """P_k, the probability that a spacing exceeds the sum of the k spacings on either side of it."""
    j = np.arange(k)
    return float(2 * np.sum(comb(k - 1 + j, j) * 3.0 ** -(k + j) * 2.0 ** -(k - j)))
