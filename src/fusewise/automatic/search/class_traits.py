"""Classes that differ by degrees inside: are fewer classes with a trait better than classes alone?

The columns of a class are never quite independent. If its rows differ by degrees, such as the severity of a disease or
the size of an animal, the best mixture with independent columns cuts each class into several along that trait. So once
the number of classes is chosen, up to as many classes are fitted with a trait as well (``models.traits``). If one of
these fits has more evidence than the classes alone, the number is chosen among them instead, and larger numbers are no
longer candidates. A single class is not one of them if its rows show a valley along the trait (``trait_valleys``):
then they do not differ by degrees, but fall into groups.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic.judging.classes import LONG_ROUNDS, fewest
from fusewise.automatic.judging.comparing import Compared
from fusewise.automatic.judging.criterion import class_criterion
from fusewise.automatic.judging.settling import held, log_odds
from fusewise.automatic.judging.trait_valleys import node_densities, valley_along
from fusewise.automatic.models.columnwise import ColumnMixture
from fusewise.automatic.models.group_fit import enough_gain
from fusewise.automatic.models.joined import Joined
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.models.traits import fit_traits
from fusewise.automatic.search.search_result import Searched
from fusewise.automatic.search.searching import TreeSearch


def with_traits(search: TreeSearch, found: Searched) -> Searched:
    """The classes that were found, or classes with a trait if these explain the table better.

    If the number of classes is given, only that number is compared.
    """
    compared, chosen, told = found.compared, found.chosen, search.n_clusters
    if not search.levels or compared.interrupted or compared.mixtures[chosen].n_components == 1:
        return found
    tried = range(chosen, chosen + 1) if told is not None else range(chosen + 1)
    fits: list[Joined] = []
    try:
        for k in tried:
            fits.append(_fitted(search, compared.mixtures[k]))
            search.progress("comparing classes with a trait", len(fits), len(tried))
    except KeyboardInterrupt:
        warnings.warn("interrupted: this is the best result without traits", ConvergenceWarning, stacklevel=5)
        return found._replace(compared=replace(compared, interrupted=True))
    parted = told is None and _has_valley(search, fits[0])
    evidence = [-np.inf if parted and k == 0 else _evidence(search, fit) for k, fit in enumerate(fits)]
    if max(evidence) <= _evidence(search, compared.mixtures[chosen]):
        return found
    judged = Compared((), (), interrupted=False)
    for k, fit in enumerate(fits):
        criterion = class_criterion(search.sample, fit, search.worth)
        judged = judged.with_one(fit, criterion, None if parted and k == 0 else _odds(search, fit))
    if told is None:
        best = fewest(judged.criteria, search.enough_gained, judged.barred)
        return found._replace(partitions=found.partitions[: chosen + 1], compared=judged, chosen=best)
    mixtures, criteria = list(compared.mixtures), list(compared.criteria)
    mixtures[chosen], criteria[chosen] = judged.mixtures[0], judged.criteria[0]
    return found._replace(compared=replace(compared, mixtures=tuple(mixtures), criteria=tuple(criteria)))


def _fitted(search: TreeSearch, classes: object) -> Joined:
    """Classes with a trait, started from classes alone."""
    assert isinstance(classes, ColumnMixture)
    table, levels = search.sample, search.levels
    densities = classes.log_densities(table)[0]
    away = held(densities, search.hints, search.n_clusters)
    posterior = probabilities(densities + away)[0]
    return fit_traits(table, posterior, LONG_ROUNDS, levels, enough_gain(table.shape[0]), 1, away)


def _has_valley(search: TreeSearch, single: Joined) -> bool:
    """Whether the rows of a single class show a valley along its trait."""
    price = float(np.log(search.worth * search.sample.shape[0])) / search.worth
    return valley_along(node_densities(search.sample, single)) > price


def _evidence(search: TreeSearch, classes: object) -> float:
    """That of the table and the hints; minus infinity if hints cannot hold, or too few classes are occupied."""
    assert isinstance(classes, ColumnMixture | Joined)
    labels = classes.log_densities(search.sample)[0].argmax(axis=1)
    empty = search.n_clusters is not None and len(np.unique(labels)) < search.n_clusters
    odds = _odds(search, classes)
    if odds is None or empty:
        return -np.inf
    return class_criterion(search.sample, classes, search.worth, coarsened=False) + odds


def _odds(search: TreeSearch, classes: ColumnMixture | Joined) -> float | None:
    """``settling.log_odds`` of the hints."""
    if not search.hints:
        return 0.0
    return log_odds(classes.log_densities(search.sample)[0], search.hints, search.worth, search.n_clusters)
