"""What the estimators share: checks of parameters in plain words, reading of tables, saving and showing."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags, _safe_indexing, check_random_state
from sklearn.utils.validation import validate_data

from fusewise.kernels import Index
from fusewise.observations import (
    Entries,
    Table,
    as_table,
    half_known,
    is_dask,
    refuse_other_than_tables,
)
from fusewise.saving import ESTIMATORS, save
from fusewise.support import (
    Dims,
    Either,
    Flag,
    InputError,
    Instance,
    Maybe,
    Number,
    Record,
    Rule,
    Several,
    Word,
    as_input_errors,
    check_values,
    in_series,
)
from fusewise.tables import FrameEncoder, Reading, is_frame, names_of, needs_encoding, reread, warn_of_numbered_things

if TYPE_CHECKING:
    from fusewise.views import Description

P = ParamSpec("P")
S = TypeVar("S")

COUNT = Number(low=1, whole=True)

#: Attributes of every fitted estimator; the output configuration is scikit-learn's own.
COMMON: dict[str, Rule] = {
    "n_features_in_": COUNT,
    "feature_names_in_": Maybe(Several(Word())),
    "encoder_": Maybe(Instance(FrameEncoder)),
    "_sklearn_output_config": Maybe(Rule()),
}


def in_plain_words(init: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """An ``__init__`` that says what was meant by a parameter that it does not have; its signature is unchanged."""
    known = list(inspect.signature(init).parameters)[1:]

    @wraps(init)
    def checked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        unknown = next((name for name in kwargs if name not in known), None)
        if unknown is not None:
            raise TypeError(_no_parameter(self, unknown, known))
        init(self, *args, **kwargs)

    return checked


def _no_parameter(model: object, unknown: str, known: Iterable[str]) -> str:
    name, near = unknown.partition("__")[0], get_close_matches(unknown, known, n=1)
    owner = next((kind for kind, of in ESTIMATORS.items() if name in of._get_param_names()), None)
    if owner is not None:
        hint = f"it is a parameter of {owner}"
    elif near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"its parameters are {', '.join(sorted(known))}"
    return f"{type(model).__name__} has no parameter {unknown!r}: {hint}"


def frame_of(columns: Mapping[str, Any], index: Any = None) -> Any:
    """A pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError('a data frame needs pandas: pip install "fusewise[frames]"') from error
    return pd.DataFrame(columns, index=index)


def of_features(given: Any, name: str, X: Any, encoder: FrameEncoder | None) -> Any:
    """What is given of each entry or column of X, its error or a bound, as that of each feature.

    Raises ``InputError`` for a category that has any.
    """
    if is_frame(given):
        labels, names = {str(label): label for label in given.columns}, names_of(X)
        if sorted(labels) != sorted(names):
            raise InputError(f"{name} has the columns {in_series(list(labels))}, but X has {in_series(names)}")
        given = given[[labels[column] for column in names]]
    if encoder is None:
        return given
    try:
        numbers = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from error
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != len(encoder.columns):
        n = len(encoder.columns)
        raise InputError(f"{name} has shape {numbers.shape}, but the table has {n} columns: give one number for each")
    for j, code in enumerate(encoder.columns):
        own = numbers[..., j]
        if code.kind != "number" and np.any(own > 0 if name == "error" else np.isfinite(own)):
            raise InputError(f"column {code.name!r} holds categories, which have no {name}: give NaN there")
    none = 0.0 if name == "error" else np.nan
    numbers = np.where([code.kind == "number" for code in encoder.columns], numbers, none)
    return np.repeat(numbers, [len(code.features) for code in encoder.columns], axis=-1)


def with_half_known(table: Table, half: dict[str, Any], X: Any, encoder: FrameEncoder | None) -> Table:
    """The table of X, with the error, lower and upper of its entries, of which those not given are None."""
    parts = {name: of_features(each, name, X, encoder) for name, each in half.items() if each is not None}
    return half_known(table, **parts, names=None if encoder is None else encoder.features)


class FusionEstimator(Record, BaseEstimator):  # type: ignore[misc]
    """Parameters in plain words, tables of any kind, and models saved as files."""

    #: What each parameter may be; others are checked where they are used.
    _parameters: ClassVar[dict[str, Rule]] = {}
    #: Whether the method uses what a file says of entries that are known in part.
    _takes_half_known: ClassVar[bool] = False

    encoder_: FrameEncoder | None

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        known = self.get_params(deep=False)
        unknown = next((name for name in params if name.partition("__")[0] not in known), None)
        if unknown is not None:
            raise InputError(_no_parameter(self, unknown, known))
        super().set_params(**params)
        return self

    def _check_parameters(self) -> None:
        """Raise ``InputError``, in plain words, for a parameter of the wrong type or out of range."""
        params = self.get_params(deep=False)
        shared = {"verbose": Either(Number(low=0, whole=True), Flag()), "device": Word()}
        check_values(params, self._parameters | shared)
        with as_input_errors():
            check_random_state(params["random_state"])

    def _seed(self) -> int:
        """A number that follows from ``random_state``; the same each time if it is None."""
        state = self.get_params(deep=False)["random_state"]
        return 0 if state is None else int(check_random_state(state).randint(2**31))

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
        y: Any = None,
        *,
        reset: bool,
        counts: Index | None = None,
        min_rows: int = 0,
        **half: Any,
    ) -> Table:
        """Validate X (real or complex, or a frame with categories) and record or check its columns; y is not read.

        Levels of categories are those of rows that count. `half` are the error, lower and upper of half-known entries;
        a file may say them, too.
        """
        fewest = min_rows or (2 if reset else 1)
        if is_dask(X):
            raise TypeError(f"{type(self).__name__} does not take a Dask table here: compute it first")
        refuse_other_than_tables(X)
        if isinstance(y, np.ndarray) and y.dtype.kind == "c":
            raise InputError("Complex data not supported in y (which is ignored here; leave it out)")
        if reset:
            self.encoder_ = self._new_encoder(X, counts)
        elif isinstance(X, Reading):
            X = reread(self, X)
        if self.encoder_ is None:
            table = as_table(X.numbers if isinstance(X, Reading) else X, min_rows=fewest)
        self._record_columns(X, reset=reset)
        if self.encoder_ is not None:
            table = as_table(self.encoder_.encode(X), min_rows=fewest)
        if isinstance(X, Reading) and self._takes_half_known:
            half = X.half_known | {name: each for name, each in half.items() if each is not None}
        return with_half_known(table, half, X, self.encoder_)

    @property
    def _categories(self) -> Any:
        return self.get_params(deep=False).get("categorical_features", "from_dtype")

    def _new_encoder(self, X: Any, counts: Index | None) -> FrameEncoder | None:
        """What encodes the columns of X, by its rows that count; None if all are numbers."""
        warn_of_numbered_things(X, self._categories)
        if not needs_encoding(X, self._categories):
            return None
        X = X.frame if isinstance(X, Reading) and counts is not None else X
        return FrameEncoder.of(X if counts is None else _safe_indexing(X, counts > 0), self._categories)

    def _record_columns(self, X: Any, *, reset: bool) -> None:
        """Record the number of columns and their names, or check them against the fit."""
        if not isinstance(X, Reading):
            with as_input_errors():
                validate_data(self, X, skip_check_array=True, reset=reset)
            return
        names = names_of(X)  # scikit-learn does not see them
        if reset:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        known = getattr(self, "feature_names_in_", None)
        if len(names) != self.n_features_in_ or (known is not None and list(known) != names):
            raise InputError(f"the table has the columns {names}, but the model was fitted to {list(known or ())}")

    def _agree(self, dims: Dims) -> None:
        """Check that the columns are those of the encoder, if there is one, and that each has a name or none has."""
        encoder, n = vars(self).get("encoder_"), int(self.n_features_in_ or 0)
        given, columns = (n, n) if encoder is None else (len(encoder.columns), len(encoder.features))
        names = getattr(self, "feature_names_in_", None)
        if given != n or dims.get("P", columns) != columns or (names is not None and len(names) != n):
            raise ValueError(f"{type(self).__name__} has columns that do not fit its {n} features")


class ClusteringEstimator(ClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, FusionEstimator):  # type: ignore[misc]
    """An estimator of clusters, which can be shown. Views are imported on first use, because that is slow."""

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        names: Sequence[Any] | npt.NDArray[Any] | None = None,
        feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
        title: str | None = None,
        rows: bool = True,
        cluster_names: Sequence[str] = (),
        force: bool = False,
    ) -> Path:
        """Write the result to a self-contained HTML file; see ``fusewise.report``.

        Parameters
        ----------
        path : the file to write.
        names, feature_names : names of the rows and columns; by default row numbers and the column names of the table.
        title : heading of the page.
        rows : whether the page contains the rows; without them it shows groups of at least five rows only.
        cluster_names : a name for each cluster; by default made of what sets it apart.
        force : overwrite an existing file.
        """
        from fusewise.views import write_report

        given: dict[str, Any] = {"names": names, "feature_names": feature_names, "title": title}
        return write_report(self, path, rows=rows, cluster_names=cluster_names, force=force, **given)

    def describe(
        self,
        *,
        names: Sequence[Any] | npt.NDArray[Any] | None = None,
        feature_names: Sequence[Any] | npt.NDArray[Any] | None = None,
    ) -> Description:
        """Describe what makes each cluster and how sure the result is; see the user guide, "What makes a group".

        Parameters
        ----------
        names, feature_names : names of the rows and columns; by default row numbers and the column names of the table.

        Returns
        -------
        Description
            ``print`` shows it as text, and a notebook below the model. ``clusters`` describes each cluster in words,
            ``contrasts`` compares it with the other rows column by column (``to_frame`` for pandas), ``rules`` holds a
            decision rule for each with ``as_sql``, and ``certainty`` the uncertain rows and the other numbers of
            clusters.
        """
        from fusewise.views import Description, read_findings

        return Description.of(read_findings(self, names=names, feature_names=feature_names))

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._card()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._card()
        return bundle

    def _card(self) -> str:
        """The description for notebooks, below scikit-learn's diagram; empty before the fit, or if X is not held."""
        held = vars(self)
        if not isinstance(held.get("observations_"), Entries) or "_stream" in held:
            return ""
        return f'<pre style="max-height: 30em; overflow: auto">{escape(str(self.describe()))}</pre>'
