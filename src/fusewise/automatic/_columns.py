"""Mixtures whose columns are independent within a component: the latent class model, on the observed entries.

A row of component k has numbers x_ij with centre m_kj and variance s_kj, all scaled by one Student's weight per row,
and categories c_ij with the probabilities q_kj of their levels:

    p(x_i, c_i | k) = t_nu(x_i on I_i; m_k, diag(s_k)) prod_j q_kj(c_ij).

Missing values drop out of the product and cost only the information they would carry. If the columns of a cluster are
independent, this model describes a row better than a few common axes with one noise; if they are correlated it is much
worse. Complex columns are two real ones. A category is a block of columns, one for each level: a constant if the row
has that level, else zero. Its mean in a component is the probability of the level, times that constant.

With n_kl rows of component k at level l, the probabilities q_k have a Dirichlet prior around the shares b_l of the
levels in the whole column, of a pseudo-entries:

    q_k ~ Dirichlet(a b),    E[q_kl | n] = (n_kl + a b_l) / (n_k + a),    n_k = sum_l n_kl,
    log p(n) = sum_k log G(a) - log G(a + n_k) + sum_l log G(a b_l + n_kl) - log G(a b_l).

Each column has the a with most evidence. If a column tells nothing about the components that is infinity: all of them
have the shares b, and the column costs nothing. So columns are selected by degrees, and a level that a small component
has not shown yet keeps a probability that its column justifies.

Ordered levels, with ranks s_l of mean 0 and variance 1 under b, may also have a prior around shares that are shifted
along the order, by one number for each component (the row effects of an association model):

    b_kl = b_l exp(t_k s_l) / sum_m b_m exp(t_k s_m),    t_k ~ N(0, 1),

if this has more evidence. t_k is its most likely value, and is integrated out by Laplace's method.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csc_array, csr_array, hstack, issparse
from scipy.special import gammaln

from fusewise.automatic._mixture import TAIL, log_tails, one_of_each, probabilities, tail_weights
from fusewise.automatic._units import Levels, is_number, layers
from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations import InMemory, steps
from fusewise.support import Dims, Either, Flag, Number, NumberArray, Record, Several

#: The numbers of pseudo-entries of a category that are compared; beyond them infinitely many.
PSEUDO_ENTRIES = 4.0 ** np.arange(-0.5, 4)
#: Pseudo-entries that shrink a component's variance towards the common one, and its centre towards the column's mean.
VARIANCE_ENTRIES, CENTER_ENTRIES = 4.0, 1.0
#: Parts of a row that a component may miss, where entries have errors.
NEGLIGIBLE = 1e-9


class _Counts(NamedTuple):
    """n_kl of some columns side by side, K x Q; b, Q; where each column begins."""

    held: Real
    base: Real
    starts: Index

    @property
    def widths(self) -> Index:
        """Number of levels of each column."""
        return np.diff(np.append(self.starts, len(self.base)))

    def sums(self, cells: Real) -> Real:
        """Sums over the levels of each column."""
        return np.asarray(np.add.reduceat(cells, self.starts, axis=-1))

    def spread(self, of_columns: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Repeat a value of each column for each of its levels."""
        return np.repeat(of_columns, self.widths, axis=-1)

    def some(self, columns: Mask) -> _Counts:
        """Some of the columns."""
        where, widths = self.spread(columns), self.widths[columns]
        return _Counts(self.held[:, where], self.base[where], np.cumsum(widths) - widths)


def level_shares(
    counts: Real, base: Real, levels: Levels, entries: float | None = None, weights: Real | None = None
) -> tuple[Real, float]:
    """E[q | n] of columns side by side, K x Q, and what not knowing q costs: log p(n | E[q | n]) - log p(n).

    Given are the n_kl, K x Q, the b, Q, and the blocks of the columns. With `entries` that is the a of every column,
    whatever the order; with `weights` (Q) the cost of a column counts so often.
    """
    columns, ordered = _Counts(counts, base, _starts(levels)), np.array([block.ordered for block in levels])
    shares, evidence = _smoothed(columns, base[None], entries)
    if entries is None and ordered.any():
        some = columns.some(ordered)
        shifted, cost = _shifted(some)
        other, gained = _smoothed(some, shifted, None)
        gained = gained - cost
        better = gained > evidence[ordered]
        where = np.flatnonzero(columns.spread(ordered))[some.spread(better)]
        shares[:, where] = other[:, some.spread(better)]
        evidence[ordered] = np.maximum(gained, evidence[ordered])
    often = 1.0 if weights is None else weights[columns.starts]
    return shares, float(np.sum(often * (columns.sums(np.sum(counts * np.log(shares), axis=0)) - evidence)))


def _smoothed(columns: _Counts, prior: Real, entries: float | None) -> tuple[Real, Real]:
    """E[q | n] and log p(n) of each column, with a prior around given shares, K x Q or 1 x Q."""
    held, sizes = columns.held, columns.sums(columns.held)
    compared = PSEUDO_ENTRIES if entries is None else np.array([entries])
    evidence = []
    for a in compared:
        inside = np.sum(gammaln(a * prior + held) - gammaln(a * prior), axis=0)
        evidence.append(columns.sums(inside) - np.sum(gammaln(a + sizes) - gammaln(a), axis=0))
    best, most = compared[np.argmax(evidence, axis=0)], np.max(evidence, axis=0)
    a = columns.spread(best)
    shares = (held + a * prior) / (columns.spread(sizes) + a)
    if entries is not None:
        return shares, most
    certain = columns.sums(np.sum(held * np.log(prior), axis=0))  # a is infinite
    return np.where(columns.spread(most > certain), shares, prior), np.maximum(most, certain)


def _shifted(columns: _Counts) -> tuple[Real, Real]:
    """b_kl, and what not knowing t costs each column."""
    base, sizes = columns.base, columns.sums(columns.held)
    ranks: Real = np.arange(len(base), dtype=float) - np.repeat(columns.starts, columns.widths)
    ranks = ranks - columns.spread(columns.sums(base * ranks))
    ranks = ranks / np.sqrt(columns.spread(columns.sums(base * ranks**2)))
    reached = columns.sums(columns.held * ranks)
    t = np.zeros_like(sizes)
    for _ in range(8):  # Newton's method
        shares = _shift(columns, ranks, t)
        mean = columns.sums(shares * ranks)
        curvature = 1 + sizes * (columns.sums(shares * ranks**2) - mean**2)
        t = t + np.clip((reached - sizes * mean - t) / curvature, -1, 1)
    return _shift(columns, ranks, t), 0.5 * np.sum(t**2 + np.log(curvature), axis=0)


def _shift(columns: _Counts, ranks: Real, t: Real) -> Real:
    exponents = columns.spread(t) * ranks
    tilted = columns.base * np.exp(np.clip(exponents, -30, 30))
    return np.asarray(np.maximum(tilted / columns.spread(columns.sums(tilted)), 1e-12))


@dataclass(frozen=True, eq=False)
class ColumnData:
    """A table as mixtures with independent columns see it: real columns, of numbers or of levels.

    `numbers` are squares, values and mask (`seen`) of the columns of numbers side by side, `held` the columns of
    levels, `n_numbers` the number of observed numbers of each row. `errors` are the variances of the errors of numbers
    (None: all are exact): a number of component k with the error variance v has the variance s_k + v.
    """

    real: InMemory
    complex: bool
    levels: Levels
    numeric: Mask
    numbers: Any
    seen: Any
    held: Any
    n_numbers: Index
    errors: Real | None = None

    @classmethod
    def of(cls, table: InMemory, levels: Levels) -> ColumnData:
        """The parts of a table."""
        real = table.real()
        numeric = is_number(real.shape[1], levels)
        cells: Any = [real.squares[:, numeric], real.values[:, numeric], real.seen[:, numeric]]
        held: Any = real.values[:, ~numeric]
        if issparse(held):
            numbers = hstack(cells, "csr")
        else:
            numbers, held = np.hstack(cells), (csr_array(held) if 8 * np.count_nonzero(held) < held.size else held)
        counts = np.asarray(cells[2].sum(axis=1)).ravel().astype(np.intp)
        errors = None if real.variances is None else real.variances[:, numeric]
        return cls(real, np.iscomplexobj(table.values), levels, numeric, numbers, cells[2], held, counts, errors)

    @cached_property
    def weights(self) -> Real:
        """How often each real column counts."""
        return np.ones(self.shape[1]) if self.real.weights is None else self.real.weights

    @property
    def weight(self) -> float:
        """How often a column of numbers counts on average."""
        return float(self.weights[self.numeric].mean()) if self.numeric.any() else 1.0

    @cached_property
    def layers(self) -> list[tuple[float, Mask, Index]]:
        """Of the columns of numbers: each d_l and which columns (``layers``), and how many of these each row has."""
        each = layers(self.weights[self.numeric])
        return [(d, kept, np.asarray(self.seen @ kept.astype(float)).ravel().astype(np.intp)) for d, kept in each]

    @property
    def judged(self) -> ColumnData:
        """The data by which partitions are compared, in which no column counts more than once (``Evidence.judged``)."""
        if self.real.weights is None:
            return self
        return replace(self, real=replace(self.real, weights=np.minimum(self.weights, 1.0)))

    @cached_property
    def floor(self) -> Real:
        """The variance that each column has at least.

        A value known to the nearest step d hides a variance of d²/12 (Sheppard). Without this floor, yes-or-no columns
        on which a cluster agrees would have a variance of zero and decide everything.
        """
        own = np.square(steps(self.real)) / 12 if self.numeric.any() else 0.0
        return np.asarray(np.maximum(own, 1e-6 * self.real.column_variances + 1e-12))

    @property
    def shape(self) -> tuple[int, int]:
        """(N, real columns)."""
        return self.real.shape

    def distances(self, means: Real, variances: Real, kept: Mask | None = None) -> tuple[Real, Real]:
        """The squared distance of each row from each centre in its numbers, and -log det / 2 of their spread, N x K.

        `means` and `variances` are those of the columns of numbers, K x Q; those not `kept` have no part in it.
        """
        often = np.ones(means.shape[1]) if kept is None else kept.astype(float)
        if self.errors is None:
            m, s = means, variances
            terms = np.tile(often, 3) * np.hstack([1 / s, -2 * m / s, np.square(m) / s])
            distances = np.maximum(self.numbers @ terms.T, 0)
            return distances, self.seen @ (-0.5 * often * np.log(2 * np.pi * s)).T
        distances, heights = np.empty((2, len(self.n_numbers), len(means)))
        x, seen = self.real.values[:, self.numeric], self.seen * often
        for k, (m, s) in enumerate(zip(means, variances, strict=True)):
            spread = s + self.errors
            distances[:, k] = (seen * np.square(x - m) / spread).sum(axis=1)
            heights[:, k] = -0.5 * (seen * np.log(2 * np.pi * spread)).sum(axis=1)
        return distances, heights

    def sums(self, posterior: Any, weighted: Any, variances: Real) -> _NumberSums:
        """What the M-step needs of the numbers, from p(k | row), N x K, and from these times Student's weights.

        Given its component, an entry with an error counts k = s / (s + v); and about what is expected of it, k of its
        deviation, it has the variance (1 - k) s. The `variances` are the s so far, K x Q.
        """
        if self.errors is None:
            energy, sums, mass = np.split(_dense(self.numbers.T @ weighted).T, 3, axis=1)
            return _NumberSums(sums, mass, energy, sums, mass, 0.0)
        found = np.empty((6, *variances.shape))
        if not issparse(posterior):  # few components have a part of a row
            kept = posterior > NEGLIGIBLE
            posterior, weighted = np.where(kept, posterior, 0), np.where(kept, weighted, 0)
        x, columns = self.real.values[:, self.numeric], (csc_array(posterior), csc_array(weighted))
        for k, s in enumerate(variances):
            own = slice(*columns[0].indptr[k : k + 2])
            rows = columns[0].indices[own]
            p, w = (each.data[own] for each in columns)
            counts = self.seen[rows] * s / (s + self.errors[rows])
            squared = np.square(counts)
            values = x[rows]
            left = (p @ (self.seen[rows] - counts)) * s
            each = (w @ (counts * values), w @ counts, w @ (squared * np.square(values)), w @ (squared * values))
            found[:, k] = (*each, w @ squared, left)
        return _NumberSums(*found)


class _NumberSums(NamedTuple):
    """Sums over the rows of each component, K x Q: for its centres, and for its variances."""

    sums: Real
    mass: Real
    energy: Real
    squared_sums: Real
    squared_mass: Real
    left: Real | float


def _densities(rows: ColumnData, means: Real, variances: Real, shares: Real) -> tuple[Real, Real]:
    """log pi_k + log p(x_i | k), and the squared distance of row i from m_k in its numbers, N x K."""
    m, s = means[:, rows.numeric], variances[:, rows.numeric]
    distances, heights = rows.distances(m, s)
    densities = heights + log_tails(distances, rows.n_numbers[:, None])
    if rows.real.weights is not None:
        densities = np.zeros_like(densities)
        for share, kept, n_numbers in rows.layers:
            squares, heights = rows.distances(m, s, kept)
            densities += share * (heights + log_tails(squares, n_numbers[:, None]))
    if rows.levels:
        held = means[:, ~rows.numeric]
        unit = _units_of_levels(held, rows.levels)
        densities += rows.held @ (rows.weights[~rows.numeric] * np.log(held / unit) / unit).T
    densities += np.log(shares)
    return densities, distances


def _units_of_levels(held: Real, levels: Levels) -> Real:
    """The constant that a row has at its level, which is the sum of a component's means over the levels; K x Q."""
    widths = [stop - start for start, stop, *_ in levels]
    return np.repeat(np.add.reduceat(held, _starts(levels), axis=-1), widths, axis=-1)


def _starts(levels: Levels) -> Index:
    """Where each category begins among the columns of levels side by side."""
    return np.cumsum([0, *(stop - start for start, stop, *_ in levels[:-1])])


@dataclass(frozen=True, eq=False)
class ColumnMixture(Record):
    """Components m_k, s_k with shares pi_k."""

    centers: Values  # K x P, real or complex
    means: Real  # the same as real columns: K x P, or 2P where the table is complex
    variances: Real
    shares: Real
    log_likelihood: float  # of the observed entries of the table it was fitted to, summed over components
    complexity: float  # number of free parameters, but for the levels of categories
    entries: Real  # observed entries of each column in each component
    levels: Levels = ()  # the blocks of columns that hold the levels of a category
    level_cost: float = 0.0  # what not knowing the probabilities of levels costs, see ``level_shares``

    _rules: ClassVar = {
        "centers": NumberArray("K", "P", kinds="fc"),
        "means": NumberArray("K", "Q"),
        "variances": NumberArray("K", "Q", low=0),
        "shares": NumberArray("K", low=0, high=1 + 1e-6),
        "log_likelihood": Number(finite=False),
        "complexity": Number(low=0),
        "entries": NumberArray("K", "Q", low=0),
        "levels": Several(Several(Either(Number(low=0, whole=True), Flag()), least=2)),
        "level_cost": Number(finite=False),
    }

    def _agree(self, dims: Dims) -> None:
        if dims["Q"] != dims["P"] * (2 if np.iscomplexobj(self.centers) else 1):
            raise ValueError(f"ColumnMixture.means has {dims['Q']} columns for {dims['P']} of the table")
        if any(not 0 <= start < stop <= dims["Q"] for start, stop, *_ in self.levels):
            raise ValueError("ColumnMixture.levels are not columns")

    @property
    def n_components(self) -> int:
        """K."""
        return len(self.shares)

    def log_densities(self, table: InMemory | ColumnData) -> tuple[Real, Real, Index]:
        """log pi_k + log p(x_i | k); squared distance of row i from m_k in its numbers (N x K); how many it has."""
        rows = table if isinstance(table, ColumnData) else ColumnData.of(table, self.levels)
        return *_densities(rows, self.means, self.variances, self.shares), rows.n_numbers

    def only(self, kept: Index) -> ColumnMixture:
        """Some of the components, their shares in the same proportions."""
        each = {name: getattr(self, name)[kept] for name in ("centers", "means", "variances", "entries")}
        return replace(self, shares=self.shares[kept] / self.shares[kept].sum(), **each)

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """The centres, weighted by their probabilities."""
        return posterior @ self.centers

    def redrawn(self, evidence: Any, random: np.random.Generator) -> ColumnMixture:
        """Parameters drawn given the entries of the fit: normal means, chi-squared precisions, Dirichlet levels."""
        numeric, n = is_number(self.means.shape[1], self.levels), self.entries + VARIANCE_ENTRIES
        variances = np.where(numeric, self.variances * n / random.chisquare(n), self.variances)
        noise = random.standard_normal(self.means.shape) * np.sqrt(variances / (self.entries + CENTER_ENTRIES))
        means = np.where(numeric, self.means + noise, self.means)
        for start, stop, *_ in self.levels:
            shares, unit = means[:, start:stop], means[:, start:stop].sum(axis=1, keepdims=True)
            counts = shares / unit * (self.entries[:, start : start + 1] + 1)  # about what smoothing adds
            drawn = np.maximum(random.gamma(counts), np.finfo(float).tiny)
            means[:, start:stop] = unit * drawn / drawn.sum(axis=1, keepdims=True)
        return replace(self, means=means, variances=variances)

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator, labels: Index | None = None) -> Values:
        """Rows drawn given their entries: the component (unless given), Student's weight, then each column."""
        densities, distances, n_numbers = self.log_densities(table)
        labels = one_of_each(probabilities(densities)[0], random) if labels is None else labels
        every = np.arange(len(labels))
        weights = tail_weights(distances[every, labels], n_numbers, random)
        means = self.means[labels]
        noise = np.resize(scale, means.shape[1]) * random.standard_normal(means.shape) / np.sqrt(weights)[:, None]
        rows = np.where(is_number(means.shape[1], self.levels), means + np.sqrt(self.variances[labels]) * noise, 0)
        for start, stop, *_ in self.levels:
            level = one_of_each(means[:, start:stop], random)
            rows[every, start + level] = means[:, start:stop].sum(axis=1)
        return _as_columns(rows, np.iscomplexobj(table.values))


class _Estimates(NamedTuple):
    """Components as EM estimates them from probabilities; `cost` is that of ``level_shares``."""

    means: Real
    variances: Real
    entries: Real
    cost: float


def _estimated(
    rows: ColumnData, posterior: Any, weighted: Any, pseudo: float | None = None, before: _Estimates | None = None
) -> _Estimates:
    """The M-step, from p(k | row), N x K, and from these times Student's weights; dense or sparse, as the table.

    Where entries have errors, it depends on the estimates `before`, by default the variances of the columns.
    """
    numeric = rows.numeric
    middle, whole = rows.real.column_means, rows.real.column_variances[numeric]
    entries = _dense(rows.seen.T @ posterior).T
    spread = np.tile(whole, (len(entries), 1)) if before is None else before.variances[:, numeric]
    found = rows.sums(posterior, weighted, spread)
    m = (found.sums + CENTER_ENTRIES * middle[numeric]) / (found.mass + CENTER_ENTRIES)
    scatter = np.maximum(found.energy - 2 * m * found.squared_sums + np.square(m) * found.squared_mass, 0) + found.left
    # each variance is drawn towards the one common to all components, and that towards the column's
    common = scatter.sum(axis=0) + VARIANCE_ENTRIES * whole / len(m)
    common /= entries.sum(axis=0) + VARIANCE_ENTRIES
    spread = (scatter + VARIANCE_ENTRIES * common) / (entries + VARIANCE_ENTRIES)
    means = np.repeat(middle[None], len(m), axis=0)
    variances = np.ones_like(means)
    means[:, numeric], variances[:, numeric] = m, np.maximum(spread, rows.floor[numeric])
    cost = 0.0
    if rows.levels:
        cost = _fit_levels(means, _dense(rows.held.T @ posterior).T, middle, rows, pseudo)
    return _Estimates(means, variances, entries, cost)


def _mixture(rows: ColumnData, found: _Estimates, posterior: Any, shares: Real, fit: float) -> ColumnMixture:
    """The result, with the number of its free parameters: of a variance the part that is a component's own."""
    (n_groups, n_numbers), n = found.entries.shape, found.entries
    own = float(np.mean(n / (n + VARIANCE_ENTRIES))) * (n_groups - 1) if n_numbers else 0.0
    complexity = float(n_groups - 1 + (n_groups + 1 + own) * n_numbers)
    entries = _dense(rows.real.seen.T @ posterior).T
    centers = _as_columns(found.means, rows.complex)
    return ColumnMixture(
        centers, found.means, found.variances, shares, fit, complexity, entries, rows.levels, found.cost
    )


def fit_columns(
    table: InMemory | ColumnData,
    posterior: Real,
    rounds: int,
    levels: Levels = (),
    gain: float = -np.inf,
    pseudo: float | None = None,
    away: Real | float = 0.0,
) -> ColumnMixture:
    """Fit a mixture with independent columns, by EM from given probabilities of the components, N x K.

    Columns are on a common scale and centred, but for levels. It stops when a round raises the log-likelihood by less
    than `gain`; by default all rounds are made. `pseudo` are the pseudo-entries of ``level_shares``; `away` is added to
    the log-densities (``hints.held``).
    """
    rows = table if isinstance(table, ColumnData) else ColumnData.of(table, levels)
    weights, before = np.ones_like(posterior), -np.inf
    found: Any = None
    for _ in range(rounds):
        found, shares = _estimated(rows, posterior, posterior * weights, pseudo, found), posterior.mean(axis=0)
        densities, distances = _densities(rows, found.means, found.variances, shares)
        posterior, total = probabilities(densities + away)
        weights = (TAIL + rows.n_numbers[:, None]) / (TAIL + distances)
        fit = float(total.sum())
        if abs(fit - before) < gain:
            break
        before = fit
    return _mixture(rows, found, posterior, shares, fit)


def columns_of_groups(table: InMemory, labels: Index, rounds: int, levels: Levels = ()) -> ColumnMixture:
    """The same for rows that belong to one component each; the likelihood is that of their numbers and labels."""
    rows, n = ColumnData.of(table, levels), len(labels)
    values, seen = rows.real.values[:, rows.numeric] if levels else rows.real.values, rows.seen
    shares = np.bincount(labels) / n
    member = csr_array((np.ones(n), labels, np.arange(n + 1)), (n, len(shares)))
    weighted = member
    found: Any = None
    for _ in range(rounds):
        found = _estimated(rows, member, weighted, before=found)
        means, variances = (each[:, rows.numeric] if levels else each for each in (found.means, found.variances))
        distances, densities = np.zeros(n), np.log(shares)[labels]
        for some in (slice(begin, begin + 10_000) for begin in range(0, n, 10_000)):
            m, s, x = means[labels[some]], variances[labels[some]], _dense(seen[some])
            s = s if rows.errors is None else s + rows.errors[some]
            distances[some] = (np.square(_dense(values[some]) - m * x) / s).sum(axis=1)
            densities[some] -= 0.5 * (x * np.log(2 * np.pi * s)).sum(axis=1)
        densities += log_tails(distances, rows.n_numbers)
        weighted = csr_array(((TAIL + rows.n_numbers) / (TAIL + distances), labels, member.indptr), member.shape)
    return _mixture(rows, found, member, shares, float(densities.sum()))


def _dense(part: Any) -> Real:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, np.float64)


def _fit_levels(means: Real, held: Real, middle: Real, rows: ColumnData, pseudo: float | None) -> float:
    """Set the means of levels from their sums over the rows of each component; return the cost (``level_shares``)."""
    levels, where = rows.levels, ~is_number(len(middle), rows.levels)
    unit = _units_of_levels(middle[where], levels)
    unit = np.where(unit > 0, unit, 1.0)  # a column that none of these rows has an entry in
    counts = held / unit
    base = _positive(middle[where] / unit, counts.sum(), levels)
    shares, cost = level_shares(counts, base, levels, pseudo, np.minimum(rows.weights[where], 1.0))
    means[:, where] = shares * unit
    return cost


def _positive(base: Real, n: float, levels: Levels) -> Real:
    """Shares of levels; those that none of the rows at hand has, but others of the table do, count as half a row."""
    floored = np.maximum(base, 0.5 / max(n, 1.0))
    return np.asarray(floored / _units_of_levels(floored, levels))


class LevelEvidence:
    """log p(levels | partition) - log p(levels | one group), the evidence of categories for a partition of the rows.

    A category that tells nothing about the groups adds nothing (``level_shares``).
    """

    def __init__(self, table: InMemory, levels: Levels) -> None:
        self._levels, real = levels, table.real()
        where = ~is_number(real.shape[1], levels)
        self._held = csr_array(real.values[:, where] != 0, dtype=float)
        self._weights = np.ones(self._held.shape[1]) if real.weights is None else real.weights[where]
        totals = np.asarray(self._held.sum(axis=0), float)
        together = np.zeros(table.shape[0], np.intp)
        self._base = _positive(totals / np.maximum(_units_of_levels(totals, levels), 1.0), len(together), levels)
        self._alone = self._evidence(together)

    def __call__(self, labels: Index) -> float:
        """The evidence for the groups given by labels 0, 1, ..."""
        return self._evidence(labels) - self._alone

    def log_shares(self, posterior: Real) -> Real:
        """log of the probability of each row's levels in each of K groups, N x K, given p(k | row), N x K."""
        shares, _ = level_shares(np.asarray(posterior.T @ self._held), self._base, self._levels)
        return np.asarray(self._held @ (self._weights * np.log(shares)).T)

    def _evidence(self, labels: Index) -> float:
        n = len(labels)
        member = csr_array((np.ones(n), labels, np.arange(n + 1)), (n, int(labels.max()) + 1))
        counts, once = _dense(member.T @ self._held), np.minimum(self._weights, 1.0)  # ``Evidence.judged``
        shares, cost = level_shares(counts, self._base, self._levels, weights=once)
        return float(np.sum(once * counts * np.log(shares)) - cost)


def _as_columns(rows: Real, complex_: bool) -> Values:
    """Rows of a table from real columns, of which a complex table has twice as many."""
    p = rows.shape[1] // 2
    return rows[:, :p] + 1j * rows[:, p:] if complex_ else rows
