"""scikit-learn's face of fusion: ``FusionClustering`` and ``FusionImputer``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fusewise.fidelity import Fidelity, as_fidelity
from fusewise.fusion import fuse
from fusewise.fusion.fuse import lam_without_effect
from fusewise.fusion.setup import noise_level, pose
from fusewise.labels import group_means
from fusewise.observations import Entries, as_entries, is_complex, warn_of_blanks
from fusewise.pairs import partial_squared_distances_to
from fusewise.path import FusionPath, fusion_path
from fusewise.penalties import Penalty, as_penalty
from fusewise.selection import choose_sigma, cut_to, lam_schedule, longest_plateau


class _Fusing(BaseEstimator):  # type: ignore[misc]
    """Parameters and input common to both estimators."""

    def __init__(
        self,
        penalty: str | Penalty = "h1",
        fidelity: str | Fidelity = "quadratic",
        lam: float | str = "auto",
        init: str | npt.NDArray[Any] = "auto",
        rank: int | str | None = "auto",
        n_neighbors: int | str | None = "auto",
        n_clusters: int | None = None,
        min_cluster_size: int | str = "auto",
        max_iter: int = 500,
        tol: float = 1e-6,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.penalty = penalty
        self.fidelity = fidelity
        self.lam = lam
        self.init = init
        self.rank = rank
        self.n_neighbors = n_neighbors
        self.n_clusters = n_clusters
        self.min_cluster_size = min_cluster_size
        self.max_iter = max_iter
        self.tol = tol
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``penalty__sigma`` and its like also where the penalty or fidelity was given by name."""
        for name, make in (("penalty", as_penalty), ("fidelity", as_fidelity)):
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and isinstance(params.get(name, getattr(self, name)), str):
                params = {name: make(params.get(name, getattr(self, name))), **params}
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any, y: Any, *, reset: bool) -> Entries:
        """The table, after scikit-learn's bookkeeping of columns. Complex tables are welcome; a complex y is not."""
        if y is not None and is_complex(y):
            raise ValueError("Complex data not supported in y (which is ignored here; leave it out)")
        entries = as_entries(X, min_rows=2 if reset else 1)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return entries


class FusionClustering(ClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Fusing):  # type: ignore[misc]
    """Clustering of data with missing entries, by fusion of centres.

    Every point i gets a centre u_i of its own, and

        sum_i f_i(u_i) + lam sum_i sum_j phi(||u_i - u_j||)

    is minimised; a saturating penalty phi makes the centres of like points fuse, and the fused groups are the
    clusters. Nothing is imputed first, and the number of clusters comes out.

    Parameters
    ----------
    penalty : name, or object with its parameters such as ``H1(sigma)``; without a sigma, half the median distance
        to the nearest neighbour is taken.
    fidelity : "quadratic", "box", "ball", or ``Box(epsilon)``, ``Ball(radius)``.
    lam : weight of the fusion term; "auto" follows lam over a path and takes the partition that persists longest.
    init : "partial", "zero", "mean", or an array of centres; "auto" is "partial".
    rank : None fuses in the ambient space, as in the paper; so does "auto".
    n_neighbors : fuse along a graph of so many neighbours; None takes all pairs, as in the paper; so does "auto".
    n_clusters : how many clusters to return; None lets the data say.
    min_cluster_size : smaller groups are outliers, labelled -1; "auto" is 2: a point alone is an outlier.
    max_iter, tol : at most so many iterations for each lam, until the relative gradient is below tol.
    device : "cpu".
    random_state : not used by the deterministic defaults.
    verbose : 1 prints a line per lam, 2 one per iteration.

    Attributes
    ----------
    labels_ : cluster of each row, the largest first; -1 for outliers and for rows with nothing observed.
    n_clusters_ : number of clusters.
    cluster_centers_ : mean of the fused centres of each cluster.
    fused_ : N x P, the u_i.
    lam_, penalty_, fidelity_, rank_ : what was used.
    noise_ : standard deviation of the noise, as nearest neighbours show it.
    path_ : the ``FusionPath`` the result was taken from, or None where lam was given.
    objective_, n_iter_, converged_ : of the solution taken.
    observations_ : the table as it was read.
    n_features_in_, feature_names_in_ : of the table.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise import FusionClustering
    >>> X = np.array([[0, .1], [.1, np.nan], [np.nan, 0], [5, 5.1], [5.1, np.nan], [np.nan, 5]])
    >>> FusionClustering().fit(X).labels_
    array([0, 0, 0, 1, 1, 1])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X (NaN, null or not stored: a hole). y is ignored."""
        self._check_parameters()
        entries = self._read(X, y, reset=True)
        penalty = as_penalty(self.penalty)
        seen = entries.take(np.flatnonzero(entries.row_counts > 0))
        if self.n_clusters is not None and self.n_clusters > seen.shape[0]:
            raise ValueError(f"n_clusters={self.n_clusters}, but only {seen.shape[0]} rows have an observed entry")
        if getattr(penalty, "sigma", 1.0) is None:
            penalty = penalty.replace(sigma=choose_sigma(seen))
        self.path_: FusionPath | None = None
        if isinstance(self.lam, str):
            self._fit_path(entries, penalty)
        else:
            self._take(fuse(entries, lam=self.lam, penalty=penalty, **self._settings()))
        self.noise_ = noise_level(seen)
        self.rank_ = None
        self.observations_ = entries
        return self

    def predict(self, X: Any) -> npt.NDArray[np.intp]:
        """The cluster with the nearest centre (on the entries observed), -1 for a row with nothing observed."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False)
        warn_of_blanks(entries, columns=False)
        if not self.n_clusters_:
            return np.full(entries.shape[0], -1, dtype=np.intp)
        distances = partial_squared_distances_to(entries, self.cluster_centers_)
        nearest = np.argmin(np.where(np.isnan(distances), np.inf, distances), axis=1)
        return np.where(entries.row_counts > 0, nearest, -1)

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """Distances to the cluster centres, scaled up from the observed entries to all; NaN where nothing is seen."""
        check_is_fitted(self)
        return np.sqrt(partial_squared_distances_to(self._read(X, None, reset=False), self.cluster_centers_))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean squared distance of an observed entry from the nearest centre: larger is better."""
        check_is_fitted(self)
        entries = self._read(X, y, reset=False)
        if not self.n_clusters_:
            return -np.inf
        squares = partial_squared_distances_to(entries, self.cluster_centers_).min(axis=1) / entries.shape[1]
        seen = entries.row_counts > 0
        return -float(np.average(squares[seen], weights=entries.row_counts[seen]))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_clusters_)

    def _check_parameters(self) -> None:
        for name, known in (
            ("lam", ("auto",)),
            ("rank", ("auto",)),
            ("n_neighbors", ("auto",)),
            ("min_cluster_size", ("auto",)),
        ):
            value = getattr(self, name)
            if isinstance(value, str) and value not in known:
                raise ValueError(f"unknown {name} {value!r}: use a number or 'auto'")
        if self.device not in ("cpu", "auto"):
            raise ValueError(f"unknown device {self.device!r}: use 'cpu' or 'auto'")
        if self.n_clusters is not None and self.n_clusters < 1:
            raise ValueError(f"n_clusters must be at least 1, got {self.n_clusters!r}")

    def _settings(self) -> dict[str, Any]:
        """Settings of the fusion, with "auto" replaced."""
        automatic = {"init": "partial", "rank": None, "n_neighbors": None, "min_cluster_size": 2}
        chosen = {k: v if isinstance(p := getattr(self, k), str) and p == "auto" else p for k, v in automatic.items()}
        return {
            **chosen,
            "fidelity": self.fidelity,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "verbose": self.verbose,
        }

    def _fit_path(self, entries: Entries, penalty: Penalty) -> None:
        """Follow lam and take a point of the path."""
        settings = self._settings()
        if as_fidelity(self.fidelity).constrained:
            path = fusion_path(entries, lams=1.0, penalty=penalty, **settings)
        else:
            posed = pose(entries, None, 1.0, penalty, self.fidelity, settings["rank"], settings["n_neighbors"])
            path = fusion_path(
                entries, lams=lam_schedule(lam_without_effect(posed.problem)), penalty=penalty, **settings
            )
        if self.n_clusters is None:
            k, labels = longest_plateau(path), None
        else:
            k, labels = cut_to(path, self.n_clusters)
        self._take(path[k], labels)
        self.path_ = path

    def _take(self, solution: Any, labels: npt.NDArray[np.intp] | None = None) -> None:
        """Keep a solution as the result, with labels of its own or those given."""
        self.labels_ = solution.labels if labels is None else labels
        self.fused_ = solution.centers
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        self.cluster_centers_ = group_means(self.fused_, self.labels_)
        self.lam_, self.penalty_, self.fidelity_ = solution.lam, solution.penalty, solution.fidelity
        self.objective_, self.converged_ = solution.objective, solution.converged
        self.n_iter_ = max(1, solution.n_iter)


class FusionImputer(OneToOneFeatureMixin, TransformerMixin, _Fusing):  # type: ignore[misc]
    """Fills the holes of a table from the centre of each row's cluster.

    Parameters
    ----------
    The same as ``FusionClustering``, which it runs.

    Attributes
    ----------
    clustering_ : the fitted ``FusionClustering``.
    n_iter_ : its iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from fusewise import FusionImputer
    >>> X = np.array([[0, .1], [.1, np.nan], [0, 0], [5, 5.1], [5.1, np.nan], [5, 5]])
    >>> FusionImputer().fit_transform(X).round(1)[[1, 4]]
    array([[0.1, 0. ],
           [5.1, 5. ]])
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X. y is ignored."""
        self._read(X, y, reset=True)
        self.clustering_ = FusionClustering(**self.get_params(deep=False)).fit(X)
        self.n_iter_ = self.clustering_.n_iter_
        return self

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """X with its holes filled; a row of no cluster takes the mean of all centres."""
        check_is_fitted(self)
        entries = self._read(X, None, reset=False)
        labels = self.clustering_.predict(X)
        means = np.append(self.clustering_.cluster_centers_, self.clustering_.fused_.mean(axis=0)[None], axis=0)
        return entries.fill(means[labels])
