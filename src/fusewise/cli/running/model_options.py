"""From the model options of the command line to an estimator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fusewise import FusionClustering
from fusewise.cli.exits import naming_options
from fusewise.fusion.fidelity import FIDELITIES, Ball, Box, Fidelity, as_fidelity
from fusewise.fusion.penalties import PENALTIES, Penalty, as_penalty
from fusewise.support.errors import InputError


@dataclass(frozen=True)
class Model:
    """The model options as given on the command line.

    ``epsilon`` is the width of the box or the radius of the ball; "auto" leaves a choice to the library.
    """

    n_clusters: int | None = None
    penalty: str = "h1"
    sigma: float | None = None
    lam: float | None = None
    fidelity: str = "quadratic"
    epsilon: float | None = None
    rank: str = "auto"
    neighbors: str = "auto"
    max_iter: int = 500
    seed: int | None = None

    def build(self, verbose: int = 0) -> FusionClustering:
        """Check all options and build the estimator."""
        if self.n_clusters is not None and self.n_clusters < 1:
            raise InputError(f"--n-clusters must be at least 1, got {self.n_clusters}")
        if self.lam is not None and not 0 <= self.lam < np.inf:
            raise InputError(f"--lam must be a non-negative number, got {self.lam:g}")
        return FusionClustering(
            penalty=self._penalty(),
            fidelity=self._fidelity(),
            lam="auto" if self.lam is None else self.lam,
            rank=_count("--rank", self.rank),
            n_neighbors=_count("--neighbors", self.neighbors),
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            random_state=self.seed,
            verbose=verbose,
        )

    def _penalty(self) -> Penalty:
        known = [name for name, kind in PENALTIES.items() if kind.has_weight]
        if self.penalty.lower() not in known:
            raise InputError(f"unknown --penalty {self.penalty!r}: use one of {', '.join(known)}")
        penalty = as_penalty(self.penalty)
        if self.sigma is None:
            return penalty
        if not hasattr(penalty, "sigma"):
            raise InputError(f"--sigma cannot be used with --penalty {self.penalty}, which has no scale")
        with naming_options({"sigma": "--sigma"}):
            return penalty.replace(sigma=self.sigma)

    def _fidelity(self) -> Fidelity:
        if self.fidelity.lower() not in FIDELITIES:
            raise InputError(f"unknown --fidelity {self.fidelity!r}: use one of {', '.join(FIDELITIES)}")
        fidelity = as_fidelity(self.fidelity)
        if self.epsilon is None:
            return fidelity
        if not 0 <= self.epsilon < np.inf:
            raise InputError(f"--epsilon must be a non-negative number, got {self.epsilon:g}")
        if isinstance(fidelity, Box):
            return Box(self.epsilon)
        if isinstance(fidelity, Ball):
            return Ball(self.epsilon)
        raise InputError(f"--epsilon can only be used with --fidelity box or ball, not {self.fidelity!r}")


def _count(option: str, value: str) -> int | str | None:
    """Convert an option to a positive number, "auto", or None for "none"."""
    word = value.lower()
    if word in ("auto", "none"):
        return None if word == "none" else word
    if not (value.isdecimal() and int(value) > 0):
        raise InputError(f"{option} must be a positive whole number, 'none' or 'auto', got {value!r}")
    return int(value)
