"""Lines where they should be, and noise of the size it says."""

import numpy as np
import pytest

from fusewise.mri._fourier import transform
from fusewise.mri._trajectories import (
    GOLDEN_ANGLE,
    line_angles,
    radial_mask,
    radial_trajectory,
    sample_grid,
)


def test_golden_angle_degrees():
    assert np.degrees(GOLDEN_ANGLE) == pytest.approx(111.246, abs=1e-3)  # Winkelmann et al. 2007


def test_golden_lines_go_on_from_frame_to_frame():
    angles = line_angles(3, 2, navigators=1)
    np.testing.assert_array_equal(angles[:, 0], 0)
    np.testing.assert_allclose(np.diff(angles[:, 1:].ravel()), GOLDEN_ANGLE)


def test_one_horizontal_line():
    mask = radial_mask(2, (9, 10), golden=0, navigators=1)
    expected = np.zeros((9, 10), bool)
    expected[4] = True
    np.testing.assert_array_equal(mask, [expected, expected])


def test_lines_pass_through_the_centre_and_have_no_gaps():
    mask = radial_mask(20, (32, 32), golden=1, navigators=0)
    assert mask[:, 16, 16].all()
    # A line through the centre meets 32 rows or columns, less the corner it may miss.
    longest = np.maximum(mask.any(axis=1).sum(axis=1), mask.any(axis=2).sum(axis=1))
    assert (longest >= 22).all()  # 32 / sqrt(2) at 45 degrees
    assert (mask.sum(axis=(1, 2)) >= longest).all()


def test_navigators_are_common_and_golden_lines_are_not():
    mask = radial_mask(30, (40, 40), golden=3, navigators=2)
    common = mask.all(axis=0)
    assert (common & radial_mask(1, (40, 40), 0, 2)[0]).sum() == radial_mask(1, (40, 40), 0, 2)[0].sum()
    assert common.sum() < 1.2 * radial_mask(1, (40, 40), 0, 2)[0].sum()


def test_trajectory_and_mask_agree():
    trajectory = radial_trajectory(4, 64, golden=3, navigators=1)
    mask = radial_mask(4, (32, 32), golden=3, navigators=1)
    assert np.abs(trajectory).max() <= 0.5
    cells = np.rint(16 + 32 * trajectory).astype(int)
    inside = (cells < 32).all(axis=2)
    hits = [mask[t][tuple(cells[t][inside[t]].T)].mean() for t in range(4)]
    assert min(hits) == 1


def test_noise_has_its_standard_deviation():
    images = np.zeros((4, 32, 32), complex)
    images[:, 16, 16] = 2.0
    mask = np.ones(images.shape, bool)
    noise = sample_grid(images, mask, noise=0.1, random_state=3) - transform(images)
    # 4096 complex samples: the mean square scatters by 1/sqrt(4096) about its expectation.
    assert np.mean(np.abs(noise) ** 2) == pytest.approx((0.1 * 2.0) ** 2, rel=5 / 64)


def test_nothing_is_sampled_off_the_mask():
    mask = radial_mask(3, (16, 16))
    kspace = sample_grid(np.ones((3, 16, 16)), mask, noise=0.5)
    assert not kspace[~mask].any()
