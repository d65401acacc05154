"""Fits to tables of Dask, and results of their rows, which are computed where the rows are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fusewise.automatic import NO_HINTS, Choice, Hints
from fusewise.estimators.placement import TAIL_GRID, Counted, Placement, squared_distances
from fusewise.observations import DaskBlocks, DaskTable, Table, as_rows, merged, reduce_blocks
from fusewise.support.errors import InputError
from fusewise.tables import FrameEncoder, contents_of

if TYPE_CHECKING:
    from fusewise.estimators.base import FusionEstimator as Estimator
    from fusewise.kernels import Index, Values
else:
    Estimator = object

#: Attributes with an entry for each row, and what they are of a row.
LAZY = {"labels_": "labels", "probabilities_": "probabilities", "confidence_": "confidence"}


class RemoteMixin(Estimator):
    """What ``FusionClustering`` does with a table of Dask."""

    if TYPE_CHECKING:
        encoder_: FrameEncoder | None
        n_clusters_: int
        cluster_centers_: Values
        observations_: Any
        path_: Any
        _tails: Any
        _tail_counts: Any

        def _fit_table(self, table: Table, hints: Hints, counts: Index | None = None, worth: float = 1.0) -> Self: ...

        def _put_in_order(self, choice: Choice, sizes: Index) -> None: ...

        @property
        def _placement(self) -> Placement: ...

    def _fit_dask(self, X: Any, *hints: Any) -> Self:
        """Fit to a table of Dask, which takes no weights and no hints."""
        if self.is_plain() or self.semi_supervised or any(given is not None for given in hints):
            raise InputError(
                "a Dask table takes no sample_weight, known labels, must_link or cannot_link, and only the default "
                "parameters: compute it first, if it fits in memory"
            )
        table = read_dask(self, X)
        self.__dict__.pop("_stream", None)
        return self._fit_table(table, NO_HINTS)

    def _labelled_remotely(self, table: DaskTable, choice: Choice) -> Choice:
        """Count the rows of the clusters, and the outliers by their tails; clusters without rows are left out.

        It takes one pass, and a further one where clusters were left out. Labels are computed when they are asked for.
        """
        while True:
            count = partial(_counted, classifier=choice.classifier)
            found: Counted = reduce_blocks(count, lambda one, other: one.merged(other), table)
            kept = np.flatnonzero(found.sizes) if found.sizes.any() else np.array([choice.clusters.shares.argmax()])
            if len(kept) == choice.n_clusters:
                break
            choice = replace(choice, clusters=choice.clusters.only(kept))
        some = np.flatnonzero(found.tails)
        self._tails, self._tail_counts = TAIL_GRID[some], np.cumsum(found.tails)[some]
        self._put_in_order(choice, found.sizes)
        for name in LAZY:
            self.__dict__.pop(name, None)
        return choice

    def _lazy_attribute(self, name: str) -> Any:
        """An attribute with an entry for each row of the Dask table of the fit."""
        table = self.observations_
        if name == "fused_":
            raise AttributeError(
                "fused_ has the size of the table and is not computed for Dask: use cluster_centers_ and labels_"
            )
        if table.source is None:
            raise AttributeError(f"a saved or copied model has no {name} of its Dask table: use predict(X)")
        return self._lazily(LAZY[name], table.source)

    def _lazily(self, what: str, source: DaskBlocks) -> Any:
        """What the model says of each row of a Dask table, in a collection with the same blocks."""
        encode = None if self._encoder is None else self._encoder.encode
        if what == "distances" and not isinstance(self.path_, Choice):
            given: tuple[Any, ...] = (self.cluster_centers_,)
            function: Any = _distances
        else:
            given, function = (what, self._placement), _placed
        k = None if what in ("labels", "confidence") else self.n_clusters_
        empty = np.empty(0 if k is None else (0, k), np.intp if what == "labels" else float)
        if what == "distances":
            empty = empty.astype(np.asarray(self.cluster_centers_).real.dtype)
        names = {"labels": "label", "confidence": "confidence", "probabilities": range(k or 0)}
        columns = names.get(what, [f"fusionclustering{j}" for j in range(k or 0)])
        meta = _like(source.header, empty, columns)
        return source.rows(partial(_in_kind, function=function, columns=columns), encode, *given, meta=meta, width=k)

    def _source(self, X: Any) -> DaskBlocks:
        """The blocks of new rows, their columns checked."""
        check_is_fitted(self)
        source = DaskBlocks.of(X)
        validate_data(self, source.header, skip_check_array=True, reset=False)
        return source


def read_dask(model: Any, X: Any) -> DaskTable:
    """Read a table of Dask: its columns, the levels of its categories and its statistics."""
    source = DaskBlocks.of(X)
    if _may_need_encoding(source.header, model.categorical_features):
        found = merged(source.each(_contents, model.categorical_features), _both)
        encoder = FrameEncoder.from_contents(found)
        numeric = all(code.kind == "number" for code in encoder.columns)
        model.encoder_ = None if numeric and _by_dtype(model.categorical_features) else encoder
    else:
        model.encoder_ = None
    validate_data(model, source.header, skip_check_array=True, reset=True)
    return DaskTable.of(source, None if model.encoder_ is None else model.encoder_.encode)


def _counted(rows: Any, begin: int, classifier: Any) -> Counted:
    return Counted.of(rows, classifier)


def _contents(block: Any, number: int, categorical_features: Any) -> Any:
    return contents_of(block, categorical_features)


def _both(one: Any, other: Any) -> Any:
    return tuple(early.merged(late) for early, late in zip(one, other, strict=True))


def _by_dtype(categorical_features: Any) -> bool:
    return isinstance(categorical_features, str) and categorical_features == "from_dtype"


def _may_need_encoding(header: Any, categorical_features: Any) -> bool:
    """Whether some column is a category, or of objects which may be one."""
    if not _by_dtype(categorical_features):
        return categorical_features is not None
    kinds = [str(dtype).lower() for dtype in getattr(header, "dtypes", ())]
    return any(not kind.startswith(("int", "uint", "float", "double")) for kind in kinds)


def _placed(rows: Any, what: str, placement: Placement) -> Any:
    return placement.of_rows(what, rows)


def _distances(rows: Any, centers: Any) -> Any:
    return np.sqrt(squared_distances(rows, centers))


def _in_kind(block: Any, number: int, encode: Any, *given: Any, function: Any, columns: Any) -> Any:
    """A function of the rows of a block, in an array, or with the index of a frame."""
    return _like(block, function(as_rows(block, encode), *given), columns)


def _like(block: Any, values: Any, columns: Any) -> Any:
    """Values with the index of a block: a series, a frame, or the values themselves if the block is an array."""
    if not hasattr(block, "iloc"):
        return values
    if values.ndim == 1:
        return type(block.iloc[:, 0])(values, index=block.index, name=columns)
    return type(block)(values, index=block.index, columns=list(columns))
