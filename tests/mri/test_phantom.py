"""The phantom's truth is true: equal phases give equal images; coils add up; the heart stays in its box."""

import numpy as np
import pytest

from fusewise.mri._phantom import coil_maps, contraction, draw, inspiration, make_phantom


def grid(size):
    g = (np.arange(size) - size // 2) / (size / 2)
    return np.meshgrid(g, g, indexing="ij")


def test_equal_phases_give_equal_images():
    """With no variability the beat of 0.9 s and the breath of 4 s are both back after 36 s."""
    series = make_phantom(361, 24, frame_time=0.1, variability=0)
    # The phases agree to rounding, and so, at an image's slope of some ten per beat, do the images.
    np.testing.assert_allclose(series.images[360], series.images[0], atol=1e-5)
    assert np.abs(series.images[4] - series.images[0]).max() > 0.1


def test_motion_is_continuous_over_the_cycle():
    ends = np.array([0.0, 1 - 1e-9])
    np.testing.assert_allclose(contraction(ends), 0, atol=1e-12)
    np.testing.assert_allclose(inspiration(ends), 0, atol=1e-12)
    assert contraction(np.array([0.35]))[0] == pytest.approx(1)
    assert inspiration(np.array([0.5]))[0] == pytest.approx(1)


def test_left_ventricle_shrinks():
    y, x = grid(96)
    bright = [np.count_nonzero(draw(y, x, squeeze, 0.0) > 0.95) for squeeze in (0.0, 0.5, 1.0)]
    assert bright[0] > 1.3 * bright[1] > 1.3 * bright[2]


def test_beat_moves_only_the_heart_and_breath_moves_the_liver():
    series = make_phantom(2, 64)
    y, x = grid(64)
    beat = np.abs(draw(y, x, 1.0, 0.0) - draw(y, x, 0.0, 0.0)) > 0.02
    outside = np.ones_like(beat)
    outside[series.heart] = False
    assert beat.any()
    assert not (beat & outside).any()
    breath = np.abs(draw(y, x, 0.0, 1.0) - draw(y, x, 0.0, 0.0)) > 0.1
    assert (breath & outside).any()


@pytest.mark.parametrize("n_coils", [1, 4, 8])
def test_coil_maps_have_unit_sum_of_squares(n_coils):
    np.testing.assert_allclose(np.square(np.abs(coil_maps(n_coils, 20))).sum(axis=0), 1, atol=1e-6)
