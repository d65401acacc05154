"""The recovery guarantee: the probability of success, the sampling it needs, and both in plain words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from fusewise.kernels import Floats
from fusewise.support import InputError, counted
from fusewise.theory import _checks as check
from fusewise.theory._bounds import beta0, beta1, uniform_beta0
from fusewise.theory._checks import SQRT_6_5
from fusewise.theory._compositions import eta0, eta1
from fusewise.theory._failure import blind_failure, log_pair_failure, sharp_failure
from fusewise.theory._geometry import ClusterGeometry

Bound = Literal["sharp", "paper"]


def _log_paper_failure(geometry: ClusterGeometry, p0: Floats, uniform: bool) -> Floats:
    """log eta0 where kappa < 1; nothing fails on complete data; log eta1 there when the clusters are uniform."""
    if not geometry.equal_sizes:
        raise InputError(
            f"the paper's theorem needs clusters of equal size, and these have sizes {geometry.sizes}: "
            "use bound='sharp', which does not"
        )
    P, M, K = geometry.n_features, geometry.sizes[0], geometry.n_clusters
    failure = np.full(p0.shape, np.inf)
    if K == 1:
        return np.full(p0.shape, -np.inf)
    if uniform and M >= 2 and geometry.kappa_prime < SQRT_6_5:
        failure[p0 == 1] = eta1(beta1(P, geometry.kappa_prime, log=True), M, K, log=True)
    if geometry.kappa < 1:
        if M >= 2:
            pair = beta0(p0, P, geometry.kappa, geometry.mu0, log=True)
            failure = np.minimum(failure, eta0(pair, M, K, log=True))
        failure[p0 == 1] = -np.inf
    return failure


def success_probability(
    geometry: ClusterGeometry, p0: ArrayLike | None = None, *, bound: Bound = "sharp", uniform: bool = False
) -> Floats:
    """1 - failure, at least 0: with this probability the l0 problem returns exactly the true clusters.

    Parameters
    ----------
    geometry : how wide clusters are, how far apart, in how many features.
    p0 : probability that an entry is observed; by default the fraction ``geometry.observed``.
    bound : "sharp": ours, valid without assuming that edges are independent, for clusters of any sizes.
        "paper": 1 - eta0 as printed; needs equal sizes (otherwise ValueError) and rests on that assumption.
    uniform : also use that the points fill their cubes uniformly. Then kappa >= 1 need not be the end: the
        paper allows kappa' < sqrt(6/5) on complete data; ours any kappa', and missing entries.

    Returns
    -------
    float or ndarray
        Shaped like ``p0``; 0.0 means that no guarantee is given, not that clustering will fail.
    """
    given = check.real("p0", geometry.observed if p0 is None else p0, 0, 1)
    array = np.atleast_1d(given)
    if bound == "paper":
        failure = _log_paper_failure(geometry, array, uniform)
    elif bound == "sharp":
        failure = sharp_failure(array, geometry.separating, geometry.sizes, log=True)
        if uniform and geometry.n_clusters > 1 and np.isfinite(geometry.kappa_prime):
            # A union bound over pairs, so edges need not be independent.
            pair = uniform_beta0(array, geometry.n_features, geometry.kappa_prime, geometry.mu_centers, log=True)
            failure = np.minimum(failure, log_pair_failure(pair, geometry.sizes))
    else:
        raise InputError(f"bound = {bound!r} is unknown: it must be 'sharp' or 'paper'")
    return check.unwrap((-np.expm1(np.minimum(failure, 0.0)) + 0.0).reshape(given.shape))


def required_sampling(
    geometry: ClusterGeometry, target: float = 0.95, *, bound: Bound = "sharp", uniform: bool = False
) -> float:
    """Least p0 with success_probability >= target, to 1e-9; nan when no p0 suffices.

    `why_no_guarantee` says why it is nan. Every bound falls as p0 grows, so bisection is safe. `geometry`, `bound` and
    `uniform` as in `success_probability`.
    """
    check.real("target", target, 0, 1)

    def enough(p0: float) -> bool:
        return bool(success_probability(geometry, p0, bound=bound, uniform=uniform) >= target)

    if not enough(1.0):
        return float("nan")
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def why_no_guarantee(geometry: ClusterGeometry, *, uniform: bool = False) -> str:
    """Return why nothing can be guaranteed at any p0, or an empty string; parameters as in `success_probability`."""
    if success_probability(geometry, 1.0, uniform=uniform) > 0:
        return ""
    if geometry.delta == 0:
        return "no guarantee: two points of different clusters coincide (delta = 0)"
    so = "clusters are as wide as they are far apart, and some points of different clusters"
    if geometry.measured_separating is None:
        so = "points of different clusters may"
    width = "the width epsilon of a cluster in every feature"
    why = f"no guarantee: kappa = {geometry.kappa:.3g} is not below 1: {so} differ by no more than {width}"
    return why if uniform else why + "; for uniform clusters there may still be a guarantee (uniform=True)"


@dataclass(frozen=True)
class Promise:
    """The recovery guarantee for a geometry at sampling p0: the numbers, and the sentences that say them.

    Attributes
    ----------
    p0, probability : sampling, and the probability of success there.
    paper_probability : that of the paper's formula; nan where the paper's theorem does not apply.
    required, target : the sampling that makes the probability `target`; nan where none does.
    reason : why nothing can be guaranteed; empty where something can.
    numbers, sentences : the geometry in numbers; all of it in words.
    """

    p0: float
    probability: float
    paper_probability: float
    required: float
    target: float
    reason: str
    numbers: dict[str, float] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def promise(
    geometry: ClusterGeometry, p0: float | None = None, target: float = 0.95, *, uniform: bool = False
) -> Promise:
    """Gather the guarantee at p0 and the sampling that reaches the probability `target`.

    `geometry`, `p0` and `uniform` as in `success_probability`.
    """
    p0 = float(check.real("p0", geometry.observed if p0 is None else p0, 0, 1))
    probability = float(success_probability(geometry, p0, uniform=uniform))
    paper = float("nan")
    if geometry.equal_sizes and (geometry.kappa < 1 or (uniform and geometry.kappa_prime < SQRT_6_5)):
        paper = float(success_probability(geometry, p0, bound="paper", uniform=uniform))
    required = required_sampling(geometry, target, uniform=uniform)
    reason = why_no_guarantee(geometry, uniform=uniform)
    names = ("epsilon", "delta", "kappa", "mu0", "kappa_prime", "separating", "n_features", "n_clusters")
    numbers = {name: float(getattr(geometry, name)) for name in names}
    several = geometry.n_clusters > 1
    numbers["blind"] = float(blind_failure(p0, geometry.separating, geometry.n_points)) if several else 0.0
    result = Promise(p0, probability, paper, required, target, reason, numbers)
    return replace(result, sentences=tuple(_say(geometry, result)))


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
        reason = result.reason[0].upper() + result.reason[1:] + "."
        return [*lines, reason, "Clustering may still work, but it is not guaranteed."]
    if result.p0 == 1 and result.probability == 1:
        lines.append("With every entry observed, the l0 problem returns exactly these clusters: that is certain.")
    elif result.probability == 0:
        lines.append(f"At {100 * result.p0:.3g}% observed, there is no recovery guarantee; clustering may still work.")
    else:
        lines.append(
            "If entries are missing at random, the l0 problem returns exactly these clusters with probability "
            f"at least {_percent(result.probability)} (chance of failure at most {_round_up(1 - result.probability)})."
        )
    if np.isnan(result.required):
        lines.append(f"No amount of sampling raises the recovery guarantee to {_percent(result.target)}.")
    else:
        needed = 100 * np.ceil(result.required * 1000) / 1000
        lines.append(f"A recovery guarantee of {100 * result.target:.4g}% needs {needed:.1f}% of the entries observed.")
    if result.paper_probability == 0 and result.p0 < 1:
        lines.append("The paper's own formula gives no guarantee here.")
    elif result.paper_probability > 0 and result.p0 < 1:  # not NaN
        lines.append(
            f"The paper's formula says {_percent(result.paper_probability)}, but it treats pairs that share a point as "
            "independent, which they are not: rely on the figure above."
        )
    return lines
