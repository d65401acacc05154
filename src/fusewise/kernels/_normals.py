"""Normal distributions seen through intervals and errors: truncated moments, and the mean and variance of columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewise.kernels._arrays import Mask, Real

#: Nodes of Gauss and Legendre's rule. Beyond the standard deviations, squared, from the mode a density is left out: it
#: is exp(-REACH / 2) of the largest there.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
REACH = 80.0
#: Variables whose densities are computed at a time, at all nodes.
BLOCK = 10_000
#: An interval that adds less than this share to what is known of an entry says nothing; and the smallest variance of
#: an entry in an interval, as a share of what it would be without.
VACUOUS, NARROWEST = 1e-8, 1e-12
#: Rounds of Fisher scoring at most; the relative change that ends them; the least factor of a variance in one of them.
ROUNDS, SETTLED, SHRINKING = 100, 1e-9, 0.1


class Truncated(NamedTuple):
    """Normal variables known to lie between two bounds: log P(low <= x <= high), and their mean and variance then."""

    log_mass: Real
    mean: Real
    variance: Real


def truncated(mean: Real, variance: Real, low: Real, high: Real) -> Truncated:
    """Moments of x ~ N(mean, variance) given low <= x <= high, by quadrature about the mode: accurate in any tail.

    With z standardised, z0 the mode and z = z0 + t, the density is exp(-z0²/2) exp(-t (t + 2 z0) / 2): no differences
    of probabilities are taken, so nothing cancels where the interval is narrow or far from the mean. One-dimensional.
    """
    blocks = [slice(begin, begin + BLOCK) for begin in range(0, max(len(mean), 1), BLOCK)]
    found = (_truncated(*(each[some] for each in (mean, variance, low, high))) for some in blocks)
    return Truncated(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _truncated(mean: Real, variance: Real, low: Real, high: Real) -> Truncated:
    """The same for a block of variables."""
    sd = np.sqrt(variance)
    a, b = (low - mean) / sd, (high - mean) / sd
    mode = np.clip(0.0, a, b)
    reach = np.sqrt(np.square(mode) + REACH)
    begin, end = np.maximum(a, -reach) - mode, np.minimum(b, reach) - mode
    half = (end - begin) / 2
    t = begin[..., None] + half[..., None] * (1 + _NODES)
    density = _WEIGHTS * np.exp(-0.5 * t * (t + 2 * mode[..., None]))
    mass = density.sum(axis=-1)
    shift = (density * t).sum(axis=-1) / mass
    spread = (density * np.square(t - shift[..., None])).sum(axis=-1) / mass
    with np.errstate(divide="ignore"):  # of an interval without width
        log_mass = np.log(half * mass) - 0.5 * np.square(mode) - 0.5 * np.log(2 * np.pi)
    return Truncated(log_mass, np.clip(mean + sd * (mode + shift), low, high), variance * spread)


def sites(mean: Real, variance: Real, given: Truncated) -> tuple[Real, Real]:
    """The y and v with N(x; mean, variance) N(y; x, v) proportional to the normal density with the given moments.

        1 / v = 1 / given variance - 1 / variance,    y / v = given mean / given variance - mean / variance

    So a normal observation y of x with the variance v says of it what the interval says. v is infinite where that is
    nothing; it is never negative, as a normal density cut off at both sides has the smaller variance.
    """
    share = np.maximum(given.variance / variance, NARROWEST)
    left = 1 - share
    says = left > VACUOUS
    with np.errstate(divide="ignore", invalid="ignore"):
        return (
            np.where(says, mean + (given.mean - mean) / left, mean),
            np.where(says, variance * share / left, np.inf),
        )


def column_moments(
    values: Real, known: Mask, variances: Real, counts: Real, low: Real | None = None, high: Real | None = None
) -> tuple[Real, Real]:
    """The likeliest mean m and variance s² of each column of x ~ N(m, s²), by Fisher scoring.

    Of the `known` entries either y = x + e with e ~ N(0, v) or low <= x <= high was seen; the latter is a normal
    observation as well (``sites``), renewed with m and s². A column that may not vary at all has the variance 0.

    Parameters
    ----------
    values, variances : the y and v, N x P.
    known : which entries are known in either way.
    counts : N, how often each row counts.
    low, high : the bounds, N x P, -inf and inf where there is none.
    """
    y, v, often = values.astype(float), variances.astype(float), counts[:, None] * known
    size = np.maximum(often.sum(axis=0), 1)
    at, width = None, np.zeros_like(y)
    if low is not None and high is not None:
        at = np.nonzero(known & (np.isfinite(low) | np.isfinite(high)))
        bounds = low[at], high[at]
        alike, same = np.unique(np.stack([at[1], *bounds]), axis=1, return_inverse=True)
        column, ends = alike[0].astype(np.intp), alike[1:]
        y[at] = _middle(*bounds)
        width[at] = np.where(np.isfinite(bounds[1] - bounds[0]), bounds[1] - bounds[0], 0)
    mean = (often * y).sum(axis=0) / size
    variance = (often * (np.square(y - mean) + np.square(width) / 12)).sum(axis=0) / size
    varies, floor = variance > 0, NARROWEST * variance
    for _ in range(ROUNDS):
        if at is not None:
            m, s = mean[column], np.where(varies, variance, 1.0)[column]
            y[at], v[at] = (each[same.ravel()] for each in sites(m, s, truncated(m, s, *ends)))
        total = np.where(varies, variance, 1.0) + v
        weights = often / total
        sums = np.where(varies, weights.sum(axis=0), 1.0)
        now = np.where(varies, (weights * y).sum(axis=0) / np.maximum(sums, 1e-300), mean)
        squared = weights / total
        score = (squared * np.square(y - now) - weights).sum(axis=0) / np.maximum(squared.sum(axis=0), 1e-300)
        new = np.where(varies, np.clip(variance + score, SHRINKING * variance, variance / SHRINKING), 0)
        varies = new > floor
        moved = np.abs(now - mean) > SETTLED * np.sqrt(variance)
        done = not (varies & (moved | (np.abs(new - variance) > SETTLED * variance))).any()
        mean, variance = now, np.where(varies, new, 0)
        if done:
            break
    return mean, variance


def _middle(low: Real, high: Real) -> Real:
    """The middle of each interval, or its one bound."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(low), high, np.where(np.isinf(high), low, low + (high - low) / 2))
