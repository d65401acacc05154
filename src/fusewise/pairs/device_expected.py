"""``expected`` on a device: candidates by position alone, then the expected weight of each, many pairs at a time."""

from __future__ import annotations

import math

import numpy as np

from fusewise.kernels.arrays import Array, to_host
from fusewise.kernels.devices import torch_device
from fusewise.kernels.lanes_torch import factorised, squares_of
from fusewise.kernels.nearest_torch import nearest_in

#: Numbers in the covariances of the pairs that are processed at a time.
DEVICE_BLOCK = 2**28


def likeliest(places: Array, covariances: Array, k: int, n_candidates: int, every: int, device: str) -> Array:
    """The k neighbours with the largest expected weight among the `n_candidates` nearest of each point; N x k.

    Parameters
    ----------
    places, covariances : N x r and N x r x r, real; NumPy arrays or tensors.
    k, n_candidates : number of neighbours and of candidates; at most N - 1.
    every : the scale is the median distance to the k-th nearest, taken over every `every`-th point.
    device : see ``torch_device``.
    """
    import torch

    n, r = places.shape
    v = torch.as_tensor(places, device=torch_device(device))
    squares, candidates = nearest_in(v, n_candidates)
    spacing = float(np.median(np.sqrt(to_host(squares[::every, k - 1]))))
    variance = spacing**2 or float(v.var(correction=0)) or 1.0
    rows, columns = torch.tril_indices(r, r, device=v.device)
    S = torch.as_tensor(covariances, device=v.device)[:, rows, columns]
    chosen = []
    step = max(1, DEVICE_BLOCK // (n_candidates * S.shape[1]))
    for begin in range(0, n, step):
        some = candidates[begin : begin + step]
        own = slice(begin, begin + len(some))
        away = (v[own, None] - v[some]).unbind(2)
        weights = _log_weights_on_device(away, (S[own, None] + S[some]).unbind(2), variance)
        chosen.append(some.gather(1, weights.topk(k, dim=1).indices))
    return torch.cat(chosen)


def _log_weights_on_device(away: tuple[Array, ...], both: tuple[Array, ...], variance: float) -> Array:
    """Log of the expected weights (see ``expected``), from a tensor for each entry of v_i - v_j and of S_i + S_j.

    S_i + S_j is given by its lower triangle, row by row.
    """
    factor = factorised(both, variance)
    return -0.5 * (squares_of(factor.whitened(away)) + factor.log_det - len(away) * math.log(variance))
