"""Which classes of a table with numbers and categories are one cluster: those that neither of the two tells apart.

Classes describe the shape of numbers as well: one with long tails, or none, is described by two or three. So two
classes are joined if their numbers show no valley of low density between them (``valleys``), and their categories are
about the same: described as one, they lose less than the price of a cut,

    log p(n_k) + log p(n_l) - log p(n_k + n_l)  <  log N,

where n_k are the counts of levels in class k, and p is the evidence of ``level_shares``.
"""

from __future__ import annotations

import numpy as np

from fusewise.automatic.coordinates.axes import fit_axes, prior_variances
from fusewise.automatic.coordinates.evidence import Evidence
from fusewise.automatic.coordinates.level_blocks import Levels
from fusewise.automatic.coordinates.placed_rows import Rows
from fusewise.automatic.judging.criterion import Classes, components_of, has_numbers
from fusewise.automatic.judging.valleys import without_valley
from fusewise.automatic.models.columnwise import fit_columns
from fusewise.automatic.models.mixture import Mixture, probabilities
from fusewise.automatic.models.numbers_and_categories import NumbersAndCategories, moved_together, taken_apart
from fusewise.automatic.models.partition_fit import describe
from fusewise.kernels.types import Index, Real
from fusewise.observations import InMemory


def alike_classes(
    table: InMemory, classes: Classes, rank: int, worth: float = 1.0, *, of_any_density: bool = False
) -> list[tuple[int, int]]:
    """Pairs of classes that neither numbers nor categories tell apart; none, if there are no numbers.

    Parameters
    ----------
    table : the rows, standardised.
    classes : the classes.
    rank : most axes of the numbers, along which valleys are looked for.
    worth : that of ``class_criterion``.
    of_any_density : that of ``without_valley``.
    """
    parts = components_of(classes)
    if classes.n_components == 1 or not has_numbers(parts):
        return []
    levels = parts.levels
    numbers, categories = parts.apart(table) if isinstance(parts, NumbersAndCategories) else taken_apart(table, levels)
    densities = classes.log_densities(table)[0]
    labels, posterior = densities.argmax(axis=1), probabilities(densities)[0]
    occupied, own = np.unique(labels, return_inverse=True)
    mixture, evidence = _along_axes(numbers, classes, occupied, own, rank)
    pairs = without_valley(mixture, evidence, own, of_any_density=of_any_density)
    price = float(np.log(worth * len(labels))) / worth
    found = [(int(occupied[k]), int(occupied[other])) for k, other in pairs]
    return [pair for pair in found if told_apart(categories, levels, posterior[:, pair]) < price]


def _along_axes(
    numbers: InMemory, classes: Classes, occupied: Index, labels: Index, rank: int
) -> tuple[Mixture, Evidence]:
    """The numbers of the classes that have rows as components along axes, and the rows there."""
    if isinstance(classes, NumbersAndCategories):
        return classes.numbers.mixture.only(occupied), Evidence.of(classes.numbers.subspace, numbers)
    subspace = fit_axes(numbers, min(rank, numbers.shape[1]))
    evidence = Evidence.of(subspace, numbers)
    return describe(Rows.of(evidence, prior_variances(subspace, evidence)), labels), evidence


def told_apart(categories: InMemory, levels: Levels, posterior: Real) -> float:
    """log p(n_k) + log p(n_l) - log p(n_k + n_l) of two classes, from their probabilities, N x 2."""
    apart, together = (
        _evidence(categories, levels, each) for each in (posterior, posterior.sum(axis=1, keepdims=True))
    )
    return apart - together


def _evidence(categories: InMemory, levels: Levels, posterior: Real) -> float:
    found = fit_columns(categories, posterior, 1, moved_together(levels))
    fit = np.sum((categories.values.T @ posterior).T * found.columns.log_levels())
    return float(fit - found.level_cost)
