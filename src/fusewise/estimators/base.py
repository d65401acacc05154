"""Base class of the estimators."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, _safe_indexing, check_random_state
from sklearn.utils.validation import validate_data

from fusewise.estimators.fitted import PARAMETERS
from fusewise.fusion.fidelity import Fidelity, Quadratic, as_fidelity
from fusewise.fusion.penalties import H1, Penalty, as_penalty
from fusewise.kernels import Index, torch_device
from fusewise.observations import ParquetBlocks, Table, as_table, is_dask, refuse_other_than_tables
from fusewise.saving import save
from fusewise.support.errors import InputError, as_input_errors
from fusewise.support.records import Checked, Dims, check_values
from fusewise.tables import FrameEncoder, Reading, names_of, needs_encoding, warn_of_numbered_things

P = ParamSpec("P")
S = TypeVar("S")


def in_plain_words(init: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """An ``__init__`` that answers a misspelt parameter with the name that was meant; its signature is unchanged."""
    known = list(inspect.signature(init).parameters)[1:]

    @wraps(init)
    def checked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        unknown = next((name for name in kwargs if name not in known), None)
        if unknown is not None:
            raise TypeError(_no_parameter(self, unknown, known))
        init(self, *args, **kwargs)

    return checked


def _no_parameter(model: object, unknown: str, known: Iterable[str]) -> str:
    near = get_close_matches(unknown, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"its parameters are {', '.join(sorted(known))}"
    return f"{type(model).__name__} has no parameter {unknown!r}: {hint}"


class FusionEstimator(Checked, BaseEstimator):  # type: ignore[misc]
    """Parameters and input validation shared by both estimators."""

    @in_plain_words
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
            raise InputError(_no_parameter(self, unknown, known))
        super().set_params(**params)
        return self

    def _check_parameters(self) -> None:
        """Raise ``InputError``, in plain words, for a parameter of the wrong type or out of range."""
        check_values(self.get_params(deep=False), PARAMETERS)
        as_penalty(self.penalty)
        as_fidelity(self.fidelity)
        torch_device(self.device)  # raises if the device does not exist
        with as_input_errors():
            check_random_state(self.random_state)

    def is_plain(self) -> bool:
        """Whether any parameter selects the paper's plain algorithm."""
        untouched = as_penalty(self.penalty) == H1() and as_fidelity(self.fidelity) == Quadratic()
        automatic = all(isinstance(p, str) and p == "auto" for p in (self.lam, self.init))
        return not (untouched and automatic and self.rank is not None and self.n_neighbors is not None)

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
        refuse_other_than_tables(X)
        if not self.semi_supervised and isinstance(y, np.ndarray) and y.dtype.kind == "c":
            raise InputError("Complex data not supported in y (which is ignored here; leave it out)")
        if reset:
            self.encoder_ = self._encoder_of(X, counts)
        if self._encoder is None:
            table = as_table(X.numbers if isinstance(X, Reading) else X, min_rows=fewest)
        self._record_columns(X, reset=reset)
        if self._encoder is None:
            return table
        if extend:
            self.encoder_ = self._encoder.extended(X, self.categorical_features)
        return as_table(self._encoder.encode(X), min_rows=fewest)

    def _encoder_of(self, X: Any, counts: Index | None) -> FrameEncoder | None:
        """What encodes the columns of X; None if all are numbers. The plain algorithm knows only distances."""
        warn_of_numbered_things(X, self.categorical_features)
        if not needs_encoding(X, self.categorical_features):
            return None
        X = X.frame if isinstance(X, Reading) and counts is not None else X
        rows = X if counts is None else _safe_indexing(X, counts > 0)
        encoder = FrameEncoder.of(rows, self.categorical_features)
        given = encoder is self.categorical_features
        return encoder.by_distance(rows, standardize=False) if self.is_plain() and not given else encoder

    def _record_columns(self, X: Any, *, reset: bool) -> None:
        """Record the number of columns and their names, or check them against the fit."""
        if not isinstance(X, Reading):
            with as_input_errors():
                validate_data(self, X.header if isinstance(X, ParquetBlocks) else X, skip_check_array=True, reset=reset)
            return
        names = names_of(X)  # scikit-learn does not see them
        if reset:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        known = getattr(self, "feature_names_in_", None)
        if len(names) != self.n_features_in_ or (known is not None and list(known) != names):
            raise InputError(f"the table has the columns {names}, but the model was fitted to {list(known or ())}")

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
