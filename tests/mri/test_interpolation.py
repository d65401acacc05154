"""Interpolation against dense linear algebra, against fusion, and the objective, which never rises."""

import numpy as np
import pytest

from fusewise.mri._interpolation import interpolate

N, P, SAMPLES = 6, 4, 3
LAM = 0.3


class Measured:
    """Points of P entries, each seen through a matrix of its own, and a covariance of them all that couples entries."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.matrices = rng.standard_normal((N, SAMPLES, P)) + 1j * rng.standard_normal((N, SAMPLES, P))
        self.samples = rng.standard_normal((N, SAMPLES)) + 1j * rng.standard_normal((N, SAMPLES))
        places = rng.standard_normal((P, N, 2))  # each entry has a kernel of its own
        distances = np.square(places[:, :, None] - places[:, None]).sum(axis=3)
        self.kernels = np.exp(-distances)
        self.density = float(np.mean([np.trace(a.conj().T @ a).real / P for a in self.matrices]))
        self.target = np.einsum("nsp,ns->np", self.matrices.conj(), self.samples)

    def normal(self, u):
        return np.einsum("nsp,nsq,nq->np", self.matrices.conj(), self.matrices, u)

    def covariance(self, u):
        return np.einsum("pnm,mp->np", self.kernels, u)

    def smooth(self, r, out):
        systems = self.density * self.kernels + LAM * np.eye(N)
        out[...] = self.covariance(np.linalg.solve(systems, r.T[..., None])[..., 0].T)

    def objective(self, u):
        penalty = np.vdot(u.T, np.linalg.solve(self.kernels, u.T[..., None])[..., 0]).real
        return np.linalg.norm(np.einsum("nsp,np->ns", self.matrices, u) - self.samples) ** 2 + LAM * penalty

    def minimiser(self):
        """One dense system for all points and entries."""
        units = np.eye(N * P).reshape(-1, N, P)
        normal = np.stack([self.normal(e).ravel() for e in units], axis=1)
        covariance = np.stack([self.covariance(e).ravel() for e in units], axis=1)
        return np.linalg.solve(normal + LAM * np.linalg.inv(covariance), self.target.ravel()).reshape(N, P)

    def solve(self, start=None, **stop):
        return interpolate(self, self.smooth, self.density, start, **stop)


def test_solution_is_the_dense_minimiser():
    data = Measured()
    found = data.solve(max_steps=200, tol=1e-12)
    np.testing.assert_allclose(found.centers, data.minimiser(), atol=1e-8)
    assert found.history[0] == 1
    assert found.history[-1] <= 1e-12


def test_the_solution_is_where_a_solve_from_it_begins():
    data = Measured()
    begun = data.solve(start=data.minimiser(), max_steps=0, tol=0)
    np.testing.assert_allclose(begun.centers, data.minimiser(), atol=1e-8)
    assert begun.history[0] < 1e-10


def test_the_first_frames_of_a_start():
    """The minimum of rho ||u - v / rho||² + lam <u, K^-1 u>, v = rho s + A'(b - A s), by dense linear algebra."""
    data = Measured()
    start = np.random.default_rng(3).standard_normal((N, P)) + 0j
    v = data.density * start + data.target - data.normal(start)
    systems = data.density * np.eye(N) + LAM * np.linalg.inv(data.kernels)
    expected = np.linalg.solve(systems, v.T[..., None])[..., 0].T
    np.testing.assert_allclose(data.solve(start=start, max_steps=0, tol=0).centers, expected, atol=1e-8)
    np.testing.assert_allclose(data.solve(start=start, max_steps=200, tol=1e-12).centers, data.minimiser(), atol=1e-8)


def test_the_objective_never_rises():
    data = Measured()
    centers = [data.solve(max_steps=k, tol=0).centers for k in range(1, 40)]
    values = [np.linalg.norm(data.samples) ** 2, *map(data.objective, centers)]
    assert np.all(np.diff(values) <= 1e-9)
    assert values[-1] == pytest.approx(data.objective(data.minimiser()), rel=1e-6)
