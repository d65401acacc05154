"""How sure the result of a model is: its stability, and other numbers of clusters."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fusewise.automatic import NO_HINTS, Choice, Hints
from fusewise.automatic.alternatives import Alternative, nearly_as_good
from fusewise.automatic.stability import MOST_HIDDEN, MOST_ROWS, Refit, Stability, hide_more, row_draws, summarise
from fusewise.automatic.units import Levels
from fusewise.kernels import Index, Labels, single_products
from fusewise.observations import StreamedEntries, Table
from fusewise.progress import Progress, listening, shown
from fusewise.support.errors import InputError
from fusewise.support.words import counted

if TYPE_CHECKING:
    from fusewise.estimators.base import FusionEstimator as Estimator
    from fusewise.estimators.clustering import FusionClustering
else:
    Estimator = object


class CertaintyMixin(Estimator):
    """The methods ``stability`` and ``alternatives`` of ``FusionClustering``."""

    if TYPE_CHECKING:
        labels_: Labels
        observations_: Table
        path_: Any
        _hints: Hints
        _others: tuple[Alternative, ...] | None

        def _levels(self) -> Levels: ...

    def stability(
        self, n_draws: int = 20, *, X: Any = None, hidden: float | str = "auto", n_jobs: int | None = None
    ) -> Stability:
        """Fit the model again to half of the rows, `n_draws` times, and compare the clusters.

        The mean over the draws of ``max_B |A ∩ B| / |A ∪ B|`` is the stability of a cluster A, where B are clusters of
        the new fit and A is reduced to its rows (Hennig, 2007; R's ``fpc::clusterboot``). Halves are drawn without
        replacement, because copies of rows would be taken for clusters; each draw and the next are the two halves of
        the table. Where numbers of clusters are compared each row counts twice, so that a draw has as much evidence as
        the table. Of more than 10,000 rows each draw has 5,000, the size of the first sample in which clusters are
        searched. All parameters of the model are kept (the number of clusters, if it was given), except that a
        given ``min_cluster_size`` is reduced with the rows, and that lam of the plain algorithm with all pairs is
        raised, because there are fewer pairs.

        The result is also kept as ``stability_``, which the report shows and ``save`` stores. Ctrl-C returns the result
        of the draws that are done. Draws depend on ``random_state`` (None: always the same), not on `n_jobs`.

        Parameters
        ----------
        n_draws : number of draws. With 20, a share in ``rows`` has steps of about a tenth.
        X : the table that the model was fitted to. It is needed only if the model does not hold it: after loading
            a model of a table that is read from disk.
        hidden : share of the observed entries to hide in each draw, because which entries are missing is partly chance.
            "auto" is the share that is missing already, and at most 0.1: of a complete table nothing is hidden, and
            hiding more than a tenth would test a much emptier table. Every row keeps an entry.
        n_jobs : number of threads; None or -1 for as many as there are cores.

        Returns
        -------
        Stability
            ``clusters`` and ``rows``, the stability of each cluster and row; ``confidence``, the probability of each
            row's own cluster, averaged over the draws; ``n_clusters``, how often each number of clusters was found.
        """
        check_is_fitted(self)
        table = self._fitted_table(X)
        if n_draws < 1:
            raise InputError(f"n_draws must be at least 1, got {n_draws}")
        share = _share_to_hide(table, hidden)
        counts = vars(self).get("_counts")
        seen = np.flatnonzero(table.row_counts > 0 if counts is None else (table.row_counts > 0) & (counts > 0))
        size = _draw_size(len(seen), self.n_clusters)
        random = check_random_state(0 if self.random_state is None else self.random_state)
        seeds = np.random.SeedSequence(random.randint(2**31)).spawn(n_draws + 1)
        draws = [seen[rows] for rows in row_draws(len(seen), size, n_draws, np.random.default_rng(seeds[0]))]

        def refit(k: int) -> Refit:
            part = hide_more(table.take(draws[k]), share, self._levels(), np.random.default_rng(seeds[k + 1]))
            own = None if counts is None else counts[draws[k]]
            model = self._refitted(part, len(seen), self._given.among(draws[k]), own)
            return Refit(draws[k], model.labels_, model.probabilities_)

        threads = effective_n_jobs(-1 if n_jobs is None else n_jobs)
        with shown(self.verbose) as progress:
            found = _each_in_threads(refit, n_draws, threads, progress)
        self.stability_ = summarise(self.labels_, found, share)
        return self.stability_

    def alternatives(self, *, X: Any = None) -> list[Alternative]:
        """Other numbers of clusters that explain the table nearly as well, the best first.

        For each number that was compared, the difference of its criterion from that of the result has the standard
        error sqrt(N) times the standard deviation over the rows of what each adds to it (Vuong, 1989). Numbers that
        fall short by no more than two standard errors are returned, with the clusters they would have given. An empty
        list means that no other number comes near.

        Parameters
        ----------
        X : the table that the model was fitted to, if the model does not hold it (as in ``stability``).

        Returns
        -------
        list of Alternative
            Each with ``n_clusters``, ``gain`` (in nats, negative if it falls short), ``error``, ``per_row``, ``sizes``
            and ``labels``.
        """
        check_is_fitted(self)
        if not isinstance(self.path_, Choice):
            raise AttributeError("the plain algorithm does not compare numbers of clusters: use the default parameters")
        known: tuple[Alternative, ...] | None = getattr(self, "_others", None)
        if X is None and known is not None:
            return list(known)
        table, choice = self._fitted_table(X), self.path_
        found = []
        for other, gain, error in nearly_as_good(choice, table, self._given, told=self.n_clusters is not None):
            seen = table.row_counts > 0
            occupied, given = other.occupied(table, seen, self._given)
            if occupied is not other:  # it has fewer clusters than its number
                continue
            inside = seen & ~given.outlying
            sizes = np.bincount(given.labels[inside], minlength=other.n_clusters)
            place = np.argsort(np.argsort(-sizes, kind="stable"))
            labels = np.where(inside, place[given.labels], -1)
            found.append(Alternative(other.n_clusters, gain, error, gain / len(choice.rows), labels))
        self._others = tuple(found)
        return found

    def _fitted_table(self, X: Any) -> Table:
        """The table that the model was fitted to."""
        if "_stream" in vars(self):
            raise InputError("the model has learnt from blocks of rows, of which it holds only a sample: fit a table")
        if X is None:
            table = self.observations_
            if isinstance(table, StreamedEntries) and table.source is None:
                raise InputError("a saved or copied model does not include a table on disk: pass it as X")
            return table
        table = self._read(X, None, reset=False)
        if table.shape[0] != len(self.labels_):
            here, rows = counted(table.shape[0], "row"), counted(len(self.labels_), "row")
            raise InputError(f"X has {here}, but the model was fitted to {rows}: pass that table")
        return table

    @property
    def _given(self) -> Hints:
        """The hints of the fit; models of earlier versions have none."""
        return getattr(self, "_hints", None) or NO_HINTS

    def _refitted(self, part: Table, n: int, hints: Hints, counts: Index | None) -> FusionClustering:
        """A model with the same settings, fitted to some of n rows, with their hints and weights."""
        model: Any = clone(self).set_params(verbose=0, random_state=0)
        reduced = part.shape[0] / n
        if not isinstance(model.min_cluster_size, str):
            model.min_cluster_size = max(1, round(reduced * model.min_cluster_size))
        if not isinstance(model.lam, str) and not isinstance(model.n_neighbors, int):
            model.lam /= reduced
        if isinstance(model.init, np.ndarray):
            raise InputError("stability cannot refit a model whose init is an array: use one with a name ('partial')")
        model.encoder_ = self._encoder
        return model._fit_table(part, hints, counts, min(n, MOST_ROWS) / part.shape[0])  # type: ignore[no-any-return]


def _share_to_hide(table: Table, hidden: float | str) -> float:
    """The share of the observed entries to hide, checked; "auto" is the share that is missing, or less."""
    missing = 1 - int(table.column_counts.sum()) / (table.shape[0] * table.shape[1])
    share = min(missing, MOST_HIDDEN) if isinstance(hidden, str) and hidden == "auto" else hidden
    if isinstance(share, str) or not 0 <= share < 1:
        raise InputError(f"hidden must be 'auto' or a share from 0 to below 1, got {hidden!r}")
    return share


def _draw_size(n: int, n_clusters: int | None) -> int:
    """Half of n rows, but no more than clusters are searched in; raises ValueError if that is too few."""
    size = min(n // 2, MOST_ROWS)
    if size < max(2, n_clusters or 2):
        clusters = "" if n_clusters is None else f" for n_clusters={n_clusters}"
        raise InputError(f"stability fits half of the {counted(n, 'row')}, which is too few{clusters}")
    return size


class _Stopped(Exception):
    """Ends a draw after Ctrl-C."""


def _each_in_threads(work: Callable[[int], Refit], n: int, threads: int, progress: Progress) -> list[Refit]:
    """Call work(0), ..., work(n - 1) in threads; those that are done if Ctrl-C comes first.

    Threads share the table and the compiled loops, and unlike processes can be told to stop: the progress that a fit
    reports is where it ends.
    """
    stop = threading.Event()

    def checking(stage: str, iteration: int = 0, total: int | None = None, **values: float) -> None:
        if stop.is_set():
            raise _Stopped

    def one(k: int) -> Refit:
        with listening(checking):
            checking("")
            return work(k)

    futures: list[Future[Refit]] = []
    # Filters are those of the process: set once, not in each thread. The fit to all rows has given its warnings.
    with warnings.catch_warnings(), single_products(), ThreadPoolExecutor(threads) as pool:
        warnings.simplefilter("ignore")
        try:
            futures += [pool.submit(one, k) for k in range(n)]
            progress("fitting draws", 0, n)
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                progress("fitting draws", done, n)
        except BaseException as error:
            stop.set()
            pool.shutdown(cancel_futures=True)
            if not isinstance(error, KeyboardInterrupt) or not _done(futures):
                raise
    found = _done(futures)
    if len(found) < n:
        warnings.warn(f"interrupted after {len(found)} of {counted(n, 'draw')}", ConvergenceWarning, stacklevel=3)
    return found


def _done(futures: list[Future[Refit]]) -> list[Refit]:
    ended = [future for future in futures if future.done() and not future.cancelled()]
    return [future.result() for future in ended if future.exception() is None]
