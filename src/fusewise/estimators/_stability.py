"""How sure a result is: fits to parts of the table, and other numbers of clusters.

Each draw is half of the rows, taken without replacement. That has the sampling variance of a bootstrap of all rows (for
a mean, sigma²/m (1 - m/n) = sigma²/n at m = n/2), but no row occurs twice: copies of a row are neighbours at distance
zero, and would be taken for a cluster (of 180 rows in three clusters, bootstraps make up to nineteen). In the criterion
each row counts twice, so that a draw has as much evidence as the table: with less, fewer clusters are supported. Which
entries are missing is chance, too: some more are hidden in each draw.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic import Alternative, Choice, LevelBlock, Stability, nearly_as_good
from fusewise.estimators._base import frame_of
from fusewise.estimators._result import ClusteringResult, cluster, labelled
from fusewise.kernels import Index, Labels, Real, small_products
from fusewise.observations import Entries, InMemory, Table, stored_where
from fusewise.progress import Progress, shown
from fusewise.support import InputError, counted

#: Most rows in a draw: as many as the clusters of a longer table were found in (``sample.SAMPLE``).
MOST_ROWS = 5_000
#: At most this share of the observed entries is hidden in a draw.
MOST_HIDDEN = 0.1


def stability_of(result: ClusteringResult, table: Table, n_draws: int, n_jobs: int | None, **how: Any) -> Stability:
    """``FusionClustering.stability`` of a result and its table; `how` it was clustered is as in ``cluster``."""
    if n_draws < 1:
        raise InputError(f"n_draws must be at least 1, got {n_draws}")
    share, counts, levels = min(1 - table.observed_fraction, MOST_HIDDEN), result.counts, how["levels"]
    seen = np.flatnonzero(table.row_counts > 0 if counts is None else (table.row_counts > 0) & (counts > 0))
    size = _draw_size(len(seen), how["n_clusters"])
    seeds = np.random.SeedSequence(how.pop("seed")).spawn(n_draws + 1)
    draws = [seen[rows] for rows in row_draws(len(seen), size, n_draws, np.random.default_rng(seeds[0]))]
    verbose, smallest = how.pop("verbose"), how.pop("min_cluster_size")
    smallest = None if smallest is None else max(1, round(size / len(seen) * smallest))

    def refit(k: int) -> Refit:
        rows = draws[k]
        part = hide_more(table.take(rows), share, levels, np.random.default_rng(seeds[k + 1]))
        own = None if counts is None else counts[rows]
        worth = min(len(seen), MOST_ROWS) / part.shape[0]
        found = cluster(part, hints=result.hints.among(rows), counts=own, worth=worth, min_cluster_size=smallest, **how)
        return Refit(rows, found.labels, found.probabilities(part))

    threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    with shown(verbose) as progress:
        found = _each_in_threads(refit, n_draws, threads, progress)
    return summarise(result.labels, found, share)


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


def hide_more(table: InMemory, share: float, levels: tuple[LevelBlock, ...], random: np.random.Generator) -> InMemory:
    """Hide a share of the observed entries, the levels of a category together, leaving an entry in every row."""
    if not share:
        return table
    if not isinstance(table, Entries):
        owner = np.repeat(np.arange(table.shape[0]), table.row_counts)
        keys = random.random(table.n_stored)
        kept = (keys >= share) | (keys == np.maximum.reduceat(keys, table.rows.indptr[:-1])[owner])
        return replace(table, rows=stored_where(kept, table.rows))
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
    """The rows of a draw, their labels, and N x L, their probabilities, in the fit to it."""

    rows: Index
    labels: Labels
    probabilities: Real


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
    match = np.zeros(refit.probabilities.shape[1], np.intp)
    match[: similarity.shape[1]] = np.nan_to_num(similarity).argmax(axis=0)
    own = np.where(match == before[:, None], refit.probabilities, 0.0).sum(axis=1)
    return np.where(before < 0, refit.labels < 0, own)


def alternatives_of(result: ClusteringResult, table: Table, *, told: bool) -> list[Alternative]:
    """Other numbers of clusters that are nearly as good; `told`: whether the number was given."""
    found = []
    for other, gain, error in nearly_as_good(result.choice, table, result.hints, told=told):
        given = labelled(table, other, result.outliers, result.hints, result.counts)
        if given.n_clusters == other.n_clusters and given.labels is not None:  # otherwise some have no rows
            found.append(Alternative(other.n_clusters, gain, error, gain / len(result.choice.rows), given.labels))
    return found


def _draw_size(n: int, n_clusters: int | None) -> int:
    """Half of n rows, but no more than clusters are searched in."""
    size = min(n // 2, MOST_ROWS)
    if size < max(2, n_clusters or 2):
        clusters = "" if n_clusters is None else f" for n_clusters={n_clusters}"
        raise InputError(f"stability fits half of the {counted(n, 'row')}, which is too few{clusters}")
    return size


def _each_in_threads(work: Callable[[int], Refit], n: int, threads: int, progress: Progress) -> list[Refit]:
    """Call work(0), ..., work(n - 1) in threads, which share the table and the compiled loops.

    If Ctrl-C comes first: those that are done when the calls that were begun have ended.
    """
    found: list[Refit] = []
    # Filters are those of the process: set once, not in each thread. The fit to all rows has given its warnings.
    with warnings.catch_warnings(), small_products(1), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")
        try:
            progress("fitting draws", 0, n)
            for done, refit in enumerate(pool.map(work, range(n)), 1):
                found.append(refit)
                progress("fitting draws", done, n)
        except BaseException as error:
            pool.shutdown(cancel_futures=True)
            if not isinstance(error, KeyboardInterrupt) or not found:
                raise
    if len(found) < n:
        warnings.warn(f"interrupted after {len(found)} of {counted(n, 'draw')}", ConvergenceWarning, stacklevel=3)
    return found


class Alternatives(list[Alternative]):
    """Other numbers of clusters that are nearly as good, and the fit indices of all that were compared.

    The log-likelihood L is that of the observed entries in standard deviations of their columns, d the number of
    parameters of the clusters, n that of the rows compared, and H the entropy of the labels given the entries:

        AIC = 2 d - 2 L,  BIC = d log n - 2 L,  ICL = BIC + 2 H,  entropy R² = 1 - H / (n log K)

    Smaller is better for the first three; an entropy R² near 1 means that clusters hardly overlap. The method does not
    choose by these, but by ``criterion``, larger is better (see the guide, "The default algorithm"). The parameters of
    the subspace and its noise are the same for all and not counted; a spread that is shrunk towards the common one
    counts in part.
    """

    def __init__(self, found: Iterable[Alternative], choice: Choice, table: Callable[[], Table]):
        super().__init__(found)
        self._choice, self._table = choice, table

    def to_frame(self) -> Any:
        """The fit indices of all numbers of clusters that were compared, as a pandas DataFrame, one line for each."""
        choice, table = self._choice, self._table()
        rows = table.take(np.flatnonzero(table.row_counts > 0)[choice.rows])
        sample, slopes = choice.classifier.placed(rows), choice.units.log_slopes(rows)
        lines = []
        for k, mixture in enumerate(choice.mixtures):
            own: Any = choice.evidence if isinstance(mixture, type(choice.mixture)) else sample
            joint = mixture.log_densities(own)[0]
            parts: Any = getattr(mixture, "parts", mixture)
            levels = sum(stop - start - 1 for start, stop, *_ in getattr(parts, "levels", ()))
            indices = fit_indices(joint + np.reshape(slopes, (-1, 1)), parts.complexity + levels * parts.n_components)
            shares = {"smallest_share": float(mixture.shares.min()), "criterion": choice.criteria[k]}
            lines.append(indices | shares | {"chosen": k == choice.chosen})
        order = np.argsort([line["n_clusters"] for line in lines], kind="stable")
        return frame_of({name: [lines[k][name] for k in order] for name in lines[0]})


def fit_indices(joint: Real, parameters: float) -> dict[str, Any]:
    """The indices of a mixture, given log p(k, x_i) of each component and row, N x K."""
    n, k = joint.shape
    total = logsumexp(joint, axis=1)
    entropy = float(np.sum(np.exp(joint - total[:, None]) * (total[:, None] - joint)))
    likelihood = float(total.sum())
    bic = parameters * np.log(n) - 2 * likelihood
    return {
        "n_clusters": k,
        "log_likelihood": likelihood,
        "parameters": parameters,
        "aic": 2 * parameters - 2 * likelihood,
        "bic": bic,
        "icl": bic + 2 * entropy,
        "entropy_r2": 1 - entropy / (n * np.log(k)) if k > 1 else 1.0,
    }
