"""Numbers that differ between the levels of a category by the same amounts in every cluster.

Males may be heavier than females in each of several species. Such numbers are

    x_ij = y_ij + sum_c e_cj(l_ic),

where l_ic is the level of category c in row i, and the y are those of a table without categories. If this is not taken
into account, clusters are cut by levels, or are hidden by the differences between these.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewise.automatic.coordinates.level_blocks import Levels
from fusewise.kernels.types import Index, Mask, Real
from fusewise.observations import Entries, InMemory
from fusewise.observations.resolution import steps

#: Pseudo-entries that shrink the effect of a level towards zero.
LEVEL_ENTRIES = 1.0
#: Effects of several categories on one number are found in turn, in at most so many rounds; and a round must lower the
#: BIC by this much.
ROUNDS, ENOUGH = 20, 0.1
#: A cluster has a level if it is that of at least this share of its rows, and of so many.
PRESENT, FEWEST = 0.05, 3


class CategoryShifts(NamedTuple):
    """The effects e as a matrix S, levels x numbers, with which x = y + c S; and what they are worth, in nats."""

    effects: Real
    worth: float


def category_shifts(numbers: InMemory, categories: InMemory, levels: Levels, labels: Index) -> CategoryShifts | None:
    """The effects of categories on numbers, given clusters; None if no number depends on any.

    A number depends on the categories that lower its extended BIC (Chen and Chen, 2008): with R the sum of squares
    about the centres of clusters, R' what is left of it, L levels, and M pairs of a number and a category,

        (n / 2) log (R / R')  >  ((L - 1) / 2) log n + log M.

    If there are several clusters, at least two of them must show the effect: one that a single cluster shows cuts
    this cluster in two, and says nothing about others (`shown_by_several`). Effects are zero on average, so that a
    missing category shifts nothing, and multiples of the step in which a column was recorded, so that values that
    were equal, or apart, remain so.

    Parameters
    ----------
    numbers, categories : the columns of the rows; a level that a row has is a constant, another one zero.
    levels : the blocks of columns of `categories`.
    labels : the cluster of each row, 0, 1, ...
    """
    rows, held = numbers.dense(), np.asarray(categories.dense().values, float)
    has, seen = (held > 0).astype(float), rows.mask.astype(float)
    price = 0.5 * np.array([[stop - start - 1] for start, stop, *_ in levels]) * np.log(np.maximum(seen.sum(axis=0), 2))
    price += np.log(price.size)
    if labels.max() > 0:
        price[~shown_by_several(categories, levels, labels)] = np.inf
    effects: Real = np.zeros((has.shape[1], seen.shape[1]))
    depends = np.zeros(price.shape, bool)
    counts, member = has.T @ seen, np.eye(int(labels.max()) + 1)[labels]
    left, worth = _centred(rows.values, seen, member), 0.0
    for _ in range(ROUNDS):
        gains, each = _gains(left, has, counts, levels, seen.sum(axis=0))
        gains -= np.where(depends, 0, price)
        best = gains.argmax(axis=0)
        taken = (np.arange(len(levels))[:, None] == best) & (gains > ENOUGH)
        if not taken.any():
            break
        depends |= taken
        worth += float(gains[taken].sum())
        effects = np.where(_of_levels(taken, levels), effects + each, effects)
        left = _centred(rows.values - seen * (has @ effects), seen, member)
    effects = _on_grid(effects, has, levels, steps(numbers))
    unit = held.max(axis=0, initial=0)
    return CategoryShifts(effects / np.where(unit > 0, unit, 1)[:, None], worth) if effects.any() else None


def shown_by_several(categories: InMemory, levels: Levels, labels: Index) -> Mask:
    """Whether at least two clusters have several levels of each category, each in at least `PRESENT` of their rows."""
    has = (categories.dense().values > 0).astype(float)
    counts = np.eye(int(labels.max()) + 1)[labels].T @ has
    found = []
    for start, stop, *_ in levels:
        known = counts[:, start:stop].sum(axis=1, keepdims=True)
        present = (counts[:, start:stop] >= FEWEST) & (counts[:, start:stop] >= PRESENT * known)
        found.append((present.sum(axis=1) > 1).sum() > 1)
    return np.array(found, bool)


def shifted(numbers: InMemory, categories: InMemory, effects: Real | None) -> InMemory:
    """The y of a table of x: numbers without the effects of categories."""
    if effects is None:
        return numbers
    rows = numbers.dense()
    return Entries(np.where(rows.mask, rows.values - categories.dense().values @ effects, 0), rows.mask)


def has_effects(effects: Real | None, levels: Levels) -> Mask:
    """Whether each category has an effect on some number."""
    return np.array([effects is not None and effects[start:stop].any() for start, stop, *_ in levels], bool)


def count_effects(effects: Real | None, levels: Levels) -> float:
    """Free parameters: L - 1 for each category that a number depends on."""
    if effects is None:
        return 0.0
    return float(sum((stop - start - 1) * effects[start:stop].any(axis=0).sum() for start, stop, *_ in levels))


def _centred(values: Real, seen: Real, member: Real) -> Real:
    """Values less the mean of their cluster, zero where missing."""
    means = (member.T @ (seen * values)) / np.maximum(member.T @ seen, 1)
    return np.asarray(seen * (values - member @ means))


def _gains(left: Real, has: Real, counts: Real, levels: Levels, n: Real) -> tuple[Real, Real]:
    """What the effects of each category gain for each number, categories x numbers, and all effects, levels x numbers.

    An effect is the mean of what is left in the rows of a level, drawn towards zero.
    """
    sums = has.T @ left
    effects = sums / (counts + LEVEL_ENTRIES)
    lost = 2 * effects * sums - np.square(effects) * counts  # of the sum of squares
    squares = np.maximum(np.square(left).sum(axis=0), 1e-300)
    share = np.array([lost[start:stop].sum(axis=0) for start, stop, *_ in levels]) / squares
    return -0.5 * n * np.log1p(-np.minimum(share, 1 - 1e-12)), effects


def _of_levels(of_categories: Mask, levels: Levels) -> Mask:
    """What holds of each category, for each of its levels."""
    return np.repeat(of_categories, [stop - start for start, stop, *_ in levels], axis=0)


def _on_grid(effects: Real, has: Real, levels: Levels, grid: Real) -> Real:
    """Effects that are zero on average, as multiples of the steps of columns."""
    share = has.sum(axis=0)
    middle = [share[start:stop] @ effects[start:stop] / max(share[start:stop].sum(), 1) for start, stop, *_ in levels]
    away = effects - np.repeat(middle, [stop - start for start, stop, *_ in levels], axis=0)
    unit = np.where(grid > 0, grid, 1)
    return np.asarray(np.round(away / unit) * unit)
