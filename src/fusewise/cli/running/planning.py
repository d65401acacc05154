"""``fusewise plan``: how much must be observed for clusters like these to be found?"""

from __future__ import annotations

from typing import Any

import numpy as np

from fusewise.cli.errors import blaming_input
from fusewise.tables.errors import InputError
from fusewise.theory import ClusterGeometry, Promise, promise, success_probability

#: Fractions of entries observed for which the promise is tabulated.
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

#: The library's names of the arguments -> the options.
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
    """The geometry of a study that has not been made yet."""
    if features < 1:
        raise InputError(f"--features = {features} is out of range: it must be a whole number >= 1")
    with blaming_input(OPTIONS):
        return ClusterGeometry.from_parameters(
            n_clusters=clusters, size=size, n_features=features, kappa=kappa, mu0=coherence
        )


def promised(geometry: ClusterGeometry, observed: float | None, target: float, uniform: bool) -> Promise:
    """What is promised, and in which words."""
    with blaming_input(OPTIONS):
        return promise(geometry, observed, target, uniform=uniform)


def sentences(result: Promise) -> list[str]:
    """The library's sentences, in the words of the command line."""
    return [sentence.replace("(uniform=True)", "(--uniform)") for sentence in result.sentences]


def curve(geometry: ClusterGeometry, uniform: bool) -> list[tuple[float, float]]:
    """(fraction observed, probability promised)."""
    chances = np.atleast_1d(success_probability(geometry, FRACTIONS, uniform=uniform))
    return [(fraction, float(chance)) for fraction, chance in zip(FRACTIONS, chances, strict=True)]


def as_data(geometry: ClusterGeometry, result: Promise, uniform: bool) -> dict[str, Any]:
    """Everything, for machines."""
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
