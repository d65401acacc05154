"""Stability of clusters: how far they come back when the rows, and the missing entries, are drawn again.

Each draw is half of the rows, taken without replacement. That has the sampling variance of a bootstrap of all rows (for
a mean, sigma²/m (1 - m/n) = sigma²/n at m = n/2), but no row occurs twice: copies of a row are neighbours at distance
zero, and would be taken for a cluster (of 180 rows in three clusters, bootstraps make up to nineteen). In the criterion
each row counts twice, so that a draw has as much evidence as the table: with less, fewer clusters are supported. Which
entries are missing is chance, too: some more are hidden in each draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from fusewise.automatic._units import Levels
from fusewise.kernels import Index, Labels, Real
from fusewise.observations import Entries, InMemory
from fusewise.support import Number, NumberArray, Record, Rule, counted

#: Most rows in a draw: as many as the clusters of a longer table were found in (``sample.SAMPLE``).
MOST_ROWS = 5_000
#: At most this share of the observed entries is hidden in a draw.
MOST_HIDDEN = 0.1
#: Mean Jaccard similarity from which a cluster is called so (Hennig, 2008; documentation of ``fpc::clusterboot``).
GRADES = ((0.85, "highly stable"), (0.75, "stable"), (0.6, "doubtful"), (0.0, "not stable"))


@dataclass(frozen=True, eq=False, repr=False)
class Stability(Record):
    """How stable the clusters of a model are.

    Attributes
    ----------
    clusters : K, the mean over the draws of the largest Jaccard similarity ``|A ∩ B| / |A ∪ B|`` of a cluster A,
        reduced to the rows drawn, with a cluster B of the new fit. From 0.85 a cluster is highly stable, from 0.75
        stable; below 0.6 it should not be trusted.
    rows : N, the share of the draws in which a row was in the cluster most similar to its own, or for an outlier, in
        none. NaN for rows that were never drawn.
    confidence : N, the mean over the draws of the probability that the new fit gives to a row's own cluster (for an
        outlier, 1 where it is one again). It knows the uncertainty of the clusters themselves, which the model's own
        probabilities take for granted. NaN for rows that were never drawn.
    n_clusters : how often each number of clusters was found, the most frequent first.
    n_draws : number of draws.
    hidden : share of the observed entries that was hidden in each draw.
    """

    clusters: Real
    rows: Real
    confidence: Real
    n_clusters: dict[int, int]
    n_draws: int
    hidden: float

    _rules: ClassVar = {
        "clusters": NumberArray("K", finite=False),
        "rows": NumberArray("N", finite=False),
        "confidence": NumberArray("N", finite=False),
        "n_clusters": Rule(),
        "n_draws": Number(low=1, whole=True),
        "hidden": Number(low=0),
    }

    @property
    def grades(self) -> list[str]:
        """Each cluster in words."""
        return [grade(float(value)) for value in self.clusters]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{k} in {often}" for k, often in self.n_clusters.items())
        lines = [f"Stability over {counted(self.n_draws, 'draw')} (clusters found: {numbers})"]
        each = zip(self.clusters, self.grades, strict=True)
        return "\n".join([*lines, *(f"  cluster {k}: {value:.2f}, {word}" for k, (value, word) in enumerate(each))])

    def _repr_html_(self) -> str:
        each = enumerate(zip(self.clusters, self.grades, strict=True))
        lines = "".join(f"<tr><td>{k}</td><td>{value:.2f}</td><td>{word}</td></tr>" for k, (value, word) in each)
        head = "<tr><th>cluster</th><th>stability</th><th></th></tr>"
        return f"<p>{repr(self).splitlines()[0]}</p><table><thead>{head}</thead><tbody>{lines}</tbody></table>"


def grade(similarity: float) -> str:
    """A mean Jaccard similarity in words."""
    if np.isnan(similarity):
        return "never drawn"
    return next(word for least, word in GRADES if similarity >= least)


def row_draws(n: int, size: int, n_draws: int, random: np.random.Generator) -> Iterator[Index]:
    """Draw sorted indices of `size` of n rows: the next ones of a random order, which is shuffled when it is used up.

    So every row is drawn equally often, within one. Halves come as a half and its complement (Shah and Samworth, 2013).
    """
    order, begin = random.permutation(n), 0
    for _ in range(n_draws):
        if begin + size > n:
            order, begin = random.permutation(n), 0
        yield np.sort(order[begin : begin + size])
        begin += size


def hide_more(table: InMemory, share: float, levels: Levels, random: np.random.Generator) -> InMemory:
    """Hide a share of the observed entries, the levels of a category together, leaving an entry in every row."""
    if not share:
        return table
    if not isinstance(table, Entries):
        owner = np.repeat(np.arange(table.shape[0]), table.row_counts)
        keys = random.random(table.n_stored)
        kept = (keys >= share) | (keys == np.maximum.reduceat(keys, table.rows.indptr[:-1])[owner])
        rows = table.rows.copy()
        rows.data, rows.indices = rows.data[kept], rows.indices[kept]
        rows.indptr = np.append(0, np.cumsum(np.bincount(owner[kept], minlength=table.shape[0])))
        return replace(table, rows=rows)
    keys = random.random(table.shape)
    for start, stop, *_ in levels:
        keys[:, start:stop] = keys[:, start : start + 1]
    keys[~table.known] = -1
    return table.only((keys >= share) | (keys == keys.max(axis=1, keepdims=True)))


def similarities(before: Labels, after: Labels, n_clusters: int) -> Real:
    """Jaccard similarity |A ∩ B| / |A ∪ B| of clusters A and B of the same rows, K x L; NaN where A is empty.

    Rows labelled -1 are in no cluster.
    """
    first = before == np.arange(n_clusters)[:, None]
    second = after == np.arange(max(int(after.max(initial=-1)) + 1, 1))[:, None]
    both = first.astype(float) @ second.T
    either = first.sum(axis=1)[:, None] + second.sum(axis=1) - both
    return np.where(first.any(axis=1)[:, None], both / np.maximum(either, 1), np.nan)


class Refit(NamedTuple):
    """The rows of a draw, their labels, and N x L, their probabilities, in the fit to it (None: it has none)."""

    rows: Index
    labels: Labels
    probabilities: Real | None


def summarise(labels: Labels, refits: Sequence[Refit], hidden: float) -> Stability:
    """Compare the labels of all rows with those of refits to draws of them, each with a share of entries hidden."""
    n_clusters = int(labels.max(initial=-1)) + 1
    best, counts = np.full((len(refits), n_clusters), np.nan), Counter[int]()
    times, stayed, sure = np.zeros((3, len(labels)))
    for k, refit in enumerate(refits):
        before = labels[refit.rows]
        counts[int(refit.labels.max(initial=-1)) + 1] += 1
        times[refit.rows] += 1
        similarity = similarities(before, refit.labels, n_clusters)
        best[k] = similarity.max(axis=1)
        # whether each row is in the cluster most similar to its own, or in none again
        match: Index = np.append(np.nan_to_num(similarity).argmax(axis=1), -1)
        stayed[refit.rows] += refit.labels == match[before]
        sure[refit.rows] += _own_probability(before, refit, similarity)
    some = ~np.isnan(best)
    clusters = np.where(some, best, 0).sum(axis=0) / np.where(some.any(axis=0), some.sum(axis=0), np.nan)
    times = np.where(times > 0, times, np.nan)
    numbers = dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
    return Stability(clusters, stayed / times, sure / times, numbers, len(refits), hidden)


def _own_probability(before: Labels, refit: Refit, similarity: Real) -> Real:
    """Probability of each row's own cluster: of all clusters of the new fit to which that one is the most similar."""
    if refit.probabilities is None:
        return np.full(len(before), np.nan)
    match = np.zeros(refit.probabilities.shape[1], np.intp)
    match[: similarity.shape[1]] = np.nan_to_num(similarity).argmax(axis=0)
    own = np.where(match == before[:, None], refit.probabilities, 0.0).sum(axis=1)
    return np.where(before < 0, refit.labels < 0, own)
