"""Choice of the rank of a subspace by prediction of held-out entries."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fusewise.kernels.types import Values
from fusewise.observations import Entries, InMemory, SparseEntries, Table
from fusewise.subspace.em import fit_subspace
from fusewise.subspace.projection import Subspace, coordinates


def choose_rank(
    table: Table,
    max_rank: int = 20,
    *,
    random_state: int | np.random.Generator | None = None,
    hidden: float = 0.1,
    max_rows: int = 2000,
) -> int:
    """Choose the rank that best predicts held-out observed entries.

    Ranks are tried in increasing order, each from the previous fit, until three in a row have not lowered the error.

    Parameters
    ----------
    table : Table
        As in `fit_subspace`.
    max_rank : int
        Largest rank tried; never above ``min(N, P) - 1``, which already spans every covariance.
    random_state : int or Generator, optional
        Selects the held-out entries, and the rows used if there are more than `max_rows`.
    hidden : float
        Share of the observed entries that is held out.
    max_rows : int
        Largest number of rows used: with more, the criterion is more accurate but more expensive.
    """
    rng = np.random.default_rng(random_state)
    n = table.shape[0]
    rows = table.take(np.sort(rng.choice(n, max_rows, replace=False)) if n > max_rows else np.arange(n))
    train, row, column, truth = _split(rows, hidden, rng)
    best_rank, best_error = 1, np.inf
    fit: Subspace | None = None
    for rank in range(1, max(1, min(max_rank, *np.subtract(table.shape, 1))) + 1):
        fit = fit_subspace(train, rank, max_iter=30, tol=1e-4, start=fit)
        v = coordinates(fit, train)[0]
        fitted = fit.mean[column] + np.einsum("ik,ik->i", v[row], fit.basis[column])
        error = float(np.sum(np.abs(truth - fitted) ** 2))
        if error < best_error:
            best_rank, best_error = rank, error
        elif rank >= best_rank + 3:
            break
    return best_rank


def _split(table: InMemory, hidden: float, rng: np.random.Generator) -> tuple[InMemory, Values, Values, Values]:
    """Hold out a share of the observed entries: the remaining table; rows, columns and values of those held out."""
    if isinstance(table, SparseEntries):
        entries = table.rows.tocoo()
        out = rng.random(entries.nnz) < hidden
        kept = (entries.data[~out], (entries.row[~out], entries.col[~out]))
        left = SparseEntries(sparse.csr_matrix(kept, table.shape))
        return left, entries.row[out], entries.col[out], entries.data[out]
    out = table.mask & (rng.random(table.shape) < hidden)
    row, column = np.nonzero(out)
    return Entries(np.where(out, 0, table.values), table.mask & ~out), row, column, table.values[row, column]
