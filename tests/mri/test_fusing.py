"""Fusion of frames: against the fusion of tables (another route to the same minimum), descent, the public method."""

from itertools import pairwise

import numpy as np
import pytest

from fusewise import fuse
from fusewise.kernels import to_host
from fusewise.mri import _fusion, make_phantom, radial_mask, radial_trajectory, reconstruct, sample_grid
from fusewise.mri._covariances import squared_distances
from fusewise.mri._fusion import fuse_frames
from fusewise.mri._result import ser
from fusewise.mri._sampling import invert, transform
from fusewise.mri._tensors import gram
from fusewise.penalties import H1
from fusewise.progress import listening


def series(n_frames=14, size=12):
    """Samples T x P in double precision, zero where hidden, and the mask."""
    images = make_phantom(n_frames, size, frame_time=0.1).images
    mask = radial_mask(n_frames, (size, size), 3, 2)
    rows = (sample_grid(images, mask, noise=0.01).astype(complex) * mask).reshape(n_frames, -1)
    seen = mask.reshape(n_frames, -1)
    ever = seen.any(axis=0)
    return rows[:, ever], seen[:, ever]


def random_complex(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@pytest.mark.parametrize("most", [2**21, 20])
def test_each_location_is_solved_by_itself(place, monkeypatch, most):
    """Locations that all frames sampled, some or none, of two coils, each against its own dense system."""
    monkeypatch.setattr(_fusion, "MOST_ENTRIES", most)
    places = np.random.default_rng(0).standard_normal((7, 3))
    kernel = np.exp(-np.square(places[:, None] - places).sum(axis=2) / 6).astype(np.float32)
    seen = np.random.default_rng(1).random((7, 40)) < 0.4
    seen[:, :6], seen[:, 6] = True, False
    known = np.tile(seen, 2)
    table = (random_complex(7, 80) * known).astype(np.complex64)
    found = to_host(_fusion.pulls(place(kernel), _fusion.patterns(seen, 2, place(kernel)), place(table)))
    for column in range(80):
        s = np.flatnonzero(known[:, column])
        dense = np.linalg.solve(kernel[np.ix_(s, s)] + np.eye(len(s)), table[s, column])
        np.testing.assert_allclose(found[s, column], dense, atol=1e-4)
        assert not found[~known[:, column], column].any()


@pytest.mark.filterwarnings("ignore:columns")
def test_same_minimum_as_the_fusion_of_tables():
    rows, seen = series()
    mean = rows.sum(axis=0) / seen.sum(axis=0)
    start = np.where(seen, rows, mean)
    distances = squared_distances(gram(start))
    sigma, lam = float(np.sqrt(np.median(distances))), 0.5
    found = fuse_frames(rows, seen, start, distances, sigma, lam, max_iter=3000, tol=0.0)
    table = fuse(
        np.where(seen, rows, np.nan),
        lam=lam,
        penalty=H1(sigma),
        init=start,
        continuation=False,
        max_iter=3000,
        tol=1e-10,
    )
    assert found.history[-1] == pytest.approx(table.objective, rel=1e-9)
    assert np.abs(found.frames - table.centers).max() < 1e-6 * np.abs(rows).max()


@pytest.mark.parametrize("lam", [1e-3, 1.0, 100.0])
def test_the_objective_never_rises(lam):
    rows, seen = series()
    distances = squared_distances(gram(np.where(seen, rows, rows.sum(axis=0) / seen.sum(axis=0))))
    sigma = 0.5 * float(np.sqrt(np.median(distances)))
    history = fuse_frames(rows, seen, np.zeros_like(rows), distances, sigma, lam, max_iter=25, tol=0.0).history
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(history))


def test_strong_fusion_gives_the_mean_of_each_location():
    """All frames one: at each location the mean of the samples there."""
    rows, seen = series()
    distances = np.zeros((len(rows), len(rows)))
    found = fuse_frames(rows, seen, np.zeros_like(rows), distances, 100.0, 1e9, tol=0.0, max_iter=50)
    mean = rows.sum(axis=0) / seen.sum(axis=0)
    assert np.abs(found.frames - mean).max() < 1e-3 * np.abs(rows).max()


@pytest.fixture(scope="module")
def scan():
    phantom = make_phantom(40, 32, frame_time=0.06)
    mask = radial_mask(40, (32, 32), 4, 3)
    return phantom, sample_grid(phantom.images, mask, noise=0.01), mask


@pytest.fixture(scope="module")
def found(scan):
    return reconstruct(*scan[1:], method="fusion", random_state=0)


class TestPublicMethod:
    def test_the_choice_is_near_the_best_there_is(self, scan, found):
        """Held-out samples choose within 1 dB of what the truth would choose on a grid around the choice."""
        phantom, kspace, mask = scan
        tried = [
            reconstruct(kspace, mask, method="fusion", sigma=s * found.sigma, lam=r * found.lam, random_state=0).images
            for s in (0.5, 1.0, 2.0)
            for r in (0.1, 1.0, 10.0)
        ]
        best = max(ser(phantom.images, images, phantom.heart) for images in tried)
        assert ser(phantom.images, found.images, phantom.heart) > best - 1

    def test_what_was_chosen_is_told(self, found):
        assert found.method == "fusion"
        assert found.images.dtype == np.complex64
        assert (found.local.scale, found.local.noise, found.local.score) in found.local.tried
        assert all(after <= before * (1 + 1e-5) for before, after in pairwise(found.history))
        assert 1 <= found.rank <= 40

    def test_given_settings_are_used(self, scan, found):
        again = reconstruct(*scan[1:], method="fusion", sigma=found.sigma, lam=found.lam, random_state=0)
        assert (again.sigma, again.lam) == pytest.approx((found.sigma, found.lam))
        assert ser(found.images, again.images) > 40
        one = reconstruct(*scan[1:], method="fusion", lam=2 * found.lam, random_state=0)
        assert one.lam == pytest.approx(2 * found.lam)

    def test_a_navigator_compares_the_frames(self, scan):
        phantom, kspace, mask = scan
        signal = phantom.images.reshape(40, -1)
        images = reconstruct(kspace, mask, navigator=signal, method="fusion", random_state=0).images
        assert ser(phantom.images, images, phantom.heart) > ser(phantom.images, invert(kspace), phantom.heart) + 6

    def test_coils(self):
        phantom = make_phantom(24, 24, n_coils=3, frame_time=0.08)
        mask = radial_mask(24, (24, 24), 4, 3)
        kspace = transform(phantom.images[:, None] * phantom.maps) * mask[:, None]
        images = reconstruct(kspace, mask, maps=phantom.maps, method="fusion", random_state=0).images
        assert ser(phantom.images, images, phantom.heart) > 15

    def test_interrupted_gives_the_best_so_far(self, scan):
        def stop(message, *step, **values):
            if message.count("held-out") and len(heard) > 3:
                raise KeyboardInterrupt
            heard.append(message)

        heard = []
        with pytest.warns(UserWarning, match="interrupted"), listening(stop):
            found = reconstruct(*scan[1:], method="fusion", random_state=0)
        assert np.isfinite(found.images).all()

    def test_torch_gives_the_same(self, scan, found):
        pytest.importorskip("torch")
        other = reconstruct(*scan[1:], method="fusion", device="torch", random_state=0)
        assert ser(found.images, other.images) > 60

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"method": "magic"}, "unknown method 'magic': use one of 'interpolation', 'fusion'"),
            ({"method": "fusion", "trajectory": radial_trajectory(5, 8)}, "needs gridded k-space"),
            ({"lam": 1.0}, "lam is a setting of method='fusion'"),
            ({"method": "fusion", "sigma": -1.0}, "sigma must be a positive number"),
            ({"method": "fusion", "mask": np.eye(5)[:, :, None] * np.ones(8) > 0}, "no sample in common"),
        ],
    )
    def test_bad_input_is_named(self, change, message):
        given = {"kspace": np.ones((5, 5, 8), complex)} | change
        with pytest.raises(ValueError, match=message):
            reconstruct(**given)
