"""Clusters along the axes of a subspace, in tensors on a device: their densities for many rows at once.

A row determines its coordinates v_i with the covariance C_i = (A_i + I / t)^-1, so that for component k

    D_ik² = |R^-1 (v_i - mu_k)|²  with R R' = Sigma_k + C_i,    log det (Sigma_k + C_i) = 2 sum_a log R_aa:

a small factor for each row and component, computed for all of them at once (``kernels.lanes_torch``). A_i is that of
the row's pattern of missing values, and what depends on it alone is computed once for each pattern.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from fusewise.automatic.coordinates.evidence import regular, unknown_variance
from fusewise.automatic.models.clusters import AlongAxes
from fusewise.automatic.models.spreads import TAIL
from fusewise.kernels.arrays import Array
from fusewise.kernels.lanes_torch import factorised, squares_of

#: A_i is regular if the product of the traces of it and its inverse, a bound of its condition, is below this; of the
#: others the rank is counted as in ``evidence``.
REGULAR = 1e5


class DeviceRows(NamedTuple):
    """Rows on the scale of the clusters, N x P: values, zero where missing; and 1 where observed, 0 where missing."""

    values: Array
    seen: Array

    def of(self, columns: Array) -> DeviceRows:
        """Some of the columns."""
        return DeviceRows(self.values[:, columns], self.seen[:, columns])


class Densities(NamedTuple):
    """log pi_k + log p(x_i | k) and the squared distances, N x K; and the dimensions that each row determines, N."""

    density: Array
    distance: Array
    dimensions: Array


@dataclass(frozen=True, eq=False)
class DeviceEvidence:
    """What the entries of each row say about its coordinates: a tensor of N for each number.

    Attributes
    ----------
    places, covariances : the v_i, and the lower triangles of the C_i, row by row.
    log_det : log det C_i.
    known : log p(x_i | v_i).
    dimensions : the number of directions that each row determines.
    """

    places: list[Array]
    covariances: list[Array]
    log_det: Array
    known: Array
    dimensions: Array


@dataclass(frozen=True, eq=False)
class DeviceAxes:
    """``AlongAxes`` in tensors.

    Attributes
    ----------
    mean, basis, noises : those of the subspace, P, P x r and P.
    outer : P x r(r + 1)/2, the lower triangles of q_j q_j' / noise_j, of which A_i is the sum over the entries.
    means, spreads : K for each entry of mu_k and of the lower triangle of Sigma_k.
    log_shares : K.
    unknown : t, the variance along a direction that a row does not determine.
    """

    mean: Array
    basis: Array
    noises: Array
    outer: Array
    means: list[Array]
    spreads: list[Array]
    log_shares: Array
    unknown: float

    @classmethod
    def of(cls, clusters: AlongAxes, device: Any) -> DeviceAxes:
        """Copy a model to a device."""
        subspace, mixture = clusters.subspace, clusters.mixture
        noises, (rows, columns) = subspace.noises, np.tril_indices(subspace.rank)
        outer = subspace.basis[:, rows] * subspace.basis[:, columns] / noises[:, None]
        spreads = regular(mixture.spreads)
        size = mixture.shares @ (np.square(mixture.means) + np.trace(spreads, axis1=1, axis2=2)[:, None])
        return cls(
            tensor(subspace.mean, device),
            tensor(subspace.basis, device),
            tensor(noises, device),
            tensor(outer, device),
            [tensor(each, device) for each in mixture.means.T],
            [tensor(each, device) for each in spreads[:, rows, columns].T],
            tensor(np.log(mixture.shares), device),
            unknown_variance(float(size.mean()), float((1 / noises).max())),
        )

    @property
    def width(self) -> int:
        """Numbers of work space that a row takes: the factors, and as many again while they are computed."""
        k, r = len(self.log_shares), len(self.means)
        return k * (r * (r + 1) // 2 + 3 * r) + 2 * r * r + 4 * len(self.mean)

    def evidence(self, rows: DeviceRows) -> DeviceEvidence:
        """What the entries of each row say about its coordinates."""
        away = (rows.values - self.mean) * rows.seen
        vector = away @ (self.basis / self.noises[:, None])
        constant = -0.5 * (rows.seen @ (2 * math.pi * self.noises).log() + away.square() @ (1 / self.noises))
        kinds, pattern = patterns(rows.seen)
        entries = (kinds @ self.outer).T.contiguous()
        factor = factorised(entries, 1 / self.unknown)
        inverse = [entry for row in factor.inverse() for entry in row]
        solve, rank = _pseudo_inverses(entries, inverse)
        places = (solve[pattern] @ vector[:, :, None])[:, :, 0]
        known = constant + 0.5 * (vector * places).sum(1)
        covariances = [entry[pattern] for entry in inverse]
        return DeviceEvidence(list(places.T.contiguous()), covariances, -factor.log_det[pattern], known, rank[pattern])

    def densities(self, rows: DeviceRows) -> Densities:
        """What ``Clusters.log_densities`` says of the rows."""
        return self.given(self.evidence(rows))

    def given(self, evidence: DeviceEvidence) -> Densities:
        """The same, from what the entries say about the coordinates."""
        pairs = zip(evidence.covariances, self.spreads, strict=True)
        factor = factorised(own[:, None] + spread for own, spread in pairs)
        away = [place[:, None] - mean for place, mean in zip(evidence.places, self.means, strict=True)]
        distance = squares_of(factor.whitened(away))
        density = 0.5 * (evidence.log_det[:, None] - factor.log_det) + evidence.known[:, None]
        density += log_tails(distance, evidence.dimensions) + self.log_shares
        return Densities(density, distance, evidence.dimensions)


def patterns(seen: Array) -> tuple[Array, Array]:
    """Patterns of missing values (U x P), and the pattern of each row; all rows where hardly any two are alike."""
    import torch

    n, p = seen.shape
    own = torch.zeros(n, dtype=torch.int64, device=seen.device)
    for begin in range(0, p, 32):  # so many columns at a time are a number
        some = seen[:, begin : begin + 32].long()
        word = (some << torch.arange(some.shape[1], device=seen.device)).sum(1)
        own = torch.unique((own << 32) + word, return_inverse=True)[1]
    n_kinds = int(own.max()) + 1 if n else 0
    if 2 * n_kinds > n:
        return seen, torch.arange(n, device=seen.device)
    kinds = seen.new_empty((n_kinds, p))
    kinds[own] = seen
    return kinds, own


def _pseudo_inverses(entries: Array, inverse: list[Array]) -> tuple[Array, Array]:
    """A^+ and the rank of U symmetric matrices, from the entries of A and of (A + I / t)^-1 (as ``evidence`` does)."""
    import torch

    r = math.isqrt(2 * len(inverse))
    rows, columns = (torch.from_numpy(each).to(entries.device) for each in np.tril_indices(r))
    diagonal = torch.arange(r, device=entries.device) * (torch.arange(r, device=entries.device) + 3) // 2

    def whole(lower: Array) -> Array:
        full = lower.new_empty((lower.shape[1], r, r))
        full[:, rows, columns] = full[:, columns, rows] = lower.T
        return full

    undone = torch.stack(inverse)
    found, rank = whole(undone), torch.full_like(undone[0], r, dtype=torch.int64)
    trace = entries[diagonal].sum(0)
    unsure = ((trace <= 0) | (trace * undone[diagonal].sum(0) > REGULAR)).nonzero()[:, 0]
    if len(unsure):
        values, vectors = torch.linalg.eigh(whole(entries[:, unsure]))
        known = values > 1e-6 * values[:, -1:].clip(torch.finfo(values.dtype).tiny)
        scales = torch.where(known, 1 / torch.where(known, values, 1.0), 0.0)
        found[unsure] = (vectors * scales[:, None]) @ vectors.transpose(1, 2)
        rank[unsure] = known.sum(1)
    return found, rank


def log_tails(distance: Array, dimensions: Array) -> Array:
    """``mixture.log_tails`` of N x K distances."""
    import torch

    d = np.arange(int(dimensions.max()) + 1)
    lead = gammaln((TAIL + d) / 2) - gammaln(TAIL / 2) - d / 2 * np.log(TAIL / 2)
    power = (TAIL + dimensions.to(distance.dtype))[:, None] / 2
    return torch.from_numpy(lead).to(distance.device)[dimensions][:, None] - power * (distance / TAIL).log1p()


def tensor(array: Any, device: Any) -> Array:
    """Copy an array to a device: indices as they are, other numbers in double precision."""
    import torch

    whole = np.ascontiguousarray(array)
    return torch.from_numpy(whole if whole.dtype.kind in "iu" else whole.astype(np.float64)).to(device)
