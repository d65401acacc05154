"""Breath and beat are found at their rates, with their phases, and only where there are any; labels follow them."""

import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from fusewise.mri import frame_labels
from fusewise.mri._phantom import contraction, cyclic_phase, inspiration, make_phantom
from fusewise.mri._result import cells, frame_rhythms, spectral_labels
from fusewise.mri._rhythms import RATE_CHANGE, edge, find_rhythms, steadiest
from fusewise.views._mri_page import rhythms as rhythms_on_page


def blobs(n_frames, per_beat, per_breath, seed, *, size=20, noise=0.03, squeeze=1.0, shift=3.0, variability=0.08):
    """A ring that shrinks with the beat on ground that the breath shifts; and the phase of beat and breath."""
    rng = np.random.default_rng(seed)
    times = np.arange(n_frames, dtype=float)
    beat, breath = (cyclic_phase(times, period, variability, rng) for period in (per_beat, per_breath))
    y, x = np.mgrid[:size, :size] - size / 2
    y = y - shift * inspiration(breath)[:, None, None]
    radius = size / 4 * (1 - 0.4 * squeeze * contraction(beat))[:, None, None]
    ring = np.exp(-np.square(np.hypot(y, x) - radius) / 3)
    ground = 0.5 / (1 + np.exp(-(y - size / 5)))
    return ring + ground + noise * rng.standard_normal(ring.shape), beat, breath


def cycles(phase):
    turns = np.unwrap(phase, period=1)
    return turns[-1] - turns[0]


def likeness(found, true):
    """1 where phases differ by a constant."""
    return np.abs(np.mean(np.exp(2j * np.pi * (found - true))))


@pytest.mark.parametrize(
    ("n_frames", "per_beat", "per_breath"),
    [(300, 22.5, 100.0), (400, 13.0, 40.0), (250, 9.0, 60.0), (350, 30.0, 75.0), (300, 25.0, 100.0)],
)
def test_breath_and_beat_are_found(n_frames, per_beat, per_breath):
    """Beats of 0.6 to 1.3 s and breaths of 2.5 to 6 s at 30 to 80 ms a frame; the last: exactly four beats a breath."""
    images, beat, breath = blobs(n_frames, per_beat, per_breath, seed=n_frames)
    found = frame_rhythms(images)
    assert found.beat_cycles == pytest.approx(cycles(beat), rel=0.15)
    assert found.breath_cycles == pytest.approx(cycles(breath), rel=0.25)
    assert likeness(found.beat, beat) > 0.97
    assert np.corrcoef(found.breath, inspiration(breath))[0, 1] > 0.9  # and not -0.9: it rests at 0
    assert found.beat.min() >= 0
    assert found.beat.max() < 1
    assert (found.breath.min(), found.breath.max()) == (0, 1)


def test_labels_follow_breath_and_beat():
    images, beat, breath = blobs(500, 20.0, 90.0, seed=0)
    # Contraction ends at 0.35, the middle of the first arc.
    truth = np.floor((beat - 0.35) * 10 + 0.5) % 10 + 10 * (inspiration(breath) > np.median(inspiration(breath)))
    ours = adjusted_rand_score(truth, frame_labels(images))
    assert ours > 0.5
    assert ours > adjusted_rand_score(truth, spectral_labels(images)) + 0.2


def test_phase_0_ends_the_contraction():
    images, beat, _ = blobs(400, 20.0, 90.0, seed=1)
    found = frame_rhythms(images).beat
    lag = np.angle(np.mean(np.exp(2j * np.pi * (beat - found)))) / (2 * np.pi)
    assert lag == pytest.approx(0.35, abs=0.06)


def test_harmonics_are_no_beat():
    """A breath that shifts edges by many pixels has strong harmonics, and still there is one rhythm only."""
    images, _, breath = blobs(400, 20.0, 80.0, seed=2, squeeze=0.0, shift=6.0)
    found = frame_rhythms(images)
    assert found.breath is None
    assert found.beat_cycles == pytest.approx(cycles(breath), rel=0.2)


def test_held_breath():
    images, beat, _ = blobs(200, 20.0, 80.0, seed=3, shift=0.0)
    found = frame_rhythms(images)
    assert found.breath is None
    assert likeness(found.beat, beat) > 0.97
    assert len(np.unique(frame_labels(images))) == 20


@pytest.mark.parametrize("n_frames", [50, 100, 150, 200, 260, 300])
def test_too_few_breaths_are_not_taken_for_more(n_frames):
    """Half a breath to three. Of fewer than 2.5, only multiples of the rate can be seen: 1.9 breaths looked like 4."""
    for seed in range(3):
        phantom = make_phantom(n_frames, 32, random_state=seed)
        noise = 0.01 * np.random.default_rng(seed).standard_normal(phantom.images.shape)
        found = frame_rhythms(phantom.images + noise)
        true = cycles(phantom.respiratory)
        if found.breath is not None:
            assert found.breath_cycles == pytest.approx(true, rel=0.25)
            assert found.beat_cycles == pytest.approx(cycles(phantom.cardiac), rel=0.15)
        assert (found.breath is not None) == (true > 2.5)


def test_frames_in_no_order_have_no_rhythm():
    images, _, _ = blobs(300, 20.0, 80.0, seed=4)
    shuffled = np.random.default_rng(0).permutation(images)
    assert frame_rhythms(shuffled).beat is None
    np.testing.assert_array_equal(frame_labels(shuffled), spectral_labels(shuffled))


@pytest.mark.parametrize("memory", [0.0, 0.9, 1.0])
def test_aimless_motion_has_no_rhythm(memory):
    """White noise, a process that forgets, a random walk: none in nearly all of 20 series of 30 directions."""
    rng, n_found = np.random.default_rng(0), 0
    for _ in range(20):
        walk = rng.standard_normal((300, 30))
        for t in range(1, 300):
            walk[t] += memory * walk[t - 1]
        left, values, _ = np.linalg.svd(walk - walk.mean(axis=0), full_matrices=False)
        n_found += find_rhythms((left * values)[:, :16]).beat is not None
    assert n_found <= 2


@pytest.mark.parametrize("n_frames", [3, 12, 40])
def test_nothing_is_found_in_still_or_few_frames(n_frames):
    assert frame_rhythms(np.ones((n_frames, 4, 4))).beat is None
    assert frame_rhythms(np.random.default_rng(0).random((n_frames, 4, 4))).beat is None


@pytest.mark.parametrize(("r", "m"), [(40, 100), (100, 40), (150, 300)])
def test_edge_is_the_largest_share_of_random_directions(r, m):
    n = 1000
    frame, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n, r)))
    largest = np.linalg.svd(frame[:m], compute_uv=False)[0] ** 2
    # The edge is that of ever larger tables; these are smaller by some power of 2 / 3 of their size.
    assert edge(r / n, m / n) == pytest.approx(largest, rel=0.1)
    assert edge(0.6, 0.5) == 1  # they must meet


def test_steadiest_way_beside_all_ways():
    misfit = np.random.default_rng(0).standard_normal((6, 4))
    step = 1.2

    def cost(states):
        steps = np.diff(states) % 4
        return misfit[np.arange(6), list(states)].sum() + np.sum((steps - step) ** 2 / (2 * (RATE_CHANGE * step) ** 2))

    assert tuple(steadiest(misfit, step)) == min(product(range(4), repeat=6), key=cost)


def test_cells_are_arcs_by_depths():
    beat, breath = (values.ravel() for values in np.meshgrid(np.arange(100) / 100, np.arange(60) / 60))
    found = cells(beat, breath, 20)
    np.testing.assert_array_equal(found // 10, breath >= 0.5)
    np.testing.assert_array_equal(found % 10, np.floor((beat + 0.05) * 10 + 1e-9) % 10)
    for n_cells in (2, 3, 5, 7, 13, 40, 41):
        sizes = np.bincount(cells(beat, breath, n_cells))
        assert len(sizes) == n_cells
        assert sizes.max() < 1.6 * sizes.min()
    assert len(np.bincount(cells(beat, None, 20))) == 20


def test_the_page_draws_what_was_found():
    images, _, _ = blobs(200, 15.0, 60.0, seed=5)
    found = frame_rhythms(images)
    page = rhythms_on_page(SimpleNamespace(beat=found.beat, breath=found.breath))
    assert page.count("<svg") == 2
    assert page.count("<polyline") == 2 + np.count_nonzero(np.diff(found.beat) < -0.5)
    words = re.sub("<svg.*?</svg>|<[^>]*>", "", page)
    assert "heartbeat" in words
    assert not re.search("[0-9]", words), "no rate is stated"
    assert "Not found" in rhythms_on_page(SimpleNamespace(beat=None, breath=None))
