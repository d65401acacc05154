"""Base class of the estimators."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.validation import validate_data

from fusewise.estimators.fitted import PARAMETERS
from fusewise.fusion.fidelity import Fidelity, as_fidelity
from fusewise.fusion.penalties import Penalty, as_penalty
from fusewise.kernels.declared import Checked, Dims, check_values
from fusewise.kernels.devices import torch_device
from fusewise.kernels.types import Index
from fusewise.observations import ParquetBlocks, Table, as_table
from fusewise.observations.dask_blocks import is_dask
from fusewise.saving import save
from fusewise.tables.frames import FrameEncoder, needs_encoding


class FusionEstimator(Checked, BaseEstimator):  # type: ignore[misc]
    """Parameters and input validation shared by both estimators."""

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
        categorical_features: Any = "from_dtype",
        semi_supervised: bool = False,
        summary_size: int = 20_000,
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
        self.categorical_features = categorical_features
        self.semi_supervised = semi_supervised
        self.summary_size = summary_size

    def set_params(self, **params: Any) -> Self:
        """Set parameters; nested ones such as ``penalty__sigma`` work even if the penalty was given by name."""
        for name, make in (("penalty", as_penalty), ("fidelity", as_fidelity)):
            nested = any(key.startswith(f"{name}__") for key in params)
            if nested and isinstance(params.get(name, getattr(self, name)), str):
                params = {name: make(params.get(name, getattr(self, name))), **params}
        known = self.get_params(deep=False)
        unknown = next((name for name in params if name.partition("__")[0] not in known), None)
        if unknown is not None:
            near = get_close_matches(unknown, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its parameters are {', '.join(known)}"
            raise ValueError(f"{type(self).__name__} has no parameter {unknown!r}: {hint}")
        super().set_params(**params)
        return self

    def _check_parameters(self) -> None:
        """Raise ValueError, in plain words, for a parameter of the wrong type or out of range."""
        check_values(self.get_params(deep=False), PARAMETERS)
        as_penalty(self.penalty)
        as_fidelity(self.fidelity)
        torch_device(self.device)  # raises if the device does not exist

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file of arrays and JSON, which cannot run code; ``fusewise.load`` reads it.

        An existing file is overwritten; an interrupted write leaves it unchanged.
        """
        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _read(
        self,
        X: Any,
        y: Any,
        *,
        reset: bool,
        counts: Index | None = None,
        min_rows: int | None = None,
        extend: bool = False,
    ) -> Table:
        """Validate X (real or complex, or a frame with categories) and record or check its columns; y is not read.

        Levels of categories are those of rows that count; with `extend`, new ones are added to those known.
        """
        fewest = min_rows or (2 if reset else 1)
        if is_dask(X):
            raise TypeError(f"{type(self).__name__} does not take a Dask table here: compute it first")
        if not self.semi_supervised and isinstance(y, np.ndarray) and y.dtype.kind == "c":
            raise ValueError("Complex data not supported in y (which is ignored here; leave it out)")
        if reset:
            typed = needs_encoding(X, self.categorical_features)
            rows = X if counts is None or not typed else _safe_indexing(X, counts > 0)
            self.encoder_ = FrameEncoder.of(rows, self.categorical_features) if typed else None
        if self._encoder is None:
            table = as_table(X, min_rows=fewest)
        header = X.header if isinstance(X, ParquetBlocks) else X
        validate_data(self, header, skip_check_array=True, reset=reset)
        if self._encoder is None:
            return table
        if extend:
            self.encoder_ = self._encoder.extended(X, self.categorical_features)
        return as_table(self._encoder.encode(X), min_rows=fewest)

    def _agree(self, dims: Dims) -> None:
        """Check that the columns are those of the encoder, if there is one, and that each has a name or none has."""
        encoder, n = self._encoder, int(self.n_features_in_ or 0)
        given, columns = (n, n) if encoder is None else (len(encoder.columns), len(encoder.features))
        names = getattr(self, "feature_names_in_", None)
        if given != n or dims.get("P", columns) != columns or (names is not None and len(names) != n):
            raise ValueError(f"{type(self).__name__} has columns that do not fit its {n} features")

    @property
    def _encoder(self) -> FrameEncoder | None:
        """What encodes the columns, if some are categories; models of older versions have none."""
        encoder: FrameEncoder | None = getattr(self, "encoder_", None)
        return encoder
