"""Probabilities of the levels of a category in each component, and the evidence for them.

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

Mixtures whose columns are independent within a component: the latent class model, on the observed entries.

A row of component k has numbers x_ij with centre m_kj and variance s_kj, all scaled by one Student's weight per row,
and categories c_ij with the probabilities q_kj of their levels:

    p(x_i, c_i | k) = t_nu(x_i on I_i; m_k, diag(s_k)) prod_j q_kj(c_ij).

Missing values drop out of the product and cost only the information they would carry. If the columns of a cluster are
independent, this model describes a row better than a few common axes with one noise; if they are correlated it is much
worse. Complex columns are two real ones. A category is a block of columns, one for each level: a constant if the row
has that level, else zero. Its mean in a component is the probability of the level, times that constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import gammaln

from fusewise.automatic.mixture import log_tails, one_of_each, probabilities, tail_weights
from fusewise.automatic.mixture_kernels import TAIL
from fusewise.automatic.units import Levels, is_number
from fusewise.kernels import Index, Mask, Real, Values
from fusewise.observations import InMemory, steps
from fusewise.support import Dims, Either, Flag, Maybe, Number, NumberArray, Record, Several

#: The numbers of pseudo-entries compared; beyond them infinitely many.
PSEUDO_ENTRIES = 4.0 ** np.arange(-0.5, 4)
#: Rounds of Newton's method for t_k.
ROUNDS = 8


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
    counts: Real, base: Real, starts: Index, ordered: Mask | None = None, entries: float | None = None
) -> tuple[Real, float]:
    """E[q | n] of all columns, K x Q, and what not knowing q costs: log p(n | E[q | n]) - log p(n).

    Parameters
    ----------
    counts : n_kl of all columns side by side, K x Q.
    base : b of all columns, Q, positive.
    starts : where each column begins.
    ordered : whether the levels of each column are ordered; None: of none.
    entries : a, to use in every column instead of the one with most evidence, whatever the order.
    """
    columns = _Counts(counts, base, starts)
    shares, evidence = _smoothed(columns, base[None], entries)
    if entries is None and ordered is not None and ordered.any():
        some = columns.some(ordered)
        shifted, cost = _shifted(some)
        other, gained = _smoothed(some, shifted, None)
        gained = gained - cost
        better = gained > evidence[ordered]
        where = np.flatnonzero(columns.spread(ordered))[some.spread(better)]
        shares[:, where] = other[:, some.spread(better)]
        evidence[ordered] = np.maximum(gained, evidence[ordered])
    return shares, float(np.sum(counts * np.log(shares)) - evidence.sum())


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
    for _ in range(ROUNDS):
        shares = _shift(columns, ranks, t)
        mean = columns.sums(shares * ranks)
        curvature = 1 + sizes * (columns.sums(shares * ranks**2) - mean**2)
        t = t + np.clip((reached - sizes * mean - t) / curvature, -1, 1)
    return _shift(columns, ranks, t), 0.5 * np.sum(t**2 + np.log(curvature), axis=0)


def _shift(columns: _Counts, ranks: Real, t: Real) -> Real:
    exponents = columns.spread(t) * ranks
    tilted = columns.base * np.exp(np.clip(exponents, -30, 30))
    return np.asarray(np.maximum(tilted / columns.spread(columns.sums(tilted)), 1e-12))


#: Pseudo-entries that shrink a component's variance towards the common one, and its centre towards the column's mean.
VARIANCE_ENTRIES, CENTER_ENTRIES = 4.0, 1.0
#: What a record's blocks of levels are.
LEVELS_RULE = Several(Several(Either(Number(low=0, whole=True), Flag()), least=2))


class ColumnComponents(NamedTuple):
    """Components while they are fitted: means, variances, shares and levels of a ``ColumnMixture``."""

    means: Real
    variances: Real
    shares: Real
    levels: Levels

    def densities_of(self, rows: Parts) -> tuple[Real, Real, Index]:
        """``ColumnMixture.log_densities`` of rows whose numbers and levels have been taken apart."""
        means, variances = self.means[:, rows.numeric], self.variances[:, rows.numeric]
        precision = 1 / variances
        distances = rows.squares @ precision.T - 2 * (rows.numbers @ (means * precision).T)
        distances = np.maximum(distances + rows.seen @ (np.square(means) * precision).T, 0)
        normaliser = -0.5 * (rows.seen @ np.log(2 * np.pi * variances).T)
        densities = normaliser + log_tails(distances, rows.n_numbers[:, None]) + np.log(self.shares)
        if self.levels:
            densities = densities + rows.levels @ self.log_levels()[:, ~rows.numeric].T
        return densities, distances, rows.n_numbers

    def log_levels(self) -> Real:
        """What a level adds to the log-density, by the value it has in the table; zero in the columns of numbers."""
        weights, widths = np.zeros_like(self.means), [stop - start for start, stop, *_ in self.levels]
        where = ~is_number(self.means.shape[1], self.levels)
        held = self.means[:, where]
        # the value of a level that a row has
        unit = np.repeat(np.add.reduceat(held, np.cumsum([0, *widths[:-1]]), axis=1), widths, axis=1)
        weights[:, where] = np.log(held / unit) / unit
        return weights


@dataclass(frozen=True, eq=False)
class ColumnMixture(Record):
    """Components m_k, s_k with shares pi_k.

    Attributes
    ----------
    centers : K x P, real or complex.
    means, variances : the same as real columns, K x P (2P where the table is complex), and the s_kj.
    levels : the blocks of columns that hold the levels of a category.
    shares : K.
    entries : K x P, observed entries of each column in each component; None in files of older versions.
    log_likelihood : log-likelihood of the observed entries of the table it was fitted to, summed over components.
    complexity : number of free parameters, but for the levels of categories.
    level_cost : what not knowing the probabilities of levels costs, see ``level_shares``.
    """

    centers: Values
    means: Real
    variances: Real
    shares: Real
    log_likelihood: float
    complexity: float
    levels: Levels = ()
    level_cost: float = 0.0
    entries: Real | None = None

    _rules: ClassVar = {
        "centers": NumberArray("K", "P", kinds="fc"),
        "means": NumberArray("K", "Q"),
        "variances": NumberArray("K", "Q", low=0),
        "shares": NumberArray("K", low=0, high=1 + 1e-6),
        "log_likelihood": Number(finite=False),
        "complexity": Number(low=0),
        "levels": LEVELS_RULE,
        "level_cost": Number(finite=False),
        "entries": Maybe(NumberArray("K", "Q", low=0)),
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

    def log_densities(self, table: InMemory) -> tuple[Real, Real, Index]:
        """log pi_k + log p(x_i | k), and the squared distance of row i from m_k in its numbers, both N x K.

        Also the number of observed numbers of each row, N.
        """
        return self.columns.densities_of(Parts.of(table, self.levels))

    @property
    def columns(self) -> ColumnComponents:
        """What densities depend on."""
        return ColumnComponents(self.means, self.variances, self.shares, self.levels)

    def occupied(self, table: InMemory, away: Real | float = 0.0) -> ColumnMixture:
        """The components that are the likeliest one of some row of the table, after adding `away`."""
        return self.only(np.unique((self.log_densities(table)[0] + away).argmax(axis=1)))

    def only(self, kept: Index) -> ColumnMixture:
        """Some of the components, their shares in the same proportions."""
        shares = self.shares[kept] / self.shares[kept].sum()
        entries = None if self.entries is None else self.entries[kept]
        return replace(
            self, centers=self.centers[kept], means=self.means[kept], variances=self.variances[kept], shares=shares,
            entries=entries,
        )  # fmt: skip

    def completed(self, table: InMemory, posterior: Real) -> Values:
        """E[row | its entries]: the centres, weighted by their probabilities."""
        return posterior @ self.centers

    def redrawn(self, evidence: Any, random: np.random.Generator) -> ColumnMixture:
        """Parameters drawn given the entries of the fit: normal means, chi-squared precisions, Dirichlet levels."""
        if self.entries is None:  # in a file of an older version
            return self
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

    def drawn(self, table: InMemory, scale: Real, random: np.random.Generator) -> Values:
        """Rows drawn given their entries: the component, Student's weight, then each column."""
        labels = one_of_each(probabilities(self.log_densities(table)[0])[0], random)
        return self.drawn_in(table, labels, scale, random)

    def drawn_in(self, table: InMemory, labels: Index, scale: Real, random: np.random.Generator) -> Values:
        """The same, in given components."""
        _, distances, n_numbers = self.log_densities(table)
        weights = tail_weights(distances[np.arange(len(labels)), labels], n_numbers, random)
        means = self.means[labels]
        noise = np.resize(scale, means.shape[1]) * random.standard_normal(means.shape) / np.sqrt(weights)[:, None]
        rows = np.where(is_number(means.shape[1], self.levels), means + np.sqrt(self.variances[labels]) * noise, 0)
        for start, stop, *_ in self.levels:
            rows[np.arange(len(rows)), start + one_of_each(means[:, start:stop], random)] = means[:, start:stop].sum(
                axis=1
            )
        return _centers(rows, table)


class Parts(NamedTuple):
    """Rows of a table as real columns, the numbers and the levels of categories apart."""

    numeric: Mask
    numbers: Any
    seen: Any
    squares: Any
    n_numbers: Index
    levels: Any

    @classmethod
    def of(cls, table: InMemory, levels: Levels) -> Parts:
        """The parts of a table; all of it is numbers where it has no levels."""
        real = table.real()
        numeric = is_number(real.shape[1], levels)
        if not levels:
            return cls(numeric, real.values, real.seen, real.squares, real.row_counts, real.values[:, :0])
        seen = real.seen[:, numeric]
        counts = np.asarray(seen.sum(axis=1)).ravel().astype(np.intp)
        return cls(numeric, real.values[:, numeric], seen, real.squares[:, numeric], counts, real.values[:, ~numeric])


def smallest_variances(real: InMemory, numeric: Mask) -> Real:
    """The variance that each real column has at least.

    A value known to the nearest step d hides a variance of d²/12 (Sheppard). Without this floor, yes-or-no columns on
    which a cluster agrees would have a variance of zero and decide everything.
    """
    own = np.square(steps(real)) / 12 if numeric.any() else np.zeros(len(numeric))
    return np.asarray(np.maximum(own, 1e-6 * real.column_variances + 1e-12))


def fit_columns(
    table: InMemory,
    posterior: Real,
    rounds: int,
    levels: Levels = (),
    gain: float = -np.inf,
    pseudo: float | None = None,
    away: Real | float = 0.0,
) -> ColumnMixture:
    """Fit a mixture with independent columns, by EM from given probabilities of the components.

    Parameters
    ----------
    table : entries, columns on a common scale and centred, but for levels.
    posterior : N x K, the initial probabilities.
    rounds : maximum number of rounds.
    levels : the blocks of columns that hold the levels of a category.
    gain : stop when a round raises the log-likelihood by less than this; by default all rounds are made.
    pseudo : pseudo-entries of the shares of levels, see ``level_shares``.
    away : added to the log-densities: N x K, or 0 (``settling.held``).
    """
    real, rows = table.real(), Parts.of(table, levels)
    numeric = rows.numeric
    middle, whole = real.column_means, real.column_variances
    floor = smallest_variances(real, numeric)
    means = np.repeat(middle[None], posterior.shape[1], axis=0)
    variances = np.ones_like(means)
    weights, before = np.ones_like(posterior), -np.inf
    for _ in range(rounds):
        weighted = posterior * weights
        # products with the table on the left, which may be sparse
        mass, sums, energy = ((part.T @ weighted).T for part in (rows.seen, rows.numbers, rows.squares))
        means[:, numeric] = (sums + CENTER_ENTRIES * middle[numeric]) / (mass + CENTER_ENTRIES)
        entries = (rows.seen.T @ posterior).T
        spread = shrunk_variances(scatters(means[:, numeric], mass, sums, energy), entries, whole[numeric])
        variances[:, numeric] = np.maximum(spread, floor[numeric])
        cost = 0.0
        if levels:
            cost = _fit_levels(means, (rows.levels.T @ posterior).T, middle, levels, pseudo)
        shares = posterior.mean(axis=0)
        densities, distances, n_numbers = ColumnComponents(means, variances, shares, levels).densities_of(rows)
        posterior, total = probabilities(densities + away)
        weights = (TAIL + n_numbers[:, None]) / (TAIL + distances)
        if abs(float(total.sum()) - before) < gain:
            break
        before = float(total.sum())
    return ColumnMixture(
        _centers(means, table), means, variances, shares, float(total.sum()), count_parameters(entries), levels, cost,
        np.asarray((real.seen.T @ posterior).T),
    )  # fmt: skip


def columns_of_groups(table: InMemory, labels: Index, rounds: int) -> ColumnMixture:
    """The same for rows that belong to one component each, and a table of numbers.

    The likelihood is that of the rows with their labels.
    """
    real, n_groups, n = table.real(), int(labels.max()) + 1, len(labels)
    seen, numbers, squares = real.seen, real.values, real.squares
    middle, whole = real.column_means, real.column_variances
    floor = smallest_variances(real, np.ones(real.shape[1], bool))
    member = csr_array((np.ones(n), labels, np.arange(n + 1)), (n, n_groups)).T.tocsr()
    entries, sizes, weights = _dense(member @ seen), np.bincount(labels, minlength=n_groups), np.ones(n)
    for _ in range(rounds):
        weighted = member * weights
        mass, sums, energy = (_dense(weighted @ part) for part in (seen, numbers, squares))
        means = (sums + CENTER_ENTRIES * middle) / (mass + CENTER_ENTRIES)
        variances = np.maximum(shrunk_variances(scatters(means, mass, sums, energy), entries, whole), floor)
        distances, densities = np.zeros(n), np.log(sizes / n)[labels]
        for rows in (slice(begin, begin + 10_000) for begin in range(0, n, 10_000)):
            m, s, x = means[labels[rows]], variances[labels[rows]], _dense(seen[rows])
            distances[rows] = (np.square(_dense(numbers[rows]) - m * x) / s).sum(axis=1)
            densities[rows] -= 0.5 * (x * np.log(2 * np.pi * s)).sum(axis=1)
        densities += log_tails(distances, real.row_counts)
        weights = (TAIL + real.row_counts) / (TAIL + distances)
    fit, complexity = float(densities.sum()), count_parameters(entries)
    return ColumnMixture(
        _centers(means, table), means, variances, sizes / n, fit, complexity, entries=entries,
    )  # fmt: skip


def _dense(part: Any) -> Real:
    return np.asarray(part.toarray() if hasattr(part, "toarray") else part, np.float64)


def scatters(means: Real, mass: Real, sums: Real, energy: Real) -> Real:
    """Weighted sums of squares about the means, of each column in each component."""
    return np.asarray(np.maximum(energy - 2 * means * sums + np.square(means) * mass, 0))


def shrunk_variances(scatter: Real, entries: Real, whole: Real) -> Real:
    """Of each column in each component, drawn towards the one common to all components."""
    common = scatter.sum(axis=0) + VARIANCE_ENTRIES * whole / len(scatter)
    common /= entries.sum(axis=0) + VARIANCE_ENTRIES
    return np.asarray((scatter + VARIANCE_ENTRIES * common) / (entries + VARIANCE_ENTRIES))


def count_parameters(entries: Real) -> float:
    """Free parameters of shares, centres and variances; of a variance the part that is a component's own."""
    n_groups, n_numbers = entries.shape
    own = float(np.mean(entries / (entries + VARIANCE_ENTRIES))) * (n_groups - 1) if n_numbers else 0.0
    return float(n_groups - 1 + (n_groups + 1 + own) * n_numbers)


def _fit_levels(means: Real, held: Real, middle: Real, levels: Levels, pseudo: float | None) -> float:
    """Set the means of levels from their sums over the rows of each component; return the cost (``level_shares``)."""
    widths = [block.stop - block.start for block in levels]
    ordered = np.array([block.ordered for block in levels])
    where = ~is_number(len(middle), levels)
    starts = np.concatenate([[0], np.cumsum(widths[:-1])]).astype(np.intp)
    # the sum over the levels of a column is the value of a level that a row has
    unit = np.repeat(np.add.reduceat(middle[where], starts), widths)
    unit = np.where(unit > 0, unit, 1.0)  # a column that none of these rows has an entry in
    counts = held / unit
    shares, cost = level_shares(counts, _positive(middle[where] / unit, counts.sum(), starts), starts, ordered, pseudo)
    means[:, where] = shares * unit
    return cost


def _positive(base: Real, n: float, starts: Index) -> Real:
    """Shares of levels; those that none of the rows at hand has, but others of the table do, count as half a row."""
    floored = np.maximum(base, 0.5 / max(n, 1.0))
    return np.asarray(floored / np.repeat(np.add.reduceat(floored, starts), np.diff(np.append(starts, len(base)))))


class LevelEvidence:
    """log p(levels | partition) - log p(levels | one group), the evidence of categories for a partition of the rows.

    A category that tells nothing about the groups adds nothing (``level_shares``).

    Parameters
    ----------
    table : the rows.
    levels : the blocks of columns that hold the levels of a category.
    """

    def __init__(self, table: InMemory, levels: Levels) -> None:
        real = table.real()
        widths = [block.stop - block.start for block in levels]
        self._starts = np.concatenate([[0], np.cumsum(widths[:-1])]).astype(np.intp)
        self._ordered = np.array([block.ordered for block in levels])
        self._held = csr_array(real.values[:, ~is_number(real.shape[1], levels)] != 0, dtype=float)
        totals = np.asarray(self._held.sum(axis=0))
        sums = np.maximum(np.add.reduceat(totals, self._starts), 1.0)
        together = np.zeros(table.shape[0], np.intp)
        self._base = _positive(totals / np.repeat(sums, widths), len(together), self._starts)
        self._alone = self._evidence(together)

    def __call__(self, labels: Index) -> float:
        """The evidence for the groups given by labels 0, 1, ..."""
        return self._evidence(labels) - self._alone

    def log_shares(self, posterior: Real) -> Real:
        """log of the probability of each row's levels in each of K groups, N x K, given p(k | row), N x K."""
        shares, _ = level_shares(np.asarray(posterior.T @ self._held), self._base, self._starts, self._ordered)
        return np.asarray(self._held @ np.log(shares).T)

    def _evidence(self, labels: Index) -> float:
        n = len(labels)
        member = csr_array((np.ones(n), labels, np.arange(n + 1)), (n, int(labels.max()) + 1))
        counts = _dense(member.T @ self._held)
        shares, cost = level_shares(counts, self._base, self._starts, self._ordered)
        return float(np.sum(counts * np.log(shares)) - cost)


def only_columns(table: InMemory, columns: Index) -> InMemory:
    """Some of the columns of a table."""
    return table.standardised(columns, np.ones(table.shape[1]), np.zeros(table.shape[1]))


def _centers(means: Real, table: InMemory) -> Values:
    p = table.shape[1]
    return means[:, :p] + 1j * means[:, p:] if means.shape[1] > p else means
