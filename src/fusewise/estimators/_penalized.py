"""The estimator ``PenalizedFusion``: the paper's algorithm, at one lam or along a path of which a point is chosen."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fusewise.estimators._base import COMMON, COUNT, ClusteringEstimator, in_plain_words
from fusewise.fusion import (
    Fidelity,
    FusionPath,
    Penalty,
    Settings,
    as_fidelity,
    as_penalty,
    check_pairs_fit,
    choose_sigma,
    cut_to,
    lam_schedule,
    longest_plateau,
    pose,
    solutions,
)
from fusewise.kernels import Index as IndexArray
from fusewise.kernels import Labels, Real, Values, torch_device
from fusewise.observations import Entries, Table, group_means, warn_of_blanks
from fusewise.pairs import partial_squared_distances_to
from fusewise.saving import saveable
from fusewise.subspace import choose_rank
from fusewise.support import Either, Flag, InputError, Instance, Maybe, Number, NumberArray, PositionArray, Word
from fusewise.tables import FrameEncoder


@saveable
class PenalizedFusion(ClusteringEstimator):
    """minimise  sum_i f_i(u_i) + lam sum_i sum_j c_ij phi(||u_i - u_j||)  over one centre u_i for each row.

    The paper's algorithm. f_i measures the distance to the observed entries of row i, and lam is the strength of the
    fusion penalty. A saturating penalty phi makes the centres of similar rows fuse; the fused groups are the clusters.
    By default all pairs are fused (c_ij = 1), in the space of all columns and in the units of the table: standardise
    columns first. ``FusionClustering`` needs no lam, and handles units, categories and outliers.

    Parameters
    ----------
    lam : strength of the fusion penalty; "auto" computes a path of increasing lam and takes the partition that stays
        the same over the largest number of steps. It has no effect with a constrained fidelity.
    penalty : name, or an object with parameters such as ``H1(sigma)``, where sigma is the distance beyond which the
        penalty levels off; by default half the median distance to the nearest neighbour.
    fidelity : "quadratic", "box", "ball", or ``Box(epsilon)``, ``Box(lower=, upper=)``, ``Ball(radius)``.
    init : "partial", "zero", "mean", "subspace" (with a rank), or an array of centres, N x P.
    rank : dimension of a subspace in which rows are fused; None uses all columns; "auto" takes the one that best
        predicts held-out entries.
    n_neighbors : number of neighbours of each row in a graph, along which rows are fused; None uses all pairs; "auto"
        uses them if they fit in memory.
    n_clusters : number of clusters: the point of the path with the fewest groups of at least so many is taken, and its
        nearest groups are joined. None leaves the number to lam.
    max_iter, tol : for each lam, the maximum number of iterations and the tolerance on the relative gradient.
    device : where to compute: "cpu", "cuda" or "auto" (a GPU if there is one).
    random_state : seed for the entries that are held out for ``rank="auto"``; nothing else is random.
    verbose : 1 shows each iteration (objective, relative gradient, time left).

    Attributes
    ----------
    labels_ : cluster of each row, largest cluster first; -1 for a row that has fused with no other, and for rows with
        nothing observed.
    n_clusters_ : number of clusters.
    cluster_centers_ : K x P, the mean of the centres of each cluster.
    fused_ : N x P, the u_i.
    lam_, penalty_, fidelity_, rank_ : those of the solution.
    path_ : the ``FusionPath`` from which the solution was chosen; None if lam was given.
    objective_, n_iter_, converged_ : objective, number of iterations and convergence of the solution.
    encoder_ : how categories of a frame were encoded (0/1, an ordered category as one number); None if there are none.
    observations_ : the table as read.
    n_features_in_, feature_names_in_ : number and names of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise import PenalizedFusion
    >>> from fusewise.penalties import H1
    >>> X = np.array([[0.0, 0.1], [0.1, np.nan], [np.nan, 0.0], [5.0, 5.1], [5.1, np.nan], [np.nan, 5.0]])
    >>> PenalizedFusion(lam=1.0, penalty=H1(0.5)).fit(X).labels_
    array([0, 0, 0, 1, 1, 1])
    >>> PenalizedFusion().fit(X).n_clusters_
    2
    """

    _parameters: ClassVar = {
        "lam": Either(Number(low=0), Word("auto")),
        "rank": Maybe(Either(COUNT, Word("auto"))),
        "n_neighbors": Maybe(Either(COUNT, Word("auto"))),
        "n_clusters": Maybe(COUNT),
        "max_iter": COUNT,
        "tol": Number(low=0),
    }

    #: What a saved model holds, of N rows, P features and K clusters.
    _rules: ClassVar = COMMON | {
        "n_clusters_": Number(low=0, size="K"),
        "labels_": PositionArray("N", below="K", low=-1),
        "cluster_centers_": NumberArray("K", "P", kinds="fc"),
        "fused_": NumberArray("N", "P", kinds="fc"),
        "lam_": Number(low=0, finite=False),
        "penalty_": Instance(Penalty),
        "fidelity_": Instance(Fidelity),
        "rank_": Maybe(COUNT),
        "path_": Maybe(Instance(FusionPath, N="N", P="P")),
        "objective_": Number(finite=False),
        "n_iter_": Number(low=0, whole=True),
        "converged_": Flag(),
        "observations_": Instance(Entries, N="N", P="P"),
    }

    @in_plain_words
    def __init__(
        self,
        lam: float | str = "auto",
        *,
        penalty: str | Penalty = "h1",
        fidelity: str | Fidelity = "quadratic",
        init: str | npt.NDArray[Any] = "partial",
        rank: int | str | None = None,
        n_neighbors: int | str | None = None,
        n_clusters: int | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.lam = lam
        self.penalty = penalty
        self.fidelity = fidelity
        self.init = init
        self.rank = rank
        self.n_neighbors = n_neighbors
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name.

        Parameters
        ----------
        **params : values by name; nested ones such as ``penalty__sigma`` work even if the penalty was given by name.
        """
        for name, make in (("penalty", as_penalty), ("fidelity", as_fidelity)):
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and isinstance(params.get(name, getattr(self, name)), str):
                params = {name: make(params.get(name, getattr(self, name))), **params}
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_penalty(self.penalty)
        as_fidelity(self.fidelity)
        torch_device(self.device)  # raises if the device does not exist

    def _new_encoder(self, X: Any, counts: IndexArray | None) -> FrameEncoder | None:
        """Distances need one number for each level of an ordered category, and 0/1 for each level of another."""
        encoder = super()._new_encoder(X, counts)
        return None if encoder is None else encoder.by_distance(X, standardize=False)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X (missing entries: NaN, null, or not stored). X is held in memory; y is ignored."""
        self._check_parameters()
        table = self._read(X, y, reset=True)
        some = table.row_counts > 0
        if self.n_clusters is not None and self.n_clusters > some.sum():
            raise InputError(f"n_clusters={self.n_clusters} exceeds the {some.sum()} rows with an observed entry")
        entries = self.observations_ = table.dense()
        check_pairs_fit(entries, self.n_neighbors, self.device)  # before any work
        seen = entries if some.all() else entries.take(np.flatnonzero(some))
        penalty, rank = as_penalty(self.penalty), self.rank
        if getattr(penalty, "sigma", 1.0) is None:
            penalty = penalty.replace(sigma=choose_sigma(seen))
        self.rank_ = choose_rank(seen, random_state=self._seed()) if isinstance(rank, str) else rank
        path = self._solve(entries, penalty)
        k, labels = self._chosen(path)
        solution = path[k]
        self.labels_, self.fused_ = labels, solution.centers
        self.n_clusters_ = int(labels.max(initial=-1)) + 1
        self.cluster_centers_ = group_means(self.fused_, labels)
        self.lam_, self.penalty_, self.fidelity_ = solution.lam, solution.penalty, solution.fidelity
        self.objective_, self.converged_ = solution.objective, solution.converged
        self.n_iter_ = max(1, solution.n_iter)
        self.path_ = path if isinstance(self.lam, str) else None
        return self

    def _solve(self, entries: Entries, penalty: Penalty) -> FusionPath:
        """The solution at lam, or along a path of increasing lam; a row that fuses with no other has the label -1."""
        settings = {name: getattr(self, name) for name in ("init", "max_iter", "tol", "device", "verbose")}
        lam = 1.0 if isinstance(self.lam, str) else self.lam
        posed = pose(entries, None, lam, penalty, self.fidelity, self.rank_, self.n_neighbors, self.device)
        lams = lam_schedule(posed.problem) if isinstance(self.lam, str) else [posed.problem.lam]
        return FusionPath(
            tuple(solutions(posed, [(lam, penalty) for lam in lams], Settings(min_cluster_size=2, **settings)))
        )

    def _chosen(self, path: FusionPath) -> tuple[int, Labels]:
        """The chosen point of a path, and its labels, after joining groups down to ``n_clusters`` if it was given."""
        if self.n_clusters is None:
            k = longest_plateau(path)
            return k, path.labels[k]
        k, labels = cut_to(path, self.n_clusters)
        found = int(labels.max(initial=-1)) + 1
        if found < self.n_clusters:
            message = f"{self.n_clusters} clusters were requested, but only {found} remain: decrease lam or sigma"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return k, labels

    def predict(self, X: Any) -> Labels:
        """The nearest cluster centre of each row of X, by its observed entries; -1 if nothing is observed."""
        check_is_fitted(self)
        table = self._read(X, reset=False)
        warn_of_blanks(table, columns=False)
        if not self.n_clusters_:
            return np.full(table.shape[0], -1, dtype=np.intp)
        squares = self._squared_distances(table)
        nearest = np.argmin(np.where(np.isnan(squares), np.inf, squares), axis=1)
        return np.where(table.row_counts > 0, nearest, -1)

    def transform(self, X: Any) -> Real:
        """sqrt(P / m_i sum_j abs(x_ij - c_kj)²), the distance of each row i of X from each centre c_k, N x K.

        The sum is over the m_i observed entries of the row, out of P, in the units of the table.
        """
        check_is_fitted(self)
        return np.sqrt(self._squared_distances(self._read(X, reset=False)))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared distance of the observed entries of X from the nearest centre; y is ignored."""
        check_is_fitted(self)
        table = self._read(X, y, reset=False)
        if not self.n_clusters_:
            return -np.inf
        seen = table.row_counts > 0
        squares = self._squared_distances(table).min(axis=1) / table.shape[1]
        return -float(np.average(squares[seen], weights=table.row_counts[seen]))

    def _squared_distances(self, table: Table) -> Real:
        """Squared distances to the cluster centres, N x K, scaled from the observed entries to all."""
        centers: Values = self.cluster_centers_
        blocks = table.of_each_block(lambda rows, where: partial_squared_distances_to(rows, centers))
        return np.concatenate(list(blocks))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)
