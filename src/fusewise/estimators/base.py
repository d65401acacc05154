"""Parameters and input common to the estimators."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from fusewise.fusion.fidelity import Fidelity, as_fidelity
from fusewise.fusion.penalties import Penalty, as_penalty
from fusewise.observations import ParquetBlocks, Table, as_table, is_complex
from fusewise.saving import save


class FusionEstimator(BaseEstimator):  # type: ignore[misc]
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of arrays and JSON that cannot run code; ``fusewise.load`` reads it.

        A file of that name is replaced, whole or not at all.
        """
        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any, y: Any, *, reset: bool) -> Table:
        """The table, after scikit-learn's bookkeeping of columns. Complex tables are welcome; a complex y is not."""
        if y is not None and is_complex(y):
            raise ValueError("Complex data not supported in y (which is ignored here; leave it out)")
        table = as_table(X, min_rows=2 if reset else 1)
        header = X.header if isinstance(X, ParquetBlocks) else X
        validate_data(self, header, skip_check_array=True, reset=reset)
        return table
