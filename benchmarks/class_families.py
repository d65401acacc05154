"""Families of simulated tables for latent classes, each with what makes their number hard to find.

Every function draws a table: cells (a level's code, or a number), the classes, and the columns that hold categories.
They are scored by ``latent_classes.py --families``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Drawn = tuple[np.ndarray, np.ndarray, list[int]]
Generator = np.random.Generator


def _log_uniform(rng: Generator, low: float, high: float) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(high))))


def _levels(rng: Generator, chances: np.ndarray) -> np.ndarray:
    """A level for each row of probabilities."""
    return (rng.random((len(chances), 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


def _all_categories(cells: np.ndarray, y: np.ndarray) -> Drawn:
    return cells.astype(float), y, list(range(cells.shape[1]))


def digits(rng: Generator) -> Drawn:
    """Many classes, each with a code of yes-or-no columns, some of which are inverted, as on a faulty display."""
    n_classes, n_columns = int(rng.integers(6, 13)), int(rng.integers(7, 15))
    codes = np.unique(rng.integers(2, size=(n_classes, n_columns)), axis=0)
    y = rng.integers(len(codes), size=_log_uniform(rng, 300, 3000))
    flipped = rng.random((len(y), n_columns)) < rng.uniform(0.05, 0.15)
    return _all_categories(codes[y] ^ flipped, y)


def copies(rng: Generator) -> Drawn:
    """Few classes; every second column repeats the one before in four of five rows."""
    n_classes, n_columns, n_levels = int(rng.integers(2, 6)), int(rng.integers(10, 31)), int(rng.integers(2, 5))
    y = rng.integers(n_classes, size=_log_uniform(rng, 500, 4000))
    spread = rng.choice([0.7, 1.5])
    cells = np.empty((len(y), n_columns), int)
    for j in range(n_columns):
        cells[:, j] = _levels(rng, rng.dirichlet(np.full(n_levels, spread), n_classes)[y])
        if j % 2:
            cells[:, j] = np.where(rng.random(len(y)) < 0.8, cells[:, j - 1], cells[:, j])
    return _all_categories(cells, y)


def traits(rng: Generator) -> Drawn:
    """One to four classes; within each, all columns also depend on one normal trait of the row."""
    n_classes, n_columns, n_levels = int(rng.integers(1, 5)), int(rng.integers(15, 61)), int(rng.integers(2, 5))
    y = rng.integers(n_classes, size=_log_uniform(rng, 500, 4000))
    trait = rng.normal(size=len(y))[:, None]
    cells = np.empty((len(y), n_columns), int)
    for j in range(n_columns):
        logits = rng.normal(size=(n_classes, n_levels))[y] + 0.6 * trait * rng.normal(size=n_levels)
        chances = np.exp(logits)
        cells[:, j] = _levels(rng, chances / chances.sum(axis=1, keepdims=True))
    return _all_categories(cells, y)


def rare(rng: Generator) -> Drawn:
    """Few rows in many classes of very unequal size; in most columns one level is rare but in a few classes."""
    n_classes, n_columns = int(rng.integers(8, 20)), int(rng.integers(40, 71))
    sizes = 1 / np.arange(1, n_classes + 1)
    y = rng.choice(n_classes, int(rng.integers(150, 301)), p=sizes / sizes.sum())
    usual = rng.uniform(0.01, 0.15, n_columns)
    usual[: n_columns // 5] = rng.uniform(0.3, 0.7, n_columns // 5)
    q = np.where(rng.random((n_classes, n_columns)) < 0.15, rng.uniform(0.5, 0.95, (n_classes, n_columns)), usual)
    cells = rng.random((len(y), n_columns)) < q[y]
    varied = cells.any(axis=0) & ~cells.all(axis=0)
    return _all_categories(cells[:, varied], y)


def unrelated(rng: Generator) -> Drawn:
    """One class: independent columns."""
    n, n_columns = _log_uniform(rng, 150, 3000), int(rng.integers(4, 41))
    chances = [rng.dirichlet(np.full(int(rng.integers(2, 7)), 1.5)) for _ in range(n_columns)]
    cells = np.array([rng.choice(len(q), n, p=q) for q in chances]).T
    return _all_categories(cells, np.zeros(n, int))


def skewed(rng: Generator) -> Drawn:
    """Few classes in categories and in lognormal numbers."""
    n_classes, n_columns = int(rng.integers(2, 6)), int(rng.integers(6, 17))
    y = rng.integers(n_classes, size=_log_uniform(rng, 150, 1500))
    cells = np.empty((len(y), n_columns))
    for j in range(n_columns):
        if j % 2:
            cells[:, j] = np.exp(rng.normal(scale=0.8, size=n_classes)[y] + 0.6 * rng.normal(size=len(y)))
        else:
            cells[:, j] = _levels(rng, rng.dirichlet(np.full(3, 0.8), n_classes)[y])
    return cells, y, list(range(0, n_columns, 2))


FAMILIES: dict[str, Callable[[Generator], Drawn]] = {
    "digits": digits, "copies": copies, "traits": traits, "rare": rare, "unrelated": unrelated, "skewed": skewed,
}  # fmt: skip


def drawn(family: str, seed: int) -> Drawn:
    """A table of one family."""
    return FAMILIES[family](np.random.default_rng([list(FAMILIES).index(family), seed]))
