"""A fit by the default method: clusters are chosen, all rows are labelled, and clusters are ordered by size."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from fusewise.automatic import NO_HINTS, Choice, Classified, Hints, LevelBlock, better_supported, choose
from fusewise.estimators.placement import Placement
from fusewise.fusion.fidelity import Fidelity, Quadratic
from fusewise.fusion.penalties import L0, Penalty
from fusewise.kernels import Index, Real, announcing
from fusewise.observations import DaskTable, RepeatedRows, Table, check_fits, warn_of_blanks
from fusewise.progress import shown
from fusewise.support.errors import InputError
from fusewise.support.words import counted

if TYPE_CHECKING:
    from fusewise.estimators.base import FusionEstimator as Estimator
else:
    Estimator = object


class AutomaticFitMixin(Estimator):
    """What ``FusionClustering`` does by default, and the labels and probabilities that follow."""

    if TYPE_CHECKING:
        cluster_centers_: npt.NDArray[Any]
        confidence_: Real | None
        converged_: bool
        fidelity_: Fidelity
        labels_: Any
        lam_: float
        n_clusters_: int
        n_iter_: int
        noise_: float
        objective_: float
        observations_: Any
        path_: Any
        penalty_: Penalty
        probabilities_: Real | None
        _counts: Index | None
        _hints: Hints
        _tails: Any
        _tail_counts: Any

        def _labelled_remotely(self, table: DaskTable, choice: Choice) -> Choice: ...

    def _fit_automatic(self, table: Table, repeated: Table, worth: float) -> None:
        """Fit to the rows as often as they count, and label them all."""
        hints = self._hints
        warn_of_blanks(table, placed=hints.rows)
        n, n_seen = repeated.shape[0], repeated.n_seen
        if n_seen < 2:
            raise InputError(f"clustering needs at least 2 rows with an observed entry, got {n_seen} of {n}")
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        with shown(self.verbose) as progress, announcing(progress):
            search = partial(
                choose,
                repeated,
                levels=self._levels(),
                n_clusters=self._number("n_clusters"),
                rank=self._number("rank"),
                n_neighbors=self._number("n_neighbors"),
                min_size=self._number("min_cluster_size"),
                seed=seed,
                worth=worth,
                progress=progress,
            )
            choice = search()
            if hints and not choice.obeys(table, hints):
                own = hints if self._counts is None else hints.among(np.repeat(np.arange(table.shape[0]), self._counts))
                told = search(hints=own, before=choice)
                choice = better_supported(choice, told, repeated, own, self._number("n_clusters"))
            if isinstance(repeated, RepeatedRows):
                rows = repeated.source(np.flatnonzero(repeated.row_counts > 0)[choice.rows])
                choice = replace(choice, rows=np.cumsum(table.row_counts > 0)[rows] - 1)
            progress(f"labelling {counted(table.shape[0], 'row')}", 0, clusters=choice.n_clusters)
            self._n_fitted = table.n_seen
            choice = (
                self._labelled_remotely(table, choice)
                if isinstance(table, DaskTable)
                else self._labelled(table, choice)
            )
        self.n_clusters_ = choice.n_clusters
        self.cluster_centers_ = choice.centers.astype(table.dtype)[np.argsort(self._order)]
        self.lam_, self.penalty_, self.fidelity_ = choice.lam, L0(), Quadratic()
        self.rank_, self.noise_ = choice.subspace.rank, float(np.sqrt(choice.subspace.noise))
        self.objective_, self.n_iter_ = -choice.criteria[choice.chosen], len(choice.criteria)
        self.converged_ = not choice.interrupted
        self.limits_ = choice.limits

    def _labelled(self, table: Table, choice: Choice) -> Choice:
        """Label all rows, with clusters in the order of their sizes; those without rows are left out."""
        hints, seen = self._hints, table.row_counts > 0
        seen[hints.rows] = True
        counted_rows = seen if self._counts is None else seen & (self._counts > 0)
        choice, found = choice.occupied(table, counted_rows, hints)
        inside = seen & ~found.outlying
        often = None if self._counts is None else self._counts[inside]
        self._tails = np.sort(found.tails[found.outlying & seen])
        self._tail_counts = np.arange(1, len(self._tails) + 1)
        self._put_in_order(choice, np.bincount(found.labels[inside], often, choice.n_clusters))
        self._take_labels(found, seen)
        return choice

    def _put_in_order(self, choice: Choice, sizes: npt.NDArray[Any]) -> None:
        """Keep a choice, its clusters ordered by their sizes."""
        self.path_ = choice
        if self.n_clusters is not None and choice.n_clusters < self.n_clusters:
            have = f"only {choice.n_clusters} {'has' if choice.n_clusters == 1 else 'have'} rows that are not outliers"
            message = f"{counted(self.n_clusters, 'cluster was', 'clusters were')} requested, but {have}"
            warnings.warn(message, ConvergenceWarning, stacklevel=5)
        self._order = np.argsort(np.argsort(-sizes, kind="stable"))

    def _describe(self, table: Table) -> None:
        """Label the rows of a table, and keep it as the one that was observed."""
        assert isinstance(self.path_, Choice)
        self.observations_ = table
        self._take_labels(self.path_.classify(table), table.row_counts > 0)

    def _take_labels(self, found: Classified, seen: npt.NDArray[np.bool_]) -> None:
        place = self._placement
        self.labels_, self.confidence_ = place.labels(found, seen), place.confidence(found, seen)
        self.__dict__.pop("probabilities_", None)  # computed on access, if they are many
        if found.posterior is not None:
            self.probabilities_ = place.probabilities(found)

    @property
    def _placement(self) -> Placement:
        """What labels rows."""
        held, choice = vars(self), self.path_
        if not isinstance(choice, Choice):
            raise AttributeError("the plain algorithm has no probabilities: use the default, or predict")
        # Models of earlier versions have no tails.
        tails: Real = held.get("_tails", np.zeros(0))
        counts = held.get("_tail_counts")
        counts = np.arange(1, len(tails) + 1) if counts is None else counts
        n = held.get("_n_fitted") or self.observations_.n_seen
        return Placement(choice.classifier, self._order, tails, counts, n)

    def _probabilities(self, table: Table, hints: Hints = NO_HINTS) -> Real:
        """Probability of each cluster for each row, N x K, with clusters ordered by size."""
        assert isinstance(self.path_, Choice)
        check_fits("the probabilities of the clusters", (table.shape[0], self.n_clusters_), 16)
        found = self.path_.classify(table, hints, posterior=True)
        return self._placement.probabilities(found)

    def _fused(self, choice: Choice) -> npt.NDArray[Any]:
        """Centre of each row: its cluster's; for an outlier its own; for an empty row the weighted mean of all."""
        table, centers = self.observations_, self.cluster_centers_
        check_fits("fused_ (cluster_centers_[labels_], for clustered rows)", table.shape, centers.itemsize)
        fused: npt.NDArray[Any] = centers[self.labels_]
        alone = np.flatnonzero((self.labels_ < 0) & (table.row_counts > 0))
        if len(alone):
            fused[alone] = choice.ambient(choice.places(table.take(alone)))
        blank = table.row_counts == 0
        if blank.any():
            counts = vars(self).get("_counts")
            fused[blank] = np.average(np.asarray(self.probabilities_), axis=0, weights=counts) @ centers
        return fused

    def _levels(self) -> tuple[LevelBlock, ...]:
        """The blocks of features that hold the levels of a category."""
        encoder = self._encoder
        pairs = [] if encoder is None else zip(encoder.levels, encoder.ordered, strict=True)
        return tuple(LevelBlock(start, stop, ordered) for (start, stop), ordered in pairs)

    def _number(self, name: str) -> int | None:
        """The value of a numeric parameter, or None for "auto"."""
        value = getattr(self, name)
        return None if value is None or isinstance(value, str) else int(value)  # NumPy's small ones overflow
