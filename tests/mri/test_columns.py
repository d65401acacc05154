"""Interpolation column by column against dense linear algebra, and leaving entries out against really doing so."""

import numpy as np
import pytest

from fusewise.kernels import to_host
from fusewise.mri._columns import ColumnInverse, Columns, left_out


def random_complex(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def covariance(points, seed=0):
    places = np.random.default_rng(seed).standard_normal((points, 3))
    return np.exp(-np.square(places[:, None] - places).sum(axis=2) / 6)


def problem(n=9, p=14, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random((n, p)) < 0.4
    mask[:, 0], mask[:, 1] = True, False
    values = (rng.standard_normal((n, p)) + 1j * rng.standard_normal((n, p))) * mask
    return covariance(n).astype(np.float32), mask, values.astype(np.complex64)


def test_entries_are_kept_once():
    _, mask, values = problem(20, 200)
    columns = Columns.of(mask, values)
    packed = columns.pack(values)
    np.testing.assert_array_equal(columns.unpack(packed), values)
    assert np.linalg.norm(packed) == pytest.approx(np.linalg.norm(values))
    assert np.count_nonzero(packed) == np.count_nonzero(values)
    spans = [group.span for group in columns.groups]
    assert [span.start for span in spans] == [0, *(span.stop for span in spans[:-1])]
    assert spans[-1].stop == columns.size
    for group in columns.groups:
        assert group.seen.any(axis=1).all()
        assert group.seen.all() or not group.complete
        # Of the points that have a column, each is there once.
        for rows, seen in zip(group.rows, group.seen, strict=True):
            assert len(set(rows[seen])) == np.count_nonzero(seen)


def test_solve_is_kernel_regression():
    kernel, mask, values = problem()
    columns = Columns.of(mask, values)
    found = columns.unpack(ColumnInverse.under(kernel[None], columns, 0.1)(columns.pack(values)))
    for column in range(values.shape[1]):
        s = np.flatnonzero(mask[:, column])
        dense = np.linalg.solve(kernel[np.ix_(s, s)] + 0.1 * np.eye(len(s)), values[s, column])
        np.testing.assert_allclose(found[s, column], dense, atol=1e-4)


def test_leaving_out_is_leaving_out():
    kernel, mask, values = problem()
    columns = Columns.of(mask, values)
    found = left_out(kernel[None].astype(float), columns, [0.1, 0.7], columns.pack(values))
    for noise, energy in zip([0.1, 0.7], found, strict=True):
        expected = 0.0
        for column in range(1, values.shape[1]):  # the first is seen by all, and not judged
            seen = np.flatnonzero(mask[:, column])
            for i in seen:
                s = seen[seen != i]
                weights = np.linalg.solve(kernel[np.ix_(s, s)] + noise * np.eye(len(s)), values[s, column])
                expected += abs(values[i, column] - kernel[i, s] @ weights) ** 2
        assert energy == pytest.approx(expected, rel=1e-3)


def test_each_column_has_the_covariance_of_its_kind(place):
    rng = np.random.default_rng(0)
    mask = rng.random((7, 40)) < 0.5
    kernel = np.exp(-np.square(np.subtract.outer(np.arange(7), np.arange(7))) / 8)
    samples = random_complex(7, 40) * mask
    kinds = rng.integers(2, size=40)
    mask[:, :6] = True  # these share their systems
    samples = samples.astype(np.complex64) * mask
    columns = Columns.of(mask, place(kernel), kinds)
    inverse = ColumnInverse.under(place(np.stack([kernel, kernel**4])), columns, 0.3)
    found = to_host(columns.unpack(inverse(columns.pack(place(samples)))))
    for column in range(40):
        s = np.flatnonzero(mask[:, column])
        own = (kernel ** (1, 4)[kinds[column]])[np.ix_(s, s)]
        expected = np.linalg.solve(own + 0.3 * np.eye(len(s)), samples[s, column])
        np.testing.assert_allclose(found[s, column], expected, atol=1e-5)
        assert not found[~mask[:, column], column].any()
