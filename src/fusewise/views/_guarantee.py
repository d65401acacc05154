"""The probability with which clusters such as those found are recovered despite missing values."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fusewise.support import counted
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability
from fusewise.views._findings import Findings

#: Maximum number of rows whose pairs are measured: more would take longer than the fit.
MOST_MEASURED = 1_500
#: Maximum number of entries compared over all pairs; wide tables are measured on fewer rows.
MOST_WORK = 1e8
#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = np.linspace(0.05, 1, 20).round(2)


class MeasuredGuarantee(NamedTuple):
    """The guarantee in words, its numbers, and pairs (observed fraction, guaranteed probability) if any is above 0."""

    sentences: list[str]
    promise: Promise | None = None
    curve: tuple[tuple[float, float], ...] = ()


def guarantee_of(found: Findings, most_measured: int = MOST_MEASURED) -> MeasuredGuarantee:
    """Measure the clusters in the model's units, on a sample of the rows if there are many."""
    inside = np.flatnonzero(found.labels >= 0)
    if not len(inside):
        return MeasuredGuarantee(["No row is in a cluster, so there is no recovery guarantee."])
    most = min(most_measured, int(np.sqrt(MOST_WORK / found.values.shape[1])))
    rows = inside if len(inside) <= most else np.sort(np.random.default_rng(0).choice(inside, most, replace=False))
    try:
        geometry = ClusterGeometry.from_data(found.values[rows] / found.unit, found.labels[rows])
    except ValueError as error:
        return MeasuredGuarantee([f"No recovery guarantee can be computed: {error}."])
    sizes = tuple(int(n) for n in found.sizes[np.unique(found.labels[rows])])
    geometry = replace(geometry, sizes=sizes, observed=float(found.seen[inside].mean()))
    result, sentences = promise(geometry), []
    if geometry.n_clusters > 1:
        n, p = len(found.features), len(found.columns)
        of = "" if n == p else f" of the model (of {counted(p, 'column')}: a category has a feature for each level)"
        share = f"{geometry.observed:.1%} of the values of the clustered rows observed"
        sentences = [f"Measured in {counted(n, 'feature')}{of}, with {share}."]
    sentences += [said.replace(" (uniform=True)", "") for said in result.sentences[1:]]
    if len(rows) < len(inside):
        sentences.append(
            f"Distances were measured on a random sample of {len(rows):,} of the {len(inside):,} clustered rows. Other "
            "pairs of rows may be closer; the true guarantee is then weaker."
        )
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS))
    drawn = geometry.n_clusters > 1 and chances.any()
    return MeasuredGuarantee(
        sentences, result, tuple(zip(FRACTIONS.tolist(), chances.tolist(), strict=True)) if drawn else ()
    )
