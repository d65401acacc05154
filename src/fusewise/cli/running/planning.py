"""``fusewise plan``: the fraction of entries that must be observed to recover clusters of a given geometry."""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.cli.exits import naming_options
from fusewise.support.errors import InputError
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability

#: Observed fractions for which the guarantee is tabulated.
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: The library's argument names -> the command-line options.
OPTIONS = {
    "n_clusters": "--clusters",
    "size": "--size",
    "sizes": "--size",
    "n_features": "--features",
    "kappa": "--kappa",
    "mu0": "--coherence",
    "observed": "--observed",
    "p0": "--observed",
    "target": "--target",
}


def planned_geometry(clusters: int, size: int, features: int, kappa: float, coherence: float) -> ClusterGeometry:
    """The geometry of a planned study."""
    if features < 1:
        raise InputError(f"--features = {features} is out of range: it must be a whole number >= 1")
    with naming_options(OPTIONS):
        return ClusterGeometry.from_parameters(
            n_clusters=clusters, size=size, n_features=features, kappa=kappa, mu0=coherence
        )


def promised(geometry: ClusterGeometry, observed: float | None, target: float, uniform: bool) -> Promise:
    """The recovery guarantee, with errors reported in terms of the options."""
    with naming_options(OPTIONS):
        return promise(geometry, observed, target, uniform=uniform)


def sentences(result: Promise) -> list[str]:
    """The library's sentences, with arguments replaced by command-line options."""
    return [sentence.replace("(uniform=True)", "(--uniform)") for sentence in result.sentences]


def curve(geometry: ClusterGeometry, uniform: bool) -> list[tuple[float, float]]:
    """Pairs (observed fraction, guaranteed probability)."""
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS, uniform=uniform))
    return [(fraction, float(chance)) for fraction, chance in zip(FRACTIONS, chances, strict=True)]


def as_data(geometry: ClusterGeometry, result: Promise, uniform: bool) -> dict[str, Any]:
    """The guarantee as a JSON-serialisable dictionary."""
    return {
        "probability": result.probability,
        "observed": result.p0,
        "target": result.target,
        "required_observed": result.required,
        "paper_probability": result.paper_probability,
        "reason": result.reason.replace("(uniform=True)", "(--uniform)"),
        "sizes": list(geometry.sizes),
        "numbers": result.numbers,
        "curve": [{"observed": fraction, "probability": chance} for fraction, chance in curve(geometry, uniform)],
        "sentences": sentences(result),
    }
