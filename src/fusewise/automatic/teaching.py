"""Classes of known labels taught to the clusters found without them (``models.taught``), and how well that works.

Labels may name what no cluster shows: classes that overlap, or differ in a few columns among many. The strength of the
discriminant is the one by which labels that were left out are likeliest (cross-validation). The same folds say which
rows are right: by the discriminant, and by the clusters with blocks placed without the row in question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fusewise.automatic.choice import Choice
from fusewise.automatic.hints import Hints
from fusewise.automatic.judging.placed_blocks import placed
from fusewise.automatic.models.discriminant import Discriminant, fit_discriminant
from fusewise.automatic.models.mixture import probabilities
from fusewise.automatic.models.taught import class_odds, filled, odds_without_own, taught
from fusewise.kernels.types import Index, Mask, Real
from fusewise.observations import Table

#: Strengths of the discriminant that are compared, in the units of the fit (columns of variance one).
STRENGTHS = (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)
#: Parts of the known labels that are left out in turn: fewer, the more labels there are.
FEWEST_FOLDS, MOST_FOLDS, FOLDED_ROWS = 3, 10, 2000
#: Fewest rows with known labels, most of them, and most numbers in these.
FEWEST_ROWS, MOST_ROWS, MOST_NUMBERS = 10, 5000, 20_000_000


class LabelledRows(NamedTuple):
    """Rows of known classes: filled, N x Q; their log p(x, k), N x J; and the hints on them."""

    rows: Real
    densities: Real
    hints: Hints

    def only(self, kept: Mask) -> LabelledRows:
        """Some of the rows."""
        return LabelledRows(self.rows[kept], self.densities[kept], self.hints.only(kept))

    @property
    def posterior(self) -> Real:
        """p(k | x), N x J."""
        return probabilities(self.densities)[0]

    @property
    def odds(self) -> Real:
        """The odds of the classes in each cluster, M x J."""
        return class_odds(self.posterior, self.hints.block, self.hints.n_blocks)

    def discriminants(self, strengths: Sequence[float]) -> Iterator[Discriminant]:
        """What the columns say beyond the clusters, by strength."""
        odds = odds_without_own(self.posterior, self.hints.block, self.hints.n_blocks)
        found = None
        for strength in strengths:
            found = fit_discriminant(self.rows, self.hints.block, odds, strength, found)
            yield found

    def folds(self, n_folds: int) -> Iterator[tuple[Mask, LabelledRows, Index]]:
        """For each fold, the rows left out, the others, and the classes that the rows left out have among these.

        Rows of one class are spread over the folds. Rows whose class no other row has are never left out.
        """
        n, block = len(self.rows), self.hints.block
        order, fold = np.random.default_rng(0).permutation(n), np.empty(n, np.intp)
        fold[order[np.argsort(block[order], kind="stable")]] = np.arange(n) % n_folds
        for k in range(n_folds):
            kinds = np.unique(block[fold != k])
            out = (fold == k) & np.isin(block, kinds)
            if len(kinds) > 1 and out.any():
                yield out, self.only(fold != k), np.searchsorted(kinds, block[out])


@dataclass(frozen=True, eq=False)
class Lesson:
    """Known labels that were taught to the clusters.

    Attributes
    ----------
    before, table, known : the result without hints, its rows, and those with labels (a sample if they are many).
    strength : that of the discriminant.
    right, right_before : whether each row with a label is right without it, by the classes and by the clusters.
    """

    before: Choice
    table: Table
    known: LabelledRows
    strength: float
    right: Mask
    right_before: Mask

    def choice(self, n_clusters: int | None) -> Choice:
        """The result without hints, its clusters replaced by the classes.

        Clusters without known labels stay, unless the number of clusters was given.
        """
        before, known = self.before, self.known
        each = np.arange(before.n_clusters)
        alone = np.setdiff1d(each, known.densities.argmax(axis=1)) if n_clusters is None else each[:0]
        rows = np.union1d(np.flatnonzero(self.table.row_counts > 0)[before.rows], known.hints.rows)
        sample = before.units.applied(self.table.take(rows))
        (found,) = known.discriminants([self.strength])
        classes = taught(before.clusters, known.odds, found, alone, sample)
        return replace(before, clusters=classes)

    def against(self, search: Callable[[Hints], Choice]) -> tuple[Mask, Mask]:
        """Whether each row with a label is right by the classes, and by a search with hints.

        Both know the labels of one half of the rows, and are judged by those of the other.
        """
        known = self.known
        right, found = np.zeros((2, len(known.rows)), bool)
        for out, others, own in known.folds(2):
            (logs,) = _log_classes(known, out, others, [self.strength])
            right[out] = logs.argmax(axis=1) == own
            told = search(others.hints)
            densities = densities_of(told, self.table, known.hints.rows)
            inside = np.isin(known.hints.rows, others.hints.rows)
            cluster = placed(densities[inside], others.hints, told.sizes(self.table))
            found[out] = False if cluster is None else densities[out].argmax(axis=1) == cluster[own]
        return right, found


def teach(before: Choice, table: Table, hints: Hints) -> Lesson | None:
    """Teach known labels to the clusters found without them; None where there are no labels, or too few.

    Parameters
    ----------
    before : the result without hints.
    table : its rows.
    hints : blocks and conflicts among these.
    """
    most = min(MOST_ROWS, MOST_NUMBERS // before.clusters.centers.shape[1])
    if not hints.are_classes or min(len(hints.rows), most) < max(FEWEST_ROWS, hints.n_blocks):
        return None
    if len(hints.rows) > most:
        hints = hints.only(np.isin(hints.rows, hints.sample(most, np.random.default_rng(0))))
    rows = np.sort(hints.rows)
    sample = before.units.applied(table.take(rows))
    densities = before.clusters.log_densities(sample)[0]
    values = filled(before.clusters, sample, probabilities(densities)[0])
    order = np.searchsorted(rows, hints.rows)
    known = LabelledRows(values[order], densities[order], hints)
    return Lesson(before, table, known, *_cross_validated(known, before.sizes(table)))


def densities_of(choice: Choice, table: Table, rows: Index) -> Real:
    """Log p(x_i, k) of some rows, in any order."""
    order = np.sort(rows)
    densities = choice.clusters.log_densities(choice.units.applied(table.take(order)))[0]
    return np.asarray(densities[np.searchsorted(order, rows)])


def _cross_validated(known: LabelledRows, sizes: Real) -> tuple[float, Mask, Mask]:
    """The strength by which labels left out are likeliest; the rows right by it, and by clusters of N_k rows."""
    n = len(known.rows)
    fit, right, right_before = np.zeros((len(STRENGTHS), n)), np.zeros((len(STRENGTHS), n), bool), np.zeros(n, bool)
    for out, others, own in known.folds(int(np.clip(FOLDED_ROWS // n, FEWEST_FOLDS, MOST_FOLDS))):
        for i, logs in enumerate(_log_classes(known, out, others, STRENGTHS)):
            fit[i, out], right[i, out] = logs[np.arange(len(own)), own], logs.argmax(axis=1) == own
        cluster = placed(others.densities, others.hints, sizes)
        right_before[out] = False if cluster is None else known.densities[out].argmax(axis=1) == cluster[own]
    best = int(fit.sum(axis=1).argmax())
    return STRENGTHS[best], right[best], right_before


def _log_classes(known: LabelledRows, out: Mask, others: LabelledRows, strengths: Sequence[float]) -> Iterator[Real]:
    """Log P(b | x) of rows left out, by the classes of the others, for each strength."""
    odds = np.log(known.posterior[out] @ others.odds.T)
    for found in others.discriminants(strengths):
        yield found.log_classes(known.rows[out], odds)
