"""Example data: simulated clusters, the paper's Wine table, and ways to hide entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from fusewise.kernels import Floats, Labels
from fusewise.observations import as_entries, check_fits
from fusewise.support import InputError, Number, check_values

Seed = int | np.random.RandomState | None

#: Rows of scikit-learn's Wine table in the MATLAB code that the paper's authors published: 40 of each cultivar. The
#: paper says that outliers were left out, but not which rows.
_WINE_ROWS = np.r_[
    0, 2, 5:13, 15:18, 19, 20, 22, 23, 26, 28, 29, 31, 32, 34:38, 40, 42, 44, 46:50, 51, 53:59,
    64, 65, 67, 72, 75, 77, 79:83, 84:92, 93, 94, 97, 100:105, 106:110, 111, 113, 114, 116, 117, 119, 120, 125, 126,
    128, 131, 132, 135, 136, 138:146, 147:152, 153:158, 160:178,
]  # fmt: skip


def make_clusters(
    n_clusters: int = 3,
    size: int | list[int] = 200,
    n_features: int = 50,
    *,
    noise: float = 0.1,
    distribution: str = "normal",
    centers: npt.ArrayLike | None = None,
    shrink: float = 1.0,
    random_state: Seed = None,
) -> tuple[Floats, Labels, Floats]:
    """Simulated clusters x = c_k + n, with centres uniform in the unit cube, as in the paper's simulations.

    Parameters
    ----------
    n_clusters : number of clusters K.
    size : number of rows in each cluster, M; one number, or one for each cluster.
    n_features : number of features P.
    noise : standard deviation of the noise if ``distribution="normal"`` (the paper's Dataset-1 has variance 0.1:
        ``noise=0.1**0.5``); the width epsilon of the cube if ``distribution="uniform"``.
    distribution : of the noise, "normal" or "uniform".
    centers : K x P, used instead of random centres.
    shrink : factor applied to the distances between centres (the paper's Dataset-2 halves them).
    random_state : seed or ``numpy.random.RandomState``.

    Returns
    -------
    X : table, N x P.
    y : cluster of each row.
    centers : K x P.
    """
    _check_sizes(n_clusters, size, n_features, noise, shrink)
    rng = check_random_state(random_state)
    means = rng.uniform(size=(n_clusters, n_features)) if centers is None else np.asarray(centers, dtype=float)
    if means.ndim != 2 or not means.size:
        raise InputError(f"centers must be a table with one row for each cluster, got an array of shape {means.shape}")
    means = means.mean(axis=0) + shrink * (means - means.mean(axis=0))
    if np.ndim(size) and len(np.atleast_1d(size)) != len(means):
        raise InputError(f"size must be one number, or one for each of {len(means)} clusters; got {size!r}")
    y = np.repeat(np.arange(len(means)), size)
    shape = (len(y), means.shape[1])
    if centers is not None or distribution == "uniform":
        # A separate random stream: otherwise hide_entries with the same seed would hide entries depending on their
        # noise. (Normal noise after random centres does not share the stream's position anyway.)
        rng = np.random.RandomState(rng.randint(2**31 - 1))
    if distribution == "normal":
        deviations = rng.normal(scale=noise, size=shape)
    elif distribution == "uniform":
        deviations = rng.uniform(-noise / 2, noise / 2, size=shape)
    else:
        raise InputError(f"unknown distribution {distribution!r}: use 'normal' or 'uniform'")
    return means[y] + deviations, y, means


def _check_sizes(n_clusters: Any, size: Any, n_features: Any, noise: Any, shrink: Any) -> None:
    """Raise ValueError for numbers out of range, MemoryError for a table that does not fit."""
    count = Number(low=1, whole=True)
    rules = {"n_clusters": count, "n_features": count, "noise": Number(low=0), "shrink": Number()}
    check_values({"n_clusters": n_clusters, "n_features": n_features, "noise": noise, "shrink": shrink}, rules)
    sizes = list(size) if isinstance(size, list | tuple | np.ndarray) and np.ndim(size) else [size]
    for one in sizes:
        check_values({"size": one}, {"size": count})
    rows = int(n_clusters) * int(sizes[0]) if len(sizes) == 1 else sum(map(int, sizes))
    check_fits("the simulated table", (rows, int(n_features)), np.dtype(float).itemsize)


def load_wine_subset() -> tuple[Floats, Labels]:
    """Load the paper's Wine table: 120 of 178 wines, 40 per cultivar, 13 features scaled to [0, 1] over all 178.

    Which rows were kept comes from the MATLAB code that the authors published; the paper does not list them.

    Returns
    -------
    X : 120 x 13.
    y : cultivar of each row.
    """
    from sklearn.datasets import load_wine

    table, cultivar = load_wine(return_X_y=True)
    scaled = (table - table.min(axis=0)) / np.ptp(table, axis=0)
    return scaled[_WINE_ROWS], cultivar[_WINE_ROWS].astype(np.intp)


def hide_entries(
    X: Any, fraction: float = 0.3, *, mechanism: str = "mcar", random_state: Seed = None
) -> npt.NDArray[Any]:
    """Return a copy of a table in which some entries are replaced by NaN.

    Parameters
    ----------
    X : table of numbers; entries that are already NaN stay NaN.
    fraction : fraction of the entries to hide, from 0 up to (not including) 1.
    mechanism : how the entries are chosen.

        * ``"mcar"``: completely at random, independently of each other (the paper's assumption);
        * ``"mar"``: at random given the observed values: the larger the first feature of a row, the more of the row
          is hidden; the first feature itself is never hidden;
        * ``"mnar"``: the larger an entry is within its column (by modulus if complex), the likelier it is hidden;
        * ``"block"``: in each row a run of neighbouring columns, as when a sensor drops out;
        * ``"columns"``: at random, at a different rate in each column, from zero to twice the fraction.
    random_state : seed or ``numpy.random.RandomState``.

    Returns
    -------
    ndarray of float or complex
    """
    check_values({"fraction": fraction}, {"fraction": Number(low=0)})
    if fraction >= 1:
        raise InputError(f"fraction must be in [0, 1), got {fraction!r}")
    if mechanism not in _MECHANISMS:
        raise InputError(f"unknown mechanism {mechanism!r}: use one of {', '.join(map(repr, _MECHANISMS))}")
    table = as_entries(X, min_rows=1).fill(np.nan)
    sizes = np.abs(table) if np.iscomplexobj(table) else table
    table[_MECHANISMS[mechanism](sizes, fraction, check_random_state(random_state))] = np.nan
    return table


def _hide_mar(table: Floats, fraction: float, rng: np.random.RandomState) -> npt.NDArray[np.bool_]:
    n, p = table.shape
    if p < 2:
        raise InputError("mechanism 'mar' needs at least two columns: the first, never hidden, decides what is hidden")
    rate = 2 * fraction * _ranks(table[:, :1]) * p / (p - 1)
    hidden = np.asarray(rng.uniform(size=(n, p)) < np.minimum(rate, 1))
    hidden[:, 0] = False
    return hidden


def _hide_block(table: Floats, fraction: float, rng: np.random.RandomState) -> npt.NDArray[np.bool_]:
    n, p = table.shape
    # A run of random length with mean fraction * p, wrapped around so that every column is hidden equally often.
    length = np.asarray(rng.binomial(p, fraction, size=n))
    begin = np.asarray(rng.randint(p, size=n))
    return np.asarray((np.arange(p) - begin[:, None]) % p < length[:, None])


def _hide_columns(table: Floats, fraction: float, rng: np.random.RandomState) -> npt.NDArray[np.bool_]:
    rates = np.linspace(max(0.0, 2 * fraction - 1), min(1.0, 2 * fraction), table.shape[1])
    return rng.uniform(size=table.shape) < rng.permutation(rates)


def _ranks(table: Floats) -> Floats:
    """Rank of each entry within its column, scaled into (0, 1)."""
    order = table.argsort(axis=0).argsort(axis=0)
    return (order + 0.5) / len(table)


_MECHANISMS: dict[str, Callable[[Floats, float, np.random.RandomState], npt.NDArray[np.bool_]]] = {
    "mcar": lambda table, fraction, rng: rng.uniform(size=table.shape) < fraction,
    "mar": _hide_mar,
    # With u uniform in (0, 1), P(u < r^((1-f)/f)) averages to f over ranks r, and rises with the rank.
    "mnar": lambda table, f, rng: rng.uniform(size=table.shape) < _ranks(table) ** ((1 - f) / max(f, 1e-12)),
    "block": _hide_block,
    "columns": _hide_columns,
}
