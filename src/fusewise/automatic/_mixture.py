"""Groups as the components of a mixture, fitted to the observed entries alone.

A row of component k has coordinates v ~ t_nu(mu_k, Sigma_k) in the subspace, and its observed entries are those
coordinates mapped by Q, plus noise. With Student-t tails (few degrees of freedom) a component can have a wide fringe
that does not need a second component to explain it.

Two families of spreads are fitted: ``"scale"``, Sigma_k = tau_k Sigma, one shape in several sizes; and ``"full"``, one
each, shrunk towards the common one by r + 2 pseudo-rows. EM is slow if the rows of a group hardly vary beyond the noise
of their entries, and with heavy tails: its step is the gradient divided by the information of rows that are known
exactly and normal. Fisher scoring divides by the actual information; both have the same fixed points.

Partitions are compared by fits that have converged; but most need not converge for that. EM gains less in a round than
in the one before, typically a third of it, so what a fit may still gain is taken to be no more than its last gain. A
family of spreads, or a partition, that would fall short of another even then is not fitted further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln

from fusewise.automatic._evidence import Evidence, Groups, LayeredEvidence, Marginal, regular
from fusewise.automatic._rows import Rows
from fusewise.kernels import Index, Labels, Real
from fusewise.support import Number, NumberArray, Record, Word

#: Degrees of freedom of the components: heavy tails, with a finite variance.
TAIL = 5.0


class Spreads(NamedTuple):
    """Sigma_k of each group, K x r x r, and the common one, r x r."""

    each: Real
    common: Real


class Seen(NamedTuple):
    """Statistics of the rows of each group on its spread."""

    scatter: Real  # K x r x r, the sum_i E[w_i (v_i - mu)(v_i - mu)']
    known: Real  # K x r x r, the mean of I - B_i^-1: I if the s of v = mu + L s are known exactly, 0 if not at all
    sizes: Real  # K


def em_step(now: Spreads, seen: Seen, prior: Real, family: str) -> Spreads:
    """Return the spreads of a family that maximise the expected likelihood given the current ones.

    r + 2 pseudo-rows of spread `prior` are added to each group, so that small groups have a spread too.
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
    """1 + x for growth and 1 / (1 - x) for shrinkage: positive, and at most 3."""
    grown = 1 + np.minimum(np.abs(x), 2.0)
    return np.asarray(np.where(x > 0, grown, 1 / grown))


@dataclass(frozen=True, eq=False)
class Mixture(Record):
    """Components mu_k, Sigma_k with shares pi_k, and the likelihood of the rows they were fitted to."""

    means: Real
    spreads: Real
    shares: Real
    family: str  # "scale" or "full"
    fit: float  # classification log-likelihood of the labels the components were fitted to
    complexity: float  # number of free parameters

    _rules: ClassVar = {
        "means": NumberArray("K", "r"),
        "spreads": NumberArray("K", "r", "r"),
        "shares": NumberArray("K", low=0, high=1 + 1e-6),
        "family": Word("scale", "full"),
        "fit": Number(),
        "complexity": Number(low=0),
    }

    def _verify(self) -> None:
        values = np.linalg.eigvalsh(self.spreads)
        if not np.allclose(self.spreads, self.spreads.transpose(0, 2, 1)) or values.min() < -1e-8 * values.max():
            raise ValueError("Mixture.spreads has a matrix that is not a covariance")

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, evidence: Evidence) -> tuple[Real, Real]:
        """log pi_k + log p(x_i | k), N x K; and the squared distance of each row from each mean, in spreads."""
        distances, rest = evidence.seen_from(self.means, self.spreads)
        densities = rest + log_tails(distances, evidence.dimensions)
        if isinstance(evidence, LayeredEvidence):
            densities = np.zeros_like(densities)
            for share, each in zip(evidence.shares, evidence.layers, strict=True):
                squares, rest = each.seen_from(self.means, self.spreads)
                densities += share * (rest + log_tails(squares, each.dimensions))
        return densities.T + np.log(self.shares), distances.T

    def only(self, kept: Index) -> Mixture:
        """Some of the components, their shares in the same proportions."""
        shares = self.shares[kept] / self.shares[kept].sum()
        return replace(self, means=self.means[kept], spreads=self.spreads[kept], shares=shares)

    def conditional(self, groups: Groups, noise: Real | None = None) -> Real:
        """Mean of the coordinates of each row, given its entries and that it belongs to the component of its group.

        With `noise`, r x N standard normal numbers: a draw of the coordinates given the entries. N x r, rows in the
        order of the groups.
        """
        marginal = groups.marginal(self.spreads, roots=noise is not None)
        away = _pulled(groups, marginal, self.means)[2]
        if noise is not None:
            away += groups.evidence.each_applied(marginal.root.transpose(1, 0, 2), noise)
        return np.asarray(self.means[groups.group] + groups.turned(marginal.factor, away).T)


def soften(evidence: Evidence, mixture: Mixture, prior: Real, rounds: int, away: Real | float = 0.0) -> Mixture:
    """Run a few rounds of soft EM on the observed entries: rows may be shared between components.

    `away` is added to the log-densities (``hints.held``).

    Only a few, as EM run to convergence may leave the partition it started from, and does so on tables whose clusters
    do not follow a Student-t distribution.
    """
    factor = np.linalg.cholesky(regular(np.einsum("k,kij->ij", mixture.shares, mixture.spreads)))
    turned = evidence.turned(factor)
    for _ in range(rounds):
        densities, distances = mixture.log_densities(evidence)
        posterior, _ = probabilities(densities + away)
        sizes = posterior.sum(axis=0)
        if sizes.min() < 1:
            break
        rows, component = np.nonzero(posterior > 1e-6)
        groups = turned.grouped(component, mixture.n_components, rows)
        which = rows[groups.order], groups.group
        weights = row_weights(groups.evidence, distances[which])
        spreads = whitened(mixture.spreads, factor)
        means, _, _, seen = evaluate(groups, spreads, posterior[which], weights, renew=False)
        now = Spreads(spreads, seen.scatter.sum(axis=0) / sizes.sum())
        spreads = factor @ em_step(now, seen, whitened(prior, factor), mixture.family).each @ factor.T
        mixture = replace(mixture, means=means @ factor.T, spreads=spreads, shares=sizes / sizes.sum())
    return mixture


def probabilities(densities: Real) -> tuple[Real, Real]:
    """p(k | row) from the logarithms of p(k, row), and log p(row).

    Never exactly zero: subnormal numbers would slow down every product a hundredfold.
    """
    top = densities.max(axis=1, keepdims=True)
    shares = np.exp(np.maximum(densities - top, -100.0))
    sums = shares.sum(axis=1, keepdims=True)
    return shares / sums, (top + np.log(sums))[:, 0]


@cache
def _leads(most: int, nu: float) -> Real:
    """log of the constant of t_nu over that of the Gaussian in 0, 1, ..., `most` dimensions."""
    d = np.arange(most + 1)
    return np.asarray(gammaln((nu + d) / 2) - gammaln(nu / 2) - d / 2 * np.log(nu / 2))


def log_tails(distance: Real, dimensions: Index) -> Real:
    """log t_nu - log of the Gaussian's normaliser: replaces -distance/2 for Student-t tails."""
    lead = _leads(int(dimensions.max(initial=0)), TAIL)
    return np.asarray(lead[dimensions.astype(np.intp)] - (TAIL + dimensions) / 2 * np.log1p(distance / TAIL))


def one_of_each(probabilities: Real, random: np.random.Generator) -> Index:
    """Draw an index with given probabilities, N x K, for each row."""
    below = probabilities.cumsum(axis=1)
    return np.asarray((random.random((len(below), 1)) * below[:, -1:] < below).argmax(axis=1), np.intp)


def tail_weights(distance: Real, dimensions: Index, random: np.random.Generator) -> Real:
    """Draw Student's weight of each row given its squared distance D²: Gamma, with the mean (nu + d) / (nu + D²)."""
    return np.asarray(2 * random.gamma((TAIL + dimensions) / 2) / (TAIL + distance))


class Evaluated(NamedTuple):
    """Rows in groups under the likeliest means of their groups, K x r.

    The log-density of each row, its squared distance from the mean, and what the rows say on the spreads.
    """

    means: Real
    density: Real
    distance: Real
    seen: Seen


def evaluate(groups: Groups, spreads: Real, shares: Real, weights: Real, *, renew: bool) -> Evaluated:
    """Find the means that maximise sum_i p_i w_i log p(x_i | mu_k) with fixed weights, and evaluate the rows.

    The scatter is taken with the same weights or, if `renew`, with those that follow from the distances found here.
    """
    evidence, begin, marginal = groups.evidence, groups.begin[:-1], groups.marginal(spreads)
    counts = shares * weights
    # A direction that no row of a group determines stays at the origin.
    system = ((1 + 1e-9) * np.add.reduceat(counts, begin))[:, None, None] * np.eye(spreads.shape[1])
    right = np.add.reduceat(marginal.target * counts, begin, axis=1)
    m = np.linalg.solve(system - _summed(groups, marginal, counts), right.T[:, :, None])[:, :, 0]
    means = np.einsum("jkg,gk->gj", marginal.factor, m)
    own, moved, pull = _pulled(groups, marginal, means)
    # |x - mu|² is E[s | x]' L^-1 (v - mu) at the least-squares v
    rows = own[:, evidence.pattern]
    away = groups.turned(marginal.undone, evidence.places) - rows
    distance = np.maximum(np.einsum("ki,ki->i", pull, away), 0)
    gaussian = marginal.constant + np.einsum("ki,ki->i", marginal.target, rows)
    gaussian -= 0.5 * np.einsum("ku,ku->u", moved, own)[evidence.pattern]
    density = gaussian + 0.5 * distance + log_tails(distance, evidence.dimensions)
    counts = shares * row_weights(evidence, distance) if renew else counts
    return Evaluated(means, density, distance, _seen(groups, marginal, pull, shares, counts))


def _pulled(groups: Groups, marginal: Marginal, means: Real) -> tuple[Real, Real, Real]:
    """m = L^-1 mu and (I - B^-1) m of each pattern, r x U; and E[s | x_i] with coordinates mu_k + L s, r x N."""
    own = np.einsum("jkg,gk->jg", marginal.undone, means)[:, groups.pattern_group]
    moved = own - groups.evidence.each_applied(marginal.inverse, own, np.arange(own.shape[1]))
    return own, moved, marginal.target - moved[:, groups.evidence.pattern]


def _seen(groups: Groups, marginal: Marginal, pull: Real, shares: Real, counts: Real) -> Seen:
    """Statistics of the rows on the spreads: expected scatter around the means, weighted by the counts p_i w_i."""
    sizes, unsure = np.add.reduceat(shares, groups.begin[:-1]), _summed(groups, marginal, shares)
    weighed = pull * counts
    scatter = np.array([weighed[:, i:j] @ pull[:, i:j].T for i, j in pairwise(groups.begin)]) + unsure
    factors = marginal.factor.transpose(2, 0, 1)
    known = np.eye(len(pull)) - unsure / sizes[:, None, None]
    return Seen(factors @ scatter @ factors.transpose(0, 2, 1), known, sizes)


def _summed(groups: Groups, marginal: Marginal, weights: Real) -> Real:
    """sum_i w_i B_i^-1 over the rows of each group, K x r x r."""
    r, _, n = marginal.inverse.shape
    per_pattern = np.bincount(groups.evidence.pattern, weights, minlength=n)
    flat = marginal.inverse.reshape(r * r, n)
    spans = (slice(*span) for span in pairwise(groups.pattern_begin))
    return np.array([flat[:, span] @ per_pattern[span] for span in spans]).reshape(-1, r, r)


def row_weights(evidence: Evidence, distance: Real) -> Real:
    """Expected precision of each row under the Student-t distribution, given its distance."""
    return np.asarray((TAIL + evidence.dimensions) / (TAIL + distance))


#: Largest number of rounds of EM for centres, spreads and row weights with fixed labels; and of the first of these, by
#: which a partition is judged: they leave a small part of what it can gain.
ROUNDS, FIRST_ROUNDS = 15, 3


def enough_gain(n_rows: int) -> float:
    """The gain in log-likelihood below which a round of EM was the last: 5 for 5000 rows, where a parameter costs 4."""
    return 0.2 * max(1.0, n_rows / 1000) ** 2


def fit_groups(evidence: Evidence, labels: Index, spread: Real, prior: Real, family: str) -> Mixture:
    """Fit centres and spreads of the groups given by labels 0 .. K-1, none empty, by EM on the observed entries."""
    fit = GroupFit(np.bincount(labels).astype(float), spread, prior, family)
    groups = evidence.turned(fit.factor).grouped(labels, len(fit.sizes))
    while not fit.done:
        fit.advance(groups)
    return fit.settled


class GroupFit:
    """EM of the centres and spreads of groups, with fixed labels.

    Given are the sizes of the groups, none empty, the initial spread within them, and that of r + 2 pseudo-rows that
    are added to each group, so that small groups have a spread too. The rows are passed with every round, so that a fit
    that waits does not hold them; in coordinates s with v = L s (`factor`), in which the initial spread is I: spreads
    are then well conditioned.
    """

    def __init__(self, sizes: Real, spread: Real, prior: Real, family: str) -> None:
        r = len(spread)
        self.family, self.complexity = family, _complexity(sizes, r, family)
        self.fit, self.gain, self.n_rounds, self.done = -np.inf, np.inf, 0, False
        self.factor = np.linalg.cholesky(regular(spread))
        self.sizes, self._prior = sizes, whitened(prior, self.factor)
        self._weights: Real = np.ones(int(sizes.sum()))
        self._spreads = Spreads(np.repeat(np.eye(r)[None], len(sizes), axis=0), np.eye(r))
        self._best: tuple[Real, Real] | None = None
        self._seen: tuple[Spreads, Seen] | None = None  # what the rows say on the spreads, where the last step began
        self._before, self._scoring = -np.inf, True

    @property
    def settled(self) -> Mixture:
        """The best components so far."""
        assert self._best is not None
        means, spreads = self._best
        spreads = self.factor @ spreads @ self.factor.T
        shares = self.sizes / self.sizes.sum()
        return Mixture(means @ self.factor.T, spreads, shares, self.family, self.fit, self.complexity)

    def advance(self, groups: Groups, evaluated: Evaluated | None = None) -> Evaluated | None:
        """One round; the rows under the components it begins with may be known."""
        n, sizes = groups.evidence.shape[0], self.sizes
        if self._seen is not None:
            step = fisher_step if self._scoring else em_step
            self._spreads = step(*self._seen, self._prior, self.family)
        evaluated = evaluated or evaluate(groups, self._spreads.each, np.ones(n), self._weights, renew=True)
        fit = float(evaluated.density.sum() + sizes @ np.log(sizes / n))
        self.n_rounds += 1
        self.done = self.n_rounds >= ROUNDS
        gain = fit - self._before
        if gain < 0 and self._scoring:  # the scoring step was too long: take the EM step instead, and continue with EM
            self._scoring = False
            return None
        if gain > 0:  # the prior may lower the fit slightly in the last steps
            self._best, self.fit, self.gain = (evaluated.means, self._spreads.each), fit, gain
        self.done |= gain < enough_gain(n)
        self._before, self._weights = fit, row_weights(groups.evidence, evaluated.distance)
        self._seen = self._spreads, evaluated.seen
        return evaluated


def _complexity(sizes: Real, r: int, family: str) -> float:
    """Number of free parameters; a spread shrunk towards the common one counts in proportion to its own data."""
    n_groups, shape = len(sizes), r * (r + 1) / 2
    own = 1.0 if family == "scale" else float(np.mean(sizes / (sizes + r + 2.0))) * shape
    return n_groups - 1 + n_groups * r + shape + (n_groups - 1) * own


def threads_of_fits(n_rows: int, n_dimensions: int) -> int:
    """The most threads that fits of partitions are worth: with less work for each, they mostly wait for Python's lock.

    (1000 rows in 6 dimensions on 16 cores took 1.0 s on one thread, 1.4 s on 4, 2.4 s on 16.)
    """
    return 1 + n_rows * n_dimensions**2 // 100_000


def describe(rows: Rows, labels: Labels, worth: float = 1.0, rounds: int = ROUNDS) -> Mixture:
    """Fit the mixture of a partition, by so many rounds of EM or until it converges."""
    fit = PartitionFit(rows, labels, worth)
    fit.advance(rounds)
    return fit.mixture


class PartitionFit:
    """Fits of a partition in each family of spreads, some rounds at a time.

    A family is dropped as soon as it falls short of the other by more than it may still gain. Each fit begins from one
    spread for all groups: started from the fit of the previous partition, EM is hardly faster and ends in worse optima.
    `worth` is that of ``criterion``.
    """

    def __init__(self, rows: Rows, labels: Labels, worth: float = 1.0) -> None:
        self.rows, self.labels, self.worth = rows, labels, worth
        self.n_groups = int(labels.max()) + 1
        within, prior = rows.within(labels), rows.prior(self.n_groups)
        sizes = np.bincount(labels).astype(float)
        families = ("scale", "full")[: min(self.n_groups, 2)]  # one group has one spread
        self._fits = [GroupFit(sizes, within, prior, family) for family in families]

    def advance(self, rounds: int = ROUNDS) -> None:
        """Run some rounds of EM, fewer if the fits converge."""
        groups = self.rows.evidence.turned(self._fits[0].factor).grouped(self.labels, self.n_groups)
        for _ in range(rounds):
            if self.done:
                break
            evaluated = None  # under the first components, which are the same in all families
            for fit in self._fits:
                if not fit.done:
                    evaluated = fit.advance(groups, evaluated if fit.n_rounds == 0 else None)
            best = max(map(self._value, self._fits))
            self._fits = [fit for fit in self._fits if self._reach(fit) >= best]

    @property
    def done(self) -> bool:
        """Whether all fits have converged."""
        return all(fit.done for fit in self._fits)

    @property
    def mixture(self) -> Mixture:
        """The better of the fits so far."""
        return max(self._fits, key=self._value).settled

    @property
    def left(self) -> float:
        """What the criterion may still gain."""
        return max(map(self._reach, self._fits)) - max(map(self._value, self._fits))

    def _value(self, fit: GroupFit) -> float:
        cost = 0.5 * fit.complexity * float(np.log(self.worth * len(self.labels)))
        return self.worth * fit.fit - cost

    def _reach(self, fit: GroupFit) -> float:
        return self._value(fit) + (0.0 if fit.done else self.worth * fit.gain)
