"""The recovery guarantee for the clusters that were found."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fusewise.support.words import counted
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability
from fusewise.views.findings import Findings

#: Maximum number of rows whose pairs are measured: more would take longer than the fit.
MOST_MEASURED = 1_500
#: Maximum number of entries compared over all pairs; wide tables are measured on fewer rows.
MOST_WORK = 1e8
#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = tuple(np.round(np.arange(0.05, 1.0001, 0.05), 2))


@dataclass(frozen=True, eq=False)
class Promised:
    """A recovery guarantee and the measurements behind it.

    Attributes
    ----------
    sentences : the guarantee in words.
    result : the numbers, or None if nothing could be measured.
    curve : (observed fraction, guaranteed probability); empty if there is no guarantee at any fraction.
    measured : number of rows whose pairs were measured.
    """

    sentences: tuple[str, ...]
    result: Promise | None
    curve: tuple[tuple[float, float], ...]
    measured: int


def _measured_in(found: Findings, observed: float) -> list[str]:
    """What was measured: the features of the model, which are more than the columns of a table with categories."""
    if found.n_clusters < 2:
        return []
    n, p = len(found.features), len(found.columns)
    of = "" if n == p else f" of the model (of {counted(p, 'column')}: a category has a feature for each level)"
    return [
        f"Measured in {counted(n, 'feature')}{of}, with {observed:.1%} of the values of the clustered rows observed."
    ]


def promise_for(found: Findings) -> Promised:
    """Measure the clusters in the model's units, on a sample of the rows if there are many."""
    inside = np.flatnonzero(found.labels >= 0)
    if not len(inside):
        return Promised(("No row is in a cluster, so there is no recovery guarantee.",), None, (), 0)
    most = min(MOST_MEASURED, int(np.sqrt(MOST_WORK / found.values.shape[1])))
    rows = inside if len(inside) <= most else np.sort(np.random.default_rng(0).choice(inside, most, replace=False))
    try:
        geometry = ClusterGeometry.from_data(found.values[rows] / found.unit, found.labels[rows])
    except ValueError as error:
        return Promised((f"No recovery guarantee can be computed: {error}.",), None, (), len(rows))
    sizes = tuple(int(n) for n in found.sizes[np.unique(found.labels[rows])])
    geometry = replace(geometry, sizes=sizes, observed=float(found.seen[inside].mean()))
    result = promise(geometry)
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS))
    sentences = (*_measured_in(found, geometry.observed), *result.sentences[1:])
    if len(rows) < len(inside):
        sentences += (
            f"Distances were measured on a random sample of {len(rows):,} of the {len(inside):,} clustered rows. Other "
            "pairs of rows may be closer; the true guarantee is then weaker.",
        )
    worth_drawing = geometry.n_clusters > 1 and bool((chances > 0).any())
    curve = tuple((float(fraction), float(chance)) for fraction, chance in zip(FRACTIONS, chances, strict=True))
    return Promised(sentences, result, curve if worth_drawing else (), len(rows))
