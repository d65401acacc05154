"""Tables of Dask: reading them, and results of their rows, which are computed where the rows are."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from fusewise.estimators._result import Labeller
from fusewise.observations import DaskBlocks, DaskTable, as_rows, merged
from fusewise.tables import FrameEncoder, contents_of


def read_dask(model: Any, X: Any) -> DaskTable:
    """Read a table of Dask for a fit: its columns, the levels of its categories and its statistics."""
    source, kinds = DaskBlocks.of(X), model.categorical_features
    by_dtype = isinstance(kinds, str) and kinds == "from_dtype"
    dtypes = [str(dtype).lower() for dtype in getattr(source.header, "dtypes", ())]
    objects = any(not dtype.startswith(("int", "uint", "float", "double")) for dtype in dtypes)
    model.encoder_ = None
    if objects if by_dtype else kinds is not None:  # some column may be a category
        encoder = FrameEncoder.from_contents(
            merged(source.each(lambda block, number: contents_of(block, kinds)), _contents_together)
        )
        if not (by_dtype and all(code.kind == "number" for code in encoder.columns)):
            model.encoder_ = encoder
    validate_data(model, source.header, skip_check_array=True, reset=True)
    return DaskTable.of(source, None if model.encoder_ is None else model.encoder_.encode)


def source_of(model: Any, X: Any) -> DaskBlocks:
    """The blocks of further rows, their columns checked."""
    check_is_fitted(model)
    source = DaskBlocks.of(X)
    validate_data(model, source.header, skip_check_array=True, reset=False)
    return source


def lazy_rows(what: str, source: DaskBlocks, encoder: FrameEncoder | None, labeller: Labeller, dtype: Any) -> Any:
    """What a model says of each row ("labels", "distances", ...), in a collection with the blocks of the table.

    `dtype` is that of distances.
    """
    k = None if what in ("labels", "confidence") else len(labeller.order)
    kind = {"labels": np.dtype(np.intp), "distances": dtype}.get(what, np.dtype(float))
    names = {"labels": "label", "confidence": "confidence", "probabilities": range(k or 0)}
    columns = names.get(what, [f"fusionclustering{j}" for j in range(k or 0)])
    meta = _like(source.header, np.empty(0 if k is None else (0, k), kind), columns)
    encode = None if encoder is None else encoder.encode
    return source.rows(partial(_of_block, columns=columns), encode, what, labeller, meta=meta, width=k)


def _contents_together(one: Any, other: Any) -> Any:
    return tuple(early.merged(late) for early, late in zip(one, other, strict=True))


def _of_block(block: Any, number: int, encode: Any, what: str, labeller: Labeller, columns: Any) -> Any:
    return _like(block, labeller.of_rows(what, as_rows(block, encode)), columns)


def _like(block: Any, values: Any, columns: Any) -> Any:
    """Values with the index of a block: a series, a frame, or the values themselves if the block is an array."""
    if not hasattr(block, "iloc"):
        return values
    if values.ndim == 1:
        return type(block.iloc[:, 0])(values, index=block.index, name=columns)
    return type(block)(values, index=block.index, columns=list(columns))
