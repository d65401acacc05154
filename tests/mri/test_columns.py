"""Interpolation column by column against dense linear algebra."""

import numpy as np
import pytest

from fusewise.kernels import to_host
from fusewise.mri._columns import ColumnInverse, Columns


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


def test_solve_is_kernel_regression(place):
    """Columns that all points have, some or none, each against its own dense system."""
    kernel, mask, values = problem(7, 40)
    mask[:, :6] = True  # these share their systems
    values = (random_complex(7, 40) * mask).astype(np.complex64)
    columns = Columns.of(mask, place(kernel))
    found = to_host(columns.unpack(ColumnInverse.under(place(kernel), columns)(columns.pack(place(values)))))
    for column in range(values.shape[1]):
        s = np.flatnonzero(mask[:, column])
        dense = np.linalg.solve(kernel[np.ix_(s, s)] + np.eye(len(s)), values[s, column])
        np.testing.assert_allclose(found[s, column], dense, atol=1e-4)
        assert not found[~mask[:, column], column].any()
