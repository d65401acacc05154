"""How sure a result is: fits to parts of the table, and other numbers of clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from fusewise.automatic import (
    MOST_HIDDEN,
    MOST_ROWS,
    Alternative,
    Choice,
    Refit,
    Stability,
    hide_more,
    nearly_as_good,
    row_draws,
    summarise,
)
from fusewise.estimators._base import frame_of
from fusewise.estimators._result import ClusteringResult, cluster, labelled
from fusewise.kernels import Real, one_thread
from fusewise.observations import Table
from fusewise.progress import Progress, shown
from fusewise.support import InputError, counted


def stability_of(
    result: ClusteringResult, table: Table, n_draws: int, hidden: float | str, n_jobs: int | None, **how: Any
) -> Stability:
    """``FusionClustering.stability`` of a result and its table; `how` it was clustered is as in ``cluster``."""
    if n_draws < 1:
        raise InputError(f"n_draws must be at least 1, got {n_draws}")
    share, counts, levels = _share_to_hide(table, hidden), result.counts, how["levels"]
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


def alternatives_of(result: ClusteringResult, table: Table, *, told: bool) -> list[Alternative]:
    """Other numbers of clusters that are nearly as good; `told`: whether the number was given."""
    found = []
    for other, gain, error in nearly_as_good(result.choice, table, result.hints, told=told):
        given = labelled(table, other, result.outliers, result.hints, result.counts)
        if given.n_clusters == other.n_clusters and given.labels is not None:  # otherwise some have no rows
            found.append(Alternative(other.n_clusters, gain, error, gain / len(result.choice.rows), given.labels))
    return found


def _share_to_hide(table: Table, hidden: float | str) -> float:
    """The share of the observed entries to hide; "auto" is the share that is missing, or less."""
    share = min(1 - table.observed_fraction, MOST_HIDDEN) if isinstance(hidden, str) and hidden == "auto" else hidden
    if isinstance(share, str) or not 0 <= share < 1:
        raise InputError(f"hidden must be 'auto' or a share from 0 to below 1, got {hidden!r}")
    return share


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
    with warnings.catch_warnings(), one_thread(), ThreadPoolExecutor(threads) as pool:
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
