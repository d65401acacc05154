"""What a fit takes beside the rows of one table: hints, weights of columns, tables of Dask, and blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components
from sklearn.utils.validation import check_is_fitted, validate_data

from fusewise.automatic import NO_HINTS, UNSATISFIED, Hints, place
from fusewise.estimators._base import with_half_known
from fusewise.estimators._result import Labeller
from fusewise.kernels import Index, Mask, Real
from fusewise.observations import (
    Block,
    DaskBlocks,
    DaskTable,
    DataWarning,
    Entries,
    RowSample,
    Table,
    as_entries,
    is_missing,
    merged,
    numbered,
    row_blocks,
)
from fusewise.support import InputError, counted, some_of
from fusewise.tables import FrameEncoder, contents_of, find_columns


def read_hints(n_rows: int, must_link: Any, cannot_link: Any, y: Any, n_clusters: int | None) -> Hints:
    """Check hints and collect them: the closure of `must_link`, and the conflicts between its blocks."""
    if y is None and must_link is None and cannot_link is None:
        return NO_HINTS
    together, apart = _pairs("must_link", must_link, n_rows), _pairs("cannot_link", cannot_link, n_rows)
    known, label, names = _labels(y, n_rows)
    if n_clusters is not None and len(names) > n_clusters:
        raise InputError(f"y has {counted(len(names), 'label')} ({some_of(names)}), but n_clusters={n_clusters}")
    first = known[np.unique(label, return_index=True)[1]]  # a row of each class
    edges = np.concatenate([together, np.column_stack([first[label], known])])
    graph = coo_matrix((np.ones(len(edges)), edges.T), (n_rows, n_rows)).tocsr()
    block = np.asarray(connected_components(graph, directed=False)[1], np.intp)
    _refuse_contradictions(graph, block, apart, known, label, names)
    classes = np.column_stack(np.triu_indices(len(first), 1))
    pairs = np.concatenate([block[apart], block[first[classes]]])
    rows = np.unique(np.concatenate([together.ravel(), apart.ravel(), known]))
    order = rows[np.argsort(block[rows], kind="stable")]
    kinds, numbers = np.unique(block[order], return_inverse=True)
    conflicts = np.unique(np.sort(np.searchsorted(kinds, pairs), axis=1), axis=0)
    if n_clusters is not None and place(np.zeros((len(kinds), n_clusters)), conflicts) is None:
        raise InputError(UNSATISFIED.format(counted(n_clusters, "cluster")))
    return Hints(order, numbers, conflicts)


def _pairs(name: str, pairs: Any, n_rows: int) -> Index:
    found = np.asarray([] if pairs is None else pairs)
    if found.size == 0:
        return np.empty((0, 2), np.intp)
    if found.dtype.kind not in "iu" or found.ndim != 2 or found.shape[1] != 2:
        what = f"an array of shape {found.shape} and dtype {found.dtype}"
        raise InputError(f"{name} must be pairs of row numbers, such as [(0, 3), (1, 2)]; got {what}")
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside):
        raise InputError(f"{name} names row {outside[0]}, but X has {counted(n_rows, 'row')}, numbered from 0")
    itself = found[found[:, 0] == found[:, 1], 0]
    if len(itself):
        raise InputError(f"{name} pairs row {itself[0]} with itself: remove the pair")
    return found.astype(np.intp)


def _labels(y: Any, n_rows: int) -> tuple[Index, Index, list[Any]]:
    """Rows with a known label, the number of each one's label, and the labels."""
    if y is None:
        return np.empty(0, np.intp), np.empty(0, np.intp), []
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise InputError(f"y must have one label for each of {counted(n_rows, 'row')}; its shape is {given.shape}")
    known = {row: value for row, value in enumerate(given.tolist()) if not (is_missing(value) or value == -1)}
    numbers: dict[Any, int] = {}
    label = [numbers.setdefault(value, len(numbers)) for value in known.values()]
    return np.array(list(known), np.intp), np.array(label, np.intp), list(numbers)


def _refuse_contradictions(
    graph: Any, block: Index, apart: Index, known: Index, label: Index, names: list[Any]
) -> None:
    """Raise an error that names a chain of rows that must be together, though the two at its ends must not."""
    broken = apart[block[apart[:, 0]] == block[apart[:, 1]]]
    if len(broken):
        one, other = broken[0].tolist()
        raise InputError(f"{_chain(graph, one, other)}, but cannot_link separates rows {one} and {other}")
    order = np.lexsort((label, block[known]))
    rows, blocks, labels = known[order], block[known[order]], label[order]
    (split,) = np.nonzero((blocks[1:] == blocks[:-1]) & (labels[1:] != labels[:-1]))
    if len(split):
        one, other = rows[split[0]], rows[split[0] + 1]
        said = f"y labels row {one} {names[labels[split[0]]]!r} and row {other} {names[labels[split[0] + 1]]!r}"
        raise InputError(f"{_chain(graph, one, other)}, but {said}")


def _chain(graph: Any, one: int, other: int) -> str:
    """The shortest way from one row to another along `must_link`, in words."""
    _, before = breadth_first_order(graph, one, directed=False)
    chain = [int(other)]
    while chain[-1] != one:
        chain.append(int(before[chain[-1]]))
    return f"the hints contradict each other: rows {'-'.join(map(str, reversed(chain)))} must be together"


def read_weights(given: Any, names: Sequence[str], encoder: FrameEncoder | None) -> Real | None:
    """How often each feature counts, given the names of the columns; None if each counts once.

    Of a mapping, columns that it does not name count once, and of two patterns for a column the later one holds.
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        weights, places = np.ones(len(names)), {name: j for j, name in enumerate(names)}
        for asked, weight in given.items():
            columns = find_columns(places, str(asked), "feature_weights")
            weights[[places[name] for name in columns]] = _weight(weight, str(asked))
    elif isinstance(given, str) or np.ndim(given) != 1:
        raise InputError(
            f"feature_weights must be one number for each of the {len(names)} columns, or a mapping such as "
            f"{{'age': 2, 'q_*': 0.5}}; got {given!r}"
        )
    elif len(given) != len(names):
        have = f"{counted(len(given), 'number')}, but X has {counted(len(names), 'column')}"
        raise InputError(f"feature_weights has {have}: one number for each")
    else:
        weights = np.array([_weight(weight, name) for weight, name in zip(given, names, strict=True)])
    if not weights.any():
        raise InputError("every feature_weights is zero: no column is left to cluster by")
    if (weights == 1).all():
        return None
    return weights if encoder is None else np.repeat(weights, [len(code.features) for code in encoder.columns])


def _weight(weight: Any, name: str) -> float:
    try:
        number = float(weight)
    except (TypeError, ValueError):
        number = np.nan
    if not 0 <= number < np.inf:
        raise InputError(
            f"feature_weights of {name!r} is {weight!r}: a column counts 0 times or more often, 1 being the default"
        )
    return number


def _entries_of(
    block: Any, half: dict[str, Any], *, encoder: FrameEncoder | None, two_valued: Mask | None = None
) -> Entries:
    """Entries of a block of Dask; `two_valued` columns of the fit take neither errors nor bounds."""
    numbers = block if encoder is None else encoder.encode(block)
    rows = with_half_known(as_entries(numbers, min_rows=0), half, block, encoder).dense()
    if two_valued is not None:
        refuse_inexact(rows, two_valued)
    return rows


def refuse_inexact(rows: Entries, two_valued: Mask, names: Sequence[str] | None = None) -> None:
    """Raise ``InputError`` for errors or bounds in columns that hold one of two values."""
    wrong = np.flatnonzero(rows.inexact & two_valued)
    if len(wrong):
        column = numbered(int(wrong[0]), names or rows.feature_names)
        what = "has one of two values in each row of the fit, without errors or bounds: give a value or NaN"
        raise InputError(f"column {column} {what}")


def read_dask(model: Any, X: Any, half: dict[str, Any]) -> DaskTable:
    """Read a table of Dask for a fit: its columns, the levels of its categories and its statistics."""
    source, kinds = DaskBlocks.of(X, half), model.categorical_features
    by_dtype = isinstance(kinds, str) and kinds == "from_dtype"
    dtypes = [str(dtype).lower() for dtype in getattr(source.header, "dtypes", ())]
    objects = any(not dtype.startswith(("int", "uint", "float", "double")) for dtype in dtypes)
    model.encoder_ = None
    if objects if by_dtype else kinds is not None:  # some column may be a category
        contents = merged(source.each(lambda block, number: contents_of(block.rows, kinds)), _contents_together)
        encoder = FrameEncoder.from_contents(contents)
        if not (by_dtype and all(code.kind == "number" for code in encoder.columns)):
            model.encoder_ = encoder
    validate_data(model, source.header, skip_check_array=True, reset=True)
    names = tuple(map(str, source.header.columns)) if source.is_frame and model.encoder_ is None else None
    return DaskTable.of(replace(source, read=partial(_entries_of, encoder=model.encoder_)), names)


def source_of(model: Any, X: Any, half: dict[str, Any]) -> DaskBlocks:
    """The blocks of further rows, their columns checked."""
    check_is_fitted(model)
    source = DaskBlocks.of(X, half)
    validate_data(model, source.header, skip_check_array=True, reset=False)
    two_valued = model._found.choice.two_valued
    return replace(source, read=partial(_entries_of, encoder=model.encoder_, two_valued=two_valued))


def lazy_rows(what: str, source: DaskBlocks, labeller: Labeller, dtype: Any) -> Any:
    """What a model says of each row ("labels", "distances", ...), in a collection with the blocks of the table.

    `dtype` is that of distances.
    """
    k = None if what in ("labels", "confidence") else labeller.classifier.clusters.n_components
    kind = {"labels": np.dtype(np.intp), "distances": dtype}.get(what, np.dtype(float))
    names = {"labels": "label", "confidence": "confidence", "probabilities": range(k or 0)}
    columns = names.get(what, [f"fusionclustering{j}" for j in range(k or 0)])
    meta = _like(source.header, np.empty(0 if k is None else (0, k), kind), columns)
    return source.rows(partial(_of_block, columns=columns), what, labeller, meta=meta, width=k)


def _contents_together(one: Any, other: Any) -> Any:
    return tuple(early.merged(late) for early, late in zip(one, other, strict=True))


def _of_block(block: Block, number: int, what: str, labeller: Labeller, columns: Any) -> Any:
    return _like(block.rows, labeller.of_rows(what, block.entries), columns)


def _like(block: Any, values: Any, columns: Any) -> Any:
    """Values with the index of a block: a series, a frame, or the values themselves if the block is an array."""
    if not hasattr(block, "iloc"):
        return values
    if values.ndim == 1:
        return type(block.iloc[:, 0])(values, index=block.index, name=columns)
    return type(block)(values, index=block.index, columns=list(columns))


#: Rows of a sparse table that are made dense at a time.
ROWS_AT_A_TIME = 8192
#: Rows that are kept of a stream of blocks. Clusters are searched in samples of 5000 rows, or more if there are many.
STREAM_SAMPLE = 20_000


def with_rows(sample: RowSample | None, table: Table, seed: int) -> RowSample:
    """The sample after the rows of a table; None before there were any."""
    found = RowSample.empty(STREAM_SAMPLE, seed, table.shape[1], table.dtype) if sample is None else sample
    for part in table.parts():
        blocks = row_blocks(part.shape[0], 1, ROWS_AT_A_TIME)
        for rows in [part] if isinstance(part, Entries) else (part.take(block).dense() for block in blocks):
            found = found.with_rows(rows)
    return found


#: The mean of a column in a block is far from that of the rows before from so many standard deviations.
FAR_AWAY = 5.0


def warn_of_drift(before: Entries, block: Table, encoder: FrameEncoder | None) -> None:
    """Warn of the columns of numbers whose mean in a block is far from that of the rows before."""
    away = np.abs(block.column_means - before.column_means)
    far = away > FAR_AWAY * np.sqrt(np.maximum(before.column_variances, block.column_variances))
    far &= (before.column_counts > 0) & (block.column_counts > 1)
    names = block.feature_names or [f"x{j}" for j in range(len(far))]
    if encoder is not None:
        names, far = encoder.features, far & ~encoder.shares
    if far.any():
        said = some_of([repr(names[j]) for j in np.flatnonzero(far)], 5)
        warnings.warn(
            f"the mean of column {said} is more than {FAR_AWAY:g} standard deviations from that of the rows before: "
            "the table may be drifting",
            DataWarning,
            stacklevel=4,
        )
