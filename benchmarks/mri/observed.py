"""Fourier samples as an observation model, for the fusion loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from fusewise.fidelity import Quadratic
from fusewise.fusion._loop import Descent, descend
from fusewise.fusion._problem import Problem
from fusewise.kernels import conjugate_gradients, shrunk_by
from fusewise.mri._covariances import median_distance
from fusewise.mri._fourier import invert, transform
from fusewise.mri._operators import Cartesian, FrameOperator
from fusewise.mri._tensors import Array
from fusewise.observations import Entries, Observations
from fusewise.pairs import NeighborPairs
from fusewise.penalties import Penalty


@dataclass(frozen=True, eq=False)
class FourierObservations:
    """||A_i u - b_i||² of frames u (rows of ny nx pixels), where A_i is the i-th sampling operator.

    Attributes
    ----------
    operator : A.
    samples : b.
    tol : conjugate gradients inside ``solve`` end when the residual has shrunk by this.
    """

    operator: FrameOperator
    samples: Array
    tol: float = 1e-10

    separable = False
    is_complete = False

    @property
    def shape(self) -> tuple[int, int]:
        """(T, ny nx)."""
        t, ny, nx = self.operator.shape
        return t, ny * nx

    @cached_property
    def target(self) -> Array:
        """A_i' b_i."""
        return self._rows(self.operator.adjoint(self.samples))

    @cached_property
    def mean(self) -> Array:
        """One image for all frames: a gradient step from zero with the best length, enough to set the scale."""
        direction = self.target.mean(axis=0)
        pushed = self.normal(np.broadcast_to(direction, self.shape)).mean(axis=0)
        length = np.vdot(direction, direction).real / max(float(np.vdot(direction, pushed).real), 1e-300)
        return np.asarray(direction * length, dtype=self.target.dtype)

    @cached_property
    def centred(self) -> Array:
        """A_i' (b_i - A_i mean)."""
        return self.target - self.normal(np.broadcast_to(self.mean, self.shape))

    def misfit(self, centers: Array) -> float:
        """sum_i ||A_i u_i - b_i||²."""
        error = self.operator.forward(self._images(centers)) - self.samples
        return float(np.square(np.abs(error), dtype=float).sum())

    def normal(self, centers: Array) -> Array:
        """A_i' A_i u_i."""
        return self._rows(self.operator.adjoint(self.operator.forward(self._images(centers))))

    def solve(self, anchors: Array, pull: Array) -> Array:
        """argmin_u ||A_i u - b_i||² + t_i ||u - v_i||², by conjugate gradients for all frames in parallel."""
        strength = pull[:, None]
        steps = conjugate_gradients(
            lambda frames: self.normal(frames) + strength * frames,
            self.preconditioner(pull),
            self.target - self.normal(anchors),
            lambda a, b: np.sum(a.conj() * b, axis=1, keepdims=True).real,
            max_steps=500,
            enough=shrunk_by(self.tol),
        )
        centers = anchors
        for length, direction, _ in steps:
            centers = centers + length * direction
        return np.asarray(centers, dtype=anchors.dtype)

    def confine(self, centers: Array) -> Array:
        """Return the centres unchanged: there is no known range to project onto."""
        return centers

    def preconditioner(self, pull: Array) -> Callable[[Array], Array]:
        """(A_i' A_i + t_i I)^-1: exact on the grid with one coil, otherwise with the mean diagonal in place of A' A."""
        if isinstance(self.operator, Cartesian) and self.operator.maps is None:
            system = self.operator.mask + np.where(pull > 0, pull, 1)[:, None, None]
            return lambda right: self._rows(invert(transform(self._images(right)) / system))
        level = pull + self._density
        return lambda right: right / np.where(level > 0, level, 1)[:, None]

    @cached_property
    def _density(self) -> Array:
        """Mean of the diagonal of A_i' A_i, estimated from one random image of unit moduli."""
        rng = np.random.default_rng(0)
        probe = np.exp(2j * np.pi * rng.random(self.shape)).astype(self.target.dtype)
        return np.asarray((probe.conj() * self.normal(probe)).real.mean(axis=1))

    def _images(self, rows: Array) -> Array:
        return rows.reshape(self.operator.shape)

    def _rows(self, images: Array) -> Array:
        return np.asarray(images.reshape(self.shape))


def fuse_frames(
    observations: Observations,
    affinities: sparse.csr_matrix,
    penalty: Penalty,
    lam: float,
    start: Array,
    *,
    max_iter: int = 20,
    tol: float = 1e-4,
) -> Descent:
    """Fuse frames as in the paper: sum_i ||A_i u_i - b_i||² + lam sum_ij c_ij phi(||u_i - u_j||).

    On the grid with one coil the rows may be k-space itself (``grid_entries``): by Parseval's theorem distances in
    k-space are those of images.

    Parameters
    ----------
    observations : ``grid_entries(...)`` or a ``FourierObservations``.
    affinities : T x T, c_ij.
    penalty, lam : phi and lam.
    start : T x dimension, the starting centres.
    max_iter, tol : see ``fusewise.fuse``.
    """
    pairs = NeighborPairs.from_graph(affinities)
    problem = Problem(observations, pairs, penalty, Quadratic(), lam)
    return descend(problem, start, max_iter=max_iter, tol=tol)


def grid_entries(kspace: Array, mask: Array) -> Entries:
    """Frames of gridded k-space as rows of a table with missing values."""
    rows = np.where(mask, kspace, 0).reshape(len(kspace), -1)
    return Entries(rows, np.asarray(mask, dtype=bool).reshape(rows.shape))


def frame_affinities(distances: Array, n_neighbors: int = 4, temporal: float = 0.5) -> sparse.csr_matrix:
    """c_ij = exp(-d_ij² / (s_i s_j)) of nearest frames, with s_i² the distance to the last of them, and temporal edges.

    The local scale lets sparse phases (end-systole, a deep breath) have as many effective neighbours as frequent ones.

    Parameters
    ----------
    distances : T x T squared distances.
    n_neighbors : neighbours of a frame.
    temporal : smallest affinity of successive frames.
    """
    n = len(distances)
    away = distances + np.diag(np.full(n, np.inf))
    k = min(n_neighbors, n - 1)
    scale = np.maximum(np.sort(away, axis=1)[:, k - 1], 1e-12 * float(median_distance(distances)))
    near = away <= scale[:, None]
    weights = np.where(near | near.T, np.exp(-distances / np.sqrt(np.outer(scale, scale))), 0)
    steps = np.arange(n - 1)
    weights[steps, steps + 1] = np.maximum(weights[steps, steps + 1], temporal)
    weights[steps + 1, steps] = np.maximum(weights[steps + 1, steps], temporal)
    np.fill_diagonal(weights, 0)
    return sparse.csr_matrix(weights)
