"""The plane of the map: the first two principal components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.spatial import cKDTree
from sklearn.decomposition import PCA

from fusewise.automatic import Units
from fusewise.kernels import Real
from fusewise.observations import Entries


@dataclass(frozen=True, eq=False)
class Plane:
    """y = ((x / unit) - mean) A', the two directions A, orthonormal, in which the rows vary most.

    `shares` are the fractions of the variance along each; columns made symmetric (by `units`) replace x / unit.
    """

    unit: Real
    mean: Real
    axes: Real
    shares: Real
    units: Units | None = None

    def project(self, rows: Real) -> Real:
        """Project rows of the table onto the plane."""
        return np.asarray((scaled(rows, self.unit, self.units) - self.mean) @ self.axes.T)


def scaled(rows: Real, unit: Real, units: Units | None) -> Real:
    """Complete rows in the units of the plane."""
    if units is None:
        return rows / unit
    return np.asarray(units.applied(Entries(rows, np.ones(rows.shape, bool))).values)


def fit_plane(rows: Real, unit: Real, units: Units | None = None) -> Plane:
    """Fit the plane to a complete table. The largest loading of each axis is positive, so that pictures do not flip."""
    z = scaled(rows, unit, units)
    n, p = z.shape
    axes, shares = np.zeros((2, p)), np.zeros(2)
    mean = z.mean(axis=0)
    if n > 1 and np.ptp(z, axis=0).max() > 0:
        found = PCA(min(2, n, p), random_state=0).fit(z)
        axes[: found.n_components_] = found.components_
        shares[: found.n_components_] = found.explained_variance_ratio_
    return Plane(unit, mean, axes, shares, units)


#: Neighbours of a row, rows drawn at random per step, steps, and length of the first step.
NEIGHBOURS, DRAWN, STEPS, RATE = 12, 4, 250, 0.3
#: Maximum number of rows that are laid out, the others are placed among their neighbours; dimensions they are found in.
MOST_LAID, MOST_DIMENSIONS = 3_000, 10
#: Longest move of a row in a step before it is shortened, and half the width of the first layout.
LONGEST, SPREAD = 3.0, 10.0


def neighbour_layout(rows: Real, start: Real, most_laid: int = MOST_LAID) -> Real:
    """Lay out rows, N x P in comparable units, in a plane, from a first layout such as the principal components.

    Of more than `most_laid` rows so many are laid out, and the others are placed among their neighbours.
    """
    n = len(rows)
    if n <= NEIGHBOURS:
        return np.asarray(start, dtype=float)
    dimensions = min(MOST_DIMENSIONS, *rows.shape)
    reduced = PCA(dimensions, random_state=0).fit_transform(rows) if rows.shape[1] > dimensions else rows
    random = np.random.default_rng(0)
    laid = np.arange(n) if n <= most_laid else np.sort(random.choice(n, most_laid, replace=False))
    tree = cKDTree(reduced[laid])
    away = start[laid] - start[laid].mean(axis=0)
    placed = _moved(SPREAD * away / max(float(np.abs(away).max()), 1e-12), _graph(tree), random)
    if len(laid) == n:
        return placed
    # A row in between is placed among its nearest neighbours; a row that is laid out is its own nearest.
    gaps, near = map(np.asarray, tree.query(reduced, 3))
    weights = 1 / (gaps + 1e-9 * (1 + gaps[:, -1:]))
    return np.asarray((placed[near] * weights[..., None]).sum(axis=1) / weights.sum(axis=1, keepdims=True))


def _graph(tree: cKDTree) -> coo_array:
    """The pairs in which one row is among the nearest neighbours of the other; the weights of a row sum to 1."""
    n = tree.n
    near = np.asarray(tree.query(tree.data, NEIGHBOURS + 1)[1])
    heads = np.repeat(np.arange(n), NEIGHBOURS + 1)
    one_way = csr_array((np.ones(near.size), (heads, near.ravel())), shape=(n, n))
    pairs = one_way.maximum(one_way.T).tocoo()
    apart = pairs.row != pairs.col  # equal rows may not find themselves first
    row, col = pairs.row[apart], pairs.col[apart]
    return coo_array((1.0 / np.bincount(row, minlength=n)[row], (row, col)), shape=(n, n))


def _moved(places: Real, graph: coo_array, random: np.random.Generator) -> Real:
    """Move all rows at once, by shorter and shorter steps."""
    n, heads, tails = len(places), graph.row, graph.col
    sums = csr_array((graph.data * NEIGHBOURS / 4, (heads, np.arange(len(heads)))), shape=(n, len(heads)))
    for k in range(STEPS):
        away = places[tails] - places[heads]
        moves = np.asarray(sums @ (away * (2 / (1 + np.square(away).sum(axis=1, keepdims=True)))))
        for _ in range(DRAWN):
            away = places - places[random.permutation(n)]
            squares = np.square(away).sum(axis=1, keepdims=True)
            push = away * (2 / ((0.05 + squares) * (1 + squares)))
            moves += np.clip(push, -LONGEST, LONGEST)
        places = places + RATE * (1 - k / STEPS) * np.clip(moves, -LONGEST, LONGEST)
    return places
