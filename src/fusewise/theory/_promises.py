"""The recovery guarantee: the probability of success, the sampling it needs, and both in plain words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from fusewise.kernels import Floats
from fusewise.support import counted
from fusewise.theory import _checks as check
from fusewise.theory._failure import sharp_failure
from fusewise.theory._geometry import ClusterGeometry


def success_probability(geometry: ClusterGeometry, p0: ArrayLike | None = None) -> Floats:
    """1 - `sharp_failure`: with this probability, at least, the l0 problem returns exactly the true clusters.

    Parameters
    ----------
    geometry : how wide clusters are, how far apart, in how many features.
    p0 : probability that an entry is observed; by default the fraction ``geometry.observed``.

    Returns
    -------
    float or ndarray
        Shaped like ``p0``; 0.0 means that no guarantee is given, not that clustering will fail.
    """
    given = check.real("p0", geometry.observed if p0 is None else p0, 0, 1)
    failure = sharp_failure(given, geometry.separating, geometry.sizes, log=True)
    return check.unwrap(-np.expm1(np.minimum(failure, 0.0)) + 0.0)


def required_sampling(geometry: ClusterGeometry, target: float = 0.95) -> float:
    """Least p0 with success_probability >= target, to 1e-9; nan when no p0 suffices.

    `promise` says why it is nan. The bound falls as p0 grows, so bisection is safe. `geometry` as in
    `success_probability`.
    """
    check.real("target", target, 0, 1)

    def enough(p0: float) -> bool:
        return bool(success_probability(geometry, p0) >= target)

    if not enough(1.0):
        return float("nan")
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _why_no_guarantee(geometry: ClusterGeometry) -> str:
    """Why nothing can be guaranteed at any p0, or an empty string."""
    if success_probability(geometry, 1.0) > 0:
        return ""
    if geometry.delta == 0:
        return "No guarantee: two points of different clusters coincide (delta = 0)"
    so = "clusters are as wide as they are far apart, and some points of different clusters"
    if geometry.measured_separating is None:
        so = "points of different clusters may"
    width = "the width epsilon of a cluster in every feature"
    return f"No guarantee: kappa = {geometry.kappa:.3g} is not below 1: {so} differ by no more than {width}"


@dataclass(frozen=True)
class Promise:
    """The recovery guarantee for a geometry at sampling p0: the numbers, and the sentences that say them.

    Attributes
    ----------
    geometry : how wide clusters are, how far apart, in how many features.
    p0, probability : sampling, and the probability of success there.
    required, target : the sampling that makes the probability `target`; nan where none does.
    reason : why nothing can be guaranteed; empty where something can.
    sentences : all of it in words.
    """

    geometry: ClusterGeometry
    p0: float
    probability: float
    required: float
    target: float
    reason: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """The guarantee in words."""
        return tuple(_say(self.geometry, self))

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def promise(geometry: ClusterGeometry, p0: float | None = None, target: float = 0.95) -> Promise:
    """Gather the guarantee at p0 and the sampling that reaches the probability `target`.

    `geometry` and `p0` as in `success_probability`.
    """
    p0 = float(check.real("p0", geometry.observed if p0 is None else p0, 0, 1))
    probability, required = float(success_probability(geometry, p0)), required_sampling(geometry, target)
    return Promise(geometry, p0, probability, required, target, _why_no_guarantee(geometry))


def _percent(value: float) -> str:
    """Rounded down, so that a guarantee short of certainty is never shown as certain."""
    return "99.9%" if value >= 0.999 else f"{100 * np.floor(value * 1000) / 1000:.1f}%"


def _round_up(value: float) -> str:
    """One significant digit, never below the value (nor below what 1 - probability can resolve)."""
    value = max(value, 1e-15)
    unit = 10.0 ** np.floor(np.log10(value))
    return f"{np.ceil(value / unit * (1 - 1e-9)) * unit:.1g}"


def _say(geometry: ClusterGeometry, result: Promise) -> list[str]:
    sizes, n = geometry.sizes, geometry.separating
    size_text = counted(sizes[0], "point") if geometry.equal_sizes else f"{min(sizes)} to {max(sizes)} points"
    each = " each" if geometry.equal_sizes and geometry.n_clusters > 1 else ""
    lines = [
        f"{counted(geometry.n_clusters, 'cluster')} of {size_text}{each}, {counted(geometry.n_features, 'feature')}, "
        f"{100 * result.p0:.3g}% of the entries observed."
    ]
    if geometry.n_clusters == 1:
        return [*lines, "There is only one cluster, so no two clusters can be confused."]
    if geometry.delta > 0:
        matters = f"(1: all features matter equally; {geometry.n_features}: only one matters)"
        lines.append(
            f"Width over separation kappa = {geometry.kappa:.3g} (the paper's guarantee needs kappa < 1); "
            f"coherence mu0 = {geometry.mu0:.3g} {matters}."
        )
    if n:
        lines.append(
            f"Any two points of different clusters differ by more than the cluster width in at least {n} of the "
            f"{counted(geometry.n_features, 'feature')}."
        )
    if geometry.measured_separating is not None and geometry.observed < 1:
        lines.append("The table has missing values, so these numbers, and what follows from them, are estimates.")
    if result.reason:
        return [*lines, f"{result.reason}.", "Clustering may still work, but it is not guaranteed."]
    needed = 100 * np.ceil(result.required * 1000) / 1000
    wanted = f"A recovery guarantee of {100 * result.target:.4g}% needs {needed:.1f}% of the entries observed."
    return [*lines, _say_now(result), wanted]


def _say_now(result: Promise) -> str:
    if result.p0 == 1 and result.probability == 1:
        return "With every entry observed, the l0 problem returns exactly these clusters: that is certain."
    if result.probability == 0:
        return f"At {100 * result.p0:.3g}% observed, there is no recovery guarantee; clustering may still work."
    return (
        "If entries are missing at random, the l0 problem returns exactly these clusters with probability "
        f"at least {_percent(result.probability)} (chance of failure at most {_round_up(1 - result.probability)})."
    )
