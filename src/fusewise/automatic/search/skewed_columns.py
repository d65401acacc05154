"""Clusters that are due to the shapes of skewed columns, told from those of rows.

A column of concentrations, counts or amounts of money has many small values and few large ones. A mixture describes
such a table by a dense component and sparse ones around it, and in more than a few dimensions nothing tells them from
true clusters of different density. So the search is repeated in tables with one cluster, whose columns have the same
shapes and the same correlations (``one_cluster``). If clusters improve on a single one there at least half as much as
here,

    gain'  >=  ENOUGH gain,

a single cluster of skewed columns explains what was found (a parametric bootstrap; McLachlan, 1987). Then columns are
made symmetric, and the table is searched again (``choice``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fusewise.automatic.coordinates.gaps import MOST_DIMENSIONS
from fusewise.automatic.coordinates.level_blocks import is_number
from fusewise.automatic.coordinates.one_cluster import OneCluster
from fusewise.automatic.coordinates.symmetric import Powers
from fusewise.automatic.judging.valleys import MOST_COMPONENTS, without_valley
from fusewise.automatic.models.mixture import Mixture
from fusewise.automatic.search.class_traits import with_traits
from fusewise.automatic.search.related_numbers import with_related_numbers
from fusewise.automatic.search.search_result import Searched
from fusewise.automatic.search.searching import LARGEST_RANK, TreeSearch
from fusewise.observations import Entries
from fusewise.progress import silent

#: The share of the gain that a table with one cluster has to reach, in one of so many.
ENOUGH, TABLES = 0.5, 3
#: A gain of fewer nats than this is reached by chance in some tables and not in others. Then more are drawn, if one of
#: the first shows clusters at all.
SMALL, MORE_TABLES = 100.0, 10
#: A gain of fewer nats than this may be due to a few rows, so it is always in doubt.
WEAK = 30.0


def powers_in_question(search: TreeSearch, found: Searched) -> Powers | None:
    """The powers that make columns symmetric, if they gain more than the clusters that were found.

    Not in tables of few numbers alone, where the rows show the shape of a group.
    """
    sample, levels = search.sample, search.levels
    if search.hints or found.compared.interrupted or found.n_groups == 1:
        return None
    if not isinstance(sample, Entries) or sample is not search.wide or sample.dtype.kind == "c":
        return None
    few = sample.shape[1] <= MOST_DIMENSIONS and not levels
    if few or not is_number(sample.shape[1], levels).any():
        return None
    powers = Powers.of(sample, levels)
    return powers if powers.gain(sample) > found.gain else None


def shapes_behind(search: TreeSearch, found: Searched, powers: Powers) -> bool:
    """Whether the clusters that were found are due to the shapes of columns.

    If the number of clusters is given, the number that would be found without it decides, and both must be in doubt.
    """
    if search.n_clusters is not None:
        if not in_doubt(search, found):
            return False
        search = replace(search, n_clusters=None)
        found = _searched(search)
        if powers_in_question(search, found) is None or not in_doubt(search, found):
            return False
    assert isinstance(search.sample, Entries)
    one = OneCluster.like(search.sample, powers, min(LARGEST_RANK, search.most), search.levels)
    return _reached(search, search.sample, one, found.gain)


def _reached(search: TreeSearch, sample: Entries, one: OneCluster, gain: float) -> bool:
    """Whether clusters gain enough in a table with one cluster."""
    gains: list[float] = []
    most = MORE_TABLES if gain < SMALL else TABLES
    while len(gains) < (most if any(gains) else min(most, TABLES)):
        search.progress("comparing with a single cluster of skewed columns", len(gains), most)
        table = one.drawn(sample, np.random.default_rng(len(gains)))
        gains.append(_searched(replace(search, wide=table, sample=table, copies=None, progress=silent)).gain)
        if gains[-1] >= ENOUGH * gain:
            return True
    return False


def in_doubt(search: TreeSearch, found: Searched) -> bool:
    """Whether the gain of several components is weak, or nothing tells some of them apart."""
    best = found.compared.mixtures[found.chosen]
    if not 1 < best.n_components <= MOST_COMPONENTS:
        return False
    if not isinstance(best, Mixture):
        return bool(search.alike(best, of_any_density=True))
    return found.gain < WEAK or bool(without_valley(best, found.placed.rows.evidence, of_any_density=True))


def _searched(search: TreeSearch) -> Searched:
    """The search in all dimensions, or KeyboardInterrupt."""
    found = with_related_numbers(search, with_traits(search, search.in_all_dimensions(None)))
    if found.compared.interrupted:
        raise KeyboardInterrupt
    return found
