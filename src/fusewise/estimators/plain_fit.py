"""A fit by the paper's plain algorithm: one lam, or a path of which a point is chosen."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from fusewise.fusion import (
    FusionPath,
    Solution,
    check_pairs_fit,
    choose_sigma,
    cut_to,
    fuse,
    fusion_path,
    lam_schedule,
    lam_without_effect,
    longest_plateau,
    noise_level,
    pose,
)
from fusewise.fusion.fidelity import Fidelity, as_fidelity
from fusewise.fusion.penalties import Penalty, as_penalty
from fusewise.observations import Entries, group_means

if TYPE_CHECKING:
    from fusewise.estimators.base import FusionEstimator as Estimator
else:
    Estimator = object


class PlainFitMixin(Estimator):
    """What ``FusionClustering`` does if lam, sigma or another parameter of the paper is given."""

    if TYPE_CHECKING:
        cluster_centers_: npt.NDArray[Any]
        converged_: bool
        fidelity_: Fidelity
        labels_: Any
        lam_: float
        n_clusters_: int
        n_iter_: int
        noise_: float
        objective_: float
        path_: Any
        penalty_: Penalty

    def _fit_plain(self, entries: Entries) -> None:
        penalty = as_penalty(self.penalty)
        check_pairs_fit(entries, self._settings()["n_neighbors"], self.device)  # before any work
        some = entries.row_counts > 0
        seen = entries if some.all() else entries.take(np.flatnonzero(some))
        if getattr(penalty, "sigma", 1.0) is None:
            penalty = penalty.replace(sigma=choose_sigma(seen))
        if isinstance(self.lam, str):
            self._fit_path(entries, penalty)
        else:
            solution = fuse(entries, lam=self.lam, penalty=penalty, **self._settings())
            self._take(solution, self._joined(FusionPath((solution,)))[1])
        self.noise_ = noise_level(seen)

    def _settings(self) -> dict[str, Any]:
        """Settings of the plain algorithm, with "auto" resolved."""
        automatic = {"init": "partial", "rank": None, "n_neighbors": "auto", "min_cluster_size": 2}
        chosen = {k: v if isinstance(p := getattr(self, k), str) and p == "auto" else p for k, v in automatic.items()}
        return {**chosen, **{k: getattr(self, k) for k in ("fidelity", "max_iter", "tol", "device", "verbose")}}

    def _fit_path(self, entries: Entries, penalty: Penalty) -> None:
        """Compute a path of increasing lam and choose one of its points."""
        settings = self._settings()
        if as_fidelity(self.fidelity).constrained:
            path = fusion_path(entries, lams=1.0, penalty=penalty, **settings)
        else:
            graph = settings["rank"], settings["n_neighbors"], self.device
            posed = pose(entries, None, 1.0, penalty, self.fidelity, *graph)
            lams = lam_schedule(lam_without_effect(posed.problem))
            path = fusion_path(entries, lams=lams, penalty=penalty, **settings)
        k, labels = self._joined(path)
        self._take(path[k], labels)
        self.path_ = path

    def _joined(self, path: FusionPath) -> tuple[int, npt.NDArray[np.intp] | None]:
        """The chosen point of a path, and its labels after merging groups down to ``n_clusters`` (if given)."""
        if self.n_clusters is None:
            return longest_plateau(path), None
        k, labels = cut_to(path, self.n_clusters)
        found = int(labels.max(initial=-1)) + 1
        if found < self.n_clusters:
            message = f"{self.n_clusters} clusters were requested, but only {found} remain: decrease lam or sigma"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        return k, labels

    def _take(self, solution: Solution, labels: npt.NDArray[np.intp] | None = None) -> None:
        """Store a solution as the result, with its own labels or the given ones."""
        self.labels_ = solution.labels if labels is None else labels
        self.fused_ = solution.centers
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        self.cluster_centers_ = group_means(self.fused_, self.labels_)
        self.lam_, self.penalty_, self.fidelity_ = solution.lam, solution.penalty, solution.fidelity
        self.objective_, self.converged_ = solution.objective, solution.converged
        self.n_iter_ = max(1, solution.n_iter)
