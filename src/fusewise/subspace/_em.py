"""Parameter-expanded EM with extrapolation, one pass over blocks of rows per iteration; and the choice of the rank.

It starts from the closed form for complete tables, and from leading directions of the residual otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from fusewise.kernels import Values, few, in_threads, invert_in_lanes, torch_device
from fusewise.observations import Entries, InMemory, wide
from fusewise.progress import Progress, silent
from fusewise.subspace._projection import (
    RowsOnDevice,
    Subspace,
    Sums,
    SumsWithErrors,
    block,
    centered,
    coordinates,
    is_sparse,
    row_slices,
    row_squares,
    whole,
)
from fusewise.support import counted

#: Up to this size an exact eigendecomposition is cheapest; beyond it, this many rounds of subspace iteration are used,
#: with this many extra directions.
DENSE_EIGEN, ROUNDS, SPARE = 500, 6, 8

#: Numbers of work space counted for each moment of the coordinates of a row: with fewer, blocks outgrow the caches.
WORK_SPACE = 24

#: Smallest noise, as a share of the mean variance: a constant table has no noise.
FLOOR = 1e-12


def closed_form(table: Entries, rank: int) -> Subspace:
    """Maximum likelihood on complete data (Tipping and Bishop, 1999).

    The basis is the leading eigenvectors of the covariance, ``noise`` the mean of the other eigenvalues,
    ``variances`` the leading eigenvalues less the noise.
    """
    n, p = table.shape
    mean = table.values.mean(axis=0, dtype=wide(table.dtype))
    if p <= n:
        covariance = np.zeros((p, p), mean.dtype)
        for rows in row_slices(table, p):
            y = table.values[rows] - mean
            covariance += y.conj().T @ y / n
        eigenvalues, vectors = linalg.eigh(covariance)
        basis = vectors[:, ::-1][:, :rank].conj()
    else:
        y = table.values - mean
        eigenvalues, vectors = linalg.eigh(y @ y.conj().T / n)
        basis = linalg.qr(y.T @ vectors[:, ::-1][:, :rank].conj(), mode="economic")[0]
    total = float(eigenvalues.sum())
    eigenvalues = np.maximum(eigenvalues[::-1], 0.0)
    noise = max((total - eigenvalues[:rank].sum()) / max(p - rank, 1), FLOOR * (total / p or 1.0))
    variances = np.maximum(eigenvalues[:rank] - noise, 0.0)
    log_det = np.log(variances + noise).sum() + (p - rank) * np.log(noise)
    return Subspace(mean, basis, variances, noise, (float(n * _log_density(p, log_det, p, table.dtype.kind == "c")),))


def residual(table: InMemory, subspace: Subspace) -> Any:
    """The observed entries less their reconstruction, zero where missing."""
    blocks = []
    for rows in row_slices(table, subspace.rank**2):
        values, pattern = block(table, rows, subspace.noise)
        y = centered(values, pattern, subspace.mean)
        if subspace.rank:
            v = coordinates(subspace, table.take(rows))[0]
            if is_sparse(y):
                row = np.repeat(np.arange(y.shape[0]), np.diff(y.indptr))
                y.data -= np.einsum("ek,ek->e", v[row], subspace.basis[y.indices])
            else:
                y -= pattern * (v @ subspace.basis.T)
        blocks.append(y)
    return sparse.vstack(blocks, format="csr") if is_sparse(blocks[0]) else np.concatenate(blocks)


def _leading(filled: Any, k: int) -> Values:
    """The `k` leading right singular vectors, as columns: exact for small sides, else by a few rounds of iteration."""
    n, p = filled.shape
    if min(n, p) > DENSE_EIGEN and k + SPARE < min(n, p):
        directions = np.random.default_rng(0).standard_normal((p, k + SPARE))
        for _ in range(ROUNDS):  # EM separates singular values that are too close for these rounds
            directions = linalg.qr(filled.conj().T @ (filled @ directions), mode="economic")[0]
        left = np.asarray(filled @ directions)
        return np.asarray(directions @ linalg.eigh(left.conj().T @ left)[1][:, : -k - 1 : -1]).conj()
    dense = filled.toarray() if is_sparse(filled) else filled
    if p <= n:
        return np.asarray(linalg.eigh(dense.conj().T @ dense, subset_by_index=[p - k, p - 1])[1].conj())
    left = linalg.eigh(dense @ dense.conj().T, subset_by_index=[n - k, n - 1])[1]
    return np.asarray(linalg.qr(dense.T @ left.conj(), mode="economic")[0])


def grown(table: InMemory, start: Subspace, rank: int) -> Values:
    """Loadings of `start`, with further columns along the leading directions of its residual."""
    loadings = start.basis * np.sqrt(start.variances)
    if start.rank >= rank:
        return np.asarray(loadings[:, :rank])
    fresh = _leading(residual(table, start), rank - start.rank)
    # A new direction starts with the variance of the noise, the smallest that can be distinguished from it.
    return np.concatenate([loadings, fresh * np.sqrt(start.noise)], axis=1)


#: If a table has more than twice this many rows, EM is first run on a sample of this size: on a larger one if needed,
#: to have this many entries of a column for every parameter fitted to it. The tolerance for all rows is then larger by
#: this factor.
SAMPLE, ENTRIES_PER_PARAMETER, SOONER = 20_000, 10, 10.0


def fit_subspace(
    table: InMemory,
    rank: int = 1,
    *,
    max_iter: int = 200,
    tol: float = 1e-6,
    start: Subspace | None = None,
    progress: Progress = silent,
    device: str = "cpu",
) -> Subspace:
    """Maximise ``sum_i log N(x_i; mean, Q diag(variances) Q^H + noise I)`` over the observed entries.

    The errors of entries add their variances to the noise. Complete tables without errors have a closed form; others
    are fitted by parameter-expanded EM, one pass over blocks of rows per iteration. Every third iteration tries a step
    beyond EM's, which is taken back if it was too long: the likelihood never decreases. For a long table a sample of
    rows is fitted first, so that few passes over all rows are needed.

    It stops after `max_iter` iterations, or when one gains less than `tol` per observed entry (ten times that, if a
    sample was fitted first). `start` is a fit of the same or a lower rank; `device` is where to pass over the rows of a
    real table in memory, see ``torch_device``.
    """
    rank = min(rank, *table.shape)
    if isinstance(table, Entries) and table.is_complete:
        return closed_form(table, rank)
    dtype, counts = wide(table.dtype), table.column_counts.astype(float)
    mean, variance = table.column_means.astype(dtype), float(table.column_variances @ counts) / max(counts.sum(), 1.0)
    sample = _sample(table, counts, rank)
    if start is None:
        p = len(mean)
        start = Subspace(mean, np.zeros((p, 0), dtype), np.zeros(0), variance or FLOOR)
        if sample.shape[0] < table.shape[0]:
            start = fit_subspace(sample, rank, max_iter=max_iter, tol=tol, progress=progress, device=device)
            tol *= SOONER
    point = _Point(start.mean, grown(sample, start, rank), start.noise)
    enough, floor = tol * max(float(counts.sum()), 1.0), FLOOR * (variance or 1.0)
    stage, sums_at = f"subspace of {counted(table.shape[0], 'row')}", _pass_of(table, device)
    history: list[float] = []
    trail: list[_Point] = []  # successive steps of EM
    instead: _Point | None = None  # where EM led, if there was a leap beyond it
    for iteration in range(max_iter):
        sums = sums_at(*point)
        if instead is not None and not sums.log_likelihood >= history[-1]:  # too long a leap, or NaN
            point, instead = instead, None
            continue
        history.append(sums.log_likelihood)
        progress(stage, iteration + 1, max_iter, objective=-history[-1])
        if instead is None and len(history) > 1 and history[-1] - history[-2] < enough:
            break
        instead = None
        trail.append(point)
        point = _maximization(sums, point, counts, floor)
        if len(trail) == 2:
            instead, point, trail = point, _leap(trail[0], trail[1], point, floor), []
    return normalized(*(instead or point), tuple(history))


def _sample(table: InMemory, counts: Values, rank: int) -> InMemory:
    """Sample enough rows to fit every column but the rarest; return all rows if that would save little."""
    n = table.shape[0]
    typical = max(float(np.median(counts)), 1.0)
    wanted = max(SAMPLE, int(n * ENTRIES_PER_PARAMETER * (rank + 1) / typical))
    if 2 * wanted >= n:
        return table
    return table.take(np.sort(np.random.default_rng(0).choice(n, wanted, replace=False)))


class _Point(NamedTuple):
    """Parameters of the model: mean (P), loadings (P x r) and the variance of the noise."""

    mean: Values
    loadings: Values
    noise: float


def _leap(first: _Point, second: _Point, third: _Point, floor: float) -> _Point:
    """Extrapolate two steps of EM: x - 2 a r + a² v, with r = x' - x, v = x'' - 2 x' + x and a = -|r| / |v|.

    The third point where that is not defined. SQUAREM (Varadhan and Roland, 2008), with the logarithm of the noise.
    """
    x, *steps = (
        np.concatenate([each.mean, each.loadings.ravel(), [np.log(each.noise)]]) for each in (first, second, third)
    )
    r, v = steps[0] - x, steps[1] - 2 * steps[0] + x
    step, bend = float(linalg.norm(r)), float(linalg.norm(v))
    if not bend > 1e-12 * step:  # EM stands still, or its steps do not change
        return third
    a = -max(step / bend, 1.0)
    x = x - 2 * a * r + a * a * v
    p = len(first.mean)
    return _Point(x[:p], x[p:-1].reshape(p, -1), max(float(np.exp(x[-1].real)), floor))


def _log_density(distance: Any, log_det: Any, counts: Any, is_complex: bool) -> Values:
    """Log-density of each row from its Mahalanobis distance."""
    half, constant = (1.0, np.log(np.pi)) if is_complex else (0.5, np.log(2 * np.pi))
    return np.asarray(-half * (counts * constant + log_det + distance))


def _pass_of(table: InMemory, device: str) -> Callable[..., Sums]:
    """What accumulates the sums in one pass over the rows of a table: on a device, if the table can be there."""
    there = torch_device(device)
    if there is None or not isinstance(table, Entries) or np.iscomplexobj(table.values) or table.inexact.any():
        return partial(pass_over, table)
    return RowsOnDevice.of(table, there).expected


def pass_over(table: InMemory, mean: Values, loadings: Values, noise: float, doubt: Values | None = None) -> Sums:
    """Accumulate the sums in one pass over the rows, block by block; `doubt` is the covariance of the loadings."""
    (a, b), errors = np.tril_indices(loadings.shape[1]), table.variances is not None
    outer = loadings.conj()[:, a] * loadings[:, b] + (0 if doubt is None else doubt[:, a, b])

    def work(rows: slice) -> Sums:
        values, pattern = block(table, rows, noise)
        with np.errstate(over="ignore", invalid="ignore"):  # too long a leap, which is taken back
            return _expectation(values, pattern, mean, loadings, outer, noise, errors)

    rows = row_slices(table, WORK_SPACE * (loadings.shape[1] + 1) ** 2)
    return reduce(Sums.__add__, in_threads(work, rows))


def _expectation(
    values: Any, pattern: Any, mean: Values, loadings: Values, outer: Values, noise: float, errors: bool
) -> Sums:
    """Posterior moments of the coordinates of a block of rows, and its log-likelihood.

    `outer` has the lower triangle of the products of each column's loadings. The innermost loops run over the rows, the
    last axis. Of entries with errors the pattern has the weights k: k / noise is the precision of an entry.
    """
    r, (a, b) = loadings.shape[1], np.tril_indices(loadings.shape[1])
    y = centered(values, pattern, mean)
    inverse = np.empty((r, r, y.shape[0]), loadings.dtype)
    inverse[a, b] = outer.T @ pattern.T
    inverse[range(r), range(r)] += noise
    log_det, _ = invert_in_lanes(inverse, small=few(y.shape[0]))
    right = np.asarray(loadings.conj().T @ y.T)
    v = np.einsum("jkn,kn->jn", inverse, right)
    seen = pattern > 0 if errors else pattern
    squares = (y * (values - mean)).sum(axis=1) if errors else row_squares(y)
    distance = np.maximum(squares - np.einsum("kn,kn->n", v.conj(), right).real, 0.0) / noise
    counts = np.asarray(seen.sum(1)).ravel()
    log_det += (counts - r) * np.log(noise)
    if errors:
        log_det -= np.log(np.where(seen, pattern, 1)).sum(axis=1)
    z = np.concatenate([v, np.ones((1, y.shape[0]))])
    second = np.concatenate([inverse[a, b].conj(), z])
    second[: len(a)] *= noise
    second[: len(a)] += v[a].conj() * v[b]
    sums = Sums(
        cross=np.asarray(z.conj() @ y).T,
        moments=whole(second @ pattern, r).T,
        latent=whole(second.sum(axis=1), r),
        energy=float(squares.sum()),
        log_likelihood=float(_log_density(distance, log_det, counts, np.iscomplexobj(loadings)).sum()),
    )
    if not errors:
        return sums
    return SumsWithErrors(
        **vars(sums),
        squared_cross=(z @ (pattern * y)).T,
        squared_moments=whole(second @ np.square(pattern), r).T,
        squared_energy=float(np.square(y).sum()),
        left=noise * float(np.sum(1 - pattern, where=seen)),
    )


def _maximization(sums: Sums, point: _Point, counts: Values, floor: float) -> _Point:
    """Regress every column on ``(v, 1)``; then absorb the latent mean and covariance into the loadings.

    The second half is parameter-expanded EM (Liu, Rubin and Wu, 1998): the latent distribution is fitted too, and
    reduced to N(0, I). The likelihood increases as in EM, and converges in far fewer iterations.
    """
    mean, loadings, _ = point
    p, r = loadings.shape
    moments = sums.moments.reshape(p, r + 1, r + 1)
    seen = counts > 0
    solution = np.zeros((p, r + 1), loadings.dtype)
    if seen.any():
        solution[seen] = np.linalg.solve(moments[seen], sums.cross[seen][:, :, None])[:, :, 0]
    explained = float(np.vdot(sums.cross[seen], solution[seen]).real)
    unexplained = _unexplained(sums, solution) if isinstance(sums, SumsWithErrors) else sums.energy - explained
    noise = max(unexplained / max(float(counts.sum()), 1.0), floor)
    latent = sums.latent.reshape(r + 1, r + 1).conj() / sums.latent[-1].real
    shift = latent[:r, r]
    covariance = latent[:r, :r] - np.outer(shift, shift.conj())
    rounding = r * float(np.finfo(float).eps * np.trace(latent[:r, :r]).real)  # of the difference
    root = linalg.cholesky(covariance + max(FLOOR, rounding) * np.eye(r), lower=True)
    slopes = solution[:, :r]
    return _Point(mean + solution[:, r] + slopes @ shift, slopes @ root, noise)


def _unexplained(sums: SumsWithErrors, solution: Values) -> float:
    """The expected sum of squares of the noise of entries with errors, after the regression."""
    p, width = solution.shape
    explained = 2 * np.vdot(sums.squared_cross, solution)
    explained -= np.einsum("pi,pij,pj->", solution, sums.squared_moments.reshape(p, width, width), solution)
    return float(sums.squared_energy + sums.left - explained)


def normalized(mean: Values, loadings: Values, noise: float, history: tuple[float, ...]) -> Subspace:
    """``loadings = basis diag(sqrt(variances)) R``: the rotation ``R`` of ``v ~ N(0, I)`` is immaterial."""
    basis, scales, _ = linalg.svd(loadings, full_matrices=False)
    return Subspace(mean, basis, scales**2, noise, history)


#: Share of the entries that is held out, and rows at most: more would be more accurate, but more expensive.
HELD_OUT, RANK_ROWS = 0.1, 2000


def choose_rank(
    table: Entries,
    max_rank: int = 20,
    *,
    random_state: int | np.random.Generator | None = None,
) -> int:
    """Choose the rank that best predicts held-out observed entries.

    Ranks are tried in increasing order, each from the previous fit, until three in a row have not lowered the error.
    The largest is `max_rank`, and never above ``min(N, P) - 1``, which already spans every covariance.
    """
    rng = np.random.default_rng(random_state)
    n = table.shape[0]
    rows = table.take(np.sort(rng.choice(n, RANK_ROWS, replace=False)) if n > RANK_ROWS else np.arange(n))
    out = rows.mask & (rng.random(rows.shape) < HELD_OUT)
    train, (row, column) = rows.only(~out), np.nonzero(out)
    best_rank, best_error = 1, np.inf
    fit: Subspace | None = None
    for rank in range(1, max(1, min(max_rank, *np.subtract(table.shape, 1))) + 1):
        fit = fit_subspace(train, rank, max_iter=30, tol=1e-4, start=fit)
        v = coordinates(fit, train)[0]
        fitted = fit.mean[column] + np.einsum("ik,ik->i", v[row], fit.basis[column])
        error = float(np.sum(np.abs(rows.values[row, column] - fitted) ** 2))
        if error < best_error:
            best_rank, best_error = rank, error
        elif rank >= best_rank + 3:
            break
    return best_rank
