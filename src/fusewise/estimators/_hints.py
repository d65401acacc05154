"""Hints as users give them, pairs of rows and known labels, checked and turned into blocks and conflicts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components

from fusewise.automatic import NO_HINTS, UNSATISFIED, Hints, place
from fusewise.kernels import Index
from fusewise.support import InputError, counted, some_of


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
    values = given.tolist()
    rows = [row for row, value in enumerate(values) if not _is_unknown(value)]
    numbers: dict[Any, int] = {}
    label = [numbers.setdefault(values[row], len(numbers)) for row in rows]
    return np.array(rows, np.intp), np.array(label, np.intp), list(numbers)


def _is_unknown(value: Any) -> bool:
    """Whether a label is missing: None, NaN, NaT, pandas' NA, or -1."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return not isinstance(value, str | bytes) and bool(value != value or value == -1)


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
