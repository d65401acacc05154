"""Groups as the components of a mixture, judged on the observed entries alone.

A row of component k has coordinates v ~ t_nu(mu_k, Sigma_k) in the subspace, and its observed entries are those
coordinates seen through Q with noise. Student's tails (few degrees of freedom) let a component have a skirt without
asking for a second component to explain it. Two families of spreads: ``"scale"``, Sigma_k = tau_k Sigma, one shape in
several sizes; and ``"full"``, each its own, drawn towards the common one by r + 2 pseudo-rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from fusewise.observations import Entries
from fusewise.observations.entries import Real
from fusewise.subspace import Subspace, information

Labels = npt.NDArray[np.intp]

#: Degrees of freedom of the components: heavy tails, with a finite variance.
TAIL = 5.0

#: At most so many rounds of EM, in which centres, spreads and row weights settle while the labels are held; they end
#: when the fit gains less than so many nats. Partitions can only be compared by fits that have settled.
ROUNDS = 20
GAIN = 0.2


@dataclass(frozen=True, eq=False)
class Evidence:
    """What each row's observed entries say of its coordinates: log p(x_i | v) = c_i - v' A_i v / 2 + b_i' v.

    Complex coordinates come as twice as many real ones.

    Attributes
    ----------
    precision : N x r x r, the A_i = Q_I' Q_I / noise.
    vector : N x r, the b_i = Q_I' (x_i - mean)_I / noise.
    constant : N, the c_i.
    """

    precision: Real
    vector: Real
    constant: Real

    @classmethod
    def of(cls, subspace: Subspace, entries: Entries) -> Evidence:
        """The evidence of a table, seen through a subspace."""
        precision, vector = information(subspace, entries.values, entries.mask)
        squares = np.square(np.abs(np.where(entries.mask, entries.values - subspace.mean, 0))).sum(axis=1)
        if np.iscomplexobj(precision) or np.iscomplexobj(vector):
            constant = -entries.row_counts * np.log(np.pi * subspace.noise) - squares / subspace.noise
            real, imaginary = precision.real, precision.imag
            blocks = np.block([[real, -imaginary], [imaginary, real]])
            return cls(2 * blocks, 2 * np.concatenate([vector.real, vector.imag], axis=1), constant)
        constant = -0.5 * (entries.row_counts * np.log(2 * np.pi * subspace.noise) + squares / subspace.noise)
        return cls(precision, vector, constant)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, r)."""
        n, r = self.vector.shape
        return n, r

    @cached_property
    def _placed(self) -> tuple[Real, npt.NDArray[np.intp]]:
        values, vectors = np.linalg.eigh(self.precision)
        known = values > 1e-6 * np.maximum(values[:, -1:], np.finfo(float).tiny)
        inverse = np.where(known, 1 / np.where(known, values, 1), 0)
        along = np.einsum("ilk,il->ik", vectors, self.vector)
        return np.einsum("ikl,il->ik", vectors, inverse * along), known.sum(axis=1)

    @property
    def places(self) -> Real:
        """A_i^+ b_i: the least-squares coordinates of each row."""
        return self._placed[0]

    @property
    def dimensions(self) -> npt.NDArray[np.intp]:
        """The number of directions each row has seen (the rank of A_i)."""
        return self._placed[1]

    def take(self, rows: npt.NDArray[np.intp]) -> Evidence:
        """Some of the rows."""
        taken = Evidence(self.precision[rows], self.vector[rows], self.constant[rows])
        taken.__dict__["_placed"] = (self.places[rows], self.dimensions[rows])
        return taken

    def marginal(self, spread: Real) -> tuple[Real, Real, Real]:
        """With v ~ N(mu, spread) integrated out: log p(x_i) = c_i - mu' G_i mu / 2 + h_i' mu.

        Returns the G_i = (A_i^-1 + spread)^-1, the h_i = G_i A_i^-1 b_i, and the c_i.
        """
        r = self.shape[1]
        factor = np.linalg.cholesky(spread + 1e-10 * np.trace(spread) / r * np.eye(r))
        return _marginal(self.precision, self.vector, self.constant, factor)  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Components mu_k, Sigma_k with shares pi_k, and how well they explain the rows they were fitted to.

    Attributes
    ----------
    means, spreads, shares : K x r, K x r x r, K.
    family : "scale" or "full".
    fit : classification log-likelihood of the labels the components were fitted to.
    complexity : number of free parameters.
    """

    means: Real
    spreads: Real
    shares: Real
    family: str
    fit: float
    complexity: float

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, evidence: Evidence) -> tuple[Real, Real]:
        """log pi_k + log p(x_i | k), N x K; and the squared distance of each row from each mean, in spreads."""
        densities = np.empty((evidence.shape[0], self.n_components))
        distances = np.empty_like(densities)
        for k in range(self.n_components):
            gram, target, constant = evidence.marginal(self.spreads[k])
            densities[:, k], distances[:, k] = _student(evidence, gram, target, constant, self.means[k])
        return densities + np.log(self.shares), distances


def _student(evidence: Evidence, gram: Real, target: Real, constant: Real, mean: Real) -> tuple[Real, Real]:
    """Log-density of each row under t_nu(mean, .), and its squared distance: Gaussian first, then heavier tails."""
    pull = target - gram @ mean
    distance = np.maximum(np.einsum("ik,ik->i", pull, evidence.places - mean), 0)
    gaussian = constant + target @ mean - 0.5 * np.einsum("k,ikl,l->i", mean, gram, mean)
    d = evidence.dimensions
    tails = gammaln((TAIL + d) / 2) - gammaln(TAIL / 2) - d / 2 * np.log(TAIL / 2)
    return gaussian + 0.5 * distance + tails - (TAIL + d) / 2 * np.log1p(distance / TAIL), distance


def fit_groups(evidence: Evidence, labels: Labels, spread: Real, prior: Real, family: str) -> Mixture:
    """Centres and spreads of given groups, by EM on the observed entries with the labels held.

    Parameters
    ----------
    evidence : of the rows.
    labels : 0 .. K-1, none empty.
    spread : a first guess at the spread within groups.
    prior : the spread that r + 2 pseudo-rows add, so that a small group has one too.
    family : "scale" or "full".
    """
    n, r = evidence.shape
    sizes = np.bincount(labels).astype(float)
    parts = [evidence.take(np.flatnonzero(labels == k)) for k in range(len(sizes))]
    weights = [np.ones(part.shape[0]) for part in parts]
    means, spreads = np.zeros((len(sizes), r)), np.broadcast_to(spread, (len(sizes), r, r))
    before = -np.inf
    for _ in range(ROUNDS):
        fit, scatters = float(sizes @ np.log(sizes / n)), []
        for k, part in enumerate(parts):
            gram, target, constant = part.marginal(spreads[k])
            means[k] = _weighted_mean(gram, target, weights[k])
            density, distance = _student(part, gram, target, constant, means[k])
            fit += float(density.sum())
            weights[k] = (TAIL + part.dimensions) / (TAIL + distance)
            scatters.append(_scatter(gram, target, np.ones(len(gram)), weights[k], means[k], spreads[k]))
        if fit - before < GAIN:
            break
        before = fit
        spreads, spread = _spreads(np.array(scatters), sizes, spread, prior, family)
    return Mixture(means, spreads, sizes / n, family, fit, _complexity(sizes, r, family))


def soften(evidence: Evidence, mixture: Mixture, prior: Real, rounds: int) -> Mixture:
    """A few rounds of EM on the observed entries in which rows may be shared between components.

    Few: EM run to its end is free to leave the partition it came from, and does so on tables whose clusters are no
    Student's.
    """
    means, spreads, shares = mixture.means.copy(), mixture.spreads, mixture.shares
    for _ in range(rounds):
        current = replace(mixture, means=means, spreads=spreads, shares=shares)
        densities, distances = current.log_densities(evidence)
        posterior = np.exp(densities - np.logaddexp.reduce(densities, axis=1)[:, None])
        sizes = posterior.sum(axis=0)
        if sizes.min() < 1:
            return current
        scatters = np.empty_like(spreads)
        means = means.copy()
        for k in range(mixture.n_components):
            gram, target, _ = evidence.marginal(spreads[k])
            weights = (TAIL + evidence.dimensions) / (TAIL + distances[:, k])
            means[k] = _weighted_mean(gram, target, posterior[:, k] * weights)
            scatters[k] = _scatter(gram, target, posterior[:, k], weights, means[k], spreads[k])
        spreads, _ = _spreads(scatters, sizes, scatters.sum(axis=0) / sizes.sum(), prior, mixture.family)
        shares = sizes / sizes.sum()
    return replace(mixture, means=means, spreads=spreads, shares=shares)


def _weighted_mean(gram: Real, target: Real, weights: Real) -> Real:
    """argmax of sum_i w_i log p(x_i | mu)."""
    system = np.tensordot(weights, gram, 1)
    r = len(system)
    ridge = 1e-8 * np.trace(system) / r + np.finfo(float).tiny
    return np.asarray(np.linalg.solve(system + ridge * np.eye(r), weights @ target))


def _scatter(gram: Real, target: Real, shares: Real, weights: Real, mean: Real, spread: Real) -> Real:
    """sum_i p_i E[w_i (v_i - mu)(v_i - mu)'] given the rows: how far they are known to be, and how far they may be."""
    known = (target - gram @ mean) @ spread
    unknown = shares.sum() * spread - spread @ np.tensordot(shares, gram, 1) @ spread
    return np.asarray(unknown + (known * (shares * weights)[:, None]).T @ known)


def _spreads(scatters: Real, sizes: Real, shape: Real, prior: Real, family: str) -> tuple[Real, Real]:
    """Spreads of the groups, and the common one."""
    r, n = len(prior), sizes.sum()
    pseudo = r + 2.0
    if family == "scale":
        size = (np.einsum("kl,jlk->j", np.linalg.inv(shape), scatters) + pseudo) / (r * sizes + pseudo)
        common = ((scatters / size[:, None, None]).sum(axis=0) + pseudo * prior) / (n + pseudo)
        return size[:, None, None] * common, common
    common = (scatters.sum(axis=0) + pseudo * prior) / (n + pseudo)
    return (scatters + pseudo * common) / (sizes + pseudo)[:, None, None], common


def _complexity(sizes: Real, r: int, family: str) -> float:
    """Free parameters; a spread drawn towards the common one counts for the part that is its own."""
    n_groups, shape = len(sizes), r * (r + 1) / 2
    own = 1.0 if family == "scale" else float(np.mean(sizes / (sizes + r + 2.0))) * shape
    return n_groups - 1 + n_groups * r + shape + (n_groups - 1) * own


@numba.njit(cache=True)
def _marginal(precision: Any, vector: Any, constant: Any, factor: Any) -> Any:
    """See ``Evidence.marginal``. With spread = L L' and B = I + L' A L: G = A - A L B^-1 L' A."""
    n, r = vector.shape
    gram, target, base = np.empty((n, r, r)), np.empty((n, r)), np.empty(n)
    for i in range(n):
        product, lower, solved, known = np.empty((r, r)), np.empty((r, r)), np.empty((r, r)), np.empty(r)
        for a in range(r):  # A L
            for b in range(r):
                s = 0.0
                for k in range(b, r):
                    s += precision[i, a, k] * factor[k, b]
                product[a, b] = s
        log_det, square = 0.0, 0.0
        for a in range(r):  # the Cholesky factor of B, and B^-1/2 L' b
            for b in range(a + 1):
                s = 1.0 if a == b else 0.0
                for k in range(a, r):
                    s += factor[k, a] * product[k, b]
                for k in range(b):
                    s -= lower[a, k] * lower[b, k]
                lower[a, b] = np.sqrt(s) if a == b else s / lower[b, b]
            log_det += np.log(lower[a, a])
            s = 0.0
            for k in range(a, r):
                s += factor[k, a] * vector[i, k]
            for k in range(a):
                s -= lower[a, k] * known[k]
            known[a] = s / lower[a, a]
            square += known[a] * known[a]
        for c in range(r):  # B^-1/2 L' A, column by column
            for a in range(r):
                s = product[c, a]
                for k in range(a):
                    s -= lower[a, k] * solved[k, c]
                solved[a, c] = s / lower[a, a]
        base[i] = constant[i] - log_det + 0.5 * square
        for a in range(r):
            s = vector[i, a]
            for k in range(r):
                s -= solved[k, a] * known[k]
            target[i, a] = s
            for b in range(a + 1):
                s = precision[i, a, b]
                for k in range(r):
                    s -= solved[k, a] * solved[k, b]
                gram[i, a, b], gram[i, b, a] = s, s
    return gram, target, base
