"""Spreads of the components of a mixture: the EM step, and the longer step of Fisher scoring.

Two families of spreads: ``"scale"``, Sigma_k = tau_k Sigma, one shape in several sizes; and ``"full"``, one each,
shrunk towards the common one by r + 2 pseudo-rows. EM is slow if the rows of a group hardly vary beyond the noise of
their entries, and with heavy tails: its step is the gradient divided by the information of rows that are known exactly
and normal. Fisher scoring divides by the actual information; both have the same fixed points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fusewise.automatic.coordinates.evidence import regular
from fusewise.kernels.types import Real

#: Degrees of freedom of the components: heavy tails, with a finite variance.
TAIL = 5.0
#: A spread grows or shrinks by at most this factor in a step.
LARGEST_STEP = 3.0


class Spreads(NamedTuple):
    """Sigma_k of each group, K x r x r, and the common one, r x r."""

    each: Real
    common: Real


class Seen(NamedTuple):
    """Statistics of the rows of each group on its spread.

    Attributes
    ----------
    scatter : K x r x r, the sum_i E[w_i (v_i - mu)(v_i - mu)'].
    known : K x r x r, the mean of I - B_i^-1: I if the s of v = mu + L s are known exactly, 0 if not at all.
    sizes : K, rows in each group.
    """

    scatter: Real
    known: Real
    sizes: Real


def em_step(now: Spreads, seen: Seen, prior: Real, family: str) -> Spreads:
    """Return the spreads that maximise the expected likelihood given the current ones.

    Parameters
    ----------
    now : the current spreads.
    seen : statistics of the rows.
    prior : spread of r + 2 pseudo-rows that are added to each group, so that small groups have a spread too.
    family : "scale" or "full".
    """
    r, sizes = len(prior), seen.sizes
    n, pseudo = sizes.sum(), r + 2.0
    if family == "scale":
        tau = np.einsum("kl,jlk->j", np.linalg.inv(regular(now.common)), seen.scatter) + pseudo
        tau /= r * sizes + pseudo
        common = ((seen.scatter / tau[:, None, None]).sum(axis=0) + pseudo * prior) / (n + pseudo)
        return Spreads(tau[:, None, None] * common, common)
    common = (seen.scatter.sum(axis=0) + pseudo * prior) / (n + pseudo)
    return Spreads((seen.scatter + pseudo * common) / (sizes + pseudo)[:, None, None], common)


def fisher_step(now: Spreads, seen: Seen, prior: Real, family: str) -> Spreads:
    """Return the spreads after a step of Fisher scoring from the current ones.

    With Sigma = L (I + X) L', the gradient of twice the log-likelihood at X = 0 is D = L^-1 scatter L^-T - n I, and
    pseudo-rows of spread P add r + 2 times L^-1 P L^-T - I. X solves H X = D with the information H of `_solved`.
    For ``"scale"`` the tau_k take their steps first, and the common spread takes the rest of the gradient.
    """
    r, sizes = len(prior), seen.sizes
    n, pseudo = sizes.sum(), r + 2.0
    eye, every = np.eye(r), np.einsum("k,kij->ij", sizes, seen.known) / sizes.sum()
    each, common = np.linalg.cholesky(regular(now.each)), np.linalg.cholesky(regular(now.common))
    if family == "full":
        em = em_step(now, seen, prior, family)
        steps = []
        for factor, to, known, count in ((each, em.each, seen.known, sizes), (common, em.common, every, n)):
            x = whitened(to, factor) - eye
            further = _solved(np.multiply.outer(count + pseudo, np.ones((r, r))) * x, known, count)
            steps.append(_stretched(factor, further))
        return Spreads(*steps)
    tau = np.trace(regular(now.each), axis1=1, axis2=2) / np.trace(regular(now.common))
    gradients = whitened(seen.scatter, each) - sizes[:, None, None] * eye
    shape, size = _information(r)
    traces = np.trace(seen.known, axis1=1, axis2=2)
    informations = sizes * (shape * np.einsum("kij,kij->k", seen.known, seen.known) - size * traces**2) + pseudo
    x = (np.trace(gradients, axis1=1, axis2=2) + pseudo * (1 / tau - 1)) / informations
    taken = shape * seen.known @ seen.known - size * traces[:, None, None] * seen.known
    left = gradients.sum(axis=0) - np.einsum("k,kij->ij", x * sizes, taken) + pseudo * (whitened(prior, common) - eye)
    spread = _stretched(common, _solved(left, every, n))
    return Spreads((tau * _lengthened(x))[:, None, None] * spread, spread)


def _information(r: int) -> tuple[float, float]:
    """(a, b) with H X = a X - b tr(X) I, the information on X of one exactly known Student-t row in r dimensions."""
    return (TAIL + r) / (TAIL + r + 2), 1 / (TAIL + r + 2)


def _solved(gradient: Real, known: Real, n: Real | float) -> Real:
    """Solve n (a G X G - b tr(G X) G) + (r + 2) X = D for X, with n rows and `known` = G.

    In the eigenbasis of G the equations decouple for each entry of X off the diagonal; on it the system is a diagonal
    matrix minus one of rank one.
    """
    r = gradient.shape[-1]
    shape, size = _information(r)
    g, axes = np.linalg.eigh(known)
    g = np.clip(g, 0, 1)
    turned = np.swapaxes(axes, -1, -2)
    rows = np.asarray(n)[..., None]
    information = shape * rows[..., None] * g[..., :, None] * g[..., None, :] + r + 2
    x = turned @ gradient @ axes / information
    diagonal = np.arange(r)
    own, pivot = x[..., diagonal, diagonal], information[..., diagonal, diagonal]
    lost = 1 - size * rows * (g * g / pivot).sum(axis=-1, keepdims=True)
    x[..., diagonal, diagonal] = own + size * rows * g / pivot * (g * own).sum(axis=-1, keepdims=True) / lost
    return np.asarray(axes @ x @ turned)


def whitened(spread: Real, factor: Real) -> Real:
    """L^-1 S L^-T."""
    inverse = np.linalg.inv(factor)
    return np.asarray(inverse @ spread @ np.swapaxes(inverse, -1, -2))


def _stretched(factor: Real, x: Real) -> Real:
    """L f(X) L' with f(x) of `_lengthened`."""
    values, axes = np.linalg.eigh(x)
    turned = factor @ axes
    return np.asarray((turned * _lengthened(values)[..., None, :]) @ np.swapaxes(turned, -1, -2))


def _lengthened(x: Real) -> Real:
    """1 + x for growth and 1 / (1 - x) for shrinkage: positive, and at most `LARGEST_STEP`."""
    grown = 1 + np.minimum(np.abs(x), LARGEST_STEP - 1)
    return np.asarray(np.where(x > 0, grown, 1 / grown))
