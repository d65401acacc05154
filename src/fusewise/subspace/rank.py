"""The rank that predicts best."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fusewise.subspace.fit import fit_subspace
from fusewise.subspace.model import Subspace, coordinates
from fusewise.subspace.table import Array, Table, as_source, is_sparse


def choose_rank(
    values: Any,
    mask: Any = None,
    max_rank: int = 20,
    *,
    random_state: int | np.random.Generator | None = None,
    hidden: float = 0.1,
    max_rows: int = 2000,
) -> int:
    """The rank that best predicts a part of the observed entries, hidden from the fit.

    Ranks are tried upwards, each from the fit before it, until three in turn have not lowered the squared error.

    Parameters
    ----------
    values, mask : array or sparse matrix, bool array
        The table, as in `fit_subspace`.
    max_rank : int
        Largest rank tried; never above ``min(N, P) - 1``, which already spans every covariance.
    random_state : int or Generator, optional
        Draws the hidden entries, and the rows used when there are more than `max_rows`.
    hidden : float
        Part of the observed entries to predict.
    max_rows : int
        Rows the choice is made on: the error of the criterion falls with them, its cost rises.
    """
    rng = np.random.default_rng(random_state)
    source = as_source(values, mask)
    n = source.shape[0]
    table = source.rows_at(np.sort(rng.choice(n, max_rows, replace=False)) if n > max_rows else np.arange(n))
    train, rows, columns, truth = _split(table, hidden, rng)
    best_rank, best_error = 1, np.inf
    fit: Subspace | None = None
    for rank in range(1, max(1, min(max_rank, *np.subtract(table.shape, 1))) + 1):
        fit = fit_subspace(train.values, train.mask, rank, max_iter=30, tol=1e-4, start=fit)
        v = coordinates(fit, train.values, train.mask)[0]
        fitted = fit.mean[columns] + np.einsum("ik,ik->i", v[rows], fit.basis[columns])
        error = float(np.sum(np.abs(truth - fitted) ** 2))
        if error < best_error:
            best_rank, best_error = rank, error
        elif rank >= best_rank + 3:
            break
    return best_rank


def _split(table: Table, hidden: float, rng: np.random.Generator) -> tuple[Table, Array, Array, Array]:
    """Hide a part of the observed entries: the table left, and the rows, columns and values of the hidden ones."""
    if is_sparse(table.values):
        entries = table.values.tocoo()
        out = rng.random(entries.nnz) < hidden
        kept = (entries.data[~out], (entries.row[~out], entries.col[~out]))
        left = Table(sparse.csr_matrix(kept, table.values.shape), None)
        return left, entries.row[out], entries.col[out], entries.data[out]
    mask = np.ones(table.values.shape, bool) if table.mask is None else table.mask
    out = mask & (rng.random(mask.shape) < hidden)
    rows, columns = np.nonzero(out)
    return Table(np.where(out, 0, table.values), mask & ~out), rows, columns, table.values[rows, columns]
